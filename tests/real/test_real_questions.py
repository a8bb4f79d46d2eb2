"""Real agents: one question an action, and none after "allow for this session"."""

from __future__ import annotations

from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question, ToolCall
from tests.agents.mock_model import do, say, script, use
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S
from tests.real.user import User, allow, offer, questions, reject

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]


@pytest.fixture(params=["claude", "kimi", "gemini", "goose"])
def agent(request: pytest.FixtureRequest) -> Starter:
    """Each agent that reads or writes through us and asks about it."""
    starter = request.getfixturevalue(request.param)
    assert isinstance(starter, Starter)
    return starter


def done(session: acp.Session, *steps: dict[str, Any]) -> list[str]:
    """Have the agent do these; the kinds of the actions that the user was asked about."""
    before = len(questions(session))
    turn = session.prompt(script(*steps, say("done")), timeout=LIMIT_S)
    assert (turn.text, turn.stop_reason) == ("done", "end_turn")
    assert [call.status for call in turn.tool_calls] == ["completed"] * len(steps)
    return [kind_of(session, it) for it in questions(session)[before:] if it.by == "user"]


def kind_of(session: acp.Session, question: Question) -> str:
    calls = {it.key: it for it in session.transcript.items if isinstance(it, ToolCall)}
    return calls[str(question.tool)].kind


def files(agent: Starter) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in agent.cwd.iterdir() if path.is_file()}


def test_one_question_for_each_action(agent: Starter) -> None:
    (agent.cwd / "old.txt").write_bytes(b"one\ntwo\n")
    (agent.cwd / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (agent.cwd / "text.txt").write_bytes(b"\xef\xbb\xbfone\ntwo")
    session = agent(permissions="ask")
    User(session, allow)

    written = done(
        session,
        agent.write(agent.cwd / "new.txt", "new\n"),
        agent.write(agent.cwd / "old.txt", "no line end"),
        agent.edit(agent.cwd / "crlf.txt", "two", "2"),
        agent.edit(agent.cwd / "text.txt", "one", "$& $1"),
    )
    assert written == ["edit"] * 4
    assert files(agent) == {
        "new.txt": b"new\n",
        "old.txt": b"no line end",
        "crlf.txt": b"one\r\n2\r\n",
        "text.txt": b"\xef\xbb\xbf$& $1\ntwo",
    }


LINES = {
    "plain": "printf 1 > plain",
    "moved": "cd 'sub dir' && pwd > ../moved",
    "quotes": """printf '%s' "it's" 'a "b"' | tr a-z A-Z > quotes""",
    "lines": "# some\nfor i in 1 2\ndo\n  printf $i\ndone > lines\ncat >> lines <<END\n3\nEND",
    "assigned": "NAME=value sh -c 'printf $NAME' > assigned",
    "long": f"printf {'word' * 100} > long",
    "padded": "  printf 1 > padded  \n",
}


def test_one_question_for_each_command(agent: Starter) -> None:
    (agent.cwd / "sub dir").mkdir()
    session = agent(permissions="ask")
    User(session, allow)
    assert done(session, *map(agent.run, LINES.values())) == ["execute"] * len(LINES)
    assert files(agent) == {
        "plain": b"1",
        "moved": f"{agent.cwd / 'sub dir'}\n".encode(),
        "quotes": b'IT\'SA "B"',
        "lines": b"123\n",
        "assigned": b"value",
        "long": b"word" * 100,
        "padded": b"1",
    }


def test_allow_for_this_session_ends_the_questions(agent: Starter) -> None:
    session = agent(permissions="ask")
    user = User(session, offer("session"))
    path, line = agent.cwd / "a.txt", "printf 1 >> ran"
    assert done(session, agent.write(path, "one\n")) == ["edit"]
    assert done(session, agent.run(line)) == ["execute"]
    user.leave()  # from now on nobody can be asked
    assert done(session, agent.edit(path, "one", "1"), agent.write(agent.cwd / "b.txt", "2\n")) == []
    assert done(session, agent.run(line)) == []
    assert files(agent) == {"a.txt": b"1\n", "b.txt": b"2\n", "ran": b"11"}


def test_a_rejected_call_is_shown_as_rejected_and_not_done(agent: Starter) -> None:
    session = agent(permissions="ask")
    User(session, reject)
    for step in (agent.write(agent.cwd / "new.txt", "no"), agent.run("printf no > new.txt")):
        turn = session.prompt(script(step, say("done")), timeout=LIMIT_S)
        assert [call.status for call in turn.tool_calls] == ["rejected"]
    assert len(questions(session)) == 2
    assert files(agent) == {}


def test_kimis_pipe_in_another_folder_is_asked_about_once(kimi: Starter) -> None:
    (kimi.cwd / "sub dir").mkdir()
    session = kimi(permissions="ask")
    User(session, allow)
    moved = use("Bash", {"command": "pwd 2>&1 | cat > ../moved", "cwd": str(kimi.cwd / "sub dir")})
    assert done(session, moved) == ["execute"]
    assert files(kimi) == {"moved": f"{kimi.cwd / 'sub dir'}\n".encode()}


# ---- agents that act by themselves: their questions are the only ones


def test_claude_agent_asks_once_for_each_action(claude_agent: Starter) -> None:
    session = claude_agent(permissions="ask")
    User(session, allow)
    path = claude_agent.cwd / "new.txt"
    steps = (claude_agent.write(path, "one\n"), claude_agent.edit(path, "one", "1"))
    assert done(session, *steps, claude_agent.run("printf 1 > ran")) == ["edit", "edit", "execute"]
    assert files(claude_agent) == {"new.txt": b"1\n", "ran": b"1"}


def test_codex_asks_once_for_each_command(codex: Starter) -> None:
    session = codex(permissions="ask")
    session.mode = "read-only"  # its first mode reviews commands without the user
    User(session, allow)
    lines = ("printf 1 > one", "printf 2 > two")
    assert done(session, *(do("run", line=line) for line in lines)) == ["execute", "execute"]
    assert files(codex) == {"one": b"1", "two": b"2"}
