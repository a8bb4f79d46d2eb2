"""Limits of a turn (time, tool calls, cost), and how agents report rate limits.

Pure: `agent.turn_limiter` provides the times, and cancels a turn that exceeds a limit.
"""

from __future__ import annotations

import math
import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .patterns import pattern
from .records import Cost, Json

RETRIES = 5
"""The number of retries for `retry_rate_limits=True`."""

FIRST_WAIT_S = 2.0
"""The wait before the first retry if the agent gives none; it doubles each time, …"""

LONGEST_WAIT_S = 60.0
"""… up to this."""

LONGEST_REQUESTED_S = 600.0
"""The longest wait that an agent may request; for a longer one, the user decides."""

COST_DIGITS = 9
"""Digits of a cost after the point: more would only be errors of rounding."""


class Limits(Struct, frozen=True):
    """The limits of a turn or a session. None: the session's limit applies, or there is none."""

    max_seconds: float | None = None
    max_tool_calls: float | None = None
    max_cost: float | None = None
    retries: int = 0
    """How often a prompt that hit a rate limit is sent again."""

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_tool_calls", "max_cost"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"{name} is {value!r}; it can be a number above 0, or None")

    def within(self, session: Limits) -> Limits:
        """These limits, and the session's where these are None; math.inf lifts a limit of the session."""
        given = {name: getattr(self, name) for name in ("max_seconds", "max_tool_calls", "max_cost")}
        return replace(session, **{name: value for name, value in given.items() if value is not None})

    def reached(self, *, calls: int = 0, spent: float = 0.0) -> str | None:
        """The limit that was exceeded, in words, or None."""
        if self.max_tool_calls is not None and calls > self.max_tool_calls:
            return f"more than {self.max_tool_calls:g} tool call{'s' * (self.max_tool_calls != 1)}"
        if self.max_cost is not None and spent > self.max_cost:
            return f"it cost more than {self.max_cost:g}"
        return None

    @property
    def seconds(self) -> float | None:
        return None if self.max_seconds is None or math.isinf(self.max_seconds) else self.max_seconds


def retries_of(given: Any) -> int:
    """The number of retries for a value of `retry_rate_limits=`; raises ValueError."""
    if given is True or given is False:
        return RETRIES if given else 0
    if isinstance(given, int) and 0 <= given <= 100:
        return given
    raise ValueError(f"retry_rate_limits is {given!r}; it can be True, False, or how often (up to 100)")


class Meter:
    """Computes what a turn has cost, from the costs that an agent reports for its session."""

    def __init__(self, before: Cost | None, *, fresh: bool) -> None:
        self._last = before if before is not None else Cost(0.0, "") if fresh else None
        self.spent = 0.0
        self.has_cost = False
        """Whether the agent has reported a cost."""

    @property
    def cost(self) -> Cost | None:
        """What the turn has cost; None if the agent does not say."""
        return Cost(self.spent, self._last.currency) if self.has_cost and self._last is not None else None

    def see(self, cost: Cost) -> None:
        last, self._last, self.has_cost = self._last, cost, True
        if last is None or (last.currency not in ("", cost.currency)):
            return  # nothing to compare with yet
        # A lower amount means that the agent was restarted and counts from zero.
        self.spent += cost.amount - last.amount if cost.amount >= last.amount else cost.amount


def cost_between(before: Cost | None, after: Cost | None, *, fresh: bool) -> Cost | None:
    """What was spent between two reports of a session's cost; None if that cannot be known.

    `fresh`: the session started empty, so nothing was spent before its first report.
    """
    if after is None or (before is None and not fresh):
        return None
    first = Cost(0.0, after.currency) if before is None else before
    if first.currency != after.currency or after.amount < first.amount:
        return None
    return Cost(round(after.amount - first.amount, COST_DIGITS), after.currency)


# ---- rate limits

_SAYS = pattern(r"\brate[ _-]?limit|too many requests|(?:http|status|code|error)\W{0,3}429\b", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_WAIT = pattern(
    r"(?:retry|try again|wait|resets?)[^0-9\n]{0,30}([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*"
    r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)\b",
    re.IGNORECASE,
)
_FIELDS = pattern(r"retry[-_]?after(?:[-_]?(ms|milliseconds|seconds|s))?", re.IGNORECASE)
_CODES = ("status", "statusCode", "status_code", "code", "httpStatus")
DEEP = 4
"""How many levels of an error's data are searched."""


def rate_limit(text: str, code: int | None = None, data: Json = None) -> tuple[bool, float | None]:
    """Whether an error reports a rate limit, and how many seconds to wait, if it says so."""
    if code != 429 and not _SAYS.search(text) and not _reports_rate_limit(data):
        return False, None
    wait = _field(data)
    return True, wait if wait is not None else _in_words(text) or _in_words(data)


def wait_before(attempt: int, requested: float | None) -> float | None:
    """Seconds to wait before this retry (1 is the first); None if the agent requests too long a wait."""
    if requested is not None:
        return requested if requested <= LONGEST_REQUESTED_S else None
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))


def _reports_rate_limit(data: Json, deep: int = 0) -> bool:
    if isinstance(data, str):
        return _SAYS.search(data[:2000]) is not None
    if not isinstance(data, dict) or deep > DEEP:
        return False
    if any(data.get(name) in (429, "429") for name in _CODES):
        return True
    return any(_reports_rate_limit(it, deep + 1) for it in data.values() if isinstance(it, dict | str))


def _field(data: Json, deep: int = 0) -> float | None:
    if not isinstance(data, dict) or deep > DEEP:
        return None
    for name, value in data.items():
        found = _FIELDS.fullmatch(name) if isinstance(name, str) else None
        seconds = _seconds(value) if found else _field(value, deep + 1)
        if seconds is not None:
            milli = found is not None and (found[1] or "").lower().startswith("m")
            return seconds / 1000 if milli else seconds
    return None


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _in_words(text: Any) -> float | None:
    found = _WAIT.search(text[:2000]) if isinstance(text, str) else None
    if found is None:
        return None
    unit = found[2].lower()
    scale = _UNITS["ms"] if unit == "ms" or unit.startswith("milli") else _UNITS[unit[0]]
    return float(found[1]) * scale
