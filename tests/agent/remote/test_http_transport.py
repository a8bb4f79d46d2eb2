"""The transport over HTTP against a server that follows a script: what its answers may cause here."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.remote.failures import Failure
from acp_notebook.agent.remote.http_link import HttpLink
from acp_notebook.agent.remote.http_transport import HttpTransport
from acp_notebook.agent.remote.server import Server
from acp_notebook.agent.transport import Ending, Interrupted, LinkChange, MessagesLost, Restored
from acp_notebook.core.agent_url import Headers, read_url
from tests.agent.remote.raw_http import Reply, Request, chunked, parse_head
from tests.waiting import DEADLINE_S

Respond = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Drip:
    """An answer that never ends, a few bytes at a time."""

    start: bytes
    more: bytes

    async def write(self, writer: asyncio.StreamWriter) -> None:
        writer.write(self.start)
        while True:
            writer.write(self.more)
            await writer.drain()
            await asyncio.sleep(DRIP_S)


Answer = Reply | Drip | None
Refuse = Callable[[Request], Answer | Awaitable[Answer]]
DRIP_S = 0.02

READ = 256 << 10

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def event(message: dict[str, Any], id: str | None = None) -> bytes:
    number = f"id: {id}\n" if id else ""
    return chunked(f"{number}data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())


class Client:
    """A transport whose messages are collected."""

    def __init__(self, url: str, headers: Headers | None = None) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.transport = HttpTransport(Server(read_url(url), headers or {}))

    def connect(self) -> None:
        self.transport.start(self._receive, self.ended.set_result)
        self.send(0, "initialize")

    def _receive(self, data: bytes) -> None:
        for line in data.splitlines():
            if (message := json.loads(line)).get("id") != 0:
                self.messages.put_nowait(message)

    def send(self, id: int, method: str, **params: Any) -> int:
        return self.write({"id": id, "method": method, "params": params})

    def write(self, message: dict[str, Any]) -> int:
        """Send a message; returns its size."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self.transport.write(line)
        return len(line)

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.messages.get(), DEADLINE_S)


class Script:
    """A server on loopback: `stream` writes the events of a stream, and everything else is accepted."""

    def __init__(self, stream: Respond, refuse: Refuse) -> None:
        """`refuse`: the answer to a message that is not accepted."""
        self._stream, self._refuse = stream, refuse
        self.is_slow = False
        """Whether it reads a large message in many steps, as over a slow network."""
        self.requests: list[Request] = []
        self.posted: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = parse_head(await reader.readuntil(b"\r\n\r\n"))
                content = await self._read(reader, int(request.headers.get("content-length", "0")))
                request = Request(request.method, request.path, request.headers, content)
                self.requests.append(request)
                if request.method == "GET":
                    await self._stream(request, writer)
                elif request.rpc == "initialize":
                    body = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {}}).encode()
                    writer.write(Reply(200, {"Acp-Connection-Id": "c1"}, body).encoded())
                else:
                    answer = self._refuse(request)
                    reply = await answer if isinstance(answer, Awaitable) else answer
                    if isinstance(reply, Drip):
                        await reply.write(writer)
                    else:
                        writer.write((reply or Reply(202)).encoded())
                    self.posted[request.rpc].set()
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client left
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader, size: int) -> bytes:
        parts = []
        for at in range(0, size, READ):
            parts.append(await reader.readexactly(min(READ, size - at)))
            if self.is_slow:
                await asyncio.sleep(DRIP_S)
        return b"".join(parts)

    @property
    def streams(self) -> list[str | None]:
        """The sessions of the streams that the client asked for."""
        return [it.headers.get("acp-session-id") for it in self.requests if it.method == "GET"]


@asynccontextmanager
async def connected(
    stream: Respond, headers: Headers | None = None, refuse: Refuse = lambda request: None
) -> AsyncIterator[tuple[Client, Script]]:
    script = Script(stream, refuse)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ)  # or the system takes megabytes at once
    server = await asyncio.start_server(script.serve, sock=listener)
    client = Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp", headers)
    try:
        client.connect()
        yield client, script
    finally:
        await client.transport.close()
        server.close()


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test, DEADLINE_S)

    asyncio.run(bounded())


