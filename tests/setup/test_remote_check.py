"""What doctor says about remote agents: each server for itself, as connect would reach it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.settings import OwnAgent
from acp_notebook.setup.doctor import Finding
from acp_notebook.setup.remote_check import check
from tests.agent.remote.certificates import Authority
from tests.agent.remote.fault_proxy import FaultProxy
from tests.agent.remote.raw_http import Reply
from tests.agent.remote.servers import Server, python_server
from tests.patience import be_patient
from tests.waiting import wait_until

TOKEN = "Zq7-very-secret-token-91c2"


@pytest.fixture(autouse=True)
def patience() -> None:
    be_patient()
    timeouts.replace(doctor=60.0, doctor_connect=20.0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = python_server(tmp_path_factory.mktemp("server"))
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    with FaultProxy(server.port) as running:
        yield running


@pytest.fixture
def dead_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return int(closed.getsockname()[1])


def settings(text: str) -> None:
    folder = Path(os.environ["ACP_NOTEBOOK_CONFIG"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def findings(title: str) -> dict[str, Finding]:
    (section,) = [it for it in acp.doctor().sections if it.title == title]
    return {it.name: it for it in section.findings}


def test_an_address_that_cannot_be_one_is_named_with_its_line() -> None:
    settings('[agents.dots]\nurl = "wss://a..b/acp"\ncwd = "/srv"\n')
    found = findings("Remote agents")
    assert "check failed" not in found
    assert "line 2, agents.dots.url" in found["your settings"].value
    assert "host" in check(OwnAgent(name="dots", url="wss://a..b/acp")).text


def test_one_server_whose_check_fails_hides_no_other(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    good = f'[agents.good]\nurl = "{server.url("ws")}"\ncwd = "/srv"\n'
    settings('[agents.bad]\nurl = "wss://bad.invalid/acp"\ncwd = "/srv"\n' + good)
    connect = socket.create_connection

    def fails(address: tuple[str, int], *more: Any) -> socket.socket:
        if address[0] == "bad.invalid":
            raise UnicodeError("label empty or too long")
        return connect(address, *more)

    monkeypatch.setattr(socket, "create_connection", fails)
    found = findings("Remote agents")
    assert found["bad"].problem
    assert not found["good"].problem
    assert "check failed" not in found


@pytest.mark.parametrize("wire", ["ws", "http"])
def test_a_server_is_asked_for_its_protocol_and_left_again(wire: str, proxy: FaultProxy) -> None:
    found = check(OwnAgent(name="a", url=proxy.url(wire), headers={"X-Key": TOKEN}))
    for word in ("reachable in", "no TLS", "protocol 1", "answered initialize in"):
        assert word in found.text
    assert {"ws": "WebSocket", "http": "HTTP/1.1"}[wire] in found.text
    assert not found.is_problem
    assert TOKEN in [it.headers.get("x-key") for it in proxy.requests]
    wait_until(lambda: proxy.open == 0, "the connection is closed")


def test_a_path_without_an_agent_is_a_problem(proxy: FaultProxy) -> None:
    proxy.rule = lambda it: Reply(404) if it.path == "/nothing" else None
    found = check(OwnAgent(name="a", url=proxy.url("http", "/nothing")))
    assert found.is_problem
    assert "404" in found.advice


def test_a_token_that_the_server_refuses_and_repeats_is_not_shown(proxy: FaultProxy) -> None:
    proxy.rule = lambda it: Reply(401, body=f"no {TOKEN}".encode())
    found = check(OwnAgent(name="a", url=proxy.url("http"), headers={"X-Key": TOKEN}))
    assert found.is_problem
    assert "401" in found.advice
    assert TOKEN not in f"{found}"


def test_a_missing_variable_is_named_before_anything_is_sent(proxy: FaultProxy) -> None:
    for value in ({"env": "NO_SUCH_VARIABLE"}, "Bearer ${NO_SUCH_VARIABLE}"):
        found = check(OwnAgent(name="a", url=proxy.url("ws"), headers={"X-Key": value}))
        assert found.is_problem
        assert "NO_SUCH_VARIABLE" in f"{found.text} {found.advice}"
    assert not proxy.requests


def test_the_home_folder_in_ca_is_expanded_and_a_missing_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    authority = Authority(tmp_path)
    server = python_server(tmp_path, certificate=authority.issue(), name="tls")
    try:
        os.rename(authority.ca, tmp_path / "mine.pem")
        found = check(OwnAgent(name="a", url=server.url("http"), ca="~/mine.pem"))
        assert not found.is_problem, found
        assert "TLSv1" in found.text
        assert "HTTP/2" in found.text
    finally:
        server.stop()
    missing = check(OwnAgent(name="a", url=server.url("http"), ca="~/missing.pem"))
    assert missing.is_problem
    assert "~/missing.pem" in missing.text
    assert "does not exist" in missing.text


def test_a_server_that_failed_to_start_has_no_stderr_to_read(dead_port: int) -> None:
    with pytest.raises(acp.Error):
        acp.connect(f"ws://127.0.0.1:{dead_port}/acp", cwd="/srv")
    found = findings("Agents")[f"127.0.0.1:{dead_port}"]
    assert found.problem
    assert "stderr" not in found.advice


@pytest.mark.parametrize("wire", ["ws", "http"])
def test_a_session_that_connects_again_and_again_is_a_problem(wire: str, proxy: FaultProxy) -> None:
    session = acp.connect(proxy.url(wire), cwd="/srv", permissions="allow")
    try:
        session.prompt("hello")
        name = session.agent.name
        assert not findings("Remote agents")[name].problem
        proxy.strike("refuse", seconds=60)
        wait_until(lambda: session.status == "reconnecting", "the session connects again")
        assert findings("Running")[name].problem
        assert findings("Remote agents")[name].problem
    finally:
        session.agent.close()
