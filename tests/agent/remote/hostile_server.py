"""A server that attacks its client: endless answers, bombs, silence. Each attack is a function below.

It runs on a thread with a loop of its own, and stops an attack only when the client closes the connection.
"""

from __future__ import annotations

import asyncio
import json
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

from tests.agent.remote.raw_http import Reply, Request, chunked, frame, parse_head, upgrade

Attack = Callable[["HostileServer", Request, asyncio.StreamWriter], Awaitable[None]]
ATTACKS: dict[str, Attack] = {}

PIECE = b"x" * (256 << 10)
DEEP = 200_000
BOMB_BYTES = 4 << 30
INFLATED = 256 << 20
"""Of a frame, which is made at once: far above the limit of a message, and quickly made."""

START_S = 10.0
LORIS_S = 0.02
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\nAcp-Connection-Id: c1\r\n"


class HostileServer:
    """A context manager. `sent`: how many bytes the client took of the attack."""

    def __init__(self, attack: str) -> None:
        self._attack = ATTACKS[attack]
        self.sent = 0
        self.requests: list[Request] = []
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> HostileServer:
        self._thread = threading.Thread(target=self._run, name="hostile-server", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(START_S)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(START_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S)
        self._loop.close()

    def url(self, wire: str) -> str:
        return f"{wire}://127.0.0.1:{self.port}/acp"

    async def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)

    async def forever(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        while True:
            await self.send(writer, data)
            await asyncio.sleep(0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = parse_head(await reader.readuntil(b"\r\n\r\n"))
                body = await reader.readexactly(int(request.headers.get("content-length", "0")))
                request = Request(request.method, request.path, request.headers, body)
                self.requests.append(request)
                await self._attack(self, request, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client left, as it should
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


def attack(function: Attack) -> Attack:
    ATTACKS[function.__name__] = function
    return function


def _answer(request: Request, result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": result}).encode()


async def _behave(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> bool:
    """Answer as a good server up to the first stream: True if the request was answered."""
    if request.rpc == "initialize":
        reply = Reply(200, {"Content-Type": "application/json", "Acp-Connection-Id": "c1"})
        await server.send(
            writer, Reply(200, reply.headers, _answer(request, {"protocolVersion": 1})).encoded()
        )
    elif request.method != "GET":
        await server.send(writer, Reply(202).encoded())
    return request.method != "GET"


def _bomb() -> Iterator[bytes]:
    """gzip of one endless line of an event: 4 GB in 20 MB."""
    packer = zlib.compressobj(1, wbits=31)
    yield packer.compress(b'data: {"jsonrpc":"2.0","method":"x","params":"')
    for _ in range(BOMB_BYTES // len(PIECE)):
        yield packer.compress(PIECE)
    yield packer.flush()


# ---- HTTP


@attack
async def endless_headers(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, b"HTTP/1.1 200 OK\r\n")
    await server.forever(writer, b"X-More: " + PIECE[:1000] + b"\r\n")


@attack
async def endless_header(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, b"HTTP/1.1 200 OK\r\nX-More: ")
    await server.forever(writer, PIECE)


@attack
async def slow_loris(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, b"HTTP/1.1 200 OK\r\nX-More: ")
    while True:
        await server.send(writer, b"x")
        await asyncio.sleep(LORIS_S)


@attack
async def slow_body(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, HEAD % b"application/json" + b"\r\n")
    while True:
        await server.send(writer, chunked(b" "))
        await asyncio.sleep(LORIS_S)


@attack
async def silence(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@attack
async def endless_body(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, HEAD % b"application/json" + b"\r\n")
    await server.forever(writer, chunked(PIECE))


@attack
async def endless_error(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    head = b"HTTP/1.1 500 Sorry\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    await server.send(writer, head)
    await server.forever(writer, chunked(PIECE))


@attack
async def body_bomb(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, HEAD % b"application/json" + b"Content-Encoding: gzip\r\n\r\n")
    for piece in _bomb():
        if piece:
            await server.send(writer, chunked(piece))
        await asyncio.sleep(0)
    await server.send(writer, b"0\r\n\r\n")


@attack
async def event_bomb(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    if await _behave(server, request, writer):
        return
    await server.send(writer, HEAD % b"text/event-stream" + b"Content-Encoding: gzip\r\n\r\n")
    for piece in _bomb():
        if piece:
            await server.send(writer, chunked(piece))
        await asyncio.sleep(0)
    await asyncio.Event().wait()


@attack
async def endless_event(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    if not await _behave(server, request, writer):
        await server.send(writer, HEAD % b"text/event-stream" + b"\r\n" + chunked(b"data: "))
        await server.forever(writer, chunked(PIECE))


@attack
async def endless_lines(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """One event of endlessly many lines: each of them is short."""
    if not await _behave(server, request, writer):
        await server.send(writer, HEAD % b"text/event-stream" + b"\r\n")
        await server.forever(writer, chunked(b"data: xxxxxxxxxx\n" * 4096))


@attack
async def endless_keepalives(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """The answer to session/new never comes, but the stream is alive."""
    if not await _behave(server, request, writer):
        await server.send(writer, HEAD % b"text/event-stream" + b"\r\n")
        while True:
            await server.send(writer, chunked(b":\n\n"))
            await asyncio.sleep(LORIS_S)


@attack
async def deep_event(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    if not await _behave(server, request, writer):
        await server.send(writer, HEAD % b"text/event-stream" + b"\r\n")
        await server.send(writer, chunked(b"data: " + b"[" * DEEP + b"\n\n"))
        await asyncio.Event().wait()


@attack
async def redirect_loop(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, Reply(307, {"Location": request.path + "x"}).encoded())


# ---- WebSocket


@attack
async def huge_frame(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, upgrade(request) + b"\x81\x7f" + (1 << 30).to_bytes(8, "big"))
    await server.forever(writer, PIECE)


@attack
async def endless_fragments(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    first, *_ = frame(PIECE)[0:1]
    await server.send(writer, upgrade(request) + bytes([first & 0x7F]) + frame(PIECE)[1:])
    await server.forever(writer, bytes([0x00]) + frame(PIECE)[1:])


@attack
async def deflate_bomb(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """Compressed, whether the client offered that or not."""
    await server.send(writer, upgrade(request, "Sec-WebSocket-Extensions: permessage-deflate"))
    packer = zlib.compressobj(1, wbits=-15)
    packed = b"".join(packer.compress(PIECE) for _ in range(INFLATED // len(PIECE)))
    packed += packer.flush(zlib.Z_SYNC_FLUSH)[:-4]
    compressed = frame(packed)
    await server.send(writer, bytes([compressed[0] | 0x40]) + compressed[1:])
    await asyncio.Event().wait()


@attack
async def ping_flood(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, upgrade(request))
    await server.forever(writer, frame(PIECE[:100], opcode=9) * 100)


@attack
async def deep_frame(server: HostileServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await server.send(writer, upgrade(request) + frame(b"[" * DEEP))
    await asyncio.Event().wait()
