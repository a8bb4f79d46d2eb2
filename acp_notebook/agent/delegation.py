"""Another session as a tool: a call starts a turn there, within limits, and returns its answer.

Knows who waits for whom: a session that would wait for itself, through others, is refused. A call that is
cancelled cancels the turn that it started. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import timeouts
from ..core import events as ev
from ..core.kernel_tools.asked import answer_parts, answer_text, asking_name, is_asking
from ..core.kernel_tools.interface import CallFailed, CallProgress
from ..core.limits import Limits, Meter
from ..core.records import AskedBy, AskedSession, Cost, Image, KernelRun, Text
from ..core.snapshot import Item, TurnStart
from ..errors import SessionClosed
from .conversation import Conversation
from .kernel_tools.current_call import calling_session, calls_waiting, waiting, waits_for
from .session_state import SessionState
from .turn_queue import Asker, TurnRun

MAX_DEPTH = 3
"""How many sessions may ask one another in a chain: each one multiplies cost and time."""

MOST_CALLS = 8
"""How many calls may wait for the answers of one session. More is a flood."""

QUESTIONS = (ev.QuestionAsked, ev.QuestionSettled, ev.ElicitationOpened, ev.ElicitationSettled)
"""After these, an agent may wait for the user, or no longer."""

Prepare = Callable[[SessionState], str | None]
"""Lets the user answer questions of the session where those of the asking session are answered; returns the
model of the session's widget, if a page can show it."""


class Delegate:
    """Answers the calls of a tool that is another session."""

    def __init__(
        self,
        conversation: Conversation,
        name: str,
        limits: Limits,
        max_depth: int,
        prepare: Prepare,
        on_turn: Callable[[TurnRun], None],
    ) -> None:
        """`on_turn` gets each turn before it starts."""
        self._conversation = conversation
        self._name = name
        self._limits = limits
        self._max_depth = max_depth
        self._prepare = prepare
        self._on_turn = on_turn

    @property
    def state(self) -> SessionState:
        return self._conversation.state

    async def __call__(self, prompt: str, progress: CallProgress) -> list[Text | Image]:
        """Send the prompt, and return what the agent says. Raises CallFailed."""
        asker = self._asker()
        model = self._prepare(asker.state)
        # The other session does not know the secrets of this one, and would keep them.
        cleaned = asker.state.agent.redactor.for_actions.text(prompt)
        run = self._conversation.new_run((Text(cleaned),), self._limits)
        run.asked_by = asker
        run.asked = AskedBy(
            asker.state.agent.name, _number(asker.state, asker.run), self._label, asker.state.id
        )
        self._on_turn(run)
        call = _Call(self._conversation, run, self._agent, model, progress)
        with waiting(asker.state, self.state), call.following():
            await call.answered()
        return call.result()

    @property
    def _agent(self) -> str:
        return self.state.agent.name

    @property
    def _label(self) -> str:
        own = asking_name(self._agent)
        return self._agent if self._name == own else f"{self._agent} ({self._name})"

    # ---- who may ask ------------------------------------------------------------------------------

    def _asker(self) -> Asker:
        """The turn that calls, if it may ask. Raises CallFailed."""
        caller = calling_session()
        if not isinstance(caller, SessionState) or caller.running is None:
            raise CallFailed("Not asked: no turn of the session that calls is running.")
        asker = Asker(caller, caller.running)
        if caller is self.state:
            raise CallFailed("Not asked: this is the session that calls; it cannot wait for itself.")
        if self.state.closed:
            raise CallFailed(_closed(self._agent))
        if waits_for(self.state, caller):
            raise CallFailed(
                f"Not asked: {self._agent} itself waits for an answer of this session, so that both would "
                "wait for ever. Answer it from what you know."
            )
        depth = len([*asker.chain])
        if depth > self._max_depth:
            chain = " → ".join(it.state.agent.name for it in reversed([*asker.chain]))
            raise CallFailed(
                f"Not asked: it would be session number {depth} in a chain ({chain} → {self._agent}), and "
                f"at most {self._max_depth} may be asked in one (max_depth). Do it without that agent."
            )
        if calls_waiting(self.state) >= MOST_CALLS:
            raise CallFailed(
                f"Not asked: {MOST_CALLS} calls wait for answers of {self._agent} already. Wait for one of "
                "them before you ask again."
            )
        return asker


