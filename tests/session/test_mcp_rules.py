"""Permission rules for MCP servers and tools, through a whole session."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.policy import PermissionRequest
from tests.session.helpers import LIMIT_S, agent

SCRIPTED = Path(__file__).parents[1] / "agents" / "scripted.py"

RULES = """
[[permissions.rules]]
say = "allow"
server = "search"
tool = "query"

[[permissions.rules]]
say = "reject"
server = "files"
tool = "delete_*"
"""


@pytest.fixture(autouse=True)
def config(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("config")
    (folder / "config.toml").write_text(RULES)
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(folder))


def results(session: acp.Session, *steps: Any) -> Any:
    return json.loads(session.prompt(json.dumps(steps), timeout=LIMIT_S).text)


def ask(id: str, name: str | None = None, title: str = "a title", **fields: Any) -> list[Any]:
    named = {} if name is None else {"name": name}
    return ["ask", {"toolCallId": id, "title": title, "kind": "other", **named, **fields}]


def test_only_the_named_tool_is_allowed_not_a_similar_one(tmp_path: Path) -> None:
    with agent(sys.executable, SCRIPTED, cwd=tmp_path) as session:
        said = results(
            session,
            ask("1", "mcp__search__query", rawInput={"q": "x"}),
            ask("2", None, "mcp__search__query"),
            ask("3", "mcp__evil__x", "mcp__search__query"),
            ask("4", "mcp__search__query_all"),
            ask("5", "mcp__search__query", rawInput={"command": "rm -rf /"}),
            ask("6", None, "search/query", rawInput={"server": "search", "tool": "query"}),
        )
        assert said == ["once", "no", "no", "no", "no", "no"]
        [allowed] = [it for it in session.audit if it.outcome == "allowed"]
        assert allowed.target == "search/query"


def test_an_allowed_tool_covers_no_client_method(tmp_path: Path) -> None:
    marker = tmp_path / "done"
    with agent(sys.executable, SCRIPTED, cwd=tmp_path) as session:
        said, ran, wrote = results(
            session,
            ask("1", "mcp__search__query", rawInput={"q": f"touch {marker}"}, status="in_progress"),
            ["call", "terminal/create", {"command": f"touch {marker}"}],
            ["call", "fs/write_text_file", {"path": str(marker), "content": "x"}],
        )
        assert said == "once"
        assert "error" in ran and "error" in wrote
        assert not marker.exists()


def test_a_rejected_tool_stays_rejected_under_any_name(
    tmp_path: Path,
) -> None:
    with agent(sys.executable, SCRIPTED, cwd=tmp_path, permissions="allow") as session:
        said = results(
            session,
            ask("1", "mcp__files__delete_all"),
            ask("2", None, "mcp__files__delete_all"),
            ask("3", None, "delete_all (files MCP Server)"),
            ask("4", None, "mcp.files.delete_all"),
            ask("5", "mcp__files__read"),
            ask("6", "mcp__my_files__delete_all"),
        )
        assert said == ["no", "no", "no", "no", "once", "once"]


def test_a_policy_function_gets_server_and_tool(tmp_path: Path) -> None:
    seen: list[Any] = []

    def policy(request: PermissionRequest) -> str:
        seen.append(request.mcp and (request.mcp.server, request.mcp.tool, request.mcp.sure))
        return "reject"

    with agent(sys.executable, SCRIPTED, cwd=tmp_path, permissions=policy) as session:
        results(session, ask("1", "mcp__a__b"), ask("2", None, "mcp__a__b"), ask("3", "Bash"))
    assert seen == [("a", "b", True), ("a", "b", False), None]


def test_the_question_says_which_tool_it_is(tmp_path: Path) -> None:
    with agent(sys.executable, SCRIPTED, cwd=tmp_path) as session:
        session.prompt(json.dumps([ask("1", "mcp__a__b"), ask("2", None, "mcp__a__b")]), timeout=LIMIT_S)
        questions = [it for it in session.transcript.items if type(it).__name__ == "Question"]
        named = [it.actions[0] for it in questions]  # type: ignore[union-attr]
        assert [(it.type, it.text) for it in named] == [("mcp", "a/b"), ("mcp", "a/b")]