def test_answers_that_nobody_asked_for_open_no_streams() -> None:
    asked = asyncio.Event()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        await asked.wait()
        for number in range(300):
            writer.write(event({"id": 1000 + number, "result": {"sessionId": f"s{number}"}}))
        writer.write(event({"id": 1, "result": {"sessionId": "real"}}))
        writer.write(event({"id": 1, "result": {"sessionId": "again"}}))

    async def scene() -> None:
        async with connected(stream) as (client, script):
            client.send(1, "session/new")
            await script.posted["session/new"].wait()
            asked.set()
            while (await client.next())["result"]["sessionId"] != "again":
                pass
            client.send(2, "session/prompt", sessionId="real")  # posted when the stream is open
            await script.posted["session/prompt"].wait()
            assert set(script.streams) <= {None, "real"}

    run(scene())


def test_a_stream_that_ends_at_once_again_and_again_ends_the_connection() -> None:
    timeouts.replace(remote_reconnect=1.0)

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + LAST_CHUNK)

    async def scene() -> None:
        async with connected(stream) as (client, script):
            ending = await asyncio.wait_for(asyncio.shield(client.ended), DEADLINE_S)
            assert "ended the stream again and again" in ending.reason
            assert len(script.streams) < 10

    run(scene())


def test_a_page_in_place_of_a_stream_is_an_error() -> None:
    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(Reply(200, {"Content-Type": "text/html"}, b"<p>Welcome</p>").encoded())

    async def scene() -> None:
        async with connected(stream) as (client, _):
            ending = await asyncio.wait_for(asyncio.shield(client.ended), DEADLINE_S)
            assert "with something else" in ending.reason

    run(scene())


def test_an_id_that_a_server_uses_again_drops_no_event() -> None:
    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        for _ in range(2):
            for number in range(3):
                writer.write(event({"method": "x", "params": {"n": number}}, id=str(number + 1)))

    async def scene() -> None:
        async with connected(stream) as (client, _):
            assert [(await client.next())["params"]["n"] for _ in range(6)] == [0, 1, 2, 0, 1, 2]

    run(scene())


def test_events_that_are_sent_again_after_a_reconnect_are_dropped() -> None:
    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        last = request.headers.get("last-event-id")
        numbers = range(1, 4) if last is None else range(2, 6)  # one more than was asked for
        for number in numbers:
            writer.write(event({"method": "x", "params": {"n": number}}, id=str(number)))
        if last is None:
            writer.write(LAST_CHUNK)

    async def scene() -> None:
        async with connected(stream) as (client, _):
            assert [(await client.next())["params"]["n"] for _ in range(5)] == [1, 2, 3, 4, 5]

    run(scene())


def test_a_server_with_ids_that_cannot_be_sent_back_counts_as_one_without() -> None:
    changes: list[LinkChange] = []
    again = asyncio.Event()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        if "acp-session-id" in request.headers and len(script_streams(request)) == 1:
            writer.write(event({"method": "x", "params": {}}, id="1"))
            writer.write(event({"method": "x", "params": {}}, id="y" * 5000) + LAST_CHUNK)
        elif "acp-session-id" in request.headers:
            again.set()

    opened: list[Request] = []

    def script_streams(request: Request) -> list[Request]:
        opened.append(request)
        return opened

    async def scene() -> None:
        async with connected(stream) as (client, _):
            client.transport.listen(changes.append)
            client.send(1, "session/prompt", sessionId="s1")
            await again.wait()
            assert "last-event-id" not in opened[1].headers
            assert MessagesLost("s1") in changes

    run(scene())


def test_a_header_that_cannot_be_sent_ends_the_connection_and_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def scene() -> None:
        client = Client("http://127.0.0.1:1/acp", {"Authorization": "Bearer s3cr3t-t0ken "})
        client.transport.start(lambda data: None, client.ended.set_result)
        ending = await asyncio.wait_for(client.ended, DEADLINE_S)
        assert "the header Authorization begins or ends with a space" in ending.reason
        assert "s3cr3t" not in ending.reason
        await client.transport.close()

    run(scene())
    assert "s3cr3t" not in caplog.text


# ---- a refused token ---------------------------------------------------------------------------


