"""A real agent's elicitation: its form, and the answer."""

from __future__ import annotations

from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Elicitation
from tests.agents.mock_model import say, script, use
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S

pytestmark = pytest.mark.real_agent

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "red", "description": "the red one"},
        {"label": "blue", "description": "the blue one"},
    ],
}
ASK = script(use("AskUserQuestion", {"questions": [QUESTION]}), say("I got: {result}"))


def asked(session: acp.Session) -> list[Elicitation]:
    return [item for item in session.transcript.items if isinstance(item, Elicitation)]


def test_its_question_is_a_form_and_the_answer_reaches_the_model(claude_agent: Starter) -> None:
    requests: list[acp.ElicitationRequest] = []

    def choose(request: acp.ElicitationRequest) -> dict[str, Any]:
        requests.append(request)
        return {request.fields[0].name: request.fields[0].choices[1].value}

    session = claude_agent(elicitation=choose)
    turn = session.prompt(ASK, timeout=LIMIT_S)
    assert "blue" in turn.text
    (request,) = requests
    assert (request.mode, request.message) == ("form", "Which colour?")
    assert [it.name for it in request.fields[0].choices] == ["red", "blue"]
    assert [(it.status, it.by) for it in asked(session)] == [("accepted", "policy")]


def test_after_a_decline_the_turn_continues(claude_agent: Starter) -> None:
    session = claude_agent(elicitation=lambda request: "decline")
    turn = session.prompt(ASK, timeout=LIMIT_S)
    assert turn.stop_reason is not None
    assert [it.status for it in asked(session)] == ["declined"]
    assert session.prompt(script(say("still here")), timeout=LIMIT_S).text == "still here"
