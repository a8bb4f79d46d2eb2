"""What the answer to a form teaches about secrets."""

from __future__ import annotations

import asyncio

import pytest

from acp_notebook.agent.agent_state import AgentState
from acp_notebook.agent.elicitation import Elicitations
from acp_notebook.agent.known_agents.quirks import Quirks
from acp_notebook.agent.session_state import SessionState
from acp_notebook.agent.turn_queue import TurnRun
from acp_notebook.core.elicitation import ElicitationRequest
from acp_notebook.core.forms import Field
from acp_notebook.core.records import Choice
from acp_notebook.core.requests import AgentFacts, CreateElicitation

CODE = "shutil.rmtree(home)"

FORMS = {
    "default": Field("pin", "string", default=CODE, secret=True),
    "choice": Field("pin", "string", choices=(Choice(CODE, "the usual one"),), secret=True),
}


def state_after(field: Field, answer: str) -> SessionState:
    """The state of a session whose user has answered a form with this field."""

    async def ask() -> SessionState:
        state = SessionState(AgentState("agent", AgentFacts(1), Quirks(), identity="agent"), "/project")
        state.running = TurnRun((), "t1")
        form = ElicitationRequest("Sign in", "form", (field,))
        await Elicitations(state, lambda request: {"pin": answer}).handle_request(
            CreateElicitation("s1", form)
        )
        return state

    return asyncio.run(ask())


@pytest.mark.parametrize("form", FORMS)
def test_an_agent_cannot_hide_part_of_a_question_by_what_it_proposes_as_a_secret(form: str) -> None:
    """Attack: the user submits a form in which the agent has filled in the secret."""
    redactor = state_after(FORMS[form], CODE).agent.redactor
    assert redactor.for_actions.text(CODE) == CODE
    assert redactor.text(CODE) == "[redacted]"


def test_a_secret_that_the_user_fills_in_is_hidden_everywhere() -> None:
    redactor = state_after(FORMS["default"], "hunter2-secret").agent.redactor
    assert redactor.for_actions.text("hunter2-secret") == redactor.text("hunter2-secret") == "[redacted]"
