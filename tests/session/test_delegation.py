"""One session is a tool of another: answers, limits, cycles, and how both ends survive each other."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.delegation import MAX_DEPTH, MOST_CALLS
from acp_notebook.core.loaded_transcript import loaded
from acp_notebook.core.snapshot import Question, TurnStart
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.session.helpers import LIMIT_S, begun, pids_of
from tests.waiting import gone, wait_until

Connect = Callable[..., acp.Session]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Connects to the demo agent, each session in a folder of its own."""
    opened: list[acp.Session] = []

    def open_session(**options: Any) -> acp.Session:
        folder = tmp_path / f"folder{len(opened)}"
        folder.mkdir()
        settings: dict[str, Any] = {"tools": True, "permissions": "allow", "cwd": folder}
        opened.append(acp.connect("demo", **(settings | options)))
        return opened[-1]

    yield open_session
    for session in opened:
        session.agent.close()


@pytest.fixture
def writer(connect: Connect) -> acp.Session:
    return connect()


@pytest.fixture
def reviewer(connect: Connect) -> acp.Session:
    return connect()


def refusal(turn: acp.Turn) -> str:
    """What the tool said that failed."""
    (run,) = turn.runs
    assert run.status == "error", run
    return str(run.outputs[-1].message)  # type: ignore[union-attr]


# ---- answers and links ------------------------------------------------------------------------------


