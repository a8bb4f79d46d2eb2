"""Measures the turns of one session: how long each runs, and what it costs by the agent's reports.

Runs on the loop thread. A cost that the reports do not determine is left out.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from ..core import events as ev
from ..core.limits import cost_between
from ..core.records import Cost
from .session_state import SessionState

SECONDS_DIGITS = 1
"""Digits of a duration after the point."""


class TurnMeter:
    """Measures one turn after the other."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._turns = 0
        self._began = 0.0
        self._before: Cost | None = None

    def begin(self) -> None:
        """A turn begins."""
        self._turns += 1
        self._began = time.monotonic()
        self._before = self._cost()

    def measured(self, end: ev.TurnEnded) -> ev.TurnEnded:
        """The end of the turn, with how long it ran and what it cost."""
        seconds = round(time.monotonic() - self._began, SECONDS_DIGITS)
        fresh = self._state.fresh and self._turns == 1  # a later turn's first report includes earlier turns
        cost = cost_between(self._before, self._cost(), fresh=fresh)
        return replace(end, seconds=seconds, cost=cost)

    def _cost(self) -> Cost | None:
        usage = self._state.read(lambda transcript: transcript.usage)
        return None if usage is None else usage.cost
