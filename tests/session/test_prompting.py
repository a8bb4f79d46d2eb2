"""prompt, start, stream and await: the order of turns, and what a turn holds."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core import events as ev
from acp_notebook.core.records import Terminal
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, begun, notices
from tests.waiting import wait_until

FAULTY = Path(__file__).parents[1] / "agents" / "faulty.py"


# ---- the ways to ask ------------------------------------------------------------------------------


def test_prompt_returns_the_turn_when_it_is_over(session: acp.Session) -> None:
    turn = session.prompt("Hello", timeout=LIMIT_S)
    assert turn.done
    assert (turn.status, turn.stop_reason, turn.error) == ("done", "end_turn", None)
    assert turn.text.startswith("You said: “Hello”.")
    assert session.turns == (turn,)
    assert session.status == "idle"


def test_start_returns_immediately_and_wait_returns_the_turn(session: acp.Session) -> None:
    turn = begun(session.start("/slow 600"))
    assert (turn.done, turn.status, turn.stop_reason, turn.error) == (False, "running", None, None)
    assert session.status == "working"
    turn.cancel()
    assert turn.wait(LIMIT_S) is turn


def test_wait_with_a_timeout_raises_and_the_turn_continues(session: acp.Session) -> None:
    turn = begun(session.start("/slow 600"))
    with pytest.raises(acp.Timeout, match=r"still running after 0\.01 s"):
        turn.wait(0.01)
    assert turn.status == "running"


def test_prompt_with_a_timeout_cancels_the_turn_and_says_so(session: acp.Session) -> None:
    with pytest.raises(acp.Timeout, match=r"took longer than 0\.01 s and was cancelled"):
        session.prompt("/slow 600", timeout=0.01)
    assert session.turns[-1].stop_reason == "cancelled"
    assert session.prompt("again", timeout=LIMIT_S).stop_reason == "end_turn"


def test_stream_yields_every_event_of_the_turn(session: acp.Session) -> None:
    events = list(session.stream("/tools 2"))
    assert isinstance(events[0], ev.TurnStarted)
    assert isinstance(events[-1], ev.TurnEnded)
    assert sum(isinstance(event, ev.ToolChanged) and event.created for event in events) == 2
    text = "".join(
        event.content.text
        for event in events
        if isinstance(event, ev.MessageChunk) and isinstance(event.content, acp.Text)
    )
    assert text == session.turns[-1].text == "Made 2 tool calls."


def test_leaving_a_stream_early_cancels_its_turn(session: acp.Session) -> None:
    for event in session.stream("/slow 600"):
        if isinstance(event, ev.MessageChunk):
            break
    assert session.turns[-1].wait(LIMIT_S).stop_reason == "cancelled"


def test_a_stream_starts_when_created_not_when_read(session: acp.Session) -> None:
    events = session.stream("first")
    second = session.prompt("second", timeout=LIMIT_S)
    first = session.turns[0]
    assert first.done
    assert session.turns == (first, second)
    assert isinstance(list(events)[-1], ev.TurnEnded)


def test_a_stream_ends_with_the_error_that_its_turn_failed_with(session: acp.Session) -> None:
    with pytest.raises(acp.AgentError, match="no good") as caught:
        list(session.stream("/error 7 no good"))
    assert caught.value.code == 7


def test_several_turns_can_be_awaited_at_once(demo: Demo) -> None:
    first = demo()
    second = first.agent.new_session()

    async def both() -> list[acp.Turn]:
        return await asyncio.gather(*map(waited, (first.start("one"), second.start("two"))))

    async def waited(turn: acp.Turn) -> acp.Turn:
        return await asyncio.wait_for(turn, LIMIT_S)

    one, two = asyncio.run(both())
    assert "one" in one.text
    assert "two" in two.text


def test_cancelling_an_await_cancels_the_turn(session: acp.Session) -> None:
    async def impatient() -> acp.Turn:
        turn = session.start("/slow 600")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turn, 0.01)
        return turn

    assert asyncio.run(impatient()).wait(LIMIT_S).stop_reason == "cancelled"


def test_awaiting_a_turn_that_failed_raises_its_error(session: acp.Session) -> None:
    async def failing() -> acp.Turn:
        return await session.start("/error 9 broken")

    with pytest.raises(acp.AgentError, match="broken"):
        asyncio.run(failing())


# ---- order ----------------------------------------------------------------------------------------


def test_turns_run_one_after_the_other_in_the_order_of_their_start(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    later = [session.start(f"number {n}") for n in range(5)]
    assert [turn.status for turn in later] == ["queued"] * 5
    running.cancel()
    for turn in later:
        turn.wait(LIMIT_S)
    said = [item for item in session.transcript.items if item.key == item.turn]
    assert [item.text for item in said[1:]] == [f"number {n}" for n in range(5)]  # type: ignore[union-attr]


def test_prompts_from_several_threads_each_get_their_own_answer(demo: Demo) -> None:
    session = demo(undo=False)  # many turns: each would wait for its checkpoints

    def ask(number: int) -> str:
        return session.prompt(f"thread {number}!", timeout=LIMIT_S).text

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))
    for number, answer in enumerate(answers):
        assert f"“thread {number}!”" in answer


def test_session_turns_are_in_the_order_in_which_they_ran(demo: Demo) -> None:
    session = demo(undo=False)
    gate = threading.Barrier(8)

    def ask(_: int) -> None:
        gate.wait(LIMIT_S)
        for _ in range(5):
            session.start("x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    for turn in session.turns:
        turn.wait(LIMIT_S)
    numbers = [turn.items[0].number for turn in session.turns]  # type: ignore[union-attr]
    assert numbers == list(range(1, 41))


# ---- what a turn holds ----------------------------------------------------------------------------


def test_text_and_thoughts_are_kept_apart(session: acp.Session) -> None:
    turn = session.prompt("/think deep thoughts", timeout=LIMIT_S)
    assert (turn.thoughts, turn.text) == ("deep thoughts", "I have thought about it.")


def test_tool_calls_say_what_was_done(session: acp.Session) -> None:
    first, second = session.prompt("/tools 2", timeout=LIMIT_S).tool_calls
    assert (first.title, first.kind, first.status) == ("Read part 1", "read", "completed")
    assert (second.raw_input, second.raw_output) == ({"part": 2}, {"lines": 2})
    assert second.text == "The text of part 2."
    assert first.id != second.id


def test_a_tool_call_left_open_is_closed_with_the_turn(session: acp.Session) -> None:
    (call,) = session.prompt("/unfinished", timeout=LIMIT_S).tool_calls
    assert call.status == "unfinished"


def test_the_plan_is_the_newest(session: acp.Session) -> None:
    plan = session.prompt("/plan", timeout=LIMIT_S).plan
    assert plan is not None
    assert [entry.status for entry in plan.entries] == ["completed"] * 3
    assert session.prompt("no plan", timeout=LIMIT_S).plan is None


def test_diffs_and_files_say_what_was_changed(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path, permissions="allow")
    turn = session.prompt("/edit notes.txt hello", timeout=LIMIT_S)
    path = tmp_path / "notes.txt"
    (diff,) = turn.diffs
    assert (diff.path, diff.old_text, diff.new_text) == (str(path), None, "hello\n")
    assert turn.files == (str(path),)
    assert path.read_text() == "hello\n"


def test_reading_changes_no_file(session: acp.Session) -> None:
    assert session.prompt("/tools", timeout=LIMIT_S).files == ()


def test_a_refusal_says_that_the_prompt_was_dropped(demo: Demo) -> None:
    session = demo()
    session.prompt("/refuse", timeout=LIMIT_S)
    assert "dropped this prompt and what followed" in session.to_text()


@pytest.mark.parametrize(("command", "reason"), [("/refuse", "refusal"), ("/max", "max_tokens")])
def test_other_stop_reasons_are_not_errors(session: acp.Session, command: str, reason: str) -> None:
    turn = session.prompt(command, timeout=LIMIT_S)
    assert (turn.status, turn.stop_reason) == ("done", reason)


def test_an_error_of_the_agent_is_raised_kept_and_shown(session: acp.Session) -> None:
    with pytest.raises(acp.AgentError, match="overloaded") as caught:
        session.prompt("/error 429 overloaded", timeout=LIMIT_S)
    turn = session.turns[-1]
    assert turn.error is caught.value
    assert (turn.status, turn.stop_reason, turn.done) == ("failed", None, True)
    assert "overloaded" in turn.to_text()
    assert session.prompt("and now?", timeout=LIMIT_S).stop_reason == "end_turn"


def test_session_usage_title_and_commands_are_the_latest(session: acp.Session) -> None:
    session.prompt("/usage", timeout=LIMIT_S)
    session.prompt("/title A good name", timeout=LIMIT_S)
    assert session.usage is not None
    assert (session.usage.used, session.usage.size) == (12_345, 200_000)
    assert session.title == "A good name"
    assert "tour" in {command.name for command in session.commands}


# ---- what can be sent -----------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [(), ("",), ("  \n",), ("", " ")])
def test_an_empty_prompt_is_a_usage_error_without_a_turn(
    session: acp.Session, parts: tuple[str, ...]
) -> None:
    for ask in (session.prompt, session.start, session.stream):
        with pytest.raises(acp.UsageError, match="empty"):
            ask(*parts)
    assert session.turns == ()


def test_an_object_that_cannot_be_sent_is_named(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match="a Terminal cannot be sent"):
        session.start("look at", Terminal("t"))
    assert session.turns == ()


def test_content_that_cannot_be_encoded_fails_only_its_turn(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match="cannot be sent"):
        session.prompt("see", acp.Image(object(), "image/png"), timeout=LIMIT_S)  # type: ignore[arg-type]
    assert session.turns[-1].status == "failed"
    assert session.status == "idle"
    assert session.prompt("still there?", timeout=LIMIT_S).stop_reason == "end_turn"


def test_lone_surrogates_are_replaced_not_fatal(session: acp.Session) -> None:
    turn = session.prompt("caf\udce9", acp.Text("\ud83d"), Path("na\udcefve.txt"), timeout=LIMIT_S)
    assert turn.stop_reason == "end_turn"
    assert "caf" in turn.text
    session.to_html().encode()


def test_a_path_without_a_file_becomes_a_link(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path)
    turn = session.prompt("see", Path("a b.csv"), Path("/usr"), timeout=LIMIT_S)
    assert f"link to {(tmp_path / 'a b.csv').as_uri()} (a b.csv)" in turn.text
    assert "link to file:///usr (usr)" in turn.text


def test_an_image_is_sent_to_an_agent_that_accepts_images(session: acp.Session) -> None:
    turn = session.prompt("see", acp.Image("AAAA", "image/png"), timeout=LIMIT_S)
    assert "image of image/png, 3 bytes" in turn.text
    assert notices(session) == []


def test_an_image_is_visibly_left_out_for_other_agents() -> None:
    with acp.connect([sys.executable, str(FAULTY)]) as session:
        turn = session.prompt("42", acp.Image("AAAA", "image/png"), timeout=LIMIT_S)
        assert turn.text == "before after"
        assert "left out" in session.to_text()
        assert any("image (image/png): left out" in notice for notice in notices(session))


# ---- looks ----------------------------------------------------------------------------------------


def test_reprs_say_what_matters_in_one_line(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path)
    assert repr(session) == f"<Session demo · idle · 0 turns · {tmp_path}>"
    turn = session.prompt("/tools 1", timeout=LIMIT_S)
    assert repr(turn) == "<Turn done: end_turn · 1 tool call · 'Made 1 tool calls.'>"
    assert repr(session) == f"<Session demo · idle · 1 turn · {tmp_path}>"
    assert repr(session.agent) == f"<Agent demo 1.0 · pid {session.agent.pid} · 1 open>"
    session.close()
    assert repr(session.agent) == f"<Agent demo 1.0 · pid {session.agent.pid} · closed>"
    assert " · closed · " in repr(session)


def test_reprs_of_unfinished_turns_say_so(session: acp.Session) -> None:
    running, queued = begun(session.start("/hang")), session.start("later")
    assert repr(running) == "<Turn running · 'I hang.'>"
    assert repr(queued) == "<Turn queued>"


def test_sessions_and_turns_export_text_markdown_and_html(session: acp.Session) -> None:
    turn = session.prompt("/think so & so", timeout=LIMIT_S)
    for shown in (session, turn):
        assert "I have thought about it." in shown.to_text()
        assert "I have thought about it." in shown._repr_markdown_()
        assert "so &amp; so" in shown._repr_html_()
        assert shown._repr_html_() == shown.to_html()


def test_a_turn_exports_only_itself(session: acp.Session) -> None:
    first, second = session.prompt("one", timeout=LIMIT_S), session.prompt("two", timeout=LIMIT_S)
    assert "“two”" not in first.to_text()
    assert "“one”" not in second.to_text()
    assert session.to_text().index("“one”") < session.to_text().index("“two”")


def test_the_running_agent_has_its_name_and_version(session: acp.Session) -> None:
    agent = session.agent
    assert (agent.name, agent.title, agent.version) == ("demo", "Demo agent", "1.0")
    assert agent.capabilities.image
    assert not agent.capabilities.load
    session.prompt("/stderr 64", timeout=LIMIT_S)
    wait_until(lambda: "stderr line" in agent.stderr, "what it wrote there is read", LIMIT_S)
