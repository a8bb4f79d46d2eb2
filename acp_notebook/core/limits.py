"""Limits: how long a turn may take, what it may do and cost; and what an agent says of its own rate limit.

Pure: times come with the events. Who cancels a turn that goes too far is `agent.turn_limiter`'s business.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from .records import Cost, Json

RETRIES = 5
"""What `retry_rate_limits=True` stands for."""

FIRST_WAIT_S = 2.0
"""Before a first retry where the agent does not say how long to wait; then twice as long each time, …"""

LONGEST_WAIT_S = 60.0
"""… but not longer than this."""

LONGEST_TOLD_S = 600.0
"""A wait that the agent asks for and that is longer is the user's to decide on."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one turn. None: as the session has it; of a session: none."""

    max_seconds: float | None = None
    max_tool_calls: float | None = None
    max_cost: float | None = None
    retries: int = 0
    """How often a prompt that met a rate limit is sent again."""

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_tool_calls", "max_cost"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"{name} is {value!r}; it can be a number above 0, or None")

    def within(self, session: Limits) -> Limits:
        """These, and the session's where these say nothing; math.inf lifts one of the session's."""
        given = {name: getattr(self, name) for name in ("max_seconds", "max_tool_calls", "max_cost")}
        return replace(session, **{name: value for name, value in given.items() if value is not None})

    def reached(self, *, calls: int = 0, spent: float = 0.0) -> str | None:
        """Which one was, in words."""
        if self.max_tool_calls is not None and calls > self.max_tool_calls:
            return f"more than {self.max_tool_calls:g} tool call{'s' * (self.max_tool_calls != 1)}"
        if self.max_cost is not None and spent > self.max_cost:
            return f"it cost more than {self.max_cost:g}"
        return None

    @property
    def seconds(self) -> float | None:
        return None if self.max_seconds is None or math.isinf(self.max_seconds) else self.max_seconds


def retries_of(given: Any) -> int:
    """`retry_rate_limits=`: False, True, or how often; raises ValueError."""
    if given is True or given is False:
        return RETRIES if given else 0
    if isinstance(given, int) and 0 <= given <= 100:
        return given
    raise ValueError(f"retry_rate_limits is {given!r}; it can be True, False, or how often (up to 100)")


class Meter:
    """What a turn has cost, of what an agent tells about its session."""

    def __init__(self, before: Cost | None, *, fresh: bool) -> None:
        self._last = before if before is not None else Cost(0.0, "") if fresh else None
        self.spent = 0.0
        self.told = False

    def see(self, cost: Cost) -> None:
        last, self._last, self.told = self._last, cost, True
        if last is None or (last.currency not in ("", cost.currency)):
            return  # it cannot be compared; from here on it can
        # A count that went down began anew: the agent was started again.
        self.spent += cost.amount - last.amount if cost.amount >= last.amount else cost.amount


# ---- rate limits

_SAYS = re.compile(
    r"\brate[ _-]?limit|too many requests|(?:http|status|code|error)\W{0,3}429\b", re.IGNORECASE
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_WAIT = re.compile(
    r"(?:retry|try again|wait|resets?)[^0-9\n]{0,30}([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*"
    r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)\b",
    re.IGNORECASE,
)
_FIELDS = re.compile(r"retry[-_]?after(?:[-_]?(ms|milliseconds|seconds|s))?", re.IGNORECASE)
_CODES = ("status", "statusCode", "status_code", "code", "httpStatus")
DEEP = 4
"""How far an error's data is looked into."""


def rate_limit(text: str, code: int | None = None, data: Json = None) -> tuple[bool, float | None]:
    """Whether this says that a rate limit was met, and how many seconds to wait, if it says so."""
    told = _told(data)
    if code != 429 and not _SAYS.search(text) and not told:
        return False, None
    wait = _field(data)
    return True, wait if wait is not None else _in_words(text) or _in_words(data)


def wait_before(attempt: int, told: float | None) -> float | None:
    """Seconds before this retry (1 is the first); None: the agent asks for too long a wait."""
    if told is not None:
        return told if told <= LONGEST_TOLD_S else None
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))


def _told(data: Json, deep: int = 0) -> bool:
    if isinstance(data, str):
        return _SAYS.search(data[:2000]) is not None
    if not isinstance(data, dict) or deep > DEEP:
        return False
    if any(data.get(name) in (429, "429") for name in _CODES):
        return True
    return any(_told(it, deep + 1) for it in data.values() if isinstance(it, dict | str))


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
