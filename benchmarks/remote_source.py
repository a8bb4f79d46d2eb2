"""The agent of `source` behind a server: WebSocket and streamable HTTP, at full speed.

`python -m benchmarks.remote_source` prints the two ports. It accepts what the contenders send, and nothing
else: the time that a real server needs would hide that of the clients.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from . import source

PIECE = 256
"""Chunks that are written at once: as a server's socket buffer passes them on."""


def answer(message: dict[str, Any]) -> Iterator[bytes]:
    """The messages that answer one, each without its line break."""
    match message.get("method"):
        case "initialize":
            result: dict[str, Any] = {"protocolVersion": 1}
        case "session/new":
            result = {"sessionId": source.SESSION}
        case "session/prompt":
            for lines in source.answers(message["params"]["prompt"][0]["text"]):
                yield from lines.splitlines()
            result = {"stopReason": "end_turn"}
        case _:
            return
    if "id" in message:
        yield source.line(id=message["id"], result=result).rstrip()


async def by_websocket(connection: ServerConnection) -> None:
    async for text in connection:
        for message in answer(json.loads(text)):
            await connection.send(message, text=True)


class Http:
    """One client after the other, each with the streams of its connection and of its session."""

    def __init__(self) -> None:
        self._streams: dict[str, asyncio.Future[asyncio.StreamWriter]] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                await self._answer(head.split(" ")[0], headers, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(
        self, method: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        of_session = headers.get("acp-session-id", "")
        if method == "get":
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            writer.write(head)
            self._stream(of_session).set_result(writer)
            return
        message = json.loads(body or b"{}")
        if message.get("method") == "initialize":
            self._streams.clear()
            (result,) = answer(message)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAcp-Connection-Id: c\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(result), result))
            return
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        stream = self._stream(of_session)
        pieces = [_event(it) for it in answer(message)]
        for start in range(0, len(pieces), PIECE):
            (await stream).write(b"".join(pieces[start : start + PIECE]))
            await (await stream).drain()

    def _stream(self, session: str) -> asyncio.Future[asyncio.StreamWriter]:
        return self._streams.setdefault(session, asyncio.get_running_loop().create_future())


def _event(message: bytes) -> bytes:
    event = b"data: " + message + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(event), event)


async def main() -> None:
    http = await asyncio.start_server(Http().serve, "127.0.0.1", 0)
    async with http, serve(by_websocket, "127.0.0.1", 0, max_size=None, compression=None) as websocket:
        ports = {"http": http.sockets[0].getsockname()[1]}
        ports["ws"] = next(iter(websocket.sockets)).getsockname()[1]
        print(json.dumps(ports), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
