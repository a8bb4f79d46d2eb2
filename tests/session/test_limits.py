"""Turn limits stop a turn with a reason; rate limits of an agent are waited out or reported."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.snapshot import TurnStart
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, begun, notices
from tests.waiting import wait_until


def start_of(turn: acp.Turn) -> TurnStart:
    start = turn.items[0]
    assert isinstance(start, TurnStart)
    return start


def test_too_many_tool_calls_stop_the_turn_with_that_reason(session: acp.Session) -> None:
    turn = session.prompt("/tools 21 wait", max_tool_calls=20, timeout=LIMIT_S)
    assert (turn.limit, turn.stop_reason, turn.status) == ("more than 20 tool calls", "cancelled", "done")
    assert "The turn was stopped: more than 20 tool calls" in turn.to_text()
    assert session.audit.where(kind="limit")[0].target == "more than 20 tool calls"
    assert session.prompt("/tools 20", max_tool_calls=20, timeout=LIMIT_S).limit is None


def test_exceeding_the_time_stops_the_turn(session: acp.Session) -> None:
    turn = session.prompt("/slow 600", max_seconds=0.2, timeout=LIMIT_S)
    assert (turn.limit, turn.stop_reason) == ("more than 0.2 s", "cancelled")
    quick = session.prompt("hello", max_seconds=60, timeout=LIMIT_S)
    assert (quick.limit, quick.stop_reason) == (None, "end_turn")


def test_exceeding_the_cost_stops_the_turn_and_each_turn_counts_alone(session: acp.Session) -> None:
    turn = session.prompt("/cost 0.1 4 wait", max_cost=0.35, timeout=LIMIT_S)
    assert (turn.limit, turn.stop_reason) == ("it cost more than 0.35", "cancelled")
    assert session.prompt("/cost 0.1 3", max_cost=0.35, timeout=LIMIT_S).limit is None
    assert notices(session) == []


def test_an_agent_that_reports_no_cost_is_noted_once(session: acp.Session) -> None:
    session.prompt("hello", max_cost=1, timeout=LIMIT_S)
    session.prompt("hello", max_cost=1, timeout=LIMIT_S)
    wait_until(lambda: notices(session) != [], "a notice says so", LIMIT_S)
    assert notices(session) == ["max_cost has no effect: the agent does not report the cost of its turns"]


def test_the_sessions_limits_apply_to_turns_without_their_own(demo: Demo) -> None:
    session = demo(permissions="allow", max_tool_calls=2)
    assert session.prompt("/tools 3 wait", timeout=LIMIT_S).limit == "more than 2 tool calls"
    assert session.prompt("/tools 5", max_tool_calls=math.inf, timeout=LIMIT_S).limit is None
    (*_, last) = session.stream("/tools 3 wait")
    assert isinstance(last, acp.events.TurnEnded)
    assert session.turns[-1].limit == "more than 2 tool calls"


def test_a_turn_that_ignores_a_limit_is_abandoned_with_the_reason(session: acp.Session) -> None:
    timeouts.replace(cancel_grace=0.1)
    turn = session.start("/hang", max_seconds=0.1)
    turn.wait(LIMIT_S)
    assert (turn.status, turn.limit) == ("abandoned", "more than 0.1 s")
    assert "The turn was stopped: more than 0.1 s" in turn.to_text()


def test_the_queue_continues_after_a_limit(session: acp.Session) -> None:
    stopped, after = session.start("/slow 600", max_seconds=0.1), session.start("after")
    assert stopped.wait(LIMIT_S).limit == "more than 0.1 s"
    assert "after" in after.wait(LIMIT_S).text


def test_a_turn_stopped_by_the_user_has_reached_no_limit(session: acp.Session) -> None:
    turn = begun(session.start("/slow 600", max_seconds=600))
    turn.cancel()
    assert (turn.wait(LIMIT_S).stop_reason, turn.limit) == ("cancelled", None)


@pytest.mark.parametrize("option", [{"max_seconds": 0}, {"max_tool_calls": -1}, {"max_cost": "1"}])
def test_an_invalid_limit_is_refused(session: acp.Session, option: dict[str, Any]) -> None:
    with pytest.raises(acp.UsageError, match="a number above 0"):
        session.prompt("hello", **option)
    with pytest.raises(acp.UsageError, match="a number above 0"):
        acp.connect("demo", **option)
    with pytest.raises(acp.UsageError, match="retry_rate_limits"):
        acp.connect("demo", retry_rate_limits=-1)


# ---- rate limits --------------------------------------------------------------------------------


def test_a_rate_limit_fails_the_turn_and_is_shown_with_its_wait(session: acp.Session) -> None:
    turn = session.start("/ratelimit 20")
    with pytest.raises(acp.AgentError, match="rate limit exceeded"):
        turn.wait(LIMIT_S)
    limit = start_of(turn).rate_limit
    assert limit is not None
    assert (limit["wait"], limit["attempt"], limit["until"] > 0) == (20, 0, True)
    assert session.prompt("/ratelimit 20", timeout=LIMIT_S).text == "It went through."


def test_a_rate_limited_prompt_is_retried_only_on_request(demo: Demo) -> None:
    session = demo(retry_rate_limits=2)
    turn = session.prompt("/ratelimit 0 2", timeout=LIMIT_S)
    assert (turn.text, turn.status, start_of(turn).rate_limit) == ("It went through.", "done", None)
    with pytest.raises(acp.AgentError, match="rate limit"):
        session.prompt("/ratelimit 0 9", timeout=LIMIT_S)


def test_a_wait_can_be_stopped_at_once(demo: Demo) -> None:
    session = demo(retry_rate_limits=True)
    turn = session.start("/ratelimit 500")
    wait_until(lambda: bool(turn.items) and start_of(turn).rate_limit is not None, "it waits", LIMIT_S)
    limit = start_of(turn).rate_limit
    assert limit is not None
    assert (limit["attempt"], limit["of"], limit["wait"]) == (1, 5, 500)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert session.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"


def test_a_wait_ends_with_the_time_for_the_turn_and_with_the_agent(demo: Demo) -> None:
    session = demo(retry_rate_limits=True, max_seconds=0.3)
    turn = session.prompt("/ratelimit 500", timeout=LIMIT_S)
    assert (turn.limit, turn.stop_reason) == ("more than 0.3 s", "cancelled")
    other = session.start("/ratelimit 500 9", max_seconds=600)
    wait_until(lambda: bool(other.items) and start_of(other).rate_limit is not None, "it waits", LIMIT_S)
    session.close()
    assert other.wait(LIMIT_S).stop_reason == "cancelled"


def test_a_wait_that_is_too_long_is_left_to_the_user(demo: Demo) -> None:
    session = demo(retry_rate_limits=True)
    with pytest.raises(acp.AgentError, match="rate limit"):
        session.prompt("/ratelimit 4000", timeout=LIMIT_S)


def test_a_rate_limit_notice_ends_when_the_turn_continues(session: acp.Session) -> None:
    seen: list[Any] = []
    session._loop.post(session._conversation.state.listen, lambda event, _: seen.append(event))
    turn = session.prompt("/throttled 20", timeout=LIMIT_S)
    over = acp.events.RateLimitOver()
    wait_until(lambda: over in seen, "it goes on", LIMIT_S)
    (limited,) = (it for it in seen if isinstance(it, acp.events.RateLimited))
    assert (limited.reason, limited.wait) == ("Rate limit reached", 20)
    assert seen.index(limited) < seen.index(over)
    assert start_of(turn).rate_limit is None


def test_earlier_costs_of_a_session_do_not_count_for_the_next_turn(demo: Demo, tmp_path: Path) -> None:
    """Also after a restart: an agent's first cost may include earlier turns."""
    session = demo(env={"ACP_DEMO_HOME": str(tmp_path)})
    session.prompt("hello", timeout=LIMIT_S)
    kept = session.agent.new_session()
    kept.prompt("hello", timeout=LIMIT_S)
    kept.close()
    opened = [session.fork(), session.agent.load(kept.id)]
    assert [it._conversation.state.fresh for it in (session, *opened)] == [True, False, False]
    with pytest.raises(acp.AgentDied):
        session.prompt("/die", timeout=LIMIT_S)
    for each in (session, *opened):
        each.prompt("hello", timeout=LIMIT_S)
    assert [it._conversation.state.fresh for it in (session, *opened)] == [True, False, False]


def test_a_turn_knows_its_time_and_its_cost(session: acp.Session) -> None:
    free = session.prompt("hello", timeout=LIMIT_S)
    assert free.seconds is not None and 0 <= free.seconds < LIMIT_S
    assert free.cost is None  # the agent reported none
    slow = session.start("/slow 600")
    begun(slow)
    assert (slow.seconds, slow.cost) == (None, None)
    slow.cancel()
    assert slow.wait(LIMIT_S).seconds is not None


def test_the_cost_of_a_turn_is_what_the_session_cost_more_at_its_end(session: acp.Session) -> None:
    first, second = (session.prompt("/usage", timeout=LIMIT_S) for _ in range(2))
    assert session.usage is not None and session.usage.cost is not None
    assert first.cost == session.usage.cost
    assert second.cost is not None and second.cost.amount == 0  # the demo agent reports the same sum again


def test_times_are_not_in_the_file(session: acp.Session) -> None:
    session.prompt("hello", timeout=LIMIT_S)
    (saved,) = (it for name, it in session._to_bundle().items() if name.endswith("transcript+json"))
    assert "seconds" not in saved["items"][0]
    assert start_of(session.turns[0]).seconds is not None
    assert "seconds" not in repr(start_of(session.turns[0]))
