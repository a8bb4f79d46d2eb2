"""Carries out one run, in this process, on the calling thread: copy, set up, prompt, compare, score, remove.

Knows nothing about other runs. It never raises: whatever happens is in the result.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ... import _version
from ...agent import loop
from ...agent.copies import make
from ...agent.copies.commands import ShellCommand
from ...agent.copies.copy import Copy, CopyFailed
from ...core import events as ev
from ...core.fan_out.changed import all_shown
from ...core.fan_out.in_copy import IN_COPY, RunPermissions, policy_of_run
from ...core.fan_out.rows import RunState
from ...core.fan_out.task import AgentSpec, ErrorInfo, Result, Retry, ScoreSpec, Task
from ...core.limits import rate_limit
from ...core.loaded_transcript import loaded
from ...core.policy import TOOL_KINDS
from ...core.records import Cost, Json, content_from_plain, plain
from ...core.saved_transcript import saved
from ...core.snapshot import Snapshot
from ...errors import AgentDied, AgentError, AgentNotFound, AuthenticationRequired, Error, Timeout
from ...log import WARNING, logger, suppressed
from ...notebook.runtime import unattended
from ..connect import connect
from ..launcher import check_for_runs
from ..session import Session
from ..turn import Turn
from .scoring import ScoredRun, Scorer, score_run
from .stop import Stop

_log = logger(__name__)

SETUP_CHARS = 2_000
"""How much of the output of a failed `setup` an error shows."""

JUDGES_PERMISSIONS = {
    **dict.fromkeys(TOOL_KINDS, "reject"),
    "read": IN_COPY,
    "search": IN_COPY,
    "think": IN_COPY,
}
"""A judge reads, and changes nothing."""


@dataclass(frozen=True)
class Watch:
    """Who watches the run: its states, its session while it is open, and what the agent is doing."""

    state: Callable[[RunState], object] = lambda state: None
    session: Callable[[Session | None, str | None], object] = lambda session, doing: None


NOBODY = Watch()


class Failed(Exception):
    """The run cannot go on. `retry`: why it may be tried again; `limited`: a rate limit ended it."""

    def __init__(
        self,
        error: Exception,
        retry: Retry | None = None,
        *,
        limited: bool = False,
        after: float | None = None,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry
        self.limited = limited
        self.after = after


class Cancelled(Exception):
    """The run was asked to stop."""


@dataclass
class _Found:
    """What is known of a run so far: the fields of its result."""

    fields: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.times[step] = time.monotonic() - begun


def carry_out(
    task: Task,
    stop: Stop,
    watch: Watch = NOBODY,
    function: Scorer | None = None,
    packed: bytes | None = None,
    remove: Callable[[Copy], object] = lambda copy: copy.remove(),
) -> Result:
    """Carry out the task and return its result.

    `function` scores the run, if the task says so. `packed`: the folder, for a worker that does not share the
    disk. `remove` is called with the copy that is no longer needed.
    """
    found, begun = _Found(), time.monotonic()
    state: RunState = "failed"
    error: Exception | None = None
    retry: Retry | None = None
    limited, after = False, None
    try:
        with unattended():
            state = _Work(task, stop, watch, found, function, remove).run(packed)
    except Cancelled:
        state = "cancelled"
    except Failed as failed:
        error, retry, limited, after = failed.error, failed.retry, failed.limited, failed.after
    except Exception as unexpected:  # a run never raises into the others
        _log.warning("a run failed unexpectedly", exc_info=True)
        error = unexpected
    if stop.is_set and error is None and state != "done":
        state = "cancelled"
    return Result(
        id=task.id,
        state=state,
        seconds=time.monotonic() - begun,
        times=found.times,
        host=platform.node(),
        package=_version.__version__,
        error=None if error is None else ErrorInfo(type(error).__name__, str(error)),
        retry=retry,
        rate_limited=limited,
        retry_after=after,
        **found.fields,
    )


class _Work:
    def __init__(
        self,
        task: Task,
        stop: Stop,
        watch: Watch,
        found: _Found,
        function: Scorer | None,
        remove: Callable[[Copy], object],
    ) -> None:
        self._task = task
        self._stop = stop
        self._watch = watch
        self._found = found
        self._function = function
        self._remove = remove

    def run(self, packed: bytes | None) -> RunState:
        self._check()
        self._watch.state("preparing")
        with self._found.timed("copy"):
            copy = self._copy(packed)
        try:
            if self._task.setup is not None:
                with self._found.timed("setup"):
                    self._set_up(self._task.setup, copy)
            try:
                state = self._prompt(copy)
            finally:  # also of a run that failed: what it did until then may be of use
                self._compare(copy)
            if self._task.score is not None and state == "done":
                self._watch.state("scoring")
                with self._found.timed("score"):
                    self._score(self._task.score, copy)
                if self._found.fields["score"] is None:
                    self._check()  # cancelled in its score: it is not done, and not recorded as done
            return state
        finally:
            with self._found.timed("remove"):
                self._remove(copy)

    def _check(self) -> None:
        if self._stop.is_set:
            raise Cancelled

    def _copy(self, packed: bytes | None) -> Copy:
        try:
            return make.copy(make.available(self._task.folder, packed))
        except make.FolderMissing as error:
            raise Failed(error, "folder") from None
        except CopyFailed as error:
            raise Failed(error, "unsent") from None

    def _set_up(self, line: str, copy: Copy) -> None:
        self._check()
        try:
            command = ShellCommand(line, copy.cwd)
        except OSError as error:
            raise Failed(error) from None
        with self._stop.calling(command.stop):
            outcome = command.wait(self._task.setup_seconds)
        self._check()
        if outcome.code is None:
            raise Failed(Error(f"setup took longer than {self._task.setup_seconds:g} s"))
        if outcome.code != 0:
            said = outcome.output.strip()[-SETUP_CHARS:]
            raise Failed(Error(f"setup failed with exit code {outcome.code}: {said}"))
        try:
            copy.mark()
        except CopyFailed as error:
            raise Failed(error) from None

    def _compare(self, copy: Copy) -> None:
        if "turn" not in self._found.times:
            return  # no prompt was sent
        with self._found.timed("compare"):
            try:
                files, patch = copy.changes()
            except CopyFailed as error:
                raise Failed(error) from None
        self._found.fields |= {"files": files, "patch": patch}

    # ---- the score ----------------------------------------------------------------------------------

    def _score(self, spec: ScoreSpec, copy: Copy) -> None:
        task, fields = self._task, self._found.fields
        texts = (it["text"] for it in task.prompt if it.get("type") == "text")
        run = ScoredRun(
            folder=Path(copy.cwd),
            prompt="\n".join(texts),
            agent=task.agent.label,
            text=fields["text"],
            patch=fields["patch"].decode(errors="replace"),
            transcript=loaded([fields["transcript"]]),
            files=fields["files"],
            changes=all_shown(fields["files"]),
            fields=task.fields,
        )
        ask = partial(self._ask_judge, copy)
        scored = score_run(spec, run, self._function, ask, self._stop)
        fields |= {"score": scored.score, "score_text": scored.text, "score_error": scored.error}

    def _charge(self, cost: Cost) -> None:
        """Add what a judge cost."""
        fields = self._found.fields
        if fields["currency"] in (None, cost.currency):
            fields |= {"cost": (fields["cost"] or 0.0) + cost.amount, "currency": cost.currency}
        else:
            fields["more_costs"] = {cost.currency: cost.amount}

    def _ask_judge(self, copy: Copy, agent: AgentSpec, prompt: str, seconds: float) -> str:
        session = self._open(agent, copy, JUDGES_PERMISSIONS, max_seconds=seconds)
        try:
            turn = session.start(prompt)
            turn._shown_by = "fan_out"
            with self._stop.calling(turn.cancel):
                error = turn._run.done.result()
            if turn.cost is not None:  # also of one that failed
                self._charge(turn.cost)
            if error is not None:
                raise error
            if turn.limit is not None:
                raise Error(f"it was stopped by a limit: {turn.limit}")
            return turn.text
        finally:
            session.agent.close()

    # ---- the turn -----------------------------------------------------------------------------------

    def _prompt(self, copy: Copy) -> RunState:
        self._check()
        with self._found.timed("start"):
            session = self._connect(copy)
        try:
            with self._found.timed("config"):
                self._configure(session)
            self._check()
            self._watch.state("running")
            stop_listening = self._listen(session)
            try:
                with self._found.timed("turn"):
                    turn = self._turn(session, copy.cwd)
            finally:
                stop_listening()
            return self._outcome(session, turn, copy.cwd)
        finally:
            self._watch.session(None, None)
            with self._found.timed("close"), suppressed(_log, Error, level=WARNING):
                session.agent.close()

    def _connect(self, copy: Copy) -> Session:
        task = self._task
        try:
            return self._open(
                task.agent,
                copy,
                task.permissions,
                max_seconds=task.max_seconds,
                max_tool_calls=task.max_tool_calls,
                max_cost=task.max_cost,
            )
        except AuthenticationRequired as error:
            raise Failed(error) from None
        except (AgentNotFound, AgentDied, Timeout) as error:
            raise Failed(error, "unsent") from None
        except Error as error:
            raise Failed(error) from None

    def _open(
        self,
        spec: AgentSpec,
        copy: Copy,
        permissions: RunPermissions,
        *,
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
    ) -> Session:
        check_for_runs(spec.agent, copy.cwd)
        shared = [real for real, _ in self._task.folder.share if os.path.isdir(real)]
        return connect(
            spec.agent if isinstance(spec.agent, str) else list(spec.agent),
            args=spec.args,
            cwd=copy.cwd,
            roots=[*([copy.top] if copy.top != copy.cwd else []), *shared],
            inherit_env=True if self._task.env is None else self._task.env,
            permissions=policy_of_run(permissions, os.path.realpath(copy.top), shared),
            elicitation="decline",
            undo=False,
            tools=False,
            install=False,
            max_seconds=max_seconds,
            max_tool_calls=max_tool_calls,
            max_cost=max_cost,
        )

    def _configure(self, session: Session) -> None:
        try:
            for name, value in self._task.agent.config.items():
                session.config[name] = value
        except Error as error:
            raise Failed(error) from None

    def _turn(self, session: Session, cwd: str) -> Turn:
        try:
            turn = session.start(*(_part(it, cwd) for it in self._task.prompt))
        except Error as error:
            raise Failed(error) from None
        turn._shown_by = "fan_out"  # the table shows it
        with self._stop.calling(turn.cancel):
            turn._run.done.result()
        return turn

    def _outcome(self, session: Session, turn: Turn, cwd: str) -> RunState:
        cost = turn.cost
        self._found.fields |= {
            "stop_reason": turn.stop_reason,
            "text": turn.text,
            "transcript": _saved(session.transcript, cwd),
            "usage": turn.usage,
            "cost": None if cost is None else cost.amount,
            "currency": None if cost is None else cost.currency,
            "tool_calls": len(turn.tool_calls),
            "audit": tuple(session.audit),
            "limit": turn.limit,
            "agent_version": session.agent.version,
        }
        return self._state(turn)

    def _state(self, turn: Turn) -> RunState:
        error = turn.error
        if turn.limit is not None:
            raise Failed(Error(f"it was stopped by a limit: {turn.limit}"))
        if self._stop.is_set:
            return "cancelled"
        if isinstance(error, AgentError):
            limited, after = rate_limit(str(error), error.code, error.data)
            retry: Retry | None = "rate_limit" if limited and _did_nothing(turn) else None
            raise Failed(error, retry, limited=limited, after=after)
        if isinstance(error, AgentDied):
            raise Failed(error, "unsent" if error.untaken else None)
        if error is not None:
            raise Failed(error)
        if turn.stop_reason != "end_turn":
            raise Failed(Error(f"the agent ended the turn early: {turn.stop_reason}"))
        return "done"

    def _listen(self, session: Session) -> Callable[[], None]:
        """Follow what the agent is doing."""
        state, show = session._conversation.state, self._watch.session
        show(session, None)

        def on_event(event: ev.Event, _: object) -> None:
            if isinstance(event, ev.ToolChanged) and isinstance(event.title, str):
                show(session, event.title)
            elif isinstance(event, ev.MessageChunk):
                show(session, "thinking" if event.role == "thought" else "answering")

        async def listen() -> Callable[[], None]:
            return state.listen(on_event)

        return loop.call(listen())


def _did_nothing(turn: Turn) -> bool:
    """Whether the agent certainly refused the prompt before it did anything or cost anything."""
    return not (turn._run.begun or turn.text or turn.tool_calls or turn.cost is not None)


def _part(part: Json, cwd: str) -> Any:
    if part.get("type") == "path":
        return Path(os.path.join(cwd, part["path"]))
    return content_from_plain(part)


def _saved(transcript: Snapshot, cwd: str) -> str:
    return saved([plain(it) for it in transcript.items], name="t1", cwd=cwd).line()