def test_streams_that_are_refused_at_once_wait_for_one_new_token(monkeypatch: pytest.MonkeyPatch) -> None:
    renew = HttpLink.renew

    async def seen(link: HttpLink, used: dict[str, str]) -> bool:
        asked.append(used)
        if len(asked) == 2:
            both.set()
        return await renew(link, used)

    asked: list[dict[str, str]] = []
    monkeypatch.setattr(HttpLink, "renew", seen)
    calls = 0
    refused: list[str | None] = []
    both = threading.Event()
    both_again = asyncio.Event()
    created, cut = asyncio.Event(), asyncio.Event()

    async def headers() -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            both.wait(DEADLINE_S)  # the second refusal comes while the first one waits
        return {"X-Key": f"token-{calls}"}

    accepted: list[str | None] = []

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        session = request.headers.get("acp-session-id")
        key = request.headers["x-key"]
        if cut.is_set() and key == "token-1":
            refused.append(session)
            writer.write(Reply(401).encoded())
            return
        writer.write(STREAM)
        await writer.drain()
        if key == "token-1":
            if session is None:
                await created.wait()
                writer.write(event({"id": 1, "result": {"sessionId": "s1"}}))
                await writer.drain()
            await cut.wait()
            writer.write(LAST_CHUNK)
        else:
            accepted.append(session)
            if len(accepted) == 2:
                both_again.set()

    async def scene() -> None:
        async with connected(stream, cast(Any, headers)) as (client, script):
            client.send(1, "session/new")
            await script.posted["session/new"].wait()
            created.set()
            await client.next()
            client.send(2, "session/prompt", sessionId="s1")
            await script.posted["session/prompt"].wait()
            cut.set()
            await both_again.wait()
            assert sorted(refused, key=str) == sorted([None, "s1"], key=str)
            assert calls == 2
            assert not client.ended.done()

    run(scene())


# ---- messages that the server refuses ----------------------------------------------------------

ASKING = {"id": 9, "method": "session/request_permission", "params": {"sessionId": "s1"}}


@pytest.mark.parametrize("status", [400, 409, 413, 415])
@pytest.mark.parametrize("session", ["s1", None])
def test_an_answer_that_the_server_refuses_is_replaced_by_an_error_once(
    status: int, session: str | None
) -> None:
    refused: list[Request] = []
    created = asyncio.Event()

    def refuse(request: Request) -> Reply | None:
        if request.rpc:
            return None
        refused.append(request)
        return Reply(status)

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        await writer.drain()
        of = request.headers.get("acp-session-id")
        if of is None:
            await created.wait()
            writer.write(event({"id": 1, "result": {"sessionId": "s1"}}))
        if of == session:
            writer.write(event(ASKING if session else {"id": 9, "method": "_ask"}))

    async def scene() -> None:
        async with connected(stream, refuse=refuse) as (client, script):
            client.send(1, "session/new")
            await script.posted["session/new"].wait()
            created.set()
            while (await client.next()).get("id") != 9:
                pass
            client.write({"id": 9, "result": {"outcome": "x" * 1000}})
            for number in range(2, 5):  # what is written afterwards is posted afterwards
                client.send(number, "session/prompt", sessionId="s1")
                await script.posted["session/prompt"].wait()
                script.posted["session/prompt"].clear()
            assert [it.headers.get("acp-session-id") for it in refused] == [session, session]
            answer, error = (json.loads(it.body) for it in refused)
            assert "result" in answer
            assert error["id"] == 9 and str(status) in error["error"]["message"]
            assert sorted(script.streams, key=str) == sorted([None, "s1"], key=str)

    run(scene())


def test_what_replaces_a_refused_answer_does_not_count_as_unread() -> None:
    """A prompt that was sent behind it could look as if nobody had got it, and be sent again."""
    answering, written, prompting = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def accept(request: Request) -> Reply:
        if request.rpc:
            prompting.set()
            await asyncio.Event().wait()
        if "error" in json.loads(request.body):
            return Reply(202)
        answering.set()
        await written.wait()
        return Reply(400)

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        if "acp-session-id" not in request.headers:
            writer.write(event({"id": 9, "method": "_ask"}))

    async def scene() -> None:
        async with connected(stream, refuse=accept) as (client, _):
            await client.next()
            client.write({"id": 9, "result": {}})
            await answering.wait()
            client.send(2, "session/prompt", sessionId="s1")
            written.set()
            await prompting.wait()
            client.transport._fail(Failure("cut"))
            assert (await client.ended).unread == 0

    run(scene())


