"""Turns of which messages may be lost, because the connection was interrupted: ends and completes them.

Knows no connection: `interruptions` says which turns these are. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import takewhile
from typing import Protocol

from .. import timeouts
from ..core import events as ev
from ..core.reread import Found, corrections, is_prompt
from ..core.snapshot import Elicitation, Item, Question, TurnStart
from ..core.transcript import Transcript
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
CALLS = " Tool calls that were lost are at the end of the turn."
AS_STORED = (
    "The answer is as the agent has stored it so far",
    "The connection was interrupted, and the agent sent its history again. It may have gone on since then: "
    "ask it for the rest if the answer breaks off.",
)
SILENT = (
    "the connection was interrupted, and nothing has come from the agent for {:g} s since then: "
    "the end of the turn is probably lost"
)


class GapOwner(Protocol):
    """The session whose turns these are."""

    received: int
    """How many events have come from the agent."""

    def give_up(self, run: TurnRun, error: Exception) -> None:
        """End a turn from which nothing comes any more."""

    async def reread(self) -> Sequence[ev.Event]:
        """The agent's own history, as far as it is certain that nothing of it is lost."""

    async def renew(self) -> None:
        """Replace the connection, because messages were lost on it."""


class TurnGaps:
    """Handles the gaps in the turns of one session."""

    def __init__(self, state: SessionState, owner: GapOwner) -> None:
        self._state = state
        self._owner = owner
        self._leaking: str | None = None
        """The session's id, if its stream broke. Some servers go on writing to the stream that broke as well
        as to the new one: until the connection is renewed, each turn may lose messages."""
        self._last: TurnRun | None = None
        """The turn that ended last."""

    def note(self, *, earlier: bool = False) -> None:
        """The connection was cut, and messages may be lost; `earlier`: perhaps also of the last turn."""
        self._leaking = self._state.id
        self.turn_began()
        last, self._last = self._last, None
        if earlier and last is not None and not last.has_gap:
            last.has_gap = True
            self._state.agent.background(self.repair(last))

    def doubt(self) -> None:
        """Nothing came for long: messages of the running turn may be lost, or it takes its time."""
        run = self._state.running
        if run is not None and not (run.has_gap or run.has_doubt):
            run.has_doubt = True
            self._state.agent.background(self._fail_if_silent(run, timeouts.get().remote_doubt_silence))

    def turn_began(self) -> None:
        """If the running turn may lose messages, its end may be among them: it ends if it is silent."""
        run = self._state.running
        if self._leaking == self._state.id and run is not None and not run.has_gap:
            run.has_gap = True
            self._state.agent.background(self._fail_if_silent(run, timeouts.get().remote_gap))

    def connected_anew(self) -> None:
        self._leaking = None
        run = self._state.running
        if run is not None and not run.begun:
            run.has_gap = run.has_doubt = False  # it has waited for this connection

    async def _fail_if_silent(self, run: TurnRun, limit: float) -> None:
        while self._state.running is run and (run.has_gap or run.has_doubt):
            received = self._owner.received
            await asyncio.sleep(limit)
            is_silent = self._owner.received == received and not self._is_asking(run)
            if self._state.running is run and (run.has_gap or run.has_doubt) and is_silent:
                self._owner.give_up(run, ConnectionLost(SILENT.format(limit)))

    def _is_asking(self, run: TurnRun) -> bool:
        """Whether the agent waits for the user."""
        items = self._state.read(lambda transcript: transcript.turn_items(run.key))
        return any(isinstance(it, Question | Elicitation) and it.status == "open" for it in items)

    async def repair(self, run: TurnRun) -> None:
        """Complete a turn with a gap from the agent's own history, or say that it may be incomplete."""
        if not run.has_gap:
            self._last = run
        if not (run.has_gap or run.has_doubt):
            return
        history = self._state.redacted(await self._history())
        items, again = self._state.read(lambda transcript: _turn_of(transcript, run))
        found = corrections(items, history, again)
        for event in found.events:
            self._state.apply(event)
        if (notice := self._notice(run, items, found)) is not None:
            self._state.apply(notice)
        is_free = self._state.running is None or self._state.running is run
        if history and (run.has_gap or found.events) and is_free:  # else it would end the turn that runs now
            with suppressed(_log, Error):  # the session's status shows it; the next prompt tries again
                await self._owner.renew()

    def _notice(self, run: TurnRun, items: Sequence[Item], found: Found) -> ev.NoticeGiven | None:
        """What the user should know about the turn; None: nothing was lost, as far as can be told."""
        if run.has_gap and not found.is_certain:
            return ev.NoticeGiven("warning", *INCOMPLETE, "client", turn=run.key)
        title, text = COMPLETED
        if run.has_gap and any(isinstance(it, TurnStart) and it.status == "failed" for it in items):
            title, text = AS_STORED
        elif not found.events:
            return None
        added = [it for it in found.events if isinstance(it, ev.Recovered) and it.key is None]
        if any(isinstance(it.found, ev.ToolChanged) for it in added):
            text += CALLS
        return ev.NoticeGiven("info", title, text, "client", turn=run.key)

    async def _history(self) -> Sequence[ev.Event]:
        with suppressed(_log, Error, TimeoutError):  # a notice says what this means
            async with asyncio.timeout(timeouts.get().remote_reread):
                return await self._owner.reread()
        return ()


def _turn_of(transcript: Transcript, run: TurnRun) -> tuple[tuple[Item, ...], int]:
    """The items of a turn, and how many turns before it had the same prompt."""
    items = transcript.turn_items(run.key)
    before = takewhile(lambda it: it.key != run.key, transcript.snapshot().items)
    return items, sum(isinstance(it, TurnStart) and is_prompt(items, it) for it in before)
