"""A living agent has forgotten its session: the error says so, and there is a way on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.lost_session import is_lost
from acp_notebook.core.conversation_context import CONTEXT_URI
from acp_notebook.core.snapshot import TurnStart
from tests.session.helpers import LIMIT_S, agent, notices

FORGETFUL = Path(__file__).parents[1] / "agents" / "forgetful.py"


def forgetful(*words: str, **options: Any) -> Any:
    return agent(sys.executable, FORGETFUL, *words, **options)


def lose(session: acp.Session) -> acp.SessionLost:
    session.prompt("forget", timeout=LIMIT_S)
    with pytest.raises(acp.SessionLost) as lost:
        session.prompt("still there?", timeout=LIMIT_S)
    return lost.value


@pytest.mark.parametrize("can", ["load", "resume", "resume,load"])
def test_the_error_names_both_ways_and_reloading_works(can: str) -> None:
    with forgetful(can) as session:
        error = lose(session)
        assert "Session not found: s1" in str(error)
        assert error.code == -32602
        assert "session.reopen()" in str(error)
        assert "session.reopen(new=True)" in str(error)
        assert (session.status, session.transcript.ways) == ("lost", ("load", "new"))
        session.reopen()
        assert (session.status, session.transcript.ways) == ("idle", ())
        assert session.prompt("and on", timeout=LIMIT_S).text.startswith("s1: 1 blocks")
        assert any(it.startswith("The session was reopened") for it in notices(session))


def test_an_agent_that_can_load_nothing_offers_a_new_session_only() -> None:
    with forgetful() as session:
        error = lose(session)
        assert "session.reopen()" not in str(error)
        assert "session.reopen(new=True)" in str(error)
        assert session.transcript.ways == ("new",)
        with pytest.raises(acp.UsageError, match="neither loads nor resumes"):
            session.reopen()
        assert session.status == "lost"


def test_a_failed_load_keeps_the_session_lost_and_the_other_way_open() -> None:
    with forgetful("load", "refuses") as session:
        lose(session)
        with pytest.raises(acp.AgentError, match="Session not found"):
            session.reopen()
        assert session.status == "lost"
        with pytest.raises(acp.SessionLost):
            session.prompt("still there?", timeout=LIMIT_S)
        session.reopen(new=True)
        assert session.prompt("hello", timeout=LIMIT_S).text.startswith("s2:")


def test_a_new_session_gets_the_conversation_once() -> None:
    with forgetful("load") as session:
        session.prompt("the number is 7", timeout=LIMIT_S)
        lose(session)
        session.reopen(new=True)
        assert session.id == "s2"
        turn = session.prompt("which number?", timeout=LIMIT_S)
        assert turn.text.startswith("s2: 2 blocks")
        assert "the number is 7" in turn.text
        (start,) = (it for it in turn.items if isinstance(it, TurnStart))
        assert start.text.endswith("which number?")
        assert session.prompt("and now?", timeout=LIMIT_S).text.startswith("s2: 1 blocks")


def test_a_command_stays_the_first_word_of_its_prompt() -> None:
    with forgetful() as session:
        session.prompt("the number is 7", timeout=LIMIT_S)
        lose(session)
        session.reopen(new=True)
        turn = session.prompt("/compact", timeout=LIMIT_S)
        (start,) = (it for it in turn.items if isinstance(it, TurnStart))
        assert start.prompt[0] == acp.Text("/compact")
        assert CONTEXT_URI in str(start.prompt[1])


def test_a_second_new_session_does_not_repeat_the_first_ones_context() -> None:
    with forgetful() as session:
        session.prompt("the number is 7", timeout=LIMIT_S)
        lose(session)
        session.reopen(new=True)
        session.prompt("forget", timeout=LIMIT_S)
        with pytest.raises(acp.SessionLost):
            session.prompt("lost again", timeout=LIMIT_S)
        session.reopen(new=True)
        turn = session.prompt("and now?", timeout=LIMIT_S)
        (start,) = (it for it in turn.items if isinstance(it, TurnStart))
        [context] = [it for it in start.prompt if CONTEXT_URI in str(it)]
        assert str(context).count("still there?") == 1


@pytest.mark.parametrize("how", ["load", "resume"])
def test_an_ineffective_load_is_noticed_at_the_first_prompt(how: str) -> None:
    with forgetful("load,resume", "pretends", **{how: "gone"}) as session:
        with pytest.raises(acp.SessionLost, match="answered as if") as lost:
            session.prompt("go on", timeout=LIMIT_S)
        assert "session.reopen()" not in str(lost.value)
        assert session.transcript.ways == ("new",)
        session.reopen(new=True)
        assert session.prompt("hello", timeout=LIMIT_S).text.startswith("s1:")


def test_an_ineffective_reload_is_not_offered_again() -> None:
    with forgetful("load", "pretends") as session:
        lose(session)
        session.reopen()
        with pytest.raises(acp.SessionLost, match="answered as if"):
            session.prompt("go on", timeout=LIMIT_S)
        assert session.transcript.ways == ("new",)


def test_settings_of_a_lost_session_raise_the_same_error() -> None:
    with forgetful("load") as session:
        session.prompt("forget", timeout=LIMIT_S)
        with pytest.raises(acp.SessionLost, match=r"session\.reopen\(\)"):
            session.config["model"] = "listed"


def test_reopening_does_not_wait_for_a_turn_and_restores_settings() -> None:
    with forgetful("load") as session:
        session.config["model"] = "other"
        lose(session)
        session.reopen(new=True)
        assert session.config["model"] == "other"


def test_a_closed_session_is_not_reopened() -> None:
    with forgetful("load") as session:
        session.close()
        with pytest.raises(acp.SessionClosed):
            session.reopen()


@pytest.mark.parametrize("prompt", ["fail", "work, fail"])
def test_other_errors_do_not_mean_a_lost_session(prompt: str) -> None:
    with forgetful("load") as session:
        with pytest.raises(acp.AgentError) as raised:
            session.prompt(prompt, timeout=LIMIT_S)
        assert not isinstance(raised.value, acp.SessionLost)
        assert session.status == "idle"


REAL: list[tuple[int, str, Any]] = [
    (-32002, "Resource not found", {"sessionId": "s1"}),
    (-32002, "Resource not found", None),
    (-32602, "Invalid params: Unknown sessionId: s1", None),
    (-32602, "Session not found: s1", None),
    (-32603, "Internal error", {"details": "Session not found"}),
    (-32603, "Internal error", {"details": 'Invalid session identifier "s1".\n  Searched for sessions in /'}),
    (-32603, "no such session", None),
    (-32600, "Session s1 does not exist", None),
]
OTHER: list[tuple[int, str, Any]] = [
    (-32002, "Resource not found", {"uri": "file:///a.txt"}),
    (-32603, "Internal error", {"details": "model not found"}),
    (-32601, "Method not found: session/prompt", None),
    (-32603, "the session log could not be written", None),
    (-32603, "Your session has expired, sign in again", None),
    (-32603, "the browser session was not found", None),
]


@pytest.mark.parametrize("said", REAL)
def test_the_error_messages_of_real_agents_are_recognised(said: tuple[int, str, Any]) -> None:
    assert is_lost(_error(*said), "s1")


@pytest.mark.parametrize("said", OTHER)
def test_other_errors_are_left_alone(said: tuple[int, str, Any]) -> None:
    assert not is_lost(_error(*said), "s1")


def _error(code: int, message: str, data: Any) -> acp.AgentError:
    detail = "" if data is None else f" ({json.dumps(data)})"
    return acp.AgentError(f"session/prompt: {message}{detail}", code=code, data=data)