# ---- loading a session -------------------------------------------------------------------------

REFUSAL = {"id": 1, "error": {"code": -32002, "message": "no such session", "data": {"uri": "s1"}}}


@pytest.mark.parametrize("opens", [True, False], ids=["stream opens", "stream refused"])
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_the_agents_error_for_a_load_is_passed_on_and_its_stream_ends(method: str, opens: bool) -> None:
    timeouts.replace(remote_stream=DEADLINE_S * 2)
    posted = asyncio.Event()

    def accept(request: Request) -> Reply | None:
        posted.set()
        return None

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        if "acp-session-id" in request.headers and not opens:
            writer.write(Reply(404).encoded())
            return
        writer.write(STREAM)
        if "acp-session-id" not in request.headers:
            await writer.drain()
            await posted.wait()
            writer.write(event(REFUSAL))

    async def scene() -> None:
        async with connected(stream, refuse=accept) as (client, _):
            client.send(1, method, sessionId="s1", cwd="/srv")
            assert await client.next() == {"jsonrpc": "2.0"} | REFUSAL
            assert not client.transport.reads("s1")

    run(scene())


@pytest.mark.parametrize("status", [400, 413])
def test_a_load_that_the_server_refuses_leaves_no_stream(status: int) -> None:
    def refuse(request: Request) -> Reply | None:
        return Reply(status) if request.rpc == "session/load" else None

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        known = "acp-session-id" not in request.headers
        writer.write(STREAM if known else Reply(404).encoded())

    async def scene() -> None:
        async with connected(stream, refuse=refuse) as (client, _):
            client.send(1, "session/load", sessionId="s1", cwd="/srv")
            assert (await client.next())["error"]["data"]["status"] == status
            assert not client.transport.reads("s1")

    run(scene())


def test_a_failed_load_leaves_the_stream_of_a_session_that_was_open() -> None:
    created, loading = asyncio.Event(), asyncio.Event()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        await writer.drain()
        if "acp-session-id" not in request.headers:
            await created.wait()
            writer.write(event({"id": 1, "result": {"sessionId": "s1"}}))
            await writer.drain()
            await loading.wait()
            writer.write(event({"id": 2, "error": {"code": -32603, "message": "busy"}}))

    async def scene() -> None:
        async with connected(stream) as (client, script):
            client.send(1, "session/new")
            await script.posted["session/new"].wait()
            created.set()
            await client.next()
            client.send(2, "session/load", sessionId="s1", cwd="/srv")
            await script.posted["session/load"].wait()
            loading.set()
            assert (await client.next())["error"]["message"] == "busy"
            assert client.transport.reads("s1")

    run(scene())


# ---- slow servers and slow networks ------------------------------------------------------------

HEAD = b"HTTP/1.1 202 Yes\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"


async def quiet(request: Request, writer: asyncio.StreamWriter) -> None:
    """A stream on which nothing happens."""
    writer.write(STREAM)


@pytest.mark.parametrize(
    "drip",
    [Drip(b"HTTP/1.1 202 Yes\r\nX-More: ", b"x"), Drip(HEAD + b"\r\n", chunked(b" "))],
    ids=["headers", "body"],
)
def test_an_answer_that_never_ends_is_given_up(drip: Drip) -> None:
    timeouts.replace(remote_request=0.5, remote_doubt=0.1)

    async def scene() -> None:
        async with connected(quiet, refuse=lambda request: drip) as (client, _):
            client.send(1, "session/new")
            ending = await asyncio.shield(client.ended)
            assert "did not finish its answer in time" in ending.reason
            assert ending.unread == 0

    run(scene())


def test_an_error_whose_body_never_ends_is_the_error_all_the_same() -> None:
    timeouts.replace(remote_error=0.2)
    drip = Drip(HEAD.replace(b"202 Yes", b"400 No") + b"\r\n" + chunked(b"bad luck "), chunked(b" "))

    async def scene() -> None:
        async with connected(quiet, refuse=lambda request: drip) as (client, _):
            client.send(1, "session/new")
            error = (await client.next())["error"]
            assert error["data"]["status"] == 400
            assert "bad luck" in error["message"]

    run(scene())