class _Call:
    """One call: the turn that it started, what that costs, and its end."""

    def __init__(
        self, conversation: Conversation, run: TurnRun, agent: str, model: str | None, progress: CallProgress
    ) -> None:
        self._conversation = conversation
        self._state = conversation.state
        self._run = run
        self._agent = agent
        self._model = model
        self._progress = progress
        self._begun = asyncio.Event()
        self._meter: Meter | None = None
        self._asks = False

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the events of the session: which of its turns answers, and what that costs."""
        stops = (
            self._state.on(ev.TurnStarted, self._on_started),
            self._state.on(ev.UsageChanged, self._on_usage),
            *(self._state.on(kind, self._on_question) for kind in QUESTIONS),
            self._state.on(ev.ToolChanged, self._on_tool),
        )
        try:
            yield
        finally:
            for stop in stops:
                stop()

    def _on_started(self, _: ev.TurnStarted) -> None:
        if self._state.running is not self._run:
            return
        usage = self._state.read(lambda transcript: transcript.usage)
        before = usage.cost if usage is not None else None
        self._meter = Meter(before, fresh=self._state.fresh)
        # The conversation learns the key of the turn after this event.
        asyncio.get_running_loop().call_soon(self._show)
        self._begun.set()

    def _show(self) -> None:
        number = _number(self._state, self._run)
        self._progress.answered_by(
            AskedSession(self._agent, number, self._run.id, self._state.id or None, self._model, self._asks)
        )

    def _on_question(self, _: ev.BaseEvent) -> None:
        """Report whether somebody waits for the user: this agent, or one that it has asked in turn."""
        if self._state.running is not self._run:
            return
        asks = any(is_asking(it) for it in self._items())
        if asks != self._asks:
            self._asks = asks
            self._show()

    def _on_tool(self, event: ev.ToolChanged) -> None:
        content = () if isinstance(event.content, ev.Unset) else event.content
        if any(isinstance(it, KernelRun) and it.session is not None for it in content):
            self._on_question(event)

    def _on_usage(self, event: ev.UsageChanged) -> None:
        if self._meter is None or self._state.running is not self._run or event.usage.cost is None:
            return
        before = self._meter.spent
        self._meter.see(event.usage.cost)
        asker = self._run.asked_by
        for it in asker.chain if asker is not None else ():
            it.run.charge(Cost(self._meter.spent - before, event.usage.cost.currency))

    async def answered(self) -> None:
        """Start the turn and wait for its end; cancel it if this call is cancelled."""
        self._show()
        # In a context of its own: tasks that the session starts meanwhile are not part of this call.
        asyncio.get_running_loop().call_soon(
            self._conversation.start_turn, self._run, context=contextvars.Context()
        )
        over = asyncio.wrap_future(self._run.done)
        try:
            await self._wait_for_turn(over)
            await asyncio.shield(over)
        except asyncio.CancelledError:
            self._conversation.cancel(self._run)
            await asyncio.wait({over}, timeout=timeouts.get().asked_cancel)
            raise

    async def _wait_for_turn(self, over: asyncio.Future[Exception | None]) -> None:
        """Wait until the turn begins, behind those that wait or run already."""
        begun: asyncio.Future[Any] = asyncio.ensure_future(self._begun.wait())
        try:
            if self._state.running is not None or self._conversation.queue.waiting:
                self._progress.report(text=f"{self._agent} is busy; this waits for its turn")
            limit = timeouts.get().asked_queue
            either: set[asyncio.Future[Any]] = {begun, over}
            done, _ = await asyncio.wait(either, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            self._progress.report()
        finally:
            begun.cancel()
        if not done:
            self._conversation.cancel(self._run)
            raise CallFailed(
                f"{self._agent} was busy with other turns for {limit:g} s, and the prompt was not sent. Ask "
                "later."
            )

    # ---- the end ----------------------------------------------------------------------------------

    def result(self) -> list[Text | Image]:
        """What the agent said. Raises CallFailed if the turn did not end as it should."""
        items = self._items()
        why = self._failure(next((it for it in items if isinstance(it, TurnStart)), None))
        if why is None:
            cost = None if self._meter is None else self._meter.cost
            return answer_parts(items, cost, self._state.cwd)
        said = answer_text(items)
        raise CallFailed(f"{why}\n\nWhat it had said until then:\n{said}" if said else why)

    def _items(self) -> tuple[Item, ...]:
        key = self._run.key
        return () if key is None else self._state.read(lambda transcript: transcript.turn_items(key))

    def _failure(self, start: TurnStart | None) -> str | None:
        """Why there is no answer, or none that is complete."""
        error = self._run.done.result()
        if self._state.closed or isinstance(error, SessionClosed):
            return _closed(self._agent)
        if error is not None:
            return f"{self._agent} failed: {error}"
        if self._run.limit is not None:
            return f"{self._agent} was stopped by a limit: {self._run.limit}."
        if start is None or start.stop_reason == "cancelled":
            return f"{self._agent} was stopped by the user. Do not ask it the same again."
        if start.stop_reason not in (None, "end_turn"):
            return f"{self._agent} did not finish: {start.stop_reason}."
        return None


def _number(state: SessionState, run: TurnRun) -> int | None:
    """The number of a turn in its transcript."""
    key = run.key
    start = None if key is None else state.read(lambda transcript: transcript.item(key))
    return start.number if isinstance(start, TurnStart) else None


def _closed(agent: str) -> str:
    return f"The session of {agent} was closed; it cannot be asked any more."
