"""What an agent elsewhere is told and offered: its paths are not ours, and neither are its commands."""

from __future__ import annotations

import json
import os
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.recordings.recording import read
from acp_notebook.agent.turn_gaps import AS_STORED, COMPLETED, INCOMPLETE
from tests.agent.remote.conftest import THEIR_CWD, Connect
from tests.agent.remote.fault_proxy import FaultProxy
from tests.agent.remote.raw_http import Reply
from tests.agent.remote.servers import Server, typescript_server
from tests.session.helpers import LIMIT_S, begun, notices
from tests.waiting import wait_until

FOREIGN_WORDS = ("process", "arguments", "stderr", "started again", "exited", "pid ")


def sent(proxy: FaultProxy, method: str) -> dict[str, Any]:
    """The parameters of the newest request of this method."""
    (*_, request) = [it for it in proxy.requests if it.rpc == method]
    params: dict[str, Any] = json.loads(request.body)["params"]
    return params


@pytest.fixture
def settings() -> Path:
    """The user's settings file."""
    folder = Path(os.environ["ACP_NOTEBOOK_CONFIG"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "config.toml"


def test_files_and_commands_of_this_machine_are_not_offered(proxy: FaultProxy, connect: Connect) -> None:
    connect(proxy.url("http"), fs=True, terminal=True)
    offered = sent(proxy, "initialize")["clientCapabilities"]
    assert not offered.get("terminal")
    assert not any(offered.get("fs", {}).values())


def test_a_shared_folder_turns_files_commands_and_undo_on(
    proxy: FaultProxy, connect: Connect, tmp_path: Path
) -> None:
    session = connect(proxy.url("http"), cwd=str(tmp_path), shared=True)
    offered = sent(proxy, "initialize")["clientCapabilities"]
    assert offered["terminal"] is True
    assert offered["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert session._conversation.undoing.covers


def test_nothing_can_be_undone_and_the_reason_is_named(proxy: FaultProxy, connect: Connect) -> None:
    session = connect(proxy.url("http"))
    session.prompt("hello", timeout=LIMIT_S)
    assert not session._conversation.undoing.covers
    assert "its own machine" in str(session._conversation.undoing.why_not)


def test_a_file_is_sent_as_content_and_never_as_a_path(
    proxy: FaultProxy, connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("a secret of this machine")
    connect(proxy.url("http")).prompt("read this", file, timeout=LIMIT_S)
    blocks = json.dumps(sent(proxy, "session/prompt")["prompt"])
    assert "a secret of this machine" in blocks
    assert "resource_link" not in blocks
    assert str(tmp_path) not in blocks


def test_commands_of_this_machine_are_not_sent_as_mcp_servers(
    proxy: FaultProxy, connect: Connect, settings: Path
) -> None:
    settings.write_text("[mcp_servers.local]\ncommand = 'sh'\nalways = true\n")
    session = connect(proxy.url("http"))
    assert sent(proxy, "session/new")["mcpServers"] == []
    assert any("local" in notice for notice in notices(session)), "the panel says so"


def test_a_server_that_the_call_names_is_sent_as_it_is_written(proxy: FaultProxy, connect: Connect) -> None:
    connect(proxy.url("http"), mcp_servers=[{"name": "theirs", "command": "/opt/tool", "args": ["-x"]}])
    (server,) = sent(proxy, "session/new")["mcpServers"]
    assert (server["name"], server["command"], server["args"]) == ("theirs", "/opt/tool", ["-x"])


def test_the_kernel_is_not_offered(proxy: FaultProxy) -> None:
    with pytest.raises(acp.UsageError, match="a remote agent cannot"):
        acp.connect(proxy.url("http"), cwd=THEIR_CWD, tools=True)
    assert not proxy.requests


def test_an_agent_of_the_settings_has_its_address_folder_and_token(
    proxy: FaultProxy, wire: str, connect: Connect, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILD_TOKEN", "token-of-the-settings")
    settings.write_text(
        f"[agents.build]\nurl = {proxy.url(wire)!r}\ncwd = '/srv/theirs'\n"
        "headers = { X-Key = { env = 'BUILD_TOKEN' } }\n"
    )
    session = connect("build", cwd=None)
    assert session.agent.name == "build"
    assert session.prompt("hello", timeout=LIMIT_S).text == "You said: hello"
    assert {it.headers.get("x-key") for it in proxy.requests} == {"token-of-the-settings"}


def test_no_word_is_about_an_agent_of_this_machine(
    proxy: FaultProxy, wire: str, connect: Connect, settings: Path
) -> None:
    settings.write_text(f"[agents.build]\nurl = {proxy.url(wire)!r}\ncwd = '/srv/theirs'\n")
    session = connect("build", cwd=None)
    session.prompt("ask", timeout=LIMIT_S)
    report = acp.doctor()
    (section,) = [it for it in report.sections if it.title == "Remote agents"]
    findings = " ".join(it.value for it in section.findings)
    said = " ".join([repr(session.agent), repr(session), *notices(session), *map(repr, session.audit)])
    said += findings
    assert [word for word in FOREIGN_WORDS if word in said] == []
    for word in ("reachable in", "no TLS", "protocol 1", "answered initialize in"):
        assert word in findings


@pytest.mark.parametrize(("wire", "missing"), [("ws", "websockets"), ("http", "httpx"), ("http", "h2")])
def test_without_its_libraries_the_error_says_what_to_install(
    wire: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == missing else found(name))
    with pytest.raises(acp.AgentNotFound, match=r"pip install 'acp-notebook\[remote\]'"):
        acp.connect(f"{wire}://127.0.0.1:9/acp", cwd=THEIR_CWD)


def test_a_message_above_the_servers_cap_is_named_on_both_wires(
    wire: str, connect: Connect, tmp_path: Path
) -> None:
    server = typescript_server(tmp_path, "--most", str(1 << 20))
    try:
        session = connect(server.url(wire))
        with pytest.raises(acp.Error, match="larger than"):
            session.prompt("z" * (2 << 20), timeout=LIMIT_S)
        text = f"small {session.id}"
        assert session.prompt(text, timeout=LIMIT_S).text == f"You said: {text}"
        session.agent.close()
    finally:
        server.stop()


def test_an_agent_on_another_machine_is_reached_through_the_proxy(
    proxy: FaultProxy, python: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy looks the name up: nothing here can."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    session = connect("http://build.invalid/acp", insecure=True)
    assert session.prompt("hello", timeout=LIMIT_S).text == "You said: hello"
    assert {it.headers["host"] for it in proxy.requests} == {"build.invalid"}


def test_a_recorded_loss_of_the_connection_is_replayed_as_one(
    proxy: FaultProxy, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / "run.jsonl"
    session = connect(proxy.url("ws"), record=path)
    turn = begun(session.start("words 2000 10"))
    proxy.strike("reset")
    with pytest.raises(acp.ConnectionLost) as lost:
        turn.wait(LIMIT_S)
    session.agent.close()
    replayed = connect("demo", cassette=acp.Cassette(path), cwd=None)
    again = replayed.start("words 2000 10")
    with pytest.raises(acp.ConnectionLost) as caught:
        again.wait(LIMIT_S)
    assert str(caught.value) == str(lost.value)
    assert caught.value.may_pass == lost.value.may_pass
    assert again.text == turn.text
    assert notices(replayed) == notices(session)


def test_a_replay_of_a_remote_agent_speaks_of_its_connection_and_of_no_restart(
    proxy: FaultProxy, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / "run.jsonl"
    session = connect(proxy.url("ws"), record=path)
    session.prompt("hello", timeout=LIMIT_S)
    proxy.strike("cut")
    wait_until(lambda: "Connected again" in str(notices(session)), "it connects again")
    session.prompt("again", timeout=LIMIT_S)
    session.agent.close()
    replayed = connect("demo", cassette=acp.Cassette(path), cwd=None)
    assert "WebSocket" in repr(replayed.agent)
    replayed.prompt("hello", timeout=LIMIT_S)
    wait_until(lambda: "Connected again" in str(notices(replayed)), "the replay connects again")
    assert replayed.prompt("again", timeout=LIMIT_S).text == "You said: again"
    assert "restart" not in replayed.to_text()


def ended(turn: acp.Turn) -> str | None:
    """Wait for the end. The error, if even the end of the turn was lost."""
    try:
        turn.wait(LIMIT_S)
    except acp.ConnectionLost as error:
        return str(error)
    return None


@pytest.mark.parametrize("can_load", [True, False])
def test_a_replay_marks_or_completes_the_turn_that_lost_messages(
    can_load: bool, proxy: FaultProxy, tmp_path: Path, connect: Connect
) -> None:
    timeouts.replace(remote_gap=2.0)
    path = tmp_path / "run.jsonl"
    session = connect(proxy.url("http"), record=path)
    turn = begun(session.start("words 100 20"))
    if not can_load:
        proxy.rule = lambda it: Reply(500) if it.rpc == "session/load" else None
    proxy.strike("reset")
    error = ended(turn)
    proxy.rule = lambda it: None
    wait_until(lambda: session.status == "idle", "the session is ready")
    (notice,) = (it for it in (COMPLETED[0], AS_STORED[0], INCOMPLETE[0]) if it in session.to_text())
    assert (notice == INCOMPLETE[0]) is not can_load
    assert (notice == AS_STORED[0]) is (can_load and error is not None)
    later = session.start("again")  # as long as the connection is not renewed, it may lose something, too
    later_error = ended(later)
    session.agent.close()
    replayed = connect("demo", cassette=acp.Cassette(path), cwd=None)
    again = replayed.start("words 100 20")
    assert (ended(again), again.text) == (error, turn.text)
    assert notice in replayed.to_text()
    again = replayed.start("again")
    assert (ended(again), again.text) == (later_error, later.text)


def test_a_history_that_was_read_again_is_recorded_without_secrets(
    proxy: FaultProxy, tmp_path: Path, connect: Connect
) -> None:
    timeouts.replace(remote_gap=2.0)
    path = tmp_path / "run.jsonl"
    session = connect(proxy.url("http"), record=path, secrets=["w50 w51 w52 w53"])
    turn = begun(session.start("words 100 20"))
    proxy.strike("reset")
    ended(turn)
    wait_until(lambda: session.status == "idle", "the session is ready")
    session.agent.close()
    actions = [it.message for it in read(path).entries if it.direction == "did"]
    (aside,) = [it for it in actions if it["what"] == "aside"]
    text = "".join(it["content"]["text"] for it in aside["updates"] if "text" in it.get("content", {}))
    assert "w49 " in text
    assert "w54 " in text
    assert "w51" not in text