def test_a_stream_whose_head_never_ends_is_given_up() -> None:
    timeouts.replace(remote_request=0.2, remote_reconnect=0.5)

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        await Drip(b"HTTP/1.1 200 OK\r\nX-More: ", b"x").write(writer)

    async def scene() -> None:
        async with connected(stream) as (client, _):
            assert "did not finish its answer in time" in (await asyncio.shield(client.ended)).reason

    run(scene())


def test_a_large_message_over_a_slow_network_is_not_given_up_while_it_moves() -> None:
    timeouts.replace(remote_post=1.0)

    async def scene() -> None:
        async with connected(quiet) as (client, script):
            client.send(1, "_warm")
            await script.posted["_warm"].wait()
            script.is_slow = True
            client.send(2, "_large", text="x" * (16 << 20))
            await script.posted["_large"].wait()
            assert not client.ended.done()
            assert not client.messages.qsize()

    run(scene())


# ---- the end of a stream -----------------------------------------------------------------------


def test_a_stream_that_ends_while_it_is_interrupted_is_waited_for_no_longer() -> None:
    changes: asyncio.Queue[LinkChange] = asyncio.Queue()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        if "acp-session-id" in request.headers:
            writer.write(Reply(502).encoded())
        else:
            writer.write(STREAM)

    async def scene() -> None:
        async with connected(stream) as (client, _):
            client.transport.listen(changes.put_nowait)
            client.send(1, "session/prompt", sessionId="s1")
            while not isinstance(await changes.get(), Interrupted):
                pass
            client.transport.forget("s1")
            assert isinstance(await changes.get(), Restored)

    run(scene())


def test_a_message_of_a_forgotten_session_opens_no_stream() -> None:
    async def scene() -> None:
        async with connected(quiet) as (client, script):
            client.send(1, "session/prompt", sessionId="s1")
            await script.posted["session/prompt"].wait()
            client.transport.forget("s1")
            client.write({"method": "session/cancel", "params": {"sessionId": "s1"}})
            await script.posted["session/cancel"].wait()
            assert script.streams.count("s1") == 1
            client.send(2, "session/load", sessionId="s1")
            await script.posted["session/load"].wait()
            assert script.streams.count("s1") == 2

    run(scene())


# ---- sessions do not wait for each other -------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "stream", "transfer"])
@pytest.mark.parametrize("status", [202, 400])
def test_a_cancel_and_an_answer_do_not_wait_for_another_session(fault: str, status: int) -> None:
    waiting = asyncio.Event()
    gone = asyncio.Event()
    posted: asyncio.Queue[Request] = asyncio.Queue()

    async def refuse(request: Request) -> Reply | None:
        if fault == "transfer" and request.headers.get("acp-session-id") == "a" and gone.is_set():
            waiting.set()
            await asyncio.Event().wait()
        if fault == "429" and request.headers.get("acp-session-id") == "a" and gone.is_set():
            waiting.set()
            return Reply(429, {"Retry-After": "50"})
        if gone.is_set():
            posted.put_nowait(request)
            return Reply(status)
        return None

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        of = request.headers.get("acp-session-id")
        if fault == "stream" and of == "a" and gone.is_set():
            waiting.set()
            writer.write(Reply(502).encoded())
            return
        writer.write(STREAM)
        if of == "b":
            writer.write(event(ASKING | {"params": {"sessionId": "b"}}))
        if of == "a" and fault == "stream":
            await writer.drain()
            await gone.wait()
            writer.write(LAST_CHUNK)

    async def scene() -> None:
        async with connected(stream, refuse=refuse) as (client, script):
            for number, session in enumerate("ab", 1):
                client.send(number, "session/prompt", sessionId=session)
                await script.posted["session/prompt"].wait()
                script.posted["session/prompt"].clear()
            while (await client.next()).get("id") != 9:
                pass
            gone.set()
            if fault == "stream":
                await waiting.wait()
            size = client.send(3, "session/prompt", sessionId="a")
            await waiting.wait()
            if fault == "transfer":
                size = 0  # the server has it
            size += client.send(4, "session/prompt", sessionId="a")
            client.write({"id": 9, "result": {}})
            client.write({"method": "session/cancel", "params": {"sessionId": "b"}})
            last = client.send(5, "session/prompt", sessionId="b")
            client.write({"method": "session/cancel", "params": {"sessionId": "b"}})
            first, *_ = found = [await posted.get()]
            while found[-1].rpc != "session/cancel":
                found.append(await posted.get())
            assert [it.headers["acp-session-id"] for it in found] == ["b"] * len(found)
            assert json.loads(first.body)["id"] == 9, "in their order"
            assert len(found) == (2 if status == 202 else 3), "a refused answer is replaced"
            assert not client.transport._outlet.over
            client.transport._fail(Failure("cut"))
            unread = (await client.ended).unread
            assert size <= unread <= size + last + 100, "what was sent does not count, and no cancel of later"
            assert posted.empty()

    run(scene())


