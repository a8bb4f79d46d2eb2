"""Real agents use our client methods: files, commands, permission; nothing is asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question, ToolCall
from tests.agents.mock_model import say, script, together, use
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S, family
from tests.real.user import User, allow, always, offer, questions, reject, unprompted
from tests.waiting import gone, wait_until

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

HOLD = "echo ready; echo $$ > pid.txt; exec sleep 600"
"""A command that runs until it is ended, and prints its process id."""


def acts(session: acp.Session, kind: str) -> list[tuple[str, str]]:
    """What was done by us, of a kind: to what, and how it went."""
    return [(it.target, it.outcome) for it in session.audit.where(what="act", kind=kind)]


def decided(session: acp.Session) -> list[tuple[str, str, str]]:
    return [(it.kind, it.by, it.outcome) for it in session.audit.where(what="decision")]


def pid_in(folder: Path) -> int:
    note = folder / "pid.txt"
    wait_until(lambda: note.exists() and note.read_text().endswith("\n"), "the command runs", LIMIT_S)
    return int(note.read_text())


def usable(session: acp.Session) -> bool:
    return session.prompt(script(say("Still here.")), timeout=LIMIT_S).text == "Still here."


CLOSED = {"cancelled", "failed"}
"""How a call is shown that was cancelled: kimi says itself that it failed, of claude's we say it."""


def calls(session: acp.Session) -> list[ToolCall]:
    return [item for item in session.transcript.items if isinstance(item, ToolCall)]


# ---- allowed ------------------------------------------------------------------------------------


def test_client_methods_ask_once_for_each_action(agent: Starter, request: pytest.FixtureRequest) -> None:
    session = agent(permissions="ask")
    User(session, allow)
    written, there = agent.cwd / "new.txt", agent.cwd / "there.txt"
    there.write_text("marker\n")
    steps = (
        agent.write(written, "é one\ntwo\n"),
        agent.read(there),
        agent.run("echo out; echo err >&2; exit 3"),
    )
    turn = session.prompt(script(*steps, say("done")), timeout=LIMIT_S)
    assert (turn.text, turn.stop_reason) == ("done", "end_turn")

    assert written.read_bytes() == "é one\ntwo\n".encode()
    assert acts(session, "edit") == [(str(written), "done")]
    assert (str(there), "done") in acts(session, "read")
    assert "marker" in turn.tool_calls[1].text
    wait_until(lambda: turn.terminals[0].released, "the agent has released it", LIMIT_S)
    (terminal,) = turn.terminals
    assert (terminal.output, terminal.exit_code, terminal.released) == ("out\nerr\n", 3, True)
    assert [outcome for _, outcome in acts(session, "execute")] == ["failed"]

    assert decided(session) == [("edit", "user", "allowed"), ("execute", "user", "allowed")]
    assert [it.by for it in questions(session)] == ["user", "user"]
    writes_unasked = "kimi" in request.node.name  # it asks about commands only
    assert unprompted(session) == [writes_unasked, False]
    assert {"fs/write_text_file", "fs/read_text_file", "terminal/create", "terminal/release"} <= {
        *agent.sent()
    }


@pytest.mark.slow
def test_kimis_cut_commands_are_asked_once_and_shown_in_full(kimi: Starter) -> None:
    session, folder = kimi(permissions="ask"), kimi.cwd / "it's"
    folder.mkdir()
    shown: list[str] = []

    def choose(question: Question) -> str | None:
        shown.extend(call.text for call in calls(session) if call.key == question.tool)
        return allow(question)

    User(session, choose)
    elsewhere = use("Bash", {"command": "pwd", "cwd": str(folder)})
    long = kimi.run(f"echo {'word ' * 100}end")  # its question has the first 50 characters
    turn = session.prompt(script(elsewhere, long, say("done")), timeout=LIMIT_S)
    assert [it.output.endswith((f"{folder}\n", "word end\n")) for it in turn.terminals] == [True, True]
    assert unprompted(session) == [False, False]
    assert "word end" in shown[1]


def test_concurrent_calls_are_asked_about_once_each(agent: Starter) -> None:
    session = agent(permissions="ask")
    User(session, allow)
    paths = [agent.cwd / "a.txt", agent.cwd / "b.txt"]
    at_once = together(
        *(agent.write(path, path.name) for path in paths), *(agent.run(f"echo {name}") for name in "xy")
    )
    turn = session.prompt(script(at_once, say("done")), timeout=LIMIT_S)
    assert turn.text == "done"
    assert [path.read_text() for path in paths] == ["a.txt", "b.txt"]
    assert sorted(it.output for it in turn.terminals) == ["x\n", "y\n"]
    assert sorted(kind for kind, _, _ in decided(session)) == ["edit", "edit", "execute", "execute"]
    assert len(calls(session)) == 4, "none of them is shown a second time by us"