def test_an_agent_asks_another_and_both_transcripts_say_so(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    assert writer.tool(reviewer) is reviewer
    writer.prompt("/think")
    turn = writer.prompt("/delegate ask_demo /think")
    assert turn.text == "ask_demo answered:\n\n> I have thought about it."
    (run,) = turn.runs
    assert run.session is not None
    assert (run.session.agent, run.session.turn, run.session.id) == ("demo", 1, reviewer.id)
    (answered,) = reviewer.turns
    assert answered.text == "I have thought about it."
    assert answered.asked_by is not None and turn.asked_by is None
    assert (answered.asked_by.agent, answered.asked_by.turn, answered.asked_by.id) == ("demo", 2, writer.id)
    start = next(it for it in reviewer.transcript.items if isinstance(it, TurnStart))
    assert start.asked_by == answered.asked_by
    assert "**demo, in turn 2**" in reviewer.to_markdown() and "**You**" not in reviewer.to_markdown()
    assert "**Answered by** demo, in its turn 1" in turn.to_markdown()


def test_the_answer_says_which_files_changed_and_what_it_cost(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    writer.tool(reviewer, name="reviewer")
    assert "It changed " in (text := writer.prompt("/delegate reviewer /edit notes.txt Hello").text)
    assert "notes.txt" in text
    assert "It cost 0.5 USD." in writer.prompt("/delegate reviewer /cost 0.5").text


def test_a_picture_in_the_answer_is_a_picture_in_the_result(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    writer.tool(reviewer)
    assert writer.prompt('/kernel ask_demo {"prompt": "/image"}').text.endswith("[image/png]")


def test_a_secret_of_one_session_is_in_no_transcript_audit_or_recording_of_the_other(
    connect: Connect, tmp_path: Path
) -> None:
    """Attack: an agent that found a secret passes it on to a session that does not know it."""
    secret = "correct horse battery staple"
    writer = connect(secrets=[secret])
    reviewer = connect(record=tmp_path / "run.jsonl", audit=tmp_path / "audit.jsonl")
    writer.tool(reviewer)
    turn = writer.prompt(f"/delegate ask_demo /think about {secret}")
    assert "thought about it" in turn.text
    reviewer.agent.close()
    assert "[redacted]" in reviewer.to_markdown()
    files = [it.read_text() for it in tmp_path.glob("*.jsonl")]
    assert len(files) == 2
    assert not [it for it in (str(reviewer._to_bundle()), reviewer.to_markdown(), *files) if secret in it]


def test_saved_transcripts_keep_the_link_without_ids(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer)
    turn = writer.prompt("/delegate ask_demo /think")
    for line in (turn._to_bundle()[TRANSCRIPT_MIME], reviewer._to_bundle()[TRANSCRIPT_MIME][1]):
        items = json.loads(line)["items"]
        sessions = [it.get("asked_by") for it in items]
        sessions += [block.get("session") for it in items for block in it.get("content", ())]
        assert [it for it in sessions if it] and not any({"id", "model"} & set(it) for it in sessions if it)
    start = loaded([reviewer._to_bundle()[TRANSCRIPT_MIME]]).items[0]
    assert isinstance(start, TurnStart) and start.asked_by is not None
    assert (start.asked_by.agent, start.asked_by.turn) == ("demo", 1)


def test_the_tool_is_listed_with_what_it_is(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer, description="Knows the house style.")
    tool = writer.tools["ask_demo"]
    assert tool.session is reviewer and tool.signature == "(prompt: str)"
    assert tool.description.startswith("Knows the house style.") and reviewer.cwd in tool.description
    assert "another session" in repr(writer.tools)


def test_each_session_gets_a_name_of_its_own_and_keeps_it(
    writer: acp.Session, reviewer: acp.Session, connect: Connect
) -> None:
    writer.tool(reviewer)
    writer.tool(reviewer)
    second = connect()
    writer.tool(second)
    assert [it.name for it in writer.tools] == ["ask_demo", "ask_demo_2"]
    reviewer.close()
    third = connect()
    writer.tool(third)
    assert writer.tools["ask_demo"].session is third


def test_two_sessions_of_one_agent_ask_each_other(writer: acp.Session, tmp_path: Path) -> None:
    other = writer.agent.new_session(cwd=tmp_path)
    writer.tool(other)
    assert "I have thought about it." in writer.prompt("/delegate ask_demo /think").text


# ---- what is refused ----------------------------------------------------------------------------------


def test_a_session_is_no_tool_of_itself_and_a_closed_one_of_nobody(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    with pytest.raises(acp.UsageError, match="a tool of itself"):
        writer.tool(writer)
    reviewer.close()
    with pytest.raises(acp.SessionClosed):
        writer.tool(reviewer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_cost": -1}, "max_cost is -1"),
        ({"max_depth": 0}, "max_depth is 0"),
        ({"thread": True}, "thread=True is for functions"),
        ({"name": "no name"}, "cannot be the name of a tool"),
        ({"name": "run_code"}, "one of the kernel's own tools"),
        ({"permission": "always"}, "permission is 'always'"),
        ({"colour": "red"}, "no option 'colour'"),
    ],
)
def test_wrong_options_are_errors_at_once(
    writer: acp.Session, reviewer: acp.Session, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(acp.UsageError, match=message):
        writer.tool(reviewer, **options)


def test_limits_are_no_options_of_functions(writer: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match="max_cost is for sessions"):
        writer.tool(lambda: None, max_cost=1)  # type: ignore[call-overload]


def test_a_cycle_is_refused_and_the_chain_goes_on(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer)
    reviewer.tool(writer)
    turn = writer.prompt("/delegate ask_demo /delegate ask_demo /think")
    assert turn.stop_reason == "end_turn"
    assert "itself waits for an answer of this session" in refusal(reviewer.turns[0])
    assert len(writer.turns) == 1


def test_a_session_that_is_a_tool_everywhere_does_not_ask_itself(writer: acp.Session) -> None:
    acp.tool(writer)
    try:
        assert "it cannot wait for itself" in refusal(writer.prompt("/delegate ask_demo /think"))
    finally:
        acp.tool.remove("ask_demo")


def test_two_sessions_that_would_wait_for_each_other_in_their_queues_do_not(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    asked = threading.Event()
    reviewer.tool(writer, permission=lambda prompt: "allow" if asked.wait(LIMIT_S) else "reject")
    writer.tool(reviewer)
    reviewing = reviewer.start("/delegate ask_demo /think")
    wait_until(lambda: len(reviewing.tool_calls) > 0, "the reviewer asks for permission")
    writing = writer.start("/delegate ask_demo /think")  # waits for the reviewer's own turn
    wait_until(lambda: len(reviewer.queue) == 1, "the prompt of the writer waits")
    asked.set()
    assert "itself waits for an answer" in refusal(reviewing.wait(LIMIT_S))
    assert "I have thought about it." in writing.wait(LIMIT_S).text


def test_a_function_of_the_asked_session_cannot_wait_for_the_one_that_asks(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    errors: list[Exception] = []

    @reviewer.tool(thread=True)
    def look_back() -> None:
        try:
            writer.prompt("/think")
        except acp.UsageError as error:
            errors.append(error)

    writer.tool(reviewer)
    writer.prompt("/delegate ask_demo /call look_back")
    assert "cannot wait for another turn of the same session" in str(errors[0])


def test_a_session_that_a_function_prompts_does_not_ask_back(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    reviewer.tool(writer)

    @writer.tool(thread=True)
    def review() -> str:
        return reviewer.prompt("/delegate ask_demo /think").text

    writer.prompt("/call review")
    assert "itself waits for an answer of this session" in refusal(reviewer.turns[0])


def test_a_chain_has_a_limited_depth(connect: Connect) -> None:
    sessions = [connect() for _ in range(MAX_DEPTH + 2)]
    for session, following in itertools.pairwise(sessions):
        session.tool(following)
    sessions[0].prompt("/delegate ask_demo " * (MAX_DEPTH + 1) + "/think")
    assert [len(it.turns) for it in sessions] == [1] * (MAX_DEPTH + 1) + [0]
    said = refusal(sessions[MAX_DEPTH].turns[0])
    assert f"session number {MAX_DEPTH + 1} in a chain" in said and "max_depth" in said


def test_a_tool_can_be_limited_to_the_first_session_of_a_chain(connect: Connect) -> None:
    first, second, third = (connect() for _ in range(3))
    first.tool(second)
    second.tool(third, max_depth=1)
    first.prompt("/delegate ask_demo /delegate ask_demo /think")
    assert "at most 1 may be asked" in refusal(second.turns[0]) and third.turns == ()


def test_a_flood_of_calls_is_refused_and_the_rest_answered(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    writer.tool(reviewer)
    text = writer.prompt("/flood ask_demo 100 /think").text
    assert f"{MOST_CALLS} calls wait for answers of demo already" in text
    assert "more than 32 calls at once" in text and "I have thought about it." in text
    assert len(reviewer.turns) < 32


def test_an_enormous_prompt_is_refused(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer)
    text = writer.prompt(f"/delegate ask_demo {'x' * 1_100_000}").text
    assert "more than 1,000,000 characters" in text and reviewer.turns == ()


def test_an_enormous_answer_is_shortened(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer)
    text = writer.prompt("/delegate ask_demo /stream 20 1000000").text
    assert "left out" in text and len(text) < 40_000


# ---- limits -------------------------------------------------------------------------------------------


def test_a_cost_limit_of_the_tool_ends_the_inner_turn(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer, max_cost=0.25)
    turn = writer.prompt("/delegate ask_demo /cost 0.1 100 wait")
    assert "demo was stopped by a limit: it cost more than 0.25." in refusal(turn)
    assert "Step 1." in refusal(turn) and turn.stop_reason == "end_turn"
    assert reviewer.turns[0].limit == "it cost more than 0.25"


def test_what_the_inner_turn_costs_counts_for_the_outer_ones_limit(
    writer: acp.Session, reviewer: acp.Session, connect: Connect
) -> None:
    last = connect()
    writer.tool(reviewer)
    reviewer.tool(last)
    turn = writer.prompt("/delegate ask_demo /delegate ask_demo /cost 0.1 100 wait", max_cost=0.25)
    assert turn.limit == "it cost more than 0.25" and turn.stop_reason == "cancelled"
    assert [it.stop_reason for it in (*reviewer.turns, *last.turns)] == ["cancelled", "cancelled"]


def test_a_time_limit_of_the_tool_ends_the_inner_turn(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer, max_seconds=0.2)
    assert "more than 0.2 s" in refusal(writer.prompt("/delegate ask_demo /slow 600"))


def test_a_busy_session_is_waited_for_and_not_for_ever(writer: acp.Session, reviewer: acp.Session) -> None:
    writer.tool(reviewer)
    own = begun(reviewer.start("/slow 600"))
    with timeouts.replaced(asked_queue=0.2):
        assert "was busy with other turns" in refusal(writer.prompt("/delegate ask_demo /think"))
    assert len(reviewer.queue) == 0
    asking = writer.start("/delegate ask_demo /think")
    wait_until(lambda: len(reviewer.queue) == 1, "the prompt waits")
    own.cancel()
    assert "I have thought about it." in asking.wait(LIMIT_S).text


# ---- ends ---------------------------------------------------------------------------------------------


def asked(writer: acp.Session, reviewer: acp.Session, prompt: str) -> tuple[acp.Turn, acp.Turn]:
    """The outer and the inner turn, once the inner one has begun."""
    writer.tool(reviewer)
    outer = writer.start(f"/delegate ask_demo {prompt}")
    wait_until(lambda: len(reviewer.turns) > 0, "the reviewer is asked")
    return outer, begun(reviewer.turns[-1])


def test_cancelling_the_outer_turn_cancels_the_inner_one(writer: acp.Session, reviewer: acp.Session) -> None:
    outer, inner = asked(writer, reviewer, "/slow 600")
    outer.cancel()
    assert outer.wait(LIMIT_S).stop_reason == "cancelled"
    assert inner.wait(LIMIT_S).stop_reason == "cancelled"
    assert "I have thought about it." in writer.prompt("/delegate ask_demo /think").text


def test_cancelling_the_outer_turn_removes_a_prompt_that_waits(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    own = begun(reviewer.start("/slow 600"))
    writer.tool(reviewer)
    outer = writer.start("/delegate ask_demo /think")
    wait_until(lambda: len(reviewer.queue) == 1, "the prompt waits")
    outer.cancel()
    outer.wait(LIMIT_S)
    wait_until(lambda: len(reviewer.queue) == 0, "the prompt is removed")
    assert not own.done
    own.cancel()


def test_an_inner_agent_that_ignores_the_cancel_holds_up_nobody(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    with timeouts.replaced(cancel_grace=0.2, restart_grace=0.2, asked_cancel=10.0):
        outer, inner = asked(writer, reviewer, "/hang")
        outer.cancel()
        outer.wait(LIMIT_S)
        assert inner.wait(LIMIT_S).status == "abandoned"
        assert "I have thought about it." in writer.prompt("/delegate ask_demo /think").text


def test_the_user_can_stop_the_inner_turn_alone(writer: acp.Session, reviewer: acp.Session) -> None:
    outer, inner = asked(writer, reviewer, "/slow 600")
    inner.cancel()
    assert "was stopped by the user" in refusal(outer.wait(LIMIT_S))
    assert outer.stop_reason == "end_turn"


def test_a_dead_inner_agent_is_an_error_and_starts_again_when_asked(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    writer.tool(reviewer)
    assert "demo failed: " in refusal(writer.prompt("/delegate ask_demo /die 3"))
    assert "I have thought about it." in writer.prompt("/delegate ask_demo /think").text


def test_an_error_of_the_inner_agent_is_an_error_of_the_call(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    writer.tool(reviewer)
    assert "out of luck" in refusal(writer.prompt("/delegate ask_demo /error -32000 out of luck"))
    assert "did not finish: max_tokens" in refusal(writer.prompt("/delegate ask_demo /max"))


def test_the_death_of_the_outer_agent_cancels_the_inner_turn(
    writer: acp.Session, reviewer: acp.Session
) -> None:
    pid = pids_of(writer.prompt("/pid"))[0]
    outer, inner = asked(writer, reviewer, "/slow 600")
    os.kill(pid, signal.SIGKILL)
    assert inner.wait(LIMIT_S).stop_reason == "cancelled"
    with pytest.raises(acp.AgentDied):
        outer.wait(LIMIT_S)
    assert gone(pid)


def test_closing_the_inner_session_ends_the_call(writer: acp.Session, reviewer: acp.Session) -> None:
    outer, _ = asked(writer, reviewer, "/slow 600")
    reviewer.close()
    assert "was closed" in refusal(outer.wait(LIMIT_S))
    assert "was closed" in refusal(writer.prompt("/delegate ask_demo /think"))


def test_closing_the_outer_session_cancels_the_inner_turn(writer: acp.Session, reviewer: acp.Session) -> None:
    outer, inner = asked(writer, reviewer, "/slow 600")
    writer.close()
    assert inner.wait(LIMIT_S).stop_reason == "cancelled" and outer.done
    assert reviewer.prompt("/think").text == "I have thought about it."


# ---- permissions --------------------------------------------------------------------------------------


def test_an_allow_for_the_call_covers_nothing_that_the_inner_agent_does(
    writer: acp.Session, connect: Connect, tmp_path: Path
) -> None:
    strict = connect(permissions="reject")
    writer.tool(strict)
    writer.prompt("/delegate ask_demo /edit stolen.txt Hello")
    assert not [*tmp_path.rglob("stolen.txt")]
    question = next(it for it in strict.transcript.items if isinstance(it, Question))
    assert (question.by, question.answer_name) == ("policy", "Reject")
    assert question.who == "demo asks, for demo"


def test_where_nobody_can_be_asked_questions_of_the_inner_agent_are_rejected(
    writer: acp.Session, connect: Connect
) -> None:
    inner = connect(permissions="ask")
    writer.tool(inner, name="reviewer")
    writer.prompt("/delegate reviewer /edit notes.txt Hello")
    question = next(it for it in inner.transcript.items if isinstance(it, Question))
    assert question.status == "answered" and "nobody can be asked" in (question.reason or "")
    assert question.who == "demo (reviewer) asks, for demo"
    assert "— rejected, demo (reviewer) asks, for demo: " in inner.to_text()


def test_the_call_says_while_the_inner_agent_waits_for_an_answer(
    writer: acp.Session, connect: Connect
) -> None:
    answer = threading.Event()
    inner = connect(permissions=lambda _: "allow" if answer.wait(LIMIT_S) else "reject")
    writer.tool(inner)
    turn = writer.start("/delegate ask_demo /edit notes.txt Hello")

    def asks() -> bool:
        return any(it.session is not None and it.session.asks for it in turn.runs)

    wait_until(asks, "the call says that the inner agent asks")
    answer.set()
    turn.wait(LIMIT_S)
    assert not asks()
    assert '"asks"' not in str(turn._to_bundle())


def test_the_call_itself_is_asked_about_with_the_whole_prompt(connect: Connect) -> None:
    seen: list[str] = []

    def policy(request: Any) -> str:
        seen.append(str(request.actions[-1]))
        return "reject"

    writer, reviewer = connect(permissions=policy), connect()
    writer.tool(reviewer)
    assert "Not done" in writer.prompt("/delegate ask_demo /think about it").text
    assert "/think about it" in seen[0] and reviewer.turns == ()
