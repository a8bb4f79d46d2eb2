"""The transport over WebSocket against a server that is slow, or refuses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from acp_notebook import timeouts
from acp_notebook.agent.remote.server import Server
from acp_notebook.agent.remote.ws_transport import WebSocketTransport
from acp_notebook.agent.transport import Ending
from acp_notebook.core.agent_url import read_url
from tests.agent.remote.raw_http import parse_head, upgrade
from tests.waiting import DEADLINE_S

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

READ = 256 << 10
PIECE = 64 << 10
STEP_S = 0.1


class Client:
    """A transport whose ending is kept."""

    def __init__(self, url: str) -> None:
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.transport = WebSocketTransport(Server(read_url(url)))
        self.transport.start(lambda data: None, self.ended.set_result)


@asynccontextmanager
async def connected(serve: Serve) -> AsyncIterator[Client]:
    """A client, and a server that has accepted its WebSocket before `serve`."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(upgrade(parse_head(await reader.readuntil(b"\r\n\r\n"))))
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client left
        finally:
            writer.transport.abort()

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ)  # or the system takes megabytes at once
    server = await asyncio.start_server(accept, sock=listener)
    client = Client(f"ws://127.0.0.1:{listener.getsockname()[1]}/acp")
    try:
        yield client
    finally:
        await client.transport.close()
        server.close()


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test, DEADLINE_S)

    asyncio.run(bounded())


def message(size: int) -> bytes:
    return b'{"jsonrpc":"2.0","method":"_large","params":{"text":"' + b"x" * size + b'"}}\n'


def test_a_pong_behind_a_large_message_of_ours_is_waited_for() -> None:
    timeouts.replace(remote_ping=0.1, remote_pong=1.0, remote_close=0.1)
    size = 8 << 20
    arrived = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(size // READ):
            await reader.readexactly(READ)
            await asyncio.sleep(STEP_S)
        arrived.set()
        await asyncio.Event().wait()

    async def scene() -> None:
        async with connected(slow) as client:
            client.transport.write(message(size))
            arriving = asyncio.ensure_future(arrived.wait())
            waiting: set[asyncio.Future[Any]] = {arriving, client.ended}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert not client.ended.done(), client.ended.result()

    run(scene())


def test_a_pong_behind_a_large_message_of_the_server_is_waited_for() -> None:
    timeouts.replace(remote_ping=0.1, remote_pong=1.0, remote_close=0.1)
    size = 25 * PIECE
    written = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x81\x7f" + size.to_bytes(8, "big"))
        for _ in range(size // PIECE):
            writer.write(b" " * PIECE)
            await writer.drain()
            await asyncio.sleep(STEP_S)
        written.set()
        await asyncio.Event().wait()

    async def scene() -> None:
        async with connected(slow) as client:
            writing = asyncio.ensure_future(written.wait())
            waiting: set[asyncio.Future[Any]] = {writing, client.ended}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert not client.ended.done(), client.ended.result()

    run(scene())


def test_a_server_that_takes_nothing_more_is_given_up() -> None:
    """In the middle of a large message, and without one."""
    timeouts.replace(remote_ping=0.1, remote_pong=1.0, remote_close=0.1)

    async def dead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def scene(data: bytes) -> None:
        async with connected(dead) as client:
            client.transport.write(data)
            ending: Any = await asyncio.shield(client.ended)
            assert "no longer answers" in ending.reason
            assert ending.is_lost and ending.may_pass

    run(scene(message(32 << 20)))
    run(scene(message(10)))
