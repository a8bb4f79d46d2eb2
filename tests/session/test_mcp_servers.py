"""The user's MCP servers reach the agent in the protocol's form, or an error says why not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from tests.session.helpers import agent

TELLING = Path(__file__).parents[1] / "agents/telling.py"
SECRET = "sk-very-secret-value"
SH = {"name": "files", "command": "sh", "args": ["-c", "x"], "env": {"KEY": SECRET}}
WEB = {"name": "web", "url": "https://x.example/mcp", "headers": {"Authorization": SECRET}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    (tmp_path / "config").mkdir(mode=0o700)
    return tmp_path / "config"


def servers_of(session: acp.Session) -> Any:
    return json.loads(session.prompt("backwards servers", timeout=60).text[::-1])


def telling(*can: str, **options: Any) -> Any:
    return agent(sys.executable, TELLING, *can, **options)


def test_a_server_is_passed_to_every_way_of_opening_a_session() -> None:
    with telling("http", mcp_servers=[SH, WEB]) as session:
        stdio, web = servers_of(session)
        assert stdio["command"].startswith("/") and stdio["command"].endswith("/sh"), "the whole path"
        assert stdio["env"] == [{"name": "KEY", "value": SECRET}] and stdio["args"] == ["-c", "x"]
        assert web["type"] == "http" and web["headers"] == [{"name": "Authorization", "value": SECRET}]
        for other in (
            session.agent.new_session(mcp_servers=[WEB]),
            session.agent.load("old", mcp_servers={"web": {"url": WEB["url"]}}),
            session.agent.resume("older", mcp_servers=[WEB]),
        ):
            (only,) = servers_of(other)
            assert only["name"] == "web"


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_server_that_the_agent_does_not_support_is_an_error(kind: str) -> None:
    with pytest.raises(acp.UsageError, match=f"does not support MCP servers over {kind}, such as 'web'"):
        acp.connect([sys.executable, str(TELLING)], mcp_servers=[{**WEB, "type": kind}])
    with telling(kind) as session:
        assert session.agent.new_session(mcp_servers=[{**WEB, "type": kind}]).id == "s1"
    with telling() as session:
        with pytest.raises(acp.UsageError, match="it supports stdio"):
            session.agent.new_session(mcp_servers=[{**WEB, "type": kind}])
        assert session.agent.new_session().id == "s1", "the refused one was never asked for"


def test_an_invalid_server_is_an_error_before_the_agent_starts(tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = ["sh", "-c", f"touch {started}; exec {sys.executable} {TELLING}"]
    for server, words in (
        ({"name": "x", "command": "no-such-command"}, "'no-such-command', which is not on the PATH"),
        ({"name": "x", "comand": "sh"}, "did you mean 'command'"),
        ("unknown", "your settings have no MCP server 'unknown'; they have none"),
    ):
        with pytest.raises(acp.UsageError, match=words):
            acp.connect(command, mcp_servers=[server])
    assert not started.exists()


def test_servers_from_the_settings_by_name_always_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", SECRET)
    (folder / "config.toml").write_text(
        f"[agents.mine]\ncommand = [{sys.executable!r}, {str(TELLING)!r}, 'http']\nmcp_servers = ['third']\n"
        "[mcp_servers.first]\ncommand = 'sh'\nalways = true\n"
        "[mcp_servers.second]\nurl = 'http://x.example'\nheaders = { Authorization = 'Bearer ${MY_TOKEN}' }\n"
        "[mcp_servers.third]\ncommand = 'sh'\n"
        "[mcp_servers.unset]\ncommand = 'sh'\nenv = { K = '${NOT_SET_AT_ALL}' }\n"
    )
    with telling("http") as session:
        assert [it["name"] for it in servers_of(session)] == ["first"]
        assert servers_of(session.agent.new_session(mcp_servers=None)) == []
        (second,) = servers_of(session.agent.new_session(mcp_servers=["second"]))
        assert second["headers"] == [{"name": "Authorization", "value": f"Bearer {SECRET}"}]
        assert [it["name"] for it in servers_of(session.agent.new_session())] == ["first"]
        with pytest.raises(acp.UsageError, match="'unset' wants the environment variable NOT_SET_AT_ALL"):
            session.agent.new_session(mcp_servers=["unset"])
    with acp.connect("mine") as session:
        assert [it["name"] for it in servers_of(session)] == ["first", "third"]


def test_another_session_on_the_agent_gets_the_servers_of_connect(folder: Path) -> None:
    (folder / "config.toml").write_text("[mcp_servers.first]\ncommand = 'sh'\nalways = true\n")
    for given, names in (([SH], ["files"]), (None, []), ((), ["first"])):
        with telling(mcp_servers=given) as session:
            assert [it["name"] for it in servers_of(session)] == names
            assert [it["name"] for it in servers_of(session.agent.new_session())] == names
            assert [it["name"] for it in servers_of(session.agent.load("other"))] == names


def test_a_servers_secrets_are_in_no_recording_repr_or_audit(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.jsonl"
    with telling("http", mcp_servers=[SH, WEB], record=recorded) as session:
        assert "[redacted]" in session.prompt("servers", timeout=60).text
        other = session.agent.new_session(mcp_servers=[{**WEB, "headers": {"X-Key": "another-secret"}}])
        other.prompt("servers", timeout=60)
        assert "another-secret" not in other.to_text() + other.to_html() + repr(other.transcript)
        url = "https://y.example/mcp?page=2&api_key=secret-in-url"
        third = session.agent.new_session(mcp_servers=[{"name": "third", "url": url}])
        third.prompt("servers", timeout=60)
        shown = third.to_text() + third.to_html() + repr(third.transcript)
        assert "y.example" in shown and "secret-in-url" not in shown
        assert SECRET not in session.to_text() + session.to_html() + repr(session.transcript)
        seen = (
            repr(session)
            + repr(session.agent)
            + repr(session._conversation.mcp_servers)
            + repr(session.audit)
        )
        assert SECRET not in seen + repr(session.agent._host.agent.launch)
    text = recorded.read_text()
    assert "x.example" in text and "y.example" in text
    assert not [it for it in (SECRET, "another-secret", "secret-in-url") if it in text]
