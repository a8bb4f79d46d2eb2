"""Our client drives an agent written with the official Python SDK."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.records import Diff, TokenUsage
from acp_notebook.core.snapshot import Question
from tests.session.helpers import LIMIT_S, agent, begun, notices
from tests.waiting import gone

SDK_AGENT = Path(__file__).parents[1] / "agents" / "sdk_agent.py"


def connect(**options: Any) -> acp.Session:
    return acp.connect([sys.executable, str(SDK_AGENT)], **options)


@pytest.fixture
def session() -> Iterator[acp.Session]:
    with agent(sys.executable, SDK_AGENT, permissions="allow") as session:
        yield session


def test_it_introduces_itself_answers_and_ends_with_the_session(session: acp.Session) -> None:
    running = session.agent
    assert (running.title, running.version, session.id) == ("An SDK agent", "0.1", "sdk-1")
    turn = session.prompt("Hello, SDK", Path("/data.csv"), timeout=LIMIT_S)
    assert turn.text == "I got text Hello, SDK, resource_link file:///data.csv"
    assert (turn.stop_reason, turn.usage) == ("end_turn", TokenUsage(total=7, input=4, output=3))
    session.close()
    assert running.pid is not None
    assert gone(running.pid)
    assert running.stderr == ""


def test_unsupported_content_falls_back_visibly(session: acp.Session) -> None:
    sent = session.prompt(
        "see", acp.Image("AAAA", "image/png"), acp.Resource("memo:1", text="hi"), timeout=LIMIT_S
    )
    assert "resource " not in sent.text
    assert "[image (image/png) left out" in sent.text
    assert "hi" in sent.text
    assert len(notices(session)) == 2


def test_its_tool_calls_thoughts_and_plans_are_understood(session: acp.Session) -> None:
    turn = session.prompt("tool", timeout=LIMIT_S)
    (call,) = turn.tool_calls
    assert (call.id, call.title, call.kind, call.status) == ("t1", "Edit it", "edit", "completed")
    assert turn.diffs == (Diff("/x.py", "new\n", "old\n"),)
    assert turn.files == ("/x.py",)
    assert (turn.thoughts, turn.text) == ("Which file?", "Edited.")
    assert turn.plan is not None
    assert [(entry.content, entry.status) for entry in turn.plan.entries] == [("Edit", "completed")]


@pytest.mark.parametrize(("policy", "choice"), [("allow", "y"), ("reject", "n"), (lambda request: "y", "y")])
def test_its_questions_are_answered_by_the_policy(policy: Any, choice: str) -> None:
    with connect(permissions=policy) as session:
        turn = session.prompt("permission", timeout=LIMIT_S)
        assert turn.text == f"You chose {choice}."
        (question,) = (item for item in turn.items if isinstance(item, Question))
        assert (question.status, question.answer) == ("answered", choice)
        assert [(call.title, call.kind) for call in turn.tool_calls] == [("Delete it", "delete")]


def test_a_cancel_reaches_it(session: acp.Session) -> None:
    turn = begun(session.start("wait"))
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert turn.status == "done"
    assert session.prompt("and now?", timeout=LIMIT_S).stop_reason == "end_turn"


def test_a_cancel_at_its_question_answers_that_too() -> None:
    asked, never = threading.Event(), threading.Event()

    def hanging(request: acp.PermissionRequest) -> str:
        asked.set()
        never.wait(LIMIT_S)
        return "allow"

    with connect(permissions=hanging) as session:
        turn = session.start("permission")
        assert asked.wait(LIMIT_S)
        turn.cancel()
        assert turn.wait(LIMIT_S).stop_reason == "cancelled"
        assert turn.status == "done", "it was answered by the agent, not given up by us"
        never.set()


def test_several_sessions_share_it(session: acp.Session) -> None:
    other = session.agent.new_session()
    waiting = begun(session.start("wait"))
    assert other.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert not waiting.done
