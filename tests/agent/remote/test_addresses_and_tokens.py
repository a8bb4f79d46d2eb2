"""Which addresses are refused, and where a token may never appear: attacks, seen from network and disk."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import acp_notebook as acp
from acp_notebook.agent.remote.server import HeadersFailed
from acp_notebook.agent.remote.server import Server as AgentServer
from acp_notebook.core.agent_url import read_url
from tests.agent.remote.certificates import Authority
from tests.agent.remote.conftest import Connect
from tests.agent.remote.fault_proxy import FaultProxy
from tests.agent.remote.raw_http import Reply, Request
from tests.agent.remote.servers import Server, typescript_server
from tests.session.helpers import LIMIT_S, notices
from tests.waiting import wait_until

TOKEN = "Zq7-very-secret-token-91c2"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def elsewhere(python: Server) -> Iterator[FaultProxy]:
    """Another origin, which must not see anything of us."""
    with FaultProxy(python.port) as running:
        yield running


# ---- addresses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "file://host/acp",
        "javascript:alert(1)",
        "JavaScript://host/%0aalert(1)",
        "data:text/html,x",
        "ftp://host/acp",
        "gopher://host:70/acp",
        "unix:///run/agent.sock",
        "https://user@host/acp",
        "https://:secret-word@host/acp",
        "wss://user:secret-word@host/acp",
        "https://user:secret-word@127.0.0.1:1/acp",
        "https:///acp",
        "https://",
        "wss://host:port/acp",
        "wss://host:99999/acp",
        "https://ho st/acp",
        "https://host/a\r\nX-Injected: 1",
        "https://host\\@evil.example/acp",
    ],
)
def test_an_address_that_is_none_of_an_agent_is_refused_at_once(url: str) -> None:
    with pytest.raises(acp.UsageError) as caught:
        acp.connect(url, cwd="/srv")
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        "192.0.2.1",
        "agents.example",
        "localhost.example",
        "127.0.0.1.example",
        "notlocalhost",
        "[2001:db8::1]",
        "0.0.0.0",
        "[::]",
        "2130706433.example",
    ],
)
@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_plain_text_to_another_machine_is_refused_before_anything_is_looked_up(
    scheme: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked_up(*_: Any, **__: Any) -> Any:
        pytest.fail("the name was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with pytest.raises(acp.UsageError, match="insecure=True"):
        acp.connect(f"{scheme}://{host}/acp", cwd="/srv", headers=HEADERS)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "1\r\nX-B: 2"},
        {"X-A\r\nX-B": "1"},
        {"X A": "1"},
        {"": "1"},
        {"X-A": "1\x00"},
        {"X-A": 1},
        {"Acp-Connection-Id": "mine"},
        {"Host": "other.example"},
        {"Content-Length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"X-A": {"env": "A_VARIABLE_THAT_NOBODY_SET"}},
        ["X-A: 1"],
    ],
)
def test_headers_that_would_break_the_request_are_refused(proxy: FaultProxy, wire: str, headers: Any) -> None:
    with pytest.raises(acp.Error):
        acp.connect(proxy.url(wire), cwd="/srv", headers=headers)
    assert not any("x-b" in request.headers for request in proxy.requests)


def test_a_relative_or_missing_folder_is_refused(proxy: FaultProxy, wire: str) -> None:
    for cwd in (None, "project", "./x", "~"):
        with pytest.raises(acp.UsageError, match=r"cwd|not absolute"):
            acp.connect(proxy.url(wire), cwd=cwd)
    assert not proxy.requests


# ---- redirects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_gets_no_token(
    proxy: FaultProxy, elsewhere: FaultProxy, wire: str, status: int
) -> None:
    for target in (elsewhere.url(wire), elsewhere.url(wire).replace("//", "//user:pass@")):
        proxy.rule = lambda request, target=target: Reply(status, {"Location": target})
        with pytest.raises(acp.Error) as caught:
            acp.connect(proxy.url(wire), cwd="/srv", headers=HEADERS)
        assert str(status) in str(caught.value)
    assert not [request for request in elsewhere.requests if TOKEN in str(request.headers)]
    assert elsewhere.accepted == 0


def test_a_redirect_of_a_later_request_gets_no_token(
    proxy: FaultProxy, elsewhere: FaultProxy, connect: Connect
) -> None:
    session = connect(proxy.url("http"), headers=HEADERS)
    to_elsewhere = Reply(307, {"Location": elsewhere.url("http")})
    proxy.rule = lambda request: to_elsewhere if request.rpc == "session/prompt" else None
    with pytest.raises(acp.Error):
        session.prompt("hello", timeout=LIMIT_S)
    assert elsewhere.accepted == 0


def test_a_downgrade_of_the_websocket_to_a_file_or_to_plain_text_is_not_followed(proxy: FaultProxy) -> None:
    for target in ("file:///etc/passwd", "http://192.0.2.1/acp", "javascript:alert(1)", "//192.0.2.1/acp"):
        proxy.rule = lambda request, target=target: Reply(302, {"Location": target})
        with pytest.raises(acp.Error):
            acp.connect(proxy.url("ws"), cwd="/srv", headers=HEADERS)


# ---- where a token is never written ------------------------------------------------------------


def _files_with(text: str, *folders: Path) -> list[Path]:
    found = []
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and text.encode() in path.read_bytes():
                found.append(path)
    return found


@pytest.mark.parametrize("given", ["value", "variable", "function", "mapping function"])
def test_a_token_is_sent_and_written_nowhere(
    given: str,
    proxy: FaultProxy,
    wire: str,
    connect: Connect,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("A_TOKEN", f"Bearer {TOKEN}")
    headers: Any = {
        "value": HEADERS,
        "variable": {"Authorization": {"env": "A_TOKEN"}},
        "function": {"Authorization": lambda: f"Bearer {TOKEN}"},
        "mapping function": lambda: HEADERS,
    }[given]
    caplog.set_level(logging.DEBUG)
    recording, audit = tmp_path / "run.jsonl", tmp_path / "audit.jsonl"
    session = connect(proxy.url(wire), headers=headers, record=recording, audit=audit)
    turn = session.prompt(f"Repeat Bearer {TOKEN} and {TOKEN}", timeout=LIMIT_S)
    assert turn.text.startswith("You said: Repeat")
    session.prompt("ask", timeout=LIMIT_S)
    session.agent.close()
    sent = [request.headers.get("authorization") for request in proxy.requests]
    assert set(sent) == {f"Bearer {TOKEN}"}, "every request has the token"
    shown = {
        "transcript": repr(session.transcript),
        "markdown": session.to_markdown(),
        "html": session.to_html(),
        "audit": repr(session.audit),
        "repr": f"{session!r} {session.agent!r} {turn!r}",
        "log": caplog.text,
        "output": "".join(capfd.readouterr()),
        "turn": turn.text,
    }
    assert [name for name, text in shown.items() if TOKEN in text] == []
    state = [Path(os.environ[name]) for name in ("ACP_NOTEBOOK_STATE", "ACP_NOTEBOOK_CONFIG")]
    assert _files_with(TOKEN, tmp_path, *state) == []
    assert "127.0.0.1" not in recording.read_text(), "a recording is passed on: it does not name the host"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500])
def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(
    proxy: FaultProxy, wire: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = f"rejected: Bearer {TOKEN} ({TOKEN})".encode()
    proxy.rule = lambda request: Reply(status, {"Content-Type": "text/plain", "X-Echo": TOKEN}, body)
    with pytest.raises(acp.Error) as caught:
        acp.connect(proxy.url(wire), cwd="/srv", headers=HEADERS, start_timeout=LIMIT_S)
    chain: list[str] = []
    error: BaseException | None = caught.value
    while error is not None:
        chain.append(f"{error!r} {error}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert TOKEN not in " ".join(chain)
    assert TOKEN not in caplog.text
    assert str(status) in str(caught.value)


def test_a_failing_token_function_is_named_without_what_it_said(proxy: FaultProxy, wire: str) -> None:
    def fails() -> str:
        raise RuntimeError(f"cannot sign in with {TOKEN}")

    with pytest.raises(acp.Error) as caught:
        acp.connect(proxy.url(wire), cwd="/srv", headers={"Authorization": fails})
    assert TOKEN not in str(caught.value)
    assert "RuntimeError" in str(caught.value)
    assert not proxy.requests


def test_a_token_in_the_query_is_warned_about_and_shown_nowhere(
    proxy: FaultProxy, wire: str, connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = proxy.url(wire, f"/acp?token={TOKEN}&x=1")
    recording = tmp_path / "run.jsonl"
    session = connect(url, record=recording)
    session.prompt("hello", timeout=LIMIT_S)
    session.agent.close()
    shown = f"{session!r} {session.agent!r} {session.transcript!r} {caplog.text} {recording.read_text()}"
    assert TOKEN not in shown
    assert any("contains a token" in notice for notice in notices(session))
    assert all(TOKEN in request.path for request in proxy.requests)


@pytest.mark.parametrize("wire", ["ws", "http"])
def test_libraries_log_nothing_of_ours_but_what_the_user_does_with_them(
    wire: Any,
    python_tls: Server,
    authority: Authority,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """HTTP/2 has a library for its headers, which logs them, too."""
    caplog.set_level(logging.DEBUG)
    session = connect(python_tls.url(wire), headers=HEADERS, ca=authority.ca)
    session.prompt("hello", timeout=LIMIT_S)
    session.agent.close()
    names = {record.name for record in caplog.records}
    assert not [name for name in names if name.startswith(("httpx", "httpcore", "hpack", "websockets"))]
    with pytest.raises(httpx.ConnectError):
        httpx.get("https://127.0.0.1:1/", trust_env=False)
    assert "httpcore.connection" in {record.name for record in caplog.records}


def test_a_request_to_this_machine_does_not_go_through_a_proxy(
    proxy: FaultProxy,
    elsewhere: FaultProxy,
    wire: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "WS_PROXY",
    ):
        monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
    session = connect(proxy.url(wire), headers=HEADERS)
    assert session.prompt("hello", timeout=LIMIT_S).text == "You said: hello"
    assert elsewhere.accepted == 0


def test_only_requests_of_the_protocol_are_made(proxy: FaultProxy, connect: Connect) -> None:
    """No look at other paths, no second origin, and the connection's own headers on everything."""
    session = connect(proxy.url("http"), headers=HEADERS)
    session.prompt("ask", timeout=LIMIT_S)
    session.agent.close()

    def summary(request: Request) -> tuple[str, str, bool]:
        return request.method, request.path, "acp-connection-id" in request.headers

    first, *rest = map(summary, proxy.requests)
    assert first == ("POST", "/acp", False)
    assert {path for _, path, _ in rest} == {"/acp"}
    assert all(has_id for *_, has_id in rest)
    assert rest[-1][0] == "DELETE"


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({"X-Goose": "correct-horse-battery"}, "correct-horse-battery"),
        ({"X-Team": "blue42secret"}, "blue42secret"),
        ({"Cookie": "theme=dark; sid=my-plain-session"}, "my-plain-session"),
        ({"Authorization": "Basic my-team-password"}, "my-team-password"),
    ],
)
def test_every_value_of_a_header_is_a_secret_however_plain_it_looks(
    headers: dict[str, str], secret: str
) -> None:
    server = AgentServer(read_url("https://host/acp"), headers)
    asyncio.run(server.fresh_headers())
    assert secret not in server.redactor.text(f"you sent {secret}, did you?")


