"""The kernel tools over HTTP on loopback, for agents that do not start stdio servers. Off by default.

Listens on a free port of 127.0.0.1 and requires a bearer token. Rejects browsers: a request with an Origin,
another Host, or a content type other than JSON is refused before its body is read. Each connection serves one
request. Responses are event streams, which can carry progress. There is no GET stream, because it keeps some
agents from exiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping

from msgspec import Struct

from ... import timeouts
from ...core.mcp import McpServer
from ...wire import jsonrpc
from ...wire.jsonrpc import Request
from .listener import Connect, Unavailable
from .server import MAX_LINE, McpConnection

PATH = "/mcp"
MAX_HEAD = 32 * 1024
MAX_CONNECTIONS = 32
MAX_SESSIONS = 16
"""MCP sessions at a time; beyond that, the least recently used one ends. An agent has one."""

_REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
}


class _Refused(Exception):
    """A request is refused with this HTTP status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Head(Struct, frozen=True):
    """The request line and headers of a request."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def length(self) -> int:
        text = self.headers.get("content-length", "0" if self.method == "DELETE" else "")
        if not text.isascii() or not text.isdigit() or len(text) > 12:
            raise _Refused(411, "Content-Length is missing or invalid")
        if int(text) > MAX_LINE:
            raise _Refused(413, f"at most {MAX_LINE} bytes")
        return int(text)


class HttpListener:
    """Serves the tools of one session on a free port of loopback, from `start` to `close`."""

    def __init__(self, connect: Connect) -> None:
        self.token = secrets.token_urlsafe(32)
        self.refused = 0
        self._connect = connect
        self._server: asyncio.Server | None = None
        self._sessions: OrderedDict[str, McpConnection] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

    async def start(self) -> None:
        """Start listening. Raises Unavailable."""
        try:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port, limit=MAX_HEAD)
        except OSError as error:  # after a pause: another program has taken the port
            raise Unavailable(f"port {self._port} cannot be opened: {error.strerror}") from None
        self._port = self._server.sockets[0].getsockname()[1]

    def pause(self) -> None:
        """Stop listening until `start`, which uses the same port and token, since the agent knows them."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def server(self, name: str) -> McpServer:
        """The MCP server entry for the agent."""
        url = f"http://127.0.0.1:{self._port}{PATH}"
        return McpServer(name=name, type="http", url=url, headers={"Authorization": f"Bearer {self.token}"})

    def close(self) -> None:
        self.token = secrets.token_urlsafe(32)
        if self._server is not None:
            self._server.close()
        for connection in list(self._sessions.values()):
            connection.close()
        for task in list(self._tasks):
            task.cancel()

    # ---- a connection -------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= MAX_CONNECTIONS:
                await self._request(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the client is gone, too slow or sends no HTTP; or the listener closes
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(timeouts.get().tool_http_read):
                head = _read_head(await reader.readuntil(b"\r\n\r\n"))
                self._check(head)
                body = await reader.readexactly(head.length)
        except _Refused as refused:
            self.refused += 1
            _answer(writer, refused.status, str(refused))
        else:
            await self._serve(head, body, reader, writer)
        await writer.drain()

    def _check(self, head: _Head) -> None:
        hosts = (f"127.0.0.1:{self._port}", f"localhost:{self._port}")
        if head.headers.get("host", "") not in hosts:
            raise _Refused(403, "wrong host")
        if "origin" in head.headers or "sec-fetch-site" in head.headers:
            raise _Refused(403, "not for browsers")
        given = head.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            raise _Refused(401, "the token is missing or wrong")
        if head.target != PATH:
            raise _Refused(404, "no such address")
        if head.method == "POST":
            if head.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
                raise _Refused(415, "JSON only")
        elif head.method != "DELETE":
            raise _Refused(405, "POST only")

    async def _serve(
        self, head: _Head, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if head.method == "DELETE":
            self._end(head.headers.get("mcp-session-id", ""))
            _answer(writer, 200)
            return
        line = body.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"  # in JSON, line ends are only spaces
        messages = list(jsonrpc.Peer(MAX_LINE).receive(line))
        requests = [it for it in messages if isinstance(it, Request)]
        starts = any(it.method == "initialize" for it in requests)
        id, connection = self._start_session() if starts else self._session(head)
        if connection is None:
            _answer(writer, 404, "no such session")
        elif not requests:
            connection.receive(line)
            _answer(writer, 202)
        else:
            more = {"Mcp-Session-Id": id} if starts else {}
            _head(writer, 200, {"Content-Type": "text/event-stream", **more})
            answering = asyncio.ensure_future(_stream(connection, line, len(requests), writer))
            leaving = asyncio.ensure_future(reader.read(1))  # completes when the client disconnects
            try:
                both: set[asyncio.Future[object]] = {answering, leaving}  # type: ignore[arg-type]
                limit = timeouts.get().tool_http_answer
                await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            finally:
                answering.cancel()
                leaving.cancel()

    def _start_session(self) -> tuple[str, McpConnection]:
        id = secrets.token_urlsafe(16)
        self._sessions[id] = connection = self._connect(lambda data: None)
        if len(self._sessions) > MAX_SESSIONS:
            self._end(next(iter(self._sessions)))
        return id, connection

    def _session(self, head: _Head) -> tuple[str, McpConnection | None]:
        id = head.headers.get("mcp-session-id", "")
        if id in self._sessions:
            self._sessions.move_to_end(id)
        return id, self._sessions.get(id)

    def _end(self, id: str) -> None:
        connection = self._sessions.pop(id, None)
        if connection is not None:
            connection.close()


async def _stream(
    connection: McpConnection, line: bytes, expected: int, writer: asyncio.StreamWriter
) -> None:
    """Send the responses as events, in the order of completion, until there are `expected` of them."""
    sent: asyncio.Queue[bytes] = asyncio.Queue()
    connection.receive(line, sent.put_nowait)
    while expected:
        data = await sent.get()
        expected -= not data.startswith(b'{"jsonrpc":"2.0","method"')
        writer.write(b"event: message\ndata: " + data.rstrip() + b"\n\n")
        await writer.drain()


def _read_head(data: bytes) -> _Head:
    first, *lines = data.decode("latin-1").split("\r\n")[:-2]
    words = first.split(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, found, value = line.partition(":")
        if not found or name.lower() in headers:  # parsers disagree about duplicate headers
            raise _Refused(400, "invalid or duplicate header")
        headers[name.lower()] = value.strip()
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0") or "transfer-encoding" in headers:
        raise _Refused(400, "invalid request")
    return _Head(words[0], words[1], headers)


def _head(writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str]) -> None:
    fields = {**headers, "Cache-Control": "no-store", "Connection": "close"}
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", *(f"{name}: {it}" for name, it in fields.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())


def _answer(writer: asyncio.StreamWriter, status: int, text: str = "") -> None:
    body = text.encode()
    _head(writer, status, {"Content-Type": "text/plain", "Content-Length": str(len(body))})
    writer.write(body)
