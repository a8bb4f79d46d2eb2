"""Run: one prompt for one agent in its own copy of the folder, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, overload

from ...agent.copies.branches import commit_on_branch
from ...core.audit import AuditTable
from ...core.changes import FileChange
from ...core.fan_out.rows import Row, RunState
from ...core.fan_out.task import ChangedFile, ErrorInfo, Result
from ...core.loaded_transcript import loaded
from ...core.records import Cost, Json, TokenUsage
from ...core.snapshot import Snapshot
from ...errors import UsageError
from .applied import Applied

if TYPE_CHECKING:
    from ..session import Session
    from .board import Board, Entry

SUBJECT_CHARS = 72
"""How much of a prompt is the subject of a commit."""


class Run:
    """One run of a fan-out. It never raises what the run failed with: see `state` and `error`."""

    def __init__(self, board: Board, index: int, base: str) -> None:
        self._board = board
        self._base = base
        """The folder that its changes belong to: the top of the repository, or `cwd`."""
        self.index = index
        self.applied: Applied | None = None
        """What `apply()` returned last: `applied.revert()` undoes it."""

    @property
    def _entry(self) -> Entry:
        return self._board.entries[self.index]

    @property
    def _result(self) -> Result | None:
        return self._entry.result

    # ---- what it is ---------------------------------------------------------------------------------

    @property
    def prompt(self) -> str:
        """The text of the prompt, or its name."""
        texts = [it for it in self._entry.run.prompt.parts if isinstance(it, str)]
        return "\n".join(texts) or self._entry.run.prompt.label

    @property
    def fields(self) -> Mapping[str, Json]:
        """The values that were filled into the prompt."""
        return self._entry.run.prompt.fields

    @property
    def agent(self) -> str:
        return self._entry.run.agent.label

    @property
    def attempt(self) -> int:
        """From 1 on."""
        return self._entry.run.attempt

    @property
    def row(self) -> Row:
        """What the table shows of it."""
        return self._board.row(self.index)

    # ---- what came of it ----------------------------------------------------------------------------

    @property
    def state(self) -> RunState:
        """queued, preparing, running, scoring; done, failed, cancelled, lost (its worker died), skipped (a
        budget was used up, or `stop_when` was true)."""
        return self._entry.state

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever state."""
        return self.row.is_final

    @property
    def seconds(self) -> float | None:
        """How long it took, or has taken so far."""
        return self.row.seconds

    @property
    def cost(self) -> Cost | None:
        """What it cost, if the agent reports that."""
        result = self._result
        return None if result is None or result.cost is None else Cost(result.cost, result.currency or "")

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens that it used, if the agent reports them."""
        return None if self._result is None else self._result.usage

    @property
    def text(self) -> str:
        """The agent's messages; while it runs in this kernel, those so far."""
        session = self._entry.session
        if session is not None and session.turns:
            return str(session.turns[-1].text)
        return "" if self._result is None else self._result.text

    @property
    def transcript(self) -> Snapshot:
        """The whole conversation; while it runs in this kernel, as it is now."""
        session = self._entry.session
        return session.transcript if session is not None else self._saved_transcript

    @property
    def _saved_transcript(self) -> Snapshot:
        result = self._result
        if result is None or not result.transcript:
            return Snapshot((), 0, status="closed")
        if self._read_from is not result:
            self._read = loaded([result.transcript])
            self._read_from = result
        return self._read

    _read_from: Result | None = None
    _read: Snapshot

    @property
    def session(self) -> Session | None:
        """The session, while the run is running in this kernel."""
        return self._entry.session

    @property
    def files(self) -> tuple[ChangedFile, ...]:
        """The files that it changed: `path`, and `before` and `after` with `data` and `mode`."""
        return () if self._result is None else self._result.files

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files that it changed, with their hunks."""
        return self._entry.files

    @property
    def patch(self) -> str:
        """Its changes as a patch for `git apply`."""
        return "" if self._result is None else self._result.patch.decode(errors="replace")

    @property
    def added(self) -> int:
        """The number of lines added."""
        return sum(it.added for it in self.changes)

    @property
    def removed(self) -> int:
        """The number of lines removed."""
        return sum(it.removed for it in self.changes)

    @property
    def score(self) -> float | None:
        return None if self._result is None else self._result.score

    @property
    def score_text(self) -> str | None:
        """The score in words: the counts of a test run, the judge's reasons, or why there is no score."""
        return self.row.score_text

    @property
    def error(self) -> str | None:
        """Why it failed, was lost, cancelled or skipped."""
        return self._entry.error

    @property
    def error_type(self) -> str | None:
        """The name of the error's class."""
        error: ErrorInfo | None = None if self._result is None else self._result.error
        return None if error is None else error.type

    @property
    def stop_reason(self) -> str | None:
        return None if self._result is None else self._result.stop_reason

    @property
    def audit(self) -> AuditTable:
        """Every request of the agent, every decision and every action."""
        session = self._entry.session
        if session is not None:
            return session.audit
        return AuditTable(() if self._result is None else self._result.audit)

    @property
    def times(self) -> Mapping[str, float]:
        """The seconds of its steps: copy, setup, start, turn, score."""
        return {} if self._result is None else self._result.times

    @property
    def host(self) -> str | None:
        """The machine that it ran on."""
        return None if self._result is None else self._result.host or None

    # ---- actions ------------------------------------------------------------------------------------

    @overload
    def apply(self) -> Applied: ...
    @overload
    def apply(self, *, branch: str) -> str: ...
    def apply(self, *, branch: str | None = None) -> Applied | str:
        """Bring its changes here, as ordinary uncommitted edits, merged with what you changed since.

        Notebooks are merged by cell, an open one in its page. Raises acp.Conflict if something cannot be
        merged; then nothing is changed. The result can undo it, as for a turn: `applied.revert()`,
        `applied.changes`. Sessions that are open in this folder list it in `session.changes`.

        With `branch`, the changes become a commit on a new branch instead, whose id is returned: its parent
        is HEAD, and what you have not committed is not in it. HEAD, index and files stay as they are.
        """
        if not self.done:
            raise UsageError(f"run {self.index} is {self.state}: apply it when it has ended")
        if not self.files:
            raise UsageError(f"run {self.index} changed no files: there is nothing to apply")
        if branch is not None:
            subject = (self.prompt.strip().splitlines() or [""])[0][:SUBJECT_CHARS]
            message = f"{subject or f'Run {self.index}'}\n\nBy {self._by}.\n"
            return commit_on_branch(self._base, self.files, branch, message)
        if self.applied is not None:
            return self.applied.redo()
        board, index = self._board, self.index
        applied = Applied(
            self._base,
            self.files,
            on_change=lambda applied: board.set_applied(index, applied),
            name=f"run {index}",
            by=self._by,
        )
        self.applied = applied.redo()
        return applied

    @property
    def _by(self) -> str:
        return f"{self.agent}, run {self.index} of a fan-out"

    def cancel(self) -> None:
        """Stop the run, if it has not ended. Returns at once."""
        self._entry.stop.set()

    def __repr__(self) -> str:
        row = self.row
        score = None if row.score is None else f"score {row.score:g}"
        parts = [row.state, f"{row.agent} #{row.attempt}", score, row.error, repr(row.prompt)]
        return f"<Run {self.index} · {' · '.join(filter(None, parts))}>"
