"""A proxy between client and server that breaks connections in every way that networks do.

It runs on a thread with a loop of its own, and forwards to one server. Requests by HTTP/1.1 are read one by
one, so that a `rule` can answer them in place of the server; everything else is bytes. `opaque`: bytes only,
for TLS that ends at the server.
"""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from tests.agent.remote.raw_http import Reply, Request, chunked, frame, parse_head

Kind = Literal["cut", "reset", "stall", "drip", "half_open", "truncate", "garbage", "refuse"]
KINDS: tuple[Kind, ...] = ("cut", "reset", "stall", "drip", "half_open", "truncate", "garbage", "refuse")

Side = Literal["up", "down"]

READ = 64 << 10
DRIP_BYTES, DRIP_S = 16, 0.002
START_S = 10.0


@dataclass(frozen=True)
class Fault:
    """What breaks, once `after` bytes have passed on that side ("down": from the server) since it was armed.

    cut         the connection is closed
    reset       … with RST, as by a firewall
    stall       nothing passes for some seconds
    drip        a few bytes at a time, for some seconds
    half_open   nothing passes ever again, and nobody closes the connection
    truncate    an event or a frame is cut off in its middle, and the stream ends well-formed
    garbage     bytes arrive that nobody sent
    refuse      every connection is cut, and new requests get 5xx for some seconds
    """

    kind: Kind
    side: Side = "down"
    after: int = 0
    seconds: float = 0.5
    everywhere: bool = True
    """Whether all connections break, or only the one that the bytes pass on."""
    status: int = 502
    seed: int = 0
    only: Callable[[Request], bool] | None = None
    """Which bytes count: those of connections whose newest request is such a one. Without it, all."""

    def concerns(self, link: _Link, side: Side) -> bool:
        if self.side != side:
            return False
        return self.only is None or (link.request is not None and self.only(link.request))


Rule = Callable[[Request], Reply | None]