def test_a_header_with_a_space_at_its_end_is_refused_without_its_value() -> None:
    with pytest.raises(ValueError, match="begins or ends with a space") as caught:
        acp.connect("wss://127.0.0.1:1/acp", cwd="/srv", headers={"Authorization": f"Bearer {TOKEN} "})
    assert TOKEN not in str(caught.value)


def test_the_users_cookies_and_those_of_the_server_are_both_sent(
    folder: Path, wire: str, connect: Connect
) -> None:
    """The load balancer of this server refuses what comes without its own."""
    server = typescript_server(folder, "--sticky", name="cookies")
    try:
        with FaultProxy(server.port) as proxy:
            session = connect(proxy.url(wire), headers={"cookie": "theme=dark; affinity=old"})
            session.prompt("hello", timeout=LIMIT_S)
            proxy.strike("cut")
            wait_until(lambda: proxy.accepted > 1 or session.status == "disconnected", "the cut is noticed")
            session.prompt("again", timeout=LIMIT_S)
            first, *later = (it.headers["cookie"] for it in proxy.requests)
            assert first == "theme=dark; affinity=old"
            assert set(later) == {"theme=dark; affinity=node-1"}
            session.agent.close()
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("given", "stored", "sent"),
    [
        ({}, [], None),
        ({}, ["a=1"], "a=1"),
        ({"Cookie": "b=2"}, [], "b=2"),
        ({"COOKIE": "b=2; c=3;"}, ["a=1"], "b=2; c=3; a=1"),
        ({"Cookie": "a=old; b=2"}, ["a=1"], "b=2; a=1"),
        ({"Cookie": "a=old"}, ["a=1; Max-Age=0"], "a=old"),
    ],
)
def test_cookies_are_merged_by_name(given: dict[str, str], stored: list[str], sent: str | None) -> None:
    server = AgentServer(read_url("https://agents.example/acp"))
    server.keep_cookies(("Set-Cookie", it) for it in stored)
    headers = server.with_cookies({"X-A": "1", **given})
    assert headers.pop("X-A") == "1"
    assert list(headers.values()) == ([] if sent is None else [sent])


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration])
def test_a_token_function_that_gives_up_is_named_at_once_and_prints_nothing(
    kind: type[BaseException], proxy: FaultProxy, capfd: pytest.CaptureFixture[str]
) -> None:
    def gives_up() -> str:
        raise kind(f"no login for {TOKEN}")

    with pytest.raises(acp.ConnectionLost, match=f"headers= failed: {kind.__name__}"):
        acp.connect(proxy.url("ws"), cwd="/srv", headers={"Authorization": gives_up}, start_timeout=LIMIT_S)
    assert TOKEN not in "".join(capfd.readouterr())


