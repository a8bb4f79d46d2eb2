"""Limits of all runs together, and how long an agent's runs wait after a rate limit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..limits import RETRIES, Limits, wait_before


@dataclass(frozen=True, slots=True)
class Totals:
    """Limits of all runs together: None is no limit. Checked before each run is started."""

    cost: float | None = None
    seconds: float | None = None
    tool_calls: float | None = None

    def __post_init__(self) -> None:
        """Raises ValueError."""
        try:
            Limits(self.seconds, self.tool_calls, self.cost)
        except ValueError as error:
            raise ValueError(str(error).replace("max_", "max_total_", 1)) from None

    def reached(self, costs: Mapping[str, float], tool_calls: int, seconds: float) -> str | None:
        """The limit that is used up, in words, or None."""
        spent = sum(costs.values())
        if self.cost is not None and spent >= self.cost:
            return f"max_total_cost={self.cost:g} is used up"
        if self.tool_calls is not None and tool_calls >= self.tool_calls:
            return f"max_total_tool_calls={self.tool_calls:g} is used up"
        if self.seconds is not None and seconds >= self.seconds:
            return f"max_total_seconds={self.seconds:g} is used up"
        return None


NO_TOTALS = Totals()


class Backoff:
    """When runs of an agent may be started again after rate limits: one wait for all of them."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._strikes: dict[str, int] = {}

    def limited(self, agent: str, requested: float | None, now: float) -> float | None:
        """Note a rate limit; return the seconds to wait, or None if it is no use."""
        if now < self._until.get(agent, 0.0) and requested is None:
            return self._until[agent] - now  # of a run that was started before the others were refused
        strikes = self._strikes[agent] = self._strikes.get(agent, 0) + 1
        wait = None if strikes > RETRIES else wait_before(strikes, requested)
        if wait is not None:
            self._until[agent] = max(self._until.get(agent, 0.0), now + wait)
        return wait

    def succeeded(self, agent: str) -> None:
        self._strikes.pop(agent, None)

    def soonest(self, now: float) -> float:
        """The seconds until runs of another agent may be started again."""
        return min((it - now for it in self._until.values() if it > now), default=0.0)

    def wait(self, agent: str, now: float) -> float:
        """The seconds until a run of this agent may be started."""
        return max(0.0, self._until.get(agent, 0.0) - now)