def test_with_allow_nobody_is_asked(agent: Starter) -> None:
    session, path = agent(permissions="allow"), agent.cwd / "new.txt"
    path.write_text("one\ntwo\n")
    steps = (agent.read(path), agent.edit(path, "two", "2"), agent.run("cat new.txt"))
    turn = session.prompt(script(*steps, say("done")), timeout=LIMIT_S)
    assert path.read_text() == "one\n2\n"
    assert [it.output for it in turn.terminals] == ["one\n2\n"]
    assert decided(session) == [("edit", "policy", "allowed"), ("execute", "policy", "allowed")]


def test_after_allow_all_edits_there_are_no_more_edit_questions(agent: Starter) -> None:
    session = agent(permissions="ask")
    user = User(session, offer("session"))
    names = ["a.txt", "b.txt", "c.txt"]
    for name in names:
        session.prompt(script(agent.write(agent.cwd / name, name), say("done")), timeout=LIMIT_S)
        user.leave()
    assert [(agent.cwd / name).read_text() for name in names] == names
    assert [it.by for it in questions(session)] == ["user", "grant", "grant"]

    turn = session.prompt(script(agent.run("touch d.txt"), say("done")), timeout=LIMIT_S)
    assert not (agent.cwd / "d.txt").exists() and not turn.terminals, "a command is no edit"


@pytest.mark.slow
def test_after_the_agents_own_always_we_do_not_ask_again(agent: Starter) -> None:
    session = agent(permissions="ask")
    user = User(session, always)
    for _ in range(2):
        turn = session.prompt(script(agent.run("echo again"), say("done")), timeout=LIMIT_S)
        assert [it.output for it in turn.terminals] == ["again\n"]
        user.leave()
    assert [it.by for it in questions(session)] == ["user", "grant"]
    turn = session.prompt(script(agent.run("touch other.txt"), say("done")), timeout=LIMIT_S)
    assert not (agent.cwd / "other.txt").exists() and not turn.terminals, "it was for that command"


# ---- refused ------------------------------------------------------------------------------------


def test_a_rejected_action_is_not_done_and_the_session_continues(agent: Starter) -> None:
    session = agent(permissions="ask")
    User(session, reject)
    for step in (agent.write(agent.cwd / "new.txt", "no"), agent.run("touch new.txt")):
        turn = session.prompt(script(step, say("done")), timeout=LIMIT_S)
        assert turn.stop_reason == "end_turn" and not turn.terminals
        assert [it.status for it in turn.tool_calls] == ["rejected"]
    assert not (agent.cwd / "new.txt").exists()
    assert decided(session) == [("edit", "user", "rejected"), ("execute", "user", "rejected")]
    assert not session.audit.where(what="act", outcome="done").where(kind="edit")
    assert usable(session)


# ---- cancelled ----------------------------------------------------------------------------------


def test_a_cancel_during_a_command_ends_command_and_turn(agent: Starter) -> None:
    session = agent(permissions="allow")
    turn = session.start(script(agent.run(HOLD), say("never")))
    pid = pid_in(agent.cwd)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    wait_until(lambda: gone(pid), "the command is gone")
    wait_until(lambda: turn.terminals[0].status != "running", "its end is reported")
    assert turn.terminals[0].output == "ready\n"
    assert {it.status for it in turn.tool_calls} <= CLOSED
    assert usable(session)


@pytest.mark.parametrize("act", ["write", pytest.param("run", marks=pytest.mark.slow)])
def test_a_cancel_at_a_question_ends_the_turn_without_the_action(agent: Starter, act: str) -> None:
    session, path = agent(permissions="ask"), agent.cwd / "new.txt"
    User(session)
    step = agent.write(path, "no") if act == "write" else agent.run("touch new.txt")
    turn = session.start(script(step, say("never")))
    wait_until(lambda: bool(questions(session)), "the question is asked", LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert [it.status for it in questions(session)] == ["cancelled"]
    assert {it.status for it in turn.tool_calls} <= CLOSED
    assert usable(session)
    assert not path.exists() and not turn.terminals
    assert len(questions(session)) == 1


@pytest.mark.slow
def test_an_earlier_turns_server_survives_a_cancel_until_close(claude: Starter) -> None:
    session = claude(permissions="allow")
    serve = claude.run(HOLD)
    serve["calls"][0]["input"]["run_in_background"] = True
    session.prompt(script(serve, say("serving")), timeout=LIMIT_S)
    pid = pid_in(claude.cwd)
    (claude.cwd / "pid.txt").unlink()
    turn = session.start(script(claude.run(HOLD), say("never")))
    other = pid_in(claude.cwd)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    wait_until(lambda: gone(other), "the command of the cancelled turn is gone")
    assert not gone(pid)
    session.close()
    wait_until(lambda: gone(pid), "the server is gone")


def test_closing_during_a_command_leaves_no_process(agent: Starter) -> None:
    session = agent(permissions="allow")
    turn = session.start(script(agent.run(HOLD), say("never")))
    pids = {pid_in(agent.cwd)} | family(session.agent.pid)
    assert session.agent.pid in pids and len(pids) > 1
    session.close()
    wait_until(lambda: all(map(gone, pids)), "nothing is left")
    assert turn.stop_reason == "cancelled"