def test_a_start_that_waits_for_the_token_function_says_so(proxy: FaultProxy, wire: str) -> None:
    is_over = threading.Event()

    def waits() -> str:
        is_over.wait(LIMIT_S)
        return "token"

    try:
        with pytest.raises(acp.Timeout, match="your function for headers="):
            acp.connect(proxy.url(wire), cwd="/srv", headers={"X-Key": waits}, start_timeout=0.5)
    finally:
        is_over.set()


class _AsyncObject:
    async def __call__(self) -> str:
        return threading.current_thread().name


async def _token() -> str:
    return threading.current_thread().name


@pytest.mark.parametrize("function", [_token, lambda: _token(), _AsyncObject()])
def test_an_async_token_function_is_awaited_on_a_thread_of_its_own(function: Any) -> None:
    """One that blocks must not stop the other sessions."""
    server = AgentServer(read_url("https://host/acp"), {"X-Key": function})
    assert asyncio.run(server.fresh_headers()) == {"X-Key": "acp-headers"}


def test_an_empty_variable_is_named_like_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY_TOKEN", "")
    server = AgentServer(read_url("https://host/acp"), {"X-Key": {"env": "EMPTY_TOKEN"}})
    with pytest.raises(HeadersFailed, match="EMPTY_TOKEN, which is empty"):
        asyncio.run(server.fresh_headers())
