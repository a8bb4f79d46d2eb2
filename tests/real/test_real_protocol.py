"""How real agents answer for an unknown session, and how they name the tools of MCP servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.actions import McpCall
from acp_notebook.core.policy import PermissionRequest
from tests.agents.mock_model import say, script, use
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

MCP_SERVER = Path(__file__).parents[1] / "agents" / "mcp_server.py"

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("name", ["claude", "claude_agent", "kimi", "gemini"])
def test_an_unknown_session_is_lost_and_replaced_by_a_new_one(
    name: str, request: pytest.FixtureRequest
) -> None:
    agent: Starter = request.getfixturevalue(name)
    session = agent()
    conversation = session._conversation
    session.agent._host.sessions.known[UNKNOWN] = conversation
    conversation.state.id = UNKNOWN
    with pytest.raises(acp.SessionLost, match=r"session\.reopen\(new=True\)"):
        session.prompt("Are you there?", timeout=LIMIT_S)
    assert session.status == "lost"
    session.reopen(new=True)
    assert session.prompt(script(say("yes")), timeout=LIMIT_S).text == "yes"


@pytest.mark.parametrize(
    ("name", "tool", "sure"),
    [
        ("claude", "mcp__search__query", True),
        ("claude_agent", "mcp__search__query", True),
        ("kimi", "mcp__search__query", False),
        ("gemini", "mcp_search_query", False),
    ],
)
def test_a_question_about_an_mcp_tool_names_it(
    name: str, tool: str, sure: bool, request: pytest.FixtureRequest
) -> None:
    agent: Starter = request.getfixturevalue(name)
    seen: list[Any] = []

    def policy(asked: PermissionRequest) -> str:
        seen.append(asked.mcp)
        return "allow"

    first = agent(permissions=policy)
    server = {"name": "search", "command": sys.executable, "args": [str(MCP_SERVER)]}
    session = first.agent.new_session(permissions=policy, mcp_servers=[server])
    turn = session.prompt(script(use(tool, {"q": "x"}), say("done")), timeout=LIMIT_S)
    assert turn.text == "done"
    assert seen == [McpCall("search", "query", sure=sure)]
