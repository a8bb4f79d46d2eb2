"""The limits of a turn, and rate limits that agents report."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.limits import Limits, Meter, cost_between, rate_limit, retries_of, wait_before
from acp_notebook.core.records import Cost
from tests.core.strategies import json_values


def test_a_turn_has_its_own_limits_or_the_sessions() -> None:
    session = Limits(60, 20, 0.5, retries=3)
    assert Limits().within(session) == session
    assert Limits(max_tool_calls=2, max_cost=math.inf).within(session) == Limits(60, 2, math.inf, 3)
    assert Limits(math.inf).within(session).seconds is None


@pytest.mark.parametrize(
    ("limits", "calls", "spent", "why"),
    [
        (Limits(), 999, 999.0, None),
        (Limits(max_tool_calls=20), 20, 0, None),
        (Limits(max_tool_calls=20), 21, 0, "more than 20 tool calls"),
        (Limits(max_tool_calls=1), 2, 0, "more than 1 tool call"),
        (Limits(max_cost=0.5), 0, 0.5, None),
        (Limits(max_cost=0.5), 0, 0.51, "it cost more than 0.5"),
        (Limits(max_cost=math.inf), 0, 1e9, None),
    ],
)
def test_exceeded_limits(limits: Limits, calls: int, spent: float, why: str | None) -> None:
    assert limits.reached(calls=calls, spent=spent) == why


@pytest.mark.parametrize("value", [0, -1, "5", True, math.nan])
@pytest.mark.parametrize("name", ["max_seconds", "max_tool_calls", "max_cost"])
def test_an_invalid_limit_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is"):
        Limits(**{name: value})


def test_the_number_of_retries() -> None:
    assert [retries_of(it) for it in (False, True, 0, 3)] == [0, 5, 0, 3]
    for wrong in (-1, 101, "3", None, 1.5):
        with pytest.raises(ValueError, match="retry_rate_limits"):
            retries_of(wrong)


@pytest.mark.parametrize(
    ("before", "fresh", "reported", "spent"),
    [
        (None, True, [0.1, 0.3], 0.3),
        (None, False, [5.0, 5.2], 0.2),
        (1.0, False, [1.0, 1.5], 0.5),
        (1.0, False, [0.25], 0.25),  # it started counting from zero
        (1.0, True, [], 0.0),
    ],
)
def test_what_a_turn_has_cost(before: float | None, fresh: bool, reported: list[float], spent: float) -> None:
    meter = Meter(None if before is None else Cost(before, "USD"), fresh=fresh)
    for amount in reported:
        meter.see(Cost(amount, "USD"))
    assert (round(meter.spent, 6), meter.has_cost) == (spent, bool(reported))


USD = [Cost(amount, "USD") for amount in (0.0, 0.01, 0.03)]


@pytest.mark.parametrize(
    ("before", "after", "fresh", "cost"),
    [
        (USD[1], USD[2], False, Cost(0.02, "USD")),
        (None, USD[2], True, USD[2]),
        (USD[1], USD[1], True, USD[0]),
        (None, USD[2], False, None),  # nobody knows what was spent before
        (USD[1], None, False, None),
        (None, None, True, None),
        (USD[2], USD[1], False, None),  # it started counting from zero
        (USD[1], Cost(5, "EUR"), False, None),
    ],
)
def test_the_cost_between_two_reports_is_known_or_left_out(
    before: Cost | None, after: Cost | None, fresh: bool, cost: Cost | None
) -> None:
    assert cost_between(before, after, fresh=fresh) == cost


def test_currencies_are_not_compared() -> None:
    meter = Meter(Cost(1, "USD"), fresh=False)
    meter.see(Cost(100, "credits"))
    meter.see(Cost(103, "credits"))
    assert meter.spent == 3


@pytest.mark.parametrize(
    ("text", "code", "data", "wait"),
    [
        ("Rate limit exceeded", None, None, None),
        ("session/prompt: rate_limit_error, try again in 20 s", -32603, None, 20),
        ("Too Many Requests; retry after 1.5 minutes", None, None, 90),
        ("HTTP 429: wait 250 ms", None, None, 0.25),
        ("Internal error", 429, None, None),
        ("Internal error", -32603, {"status": 429, "headers": {"Retry-After": "7"}}, 7),
        ("Internal error", -32603, {"error": {"type": "rate_limit_error"}, "retryAfter": 3}, 3),
        ("Internal error", -32603, {"statusCode": "429", "retry_after_ms": 1500}, 1.5),
        ("Internal error", -32603, "API Error: rate limit, please retry in 2 hours", 7200),
        ("rate limited", None, {"retry-after": "Wed, 21 Oct 2026"}, None),
        ("rate limited", None, {"retryAfter": -5}, None),
    ],
)
def test_errors_that_report_a_rate_limit(text: str, code: int | None, data: Any, wait: float | None) -> None:
    assert rate_limit(text, code, data) == (True, wait)


@pytest.mark.parametrize(
    ("text", "code", "data"),
    [
        ("Internal error", -32603, None),
        ("failed on line 429", -32603, {"line": 429}),
        ("separate limits", None, {"details": "no such file"}),
        ("", None, [429]),
    ],
)
def test_errors_that_report_no_rate_limit(text: str, code: int | None, data: Any) -> None:
    assert rate_limit(text, code, data) == (False, None)


@given(
    st.text(max_size=50), json_values, st.recursive(json_values, lambda it: st.dictionaries(st.text(), it))
)
def test_any_error_can_be_checked_for_a_rate_limit(text: str, code: Any, data: Any) -> None:
    met, wait = rate_limit(text, code, data)
    assert wait is None or (met and wait >= 0)


def test_waits_grow_and_are_bounded() -> None:
    assert [wait_before(n, None) for n in (1, 2, 3, 9)] == [2, 4, 8, 60]
    assert (wait_before(1, 20), wait_before(1, 601)) == (20, None)