@pytest.mark.parametrize(
    "written",
    ['data:  {"method":"x"}\n\n', 'data: {"method":"x"}\ndata:\n\n', 'trace: 7\ndata: {"method":"x"}\n\n'],
)
def test_an_event_that_is_written_unusually_is_no_lost_message(written: str) -> None:
    changes: list[LinkChange] = []
    over = asyncio.Event()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        if "acp-session-id" in request.headers:
            writer.write(chunked(written.encode()) + event({"method": "y"}))
        await writer.drain()
        await over.wait()

    async def scene() -> None:
        async with connected(stream) as (client, _):
            client.transport.listen(changes.append)
            client.send(1, "session/prompt", sessionId="s1")
            assert [(await client.next())["method"] for _ in range(2)] == ["x", "y"]
            assert not changes
            over.set()

    run(scene())


# ---- requests that nobody waits for any more ---------------------------------------------------


def withdrawal(id: int) -> dict[str, Any]:
    return {"method": "$/cancel_request", "params": {"requestId": id}}


def test_a_request_that_is_withdrawn_before_it_was_sent_is_never_sent() -> None:
    """The user was told that it failed."""
    is_down, tried = True, asyncio.Event()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        if is_down and "acp-session-id" in request.headers:
            tried.set()
            writer.write(Reply(502).encoded())
        else:
            writer.write(STREAM)

    async def scene() -> None:
        nonlocal is_down
        async with connected(stream) as (client, script):
            client.send(1, "session/set_mode", sessionId="s1")
            client.send(2, "session/new")
            client.send(3, "session/load", sessionId="s2")
            await tried.wait()
            for number in (2, 3, 1):
                client.write(withdrawal(number))
            assert (await client.next())["id"] == 1
            is_down = False
            size = client.send(4, "session/prompt", sessionId="s1")
            await script.posted["session/prompt"].wait()
            posted = [it.rpc for it in script.requests if it.method == "POST"]
            assert posted == ["initialize", "session/prompt"]
            assert "s2" not in script.streams
            assert client.transport.unsent in (0, size)

    run(scene())


def test_a_request_that_was_sent_is_withdrawn_from_the_agent() -> None:
    async def scene() -> None:
        async with connected(quiet) as (client, script):
            client.send(1, "session/set_mode", sessionId="s1")
            await script.posted["session/set_mode"].wait()
            client.write(withdrawal(1))
            await script.posted["$/cancel_request"].wait()

    run(scene())


# ---- ids that are no value of a header ---------------------------------------------------------


@pytest.mark.parametrize("id", ["s\u00e9", "\u65e5\u672c", "a\r\nX-Evil: 1", " a", "a "])
def test_a_session_whose_id_is_no_header_is_refused_alone(id: str) -> None:
    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        if "acp-session-id" not in request.headers:
            await writer.drain()
            await script_of[0].posted["session/new"].wait()
            writer.write(event({"id": 9, "method": "_ask", "params": {"sessionId": id}}))
            writer.write(event({"id": 1, "result": {"sessionId": id}}))

    script_of: list[Script] = []

    async def scene() -> None:
        async with connected(stream) as (client, script):
            script_of.append(script)
            client.send(1, "session/new")
            assert (await client.next())["id"] == 9
            refused = await client.next()
            assert refused["id"] == 1
            assert "cannot be a header" in refused["error"]["message"]
            client.write({"id": 9, "result": {}})
            client.send(2, "session/load", sessionId=id)
            assert "cannot be a header" in (await client.next())["error"]["message"]
            client.send(3, "session/prompt", sessionId="s1")
            await script.posted["session/prompt"].wait()
            assert set(script.streams) == {None, "s1"}

    run(scene())
