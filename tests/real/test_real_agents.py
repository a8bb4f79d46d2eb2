"""Real agents: everything that they say, ask and do arrives, and they end on request."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Item, Message, Notice, Question, ToolCall, TurnStart
from tests.agents.mock_model import fail, say, script, talk, use
from tests.real.conftest import Starter
from tests.waiting import gone, wait_until

pytestmark = pytest.mark.real_agent

LIMIT_S = 120.0
"""The timeout of a turn that takes one to five seconds, on a machine twenty times slower."""

TODOS = [
    {"content": "Look", "activeForm": "Looking", "status": "completed"},
    {"content": "Leap", "activeForm": "Leaping", "status": "in_progress"},
]


def write(agent: Starter, path: Path, content: str = "one\ntwo\n") -> str:
    return script(agent.write(path, content), say("written"))


def family(pid: int | None) -> set[int]:
    """The process and everything it started: those with its mark in their environment."""
    mark = next(it for it in _environment(str(pid)) if it.startswith(b"ACP_NOTEBOOK_AGENT="))
    return {int(it) for it in os.listdir("/proc") if it.isdigit() and mark in _environment(it)}


def _environment(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # gone, or not ours


def prompts(items: tuple[Item, ...]) -> list[str]:
    return [item.text for item in items if isinstance(item, TurnStart)]


def answers(items: tuple[Item, ...]) -> list[str]:
    return [item.text for item in items if isinstance(item, Message) and item.role == "agent"]


# ---- claude-code-acp: what a turn shows --------------------------------------------------------------


def test_claude_introduces_itself_and_answers(claude: Starter) -> None:
    session = claude()
    assert (session.agent.name, session.agent.version) == ("claude-code-acp", "0.16.2")
    assert session.agent.capabilities.load
    turn = session.prompt(script(say("Hello.")), timeout=LIMIT_S)
    assert (turn.text, turn.stop_reason, turn.thoughts, turn.tool_calls) == ("Hello.", "end_turn", "", ())
    wait_until(lambda: "compact" in {command.name for command in session.commands}, "its commands are known")


def test_claude_starts_in_a_kernel_that_was_opened_from_claude_code(
    claude: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    session = claude(inherit_env=["CLAUDECODE"])
    assert session.prompt(script(say("Hello.")), timeout=LIMIT_S).text == "Hello."


def test_claude_shows_thoughts_apart_from_the_text(claude: Starter) -> None:
    turn = claude().prompt(script(say("Yes.", thought="Let me see.")), timeout=LIMIT_S)
    assert (turn.thoughts, turn.text) == ("Let me see.", "Yes.")


def test_claude_shows_its_todo_list_as_a_plan(claude: Starter) -> None:
    turn = claude().prompt(script(use("TodoWrite", {"todos": TODOS}), say("planned")), timeout=LIMIT_S)
    assert turn.plan is not None
    assert [(it.content, it.status) for it in turn.plan.entries] == [
        ("Look", "completed"),
        ("Leap", "in_progress"),
    ]
    assert turn.text == "planned"


def test_claude_writes_a_file_when_allowed_and_shows_the_diff(claude: Starter) -> None:
    session, path = claude(permissions="allow"), claude.cwd / "new.txt"
    turn = session.prompt(write(claude, path), timeout=LIMIT_S)
    assert path.read_text() == "one\ntwo\n"
    (call,) = turn.tool_calls
    assert (call.title, call.kind, call.status) == (f"Write {path}", "edit", "completed")
    assert [it.path for it in call.locations] == [str(path)]
    assert call.raw_input == {"file_path": str(path), "content": "one\ntwo\n"}
    (diff,) = turn.diffs
    assert (diff.path, diff.old_text, diff.new_text) == (str(path), None, "one\ntwo\n")
    assert turn.files == (str(path),)
    (question,) = (it for it in turn.items if isinstance(it, Question))
    assert (question.status, question.answer, question.by) == ("answered", "allow", "policy")
    assert turn.text == "written"


def test_claude_does_not_write_a_file_when_rejected(claude: Starter) -> None:
    session, path = claude(permissions="reject"), claude.cwd / "new.txt"
    turn = session.prompt(write(claude, path), timeout=LIMIT_S)
    assert not path.exists()
    assert [it.status for it in turn.tool_calls] == ["rejected"]
    assert turn.stop_reason == "end_turn"
    assert session.prompt(script(say("Still here.")), timeout=LIMIT_S).text == "Still here."


def test_a_policy_function_sees_what_claude_asks_and_decides(claude: Starter) -> None:
    wanted, unwanted = claude.cwd / "wanted.txt", claude.cwd / "unwanted.txt"
    seen: list[acp.PermissionRequest] = []

    def policy(request: acp.PermissionRequest) -> str:
        seen.append(request)
        return "reject" if "unwanted" in request.tool.title else "allow"

    session = claude(permissions=policy)
    session.prompt(write(claude, wanted), timeout=LIMIT_S)
    session.prompt(write(claude, unwanted), timeout=LIMIT_S)
    assert (wanted.exists(), unwanted.exists()) == (True, False)
    assert [it.tool.raw_input["file_path"] for it in seen] == [str(wanted), str(unwanted)]
    assert [it.kind for it in seen] == ["edit", "edit"]
    assert [it.kind for it in seen[0].options] == ["allow_always", "allow_once", "reject_once"]


def test_a_mode_stays_and_we_ask_what_claude_no_longer_asks(claude: Starter) -> None:
    asked: list[acp.PermissionRequest] = []

    def policy(request: acp.PermissionRequest) -> str:
        asked.append(request)
        return "allow"

    session, path = claude(permissions=policy), claude.cwd / "new.txt"
    assert session.mode == "default"
    session.mode = "acceptEdits"
    assert session.mode == "acceptEdits"
    session.prompt(write(claude, path), timeout=LIMIT_S)
    assert path.exists()
    assert [(it.kind, it.tool.unprompted) for it in asked] == [("edit", True)]
    with pytest.raises(acp.UsageError, match="acceptEdits, plan"):
        session.mode = "no such mode"


def test_an_error_of_the_model_fails_the_turn_and_only_the_turn(claude: Starter) -> None:
    session = claude()
    with pytest.raises(acp.AgentError, match="the model is unwell"):
        session.prompt(script(fail(400, "the model is unwell")), timeout=LIMIT_S)
    assert session.turns[-1].status == "failed"
    assert "the model is unwell" in session.turns[-1].to_text()
    assert session.prompt(script(say("Better.")), timeout=LIMIT_S).text == "Better."


# ---- claude-code-acp: cancelling --------------------------------------------------------------------


def test_cancel_ends_claude_in_mid_sentence_and_the_next_prompt_is_answered(claude: Starter) -> None:
    session = claude()
    pid = session.agent.pid
    turn = session.start(script(talk()))
    wait_until(lambda: "word3 " in turn.text, "it talks", LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert session.status == "idle"
    after = session.prompt(script(say("Again {prompts}.")), timeout=LIMIT_S)
    assert after.text == "Again 2."
    assert "Again" not in turn.text
    assert session.agent.pid == pid, "it was not started again"


@pytest.mark.slow
def test_cancel_ends_a_turn_that_waits_for_a_permission(claude: Starter) -> None:
    asked, released = threading.Event(), threading.Event()

    def policy(_: acp.PermissionRequest) -> str:
        asked.set()
        released.wait(LIMIT_S)
        return "allow"

    session, path = claude(permissions=policy), claude.cwd / "new.txt"
    turn = session.start(write(claude, path))
    assert asked.wait(LIMIT_S)
    turn.cancel()
    turn.wait(LIMIT_S)
    released.set()
    assert turn.stop_reason == "cancelled"
    assert [it.status for it in turn.tool_calls] == ["cancelled"]
    assert [it.status for it in turn.items if isinstance(it, Question)] == ["cancelled"]
    assert session.prompt(script(say("Go on.")), timeout=LIMIT_S).text == "Go on."
    assert not path.exists()


@pytest.mark.slow
def test_a_turn_cancelled_in_the_queue_is_never_sent(claude: Starter) -> None:
    session = claude()
    first, second = session.start(script(talk())), session.start(script(say("Second.")))
    third = session.start(script(say("Third, {prompts}.")))
    second.cancel()
    assert second.wait(LIMIT_S).stop_reason == "cancelled"
    wait_until(lambda: "word1 " in first.text, "it talks", LIMIT_S)
    first.cancel()
    assert third.wait(LIMIT_S).text == "Third, 2."
    assert second.items == ()


# ---- claude-code-acp: several sessions ----------------------------------------------------------------


@pytest.mark.slow
def test_sessions_on_one_agent_do_not_mix(claude: Starter) -> None:
    first = claude()
    sessions = [first, first.agent.new_session(), first.agent.new_session()]
    paths = [claude.cwd / f"{number}.txt" for number in range(3)]
    turns = [
        session.start(write(claude, path, path.name)) for session, path in zip(sessions, paths, strict=True)
    ]
    for turn, path in zip(turns, paths, strict=True):
        assert turn.wait(LIMIT_S).text == "written"
        assert turn.files == (str(path),)
        assert path.read_text() == path.name
    turns = [session.start(script(say(f"I am {it}, {{prompts}}."))) for it, session in enumerate(sessions)]
    assert [turn.wait(LIMIT_S).text for turn in turns] == ["I am 0, 2.", "I am 1, 2.", "I am 2, 2."]


@pytest.mark.slow
def test_a_session_answers_while_another_one_streams(claude: Starter) -> None:
    talking = claude()
    other = talking.agent.new_session()
    turn = talking.start(script(talk()))
    wait_until(lambda: "word1 " in turn.text, "it talks", LIMIT_S)
    assert other.prompt(script(say("Here.")), timeout=LIMIT_S).text == "Here."
    assert not turn.done
    other.close()
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert talking.prompt(script(say("Here, too.")), timeout=LIMIT_S).text == "Here, too."


# ---- claude-code-acp: ends and returns ----------------------------------------------------------------


@pytest.mark.slow
def test_after_a_kill_the_next_prompt_continues_the_session(claude: Starter) -> None:
    session = claude()
    id, pid = session.id, session.agent.pid
    assert pid is not None
    session.prompt(script(say("First {prompts}.")), timeout=LIMIT_S)
    turn = session.start(script(talk()))
    wait_until(lambda: "word3 " in turn.text, "it talks", LIMIT_S)
    pids = family(pid)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(acp.AgentDied, match="SIGKILL") as caught:
        turn.wait(LIMIT_S)
    assert caught.value.exit_code == -signal.SIGKILL
    assert (session.status, turn.status) == ("dead", "failed")

    again = session.prompt(script(say("Third.")), timeout=LIMIT_S)
    assert again.text == "Third."
    assert (session.id, session.status) == (id, "idle")
    assert session.agent.pid != pid
    wait_until(lambda: all(map(gone, pids)), "nothing is left of the first agent", LIMIT_S)
    items = session.transcript.items
    assert len(prompts(items)) == 3
    assert answers(items) == ["First 1.", turn.text, "Third."]
    (notice,) = (item for item in items if isinstance(item, Notice))
    assert "restarted" in notice.title
    assert "resumed" in str(notice.description)


@pytest.mark.slow
def test_cancelling_during_a_restart_loses_no_session(
    claude: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = claude()
    ready, cancelled = first._conversation.ready, threading.Event()

    async def held() -> None:
        """The agent comes back, however fast; the prompt goes out only when it has been cancelled."""
        await ready()
        while not cancelled.is_set():
            await asyncio.sleep(0.01)

    sessions = [first, first.agent.new_session()]
    for session in sessions:
        session.prompt(script(say("First.")), timeout=LIMIT_S)
    assert first.agent.pid is not None
    os.kill(first.agent.pid, signal.SIGKILL)
    wait_until(lambda: first.status == "dead", "its end is seen", LIMIT_S)
    monkeypatch.setattr(first._conversation, "ready", held)
    turn = first.start(script(say("Never asked.")))
    wait_until(lambda: "session/resume" in claude.recordings[0].read_text(), "it comes back", LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    cancelled.set()
    for session in reversed(sessions):
        assert session.prompt(script(say("I know {prompts}.")), timeout=LIMIT_S).text == "I know 2."
        assert len([it for it in session.transcript.items if isinstance(it, Notice)]) == 1


@pytest.mark.slow
def test_a_session_is_listed_and_loaded_with_its_history_once(claude: Starter) -> None:
    earlier, path = claude(), claude.cwd / "new.txt"
    asked = [write(claude, path), script(say("Second."))]
    for prompt in asked:
        earlier.prompt(prompt, timeout=LIMIT_S)
    earlier.close()

    agent = claude().agent
    (found,) = (it for it in agent.sessions(cwd=claude.cwd) if it.id == earlier.id)
    assert found.cwd == str(claude.cwd)
    session = agent.load(found.id)

    def calls() -> list[ToolCall]:
        return [item for item in session.transcript.items if isinstance(item, ToolCall)]

    # Seen once on a busy machine: the result of a call arrives after the response to load.
    wait_until(
        lambda: [it.status for it in calls()] == ["completed"], "the call is reported as completed", LIMIT_S
    )
    items = session.transcript.items
    assert prompts(items) == asked
    assert answers(items) == ["written", "Second."]
    assert [it.title for it in calls()] == [f"Write {path}"]
    assert session.prompt(script(say("I know {prompts}.")), timeout=LIMIT_S).text == "I know 3."


@pytest.mark.slow
def test_a_recording_of_claude_replays_the_same_transcript(claude: Starter) -> None:
    asked = [
        script(say("Yes.", thought="Let me see.")),
        script(use("TodoWrite", {"todos": TODOS}), say("planned")),
        write(claude, claude.cwd / "new.txt"),
    ]
    with claude() as session:
        for prompt in asked:
            session.prompt(prompt, timeout=LIMIT_S)
        text = session.to_text()
    written = (claude.cwd / "new.txt").read_bytes()
    (claude.cwd / "new.txt").unlink()
    with acp.connect(cassette=claude.recordings[0], cwd=claude.cwd, permissions="allow") as replayed:
        for prompt in asked:
            replayed.prompt(prompt, timeout=LIMIT_S)
        assert replayed.to_text() == text
    assert (claude.cwd / "new.txt").read_bytes() == written, "in a folder that is named, it writes again"


# ---- the example agent of the TypeScript SDK --------------------------------------------------------


def test_the_example_changes_the_file_and_each_turn_has_its_own_calls(
    example: Starter,
) -> None:
    session = example(permissions="allow")
    turns = [session.prompt("Improve it.", timeout=LIMIT_S), session.prompt("Once more.", timeout=LIMIT_S)]
    for turn in turns:
        assert turn.stop_reason == "end_turn"
        assert [(it.id, it.kind, it.status) for it in turn.tool_calls] == [
            ("call_1", "read", "completed"),
            ("call_2", "edit", "completed"),
        ]
        assert turn.text.startswith("I'll help you with that.")
        assert turn.text.endswith("The changes have been applied.")
    assert len([it for it in session.transcript.items if isinstance(it, ToolCall)]) == 4


def test_the_example_skips_the_change_when_rejected(example: Starter) -> None:
    turn = example(permissions="reject").prompt("Improve it.", timeout=LIMIT_S)
    assert turn.stop_reason == "end_turn"
    assert turn.text.endswith("I'll skip the configuration update.")
    assert [(it.kind, it.status) for it in turn.tool_calls] == [("read", "completed"), ("edit", "rejected")]


def test_cancel_ends_the_example_in_mid_turn(example: Starter) -> None:
    session = example()

    def stop(event: acp.events.Event, _: object) -> None:
        """At its first tool call, and where that is read: a test's thread may come too late."""
        if isinstance(event, acp.events.ToolChanged):
            session._loop.post(session._conversation.cancel)

    session._loop.post(session._conversation.state.listen, stop)
    turn = session.start("Improve it.")
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert [it.kind for it in turn.tool_calls] == ["read"]
    assert session.status == "idle"


def test_sessions_on_one_example_run_at_once_and_do_not_mix(example: Starter) -> None:
    seen: list[str] = []

    def reject(request: acp.PermissionRequest) -> str:
        seen.append(request.tool.id)
        return "reject"

    allowed = example(permissions="allow")
    rejected = allowed.agent.new_session(permissions=reject)
    first, second = allowed.start("Improve it."), rejected.start("Improve it.")
    assert first.wait(LIMIT_S).text.endswith("The changes have been applied.")
    assert second.wait(LIMIT_S).text.endswith("I'll skip the configuration update.")
    assert seen == ["call_2"]