class _Link:
    """One connection of the client, and the one to the server that belongs to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.server: asyncio.StreamWriter | None = None
        self.request: Request | None = None
        self.is_websocket = False
        self.is_hole = False
        self.passes = asyncio.Event()
        self.passes.set()
        self.drips_until = 0.0

    def close(self) -> None:
        for writer in (self.writer, self.server):
            if writer is not None:
                writer.close()

    def reset(self) -> None:
        for writer in (self.writer, self.server):
            if writer is not None:
                with suppress(OSError):
                    it = writer.get_extra_info("socket")
                    it.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()


class FaultProxy:
    """A context manager. `rule` and `arm` may be used at any time, from the thread of the test."""

    def __init__(
        self, port: int, *, tls: ssl.SSLContext | None = None, opaque: bool = False, host: str = "127.0.0.1"
    ) -> None:
        self._target = port
        self._tls = tls
        self._opaque = opaque
        self._host = host
        self.rule: Rule | None = None
        self.requests: list[Request] = []
        self.accepted = 0
        self._fault: Fault | None = None
        self._seen = 0
        self._refusing: tuple[float, int] = (0.0, 502)
        self.struck = threading.Event()
        self._links: set[_Link] = set()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def __enter__(self) -> FaultProxy:
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S)
        self._loop.close()

    @property
    def open(self) -> int:
        """How many connections the client holds open."""
        return len(self._links)

    @property
    def refuses(self) -> bool:
        """Whether requests get 5xx at the moment."""
        return self._loop.time() < self._refusing[0]

    def url(self, wire: str, path: str = "/acp") -> str:
        tls = "s" if self._tls is not None or self._opaque else ""
        return f"{wire}{tls}://{self._host}:{self.port}{path}"

    def arm(self, fault: Fault) -> None:
        def take() -> None:
            self._fault, self._seen = fault, 0
            self.struck.clear()

        self._loop.call_soon_threadsafe(take)

    def strike(self, kind: Kind, **more: Any) -> None:
        """The fault happens now, to all connections."""

        async def now() -> None:
            for link in list(self._links):
                await self._strike(Fault(kind, **more), link, b"")

        self._call(now())

    def heal(self) -> None:
        """No fault is armed, and new connections pass. Those that are half open stay so."""

        def forget() -> None:
            self._fault, self._refusing = None, (0.0, 502)
            for link in self._links:
                link.passes.set()

        self._loop.call_soon_threadsafe(forget)

    def forward_to(self, port: int) -> None:
        self._target = port

    # ---- on the thread of the proxy

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls, limit=READ)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        self._server.close()
        for link in list(self._links):
            link.reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = self._loop.create_task(self._serve(_Link(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, link: _Link) -> None:
        self._links.add(link)
        down = None
        try:
            from_server, link.server = await asyncio.open_connection("127.0.0.1", self._target, limit=READ)
            down = self._loop.create_task(self._down(link, from_server))
            await (self._up_bytes(link) if self._opaque else self._up_requests(link))
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.LimitOverrunError):
            pass  # either side is gone
        finally:
            if down is not None:
                down.cancel()
                with suppress(asyncio.CancelledError):
                    await down
            link.close()
            self._links.discard(link)

    async def _up_bytes(self, link: _Link) -> None:
        while data := await link.reader.read(READ):
            await self._pass(link, "up", data)

    async def _up_requests(self, link: _Link) -> None:
        while not link.is_websocket:
            head = await link.reader.readuntil(b"\r\n\r\n")
            request = parse_head(head)
            if length := int(request.headers.get("content-length", "0")):
                body = await link.reader.readexactly(length)
                request = Request(request.method, request.path, request.headers, body)
            self.requests.append(request)
            link.request = request
            if link.is_hole:
                continue
            if (reply := self._reply(request)) is not None:
                link.writer.write(reply.encoded())
                await link.writer.drain()
                continue
            link.is_websocket = request.headers.get("upgrade", "").lower() == "websocket"
            await self._pass(link, "up", head + request.body)
        await self._up_bytes(link)

    def _reply(self, request: Request) -> Reply | None:
        until, status = self._refusing
        if self._loop.time() < until:
            return Reply(status)
        return self.rule(request) if self.rule is not None else None

    async def _down(self, link: _Link, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(READ):
                await self._pass(link, "down", data)
        if not link.is_hole:
            link.writer.close()

    async def _pass(self, link: _Link, side: Side, data: bytes) -> None:
        fault = self._fault
        if fault is not None and fault.concerns(link, side):
            self._seen += len(data)
            if self._seen > fault.after:
                self._fault = None
                keep = max(0, len(data) - (self._seen - fault.after))
                await self._send(link, side, data[:keep])
                for other in list(self._links) if fault.everywhere else [link]:
                    await self._strike(fault, other, data[keep:] if other is link else b"", side)
                self.struck.set()
                if fault.kind in ("stall", "drip"):
                    await self._send(link, side, data[keep:])
                return
        await self._send(link, side, data)

    async def _send(self, link: _Link, side: Side, data: bytes) -> None:
        await link.passes.wait()
        writer = link.writer if side == "down" else link.server
        if link.is_hole or writer is None or writer.is_closing() or not data:
            return
        while data and self._loop.time() < link.drips_until:
            writer.write(data[:DRIP_BYTES])
            data = data[DRIP_BYTES:]
            await asyncio.sleep(DRIP_S)
        writer.write(data)
        await writer.drain()

    async def _strike(self, fault: Fault, link: _Link, rest: bytes, side: Side = "down") -> None:
        match fault.kind:
            case "cut":
                link.close()
            case "reset":
                link.reset()
            case "stall":
                link.passes.clear()
                self._loop.call_later(fault.seconds, link.passes.set)
            case "drip":
                link.drips_until = self._loop.time() + fault.seconds
            case "half_open":
                link.is_hole = True
            case "truncate":
                await self._send(link, "down", rest if side == "down" else b"")
                await self._send(link, "down", _truncated(link.is_websocket))
                link.close()
            case "garbage":
                await self._send(link, side, rest)
                await self._send(link, "down", _garbage(random.Random(fault.seed), link.is_websocket))
            case "refuse":
                self._refusing = (self._loop.time() + fault.seconds, fault.status)
                link.close()


HALF = b'data: {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"'


def _truncated(is_websocket: bool) -> bytes:
    return frame(HALF * 3)[:100] if is_websocket else chunked(HALF) + b"0\r\n\r\n"


def _garbage(chance: random.Random, is_websocket: bool) -> bytes:
    noise = chance.randbytes(chance.randrange(1, 300))
    if is_websocket:
        return chance.choice([noise, frame(b"\xff\xfe"), frame(b"not json {"), frame(noise, opcode=2)])
    events = b"data: not json {\n\nevent: message\nid\n:\n\n"
    return chance.choice([noise, chunked(noise), chunked(events), chunked(b"\xff\xfe\n\n")])
