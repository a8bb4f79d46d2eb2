"""Totals, and one backoff for all runs of an agent."""

from __future__ import annotations

import pytest

from acp_notebook.core.fan_out.budget import Backoff, Totals


def test_totals() -> None:
    totals = Totals(cost=1.0, seconds=60, tool_calls=5)
    assert totals.reached({"USD": 0.9}, 4, 59) is None
    assert totals.reached({"USD": 0.5, "EUR": 0.5}, 0, 0) == "max_total_cost=1 is used up"
    assert totals.reached({}, 5, 0) == "max_total_tool_calls=5 is used up"
    assert totals.reached({}, 0, 60) == "max_total_seconds=60 is used up"
    assert Totals().reached({"USD": 1e9}, 10**9, 1e9) is None
    with pytest.raises(ValueError, match="max_total_cost is -1"):
        Totals(cost=-1)


def test_one_wait_for_all_runs_of_an_agent() -> None:
    backoff = Backoff()
    assert backoff.limited("a", None, 0.0) == 2.0
    assert backoff.limited("a", None, 1.0) == 1.0, "a run that was on its way is no second strike"
    assert (backoff.wait("a", 1.0), backoff.wait("b", 1.0), backoff.soonest(1.0)) == (1.0, 0.0, 1.0)
    assert backoff.limited("a", None, 3.0) == 4.0
    backoff.succeeded("a")
    assert backoff.limited("a", None, 100.0) == 2.0


def test_an_agent_states_its_own_wait_and_too_long_a_one_is_no_use() -> None:
    assert Backoff().limited("a", 30.0, 0.0) == 30.0
    assert Backoff().limited("a", 10_000.0, 0.0) is None


def test_it_gives_up_in_the_end() -> None:
    backoff, now = Backoff(), 0.0
    waits = []
    while (wait := backoff.limited("a", None, now)) is not None:
        waits.append(wait)
        now += wait + 1
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0]
