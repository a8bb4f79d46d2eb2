"""The port on loopback serves the session's agent, and nobody in a browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.kernel_tools import http as module
from acp_notebook.agent.kernel_tools.http import HttpListener
from acp_notebook.agent.kernel_tools.listener import Unavailable
from acp_notebook.agent.kernel_tools.server import McpConnection
from tests.agent.kernel_tools.mcp_client import LIMIT_S, EchoTools


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def runs(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), LIMIT_S))

    return runs


class Caller:
    """Posts to a listener, with the right headers unless a test says otherwise."""

    def __init__(self, listener: HttpListener) -> None:
        server = listener.server("kernel")
        self.url = server.url
        self.host = urlsplit(server.url).netloc
        self.headers = {"Host": self.host, "Content-Type": "application/json", **server.headers}

    async def raw(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        host, port = self.host.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(data)
            answer = await asyncio.wait_for(reader.read(), LIMIT_S)
        finally:
            writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        headers = {name.lower(): value for name, value in pairs}
        return int(first.split()[1]), headers, body

    def request(self, body: bytes, *, method: str = "POST", **changed: str | None) -> bytes:
        more = {name.replace("_", "-"): it for name, it in changed.items()}
        names = {name.lower() for name in more}
        kept = {name: it for name, it in self.headers.items() if name.lower() not in names}
        headers = {**kept, "Content-Length": str(len(body)), **more}
        lines = [f"{name}: {it}" for name, it in headers.items() if it is not None]
        return "\r\n".join([f"{method} /mcp HTTP/1.1", *lines, "", ""]).encode() + body

    async def post(self, message: Any, **headers: str | None) -> tuple[int, dict[str, str], list[Any]]:
        status, head, body = await self.raw(
            self.request(json.dumps(message).encode(), method="POST", **headers)
        )
        lines = [line for line in body.decode().split("\n") if line.startswith("data: ")]
        return status, head, [json.loads(line[6:]) for line in lines]


@asynccontextmanager
async def serving(tools: EchoTools) -> AsyncIterator[tuple[HttpListener, Caller]]:
    listener = HttpListener(lambda send: McpConnection(tools, send))
    await listener.start()
    try:
        yield listener, Caller(listener)
    finally:
        listener.close()


def message(method: str, id: int | None = 1, **params: Any) -> dict[str, Any]:
    numbered = {} if id is None else {"id": id}
    return {"jsonrpc": "2.0", **numbered, "method": method, "params": params}


async def started(caller: Caller) -> str:
    status, headers, answers = await caller.post(message("initialize", protocolVersion="2025-06-18"))
    assert status == 200 and answers[0]["result"]["protocolVersion"] == "2025-06-18"
    return headers["mcp-session-id"]


@run
async def test_an_agent_with_the_token_is_served() -> None:
    async with serving(EchoTools()) as (_, caller):
        session = await started(caller)
        note = message("notifications/initialized", None)
        assert (await caller.post(note, Mcp_Session_Id=session))[0] == 202
        call = message("tools/call", 2, name="echo", arguments={"a": 1})
        status, _, answers = await caller.post(call, Mcp_Session_Id=session)
        assert status == 200 and answers[0]["result"]["content"][0]["text"] == '{"a": 1}'
        assert (await caller.raw(caller.request(b"", method="DELETE", Mcp_Session_Id=session)))[0] == 200
        assert (await caller.post(call, Mcp_Session_Id=session))[0] == 404


@run
async def test_a_port_that_pauses_is_closed_and_opens_again_as_the_same() -> None:
    async with serving(EchoTools()) as (listener, caller):
        session = await started(caller)
        listener.pause()
        with pytest.raises(OSError):
            await started(caller)
        await listener.start()
        call = message("tools/call", 2, name="echo", arguments={"a": 1})
        assert (await caller.post(call, Mcp_Session_Id=session))[0] == 200


@run
async def test_a_port_that_was_taken_meanwhile_is_told() -> None:
    async with serving(EchoTools()) as (listener, caller):
        listener.pause()
        port = int(caller.host.split(":")[1])
        async with await asyncio.start_server(lambda *_: None, "127.0.0.1", port):
            with pytest.raises(Unavailable, match=f"port {port} cannot be opened"):
                await listener.start()


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic eDp5"}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:8888"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 403),
        ({"Host": "evil.example"}, 403),  # a name that was made to point here
        ({"Host": None}, 403),
        ({"Content_Type": "text/plain"}, 415),  # what a page may send without asking first
        ({"Content_Length": "x"}, 411),
        ({"Content_Length": "99999999999"}, 413),
        ({"Transfer_Encoding": "chunked"}, 400),
    ],
)
@run
async def test_a_page_in_a_browser_and_who_has_no_token_reach_nothing(
    headers: dict[str, str | None], status: int
) -> None:
    tools = EchoTools()
    async with serving(tools) as (listener, caller):
        body = json.dumps(message("tools/call", name="echo", arguments={})).encode()
        got, answered, _ = await caller.raw(caller.request(body, method="POST", **headers))
        assert got == status
        assert not any(name.startswith("access-control") for name in answered)
        assert listener.refused == 1 and tools.calls == []


@pytest.mark.parametrize("method, status", [("GET", 405), ("OPTIONS", 405), ("PUT", 405)])
@run
async def test_other_methods_are_refused(method: str, status: int) -> None:
    async with serving(EchoTools()) as (_, caller):
        assert (await caller.raw(caller.request(b"", method=method)))[0] == status


@pytest.mark.parametrize(
    "change, status",
    [
        (lambda data, token: data.replace(b"Bearer ", b"bearer "), 401),
        (lambda data, token: data.replace(b"Bearer " + token, b"Bearer " + token + b"x"), 401),
        (lambda data, token: data.replace(b"Bearer " + token, b""), 401),
        (
            lambda data, token: data.replace(b"/mcp ", b"/mcp?token=" + token + b" ").replace(b"Auth", b"X-"),
            401,
        ),
        (lambda data, token: data.replace(b"/mcp ", b"http://127.0.0.1/mcp "), 404),
        (lambda data, token: data.replace(b"/mcp ", b"/mcp/../mcp "), 404),
        (lambda data, token: data.replace(b"Host: ", b"Host: x@"), 403),
        (lambda data, token: data.replace(b"Host:", b"Host :"), 403),
        (lambda data, token: data.replace(b"Content-Length: ", b"Content-Length: +"), 411),
        (lambda data, token: data.replace(b"Content-Length: ", b"Content-Length: -"), 411),
        (lambda data, token: data.replace(b"Content-Length:", b"X-Length:"), 411),
        (lambda data, token: data.replace(b"Host:", b"Content-Length: 1\r\nHost:"), 400),
        (lambda data, token: data.replace(b"Host:", b" folded\r\nHost:"), 400),
        (lambda data, token: data.replace(b"HTTP/1.1", b"HTTP/0.9"), 400),
        (lambda data, token: data.replace(b"POST", b"post"), 405),
        (lambda data, token: data.replace(b"application/json", b"application/json-patch+json"), 415),
        (lambda data, token: data.replace(b"Content-Type:", b"X-Type:"), 415),
    ],
    ids=range(17),
)
@run
async def test_a_request_that_is_nearly_right_reaches_nothing(
    change: Callable[[bytes, bytes], bytes], status: int
) -> None:
    tools = EchoTools()
    async with serving(tools) as (listener, caller):
        session = await started(caller)
        body = json.dumps(message("tools/call", name="echo", arguments={})).encode()
        right = caller.request(body, Mcp_Session_Id=session)
        got, _, _ = await caller.raw(change(right, listener.token.encode()))
        assert (got, tools.calls) == (status, [])
        assert (await caller.raw(right))[0] == 200 and len(tools.calls) == 1


@run
async def test_a_second_request_behind_the_first_is_not_served() -> None:
    tools = EchoTools()
    async with serving(tools) as (_, caller):
        session = await started(caller)
        body = json.dumps(message("tools/call", name="echo", arguments={"a": 1})).encode()
        one = caller.request(body, Mcp_Session_Id=session)
        await caller.raw(one + one.replace(b'"a": 1', b'"a": 2'))
        assert [it.arguments for it in tools.calls] in ([], [{"a": 1}])


@run
async def test_a_body_that_does_not_come_is_given_up() -> None:
    timeouts.replace(tool_http_read=0.05)
    tools = EchoTools()
    async with serving(tools) as (_, caller):
        data = caller.request(b"{}", Content_Length="1000")
        host, port = caller.host.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(data)
        assert await asyncio.wait_for(reader.read(), LIMIT_S) == b"" and tools.calls == []
        writer.close()


@run
async def test_connections_are_bounded() -> None:
    async with serving(EchoTools()) as (_, caller):
        host, port = caller.host.split(":")
        idle = [await asyncio.open_connection(host, int(port)) for _ in range(module.MAX_CONNECTIONS)]
        reader, late = await asyncio.open_connection(host, int(port))
        late.write(caller.request(b"{}"))
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), LIMIT_S) == b""
        for _, writer in (*idle, (reader, late)):
            writer.close()


@run
async def test_a_header_said_twice_is_refused() -> None:
    async with serving(EchoTools()) as (_, caller):
        data = caller.request(b"{}").replace(b"Host:", b"Host: evil.example\r\nHost:")
        assert (await caller.raw(data))[0] == 400


@run
async def test_a_head_without_an_end_and_a_slow_one_are_given_up() -> None:
    timeouts.replace(tool_http_read=0.05)
    async with serving(EchoTools()) as (_, caller):
        host, port = caller.host.split(":")
        for sent in (b"POST /mcp HTTP/1.1\r\n", b"x" * (module.MAX_HEAD + 1)):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            assert await asyncio.wait_for(reader.read(), LIMIT_S) == b""
            writer.close()


@run
async def test_a_session_that_was_not_started_is_unknown() -> None:
    async with serving(EchoTools()) as (_, caller):
        assert (await caller.post(message("tools/list")))[0] == 404
        assert (await caller.post(message("tools/list"), Mcp_Session_Id="guessed"))[0] == 404


@run
async def test_a_call_tells_its_progress_and_ends_when_it_is_cancelled() -> None:
    timeouts.replace(tool_progress=0.01)
    tools = EchoTools()
    async with serving(tools) as (_, caller):
        session = await started(caller)
        meta = {"progressToken": "p"}
        call = caller.post(message("tools/call", 5, name="hold", _meta=meta), Mcp_Session_Id=session)
        calling = asyncio.ensure_future(call)
        await tools.held.wait()
        tools.go.set()
        _, _, answers = await calling
        assert answers[-1]["id"] == 5
        tools.go.clear()
        tools.held.clear()
        calling = asyncio.ensure_future(
            caller.post(message("tools/call", 6, name="hold"), Mcp_Session_Id=session)
        )
        await tools.held.wait()
        await caller.post(message("notifications/cancelled", None, requestId=6), Mcp_Session_Id=session)
        await tools.cancelled.wait()
        calling.cancel()
        await asyncio.wait({calling})


@run
async def test_it_listens_on_loopback_only_and_not_after_its_session() -> None:
    async with serving(EchoTools()) as (listener, caller):
        assert caller.host.startswith("127.0.0.1:")
        assert listener.token not in repr(listener.server("kernel"))
        listener.close()
        with pytest.raises(OSError):
            await caller.post(message("tools/list"))
