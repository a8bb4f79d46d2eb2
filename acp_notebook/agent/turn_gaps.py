"""Turns of which messages may be lost, because the connection was interrupted: ends and completes them.

Knows no connection: `interruptions` says which turns these are. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from .. import timeouts
from ..core import events as ev
from ..core.reread import corrections
from ..core.snapshot import Elicitation, Question
from ..errors import ConnectionLost, Error
from ..log import logger, suppressed
from .session_state import SessionState
from .turn_queue import TurnRun

_log = logger(__name__)

INCOMPLETE = (
    "This answer may be incomplete",
    "The connection was interrupted, and parts of the answer may be lost. Ask the agent to repeat them.",
)
COMPLETED = "The answer was completed", "The connection was interrupted; the agent sent what was lost again."
SILENT = (
    "the connection was interrupted, and nothing has come from the agent for {:g} s since then: "
    "the end of its answer is probably lost"
)


class TurnGaps:
    """Handles the gaps in the turns of one session."""

    def __init__(
        self,
        state: SessionState,
        received: Callable[[], int],
        fail: Callable[[TurnRun, Exception], None],
        reread: Callable[[], Awaitable[Sequence[ev.Event]]],
    ) -> None:
        """`received`: how many messages have come. `fail`: ends a turn. `reread`: the agent's own history."""
        self._state = state
        self._received = received
        self._fail = fail
        self._reread = reread
        self._is_leaking = False
        """Some servers go on writing to the stream that broke as well as to the new one: until the connection
        is renewed, each turn may lose messages."""
        self._last: TurnRun | None = None
        """The turn that ended last."""

    def note(self, *, earlier: bool = False) -> None:
        """The connection was cut, and messages may be lost; `earlier`: perhaps also of the last turn."""
        self._is_leaking = True
        self.turn_began()
        last, self._last = self._last, None
        if earlier and last is not None and not last.has_gap:
            last.has_gap = True
            self._state.agent.background(self.repair(last))

    def turn_began(self) -> None:
        """If the running turn may lose messages, its end may be among them: it ends if it is silent."""
        run = self._state.running
        if self._is_leaking and run is not None and not run.has_gap:
            run.has_gap = True
            self._state.agent.background(self._fail_if_silent(run))

    def connected_anew(self) -> None:
        self._is_leaking = False
        run = self._state.running
        if run is not None and not run.begun:
            run.has_gap = False  # it has waited for this connection

    async def _fail_if_silent(self, run: TurnRun) -> None:
        limit = timeouts.get().remote_gap
        while self._state.running is run and run.has_gap:
            received = self._received()
            await asyncio.sleep(limit)
            is_silent = self._received() == received and not self._is_asking(run)
            if self._state.running is run and run.has_gap and is_silent:
                self._fail(run, ConnectionLost(SILENT.format(limit)))

    def _is_asking(self, run: TurnRun) -> bool:
        """Whether the agent waits for the user."""
        items = self._state.read(lambda transcript: transcript.turn_items(run.key))
        return any(isinstance(it, Question | Elicitation) and it.status == "open" for it in items)

    async def repair(self, run: TurnRun) -> None:
        """Complete a turn with a gap from the agent's own history, or say that it may be incomplete."""
        if not run.has_gap:
            self._last = run
            return
        items = self._state.read(lambda transcript: transcript.turn_items(run.key))
        found = None
        with suppressed(_log, Error, TimeoutError):  # the notice says what this means
            async with asyncio.timeout(timeouts.get().remote_reread):
                history = await self._reread()
            found = corrections(items, history) if history else None
        for correction in found or ():
            self._state.apply(correction)
        if found is None:
            self._state.apply(ev.NoticeGiven("warning", *INCOMPLETE, "client", turn=run.key))
        elif found:
            self._state.apply(ev.NoticeGiven("info", *COMPLETED, "client", turn=run.key))
