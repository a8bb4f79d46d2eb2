"""Requests by HTTP, as safe and bounded as this package wants them. Knows no message of the protocol."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from ... import timeouts
from ...log import logger, suppressed
from .failures import seconds_to_wait
from .server import USER_AGENT, Server

if TYPE_CHECKING:
    import httpx

_log = logger(__name__)

PIECE = 64 * 1024

MAX_ERROR_BODY = 4096
"""How much of an error's body is read."""


def new_client(server: Server, tls: ssl.SSLContext | None) -> httpx.AsyncClient:
    """A client for this server. `tls`: None for plain text."""
    import httpx

    limits = timeouts.get()
    return httpx.AsyncClient(
        http2=tls is not None,
        verify=tls or False,
        trust_env=server.uses_proxy,
        follow_redirects=False,  # headers must not go to another server
        cookies=server.cookies,
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
        limits=httpx.Limits(max_keepalive_connections=10, keepalive_expiry=limits.remote_idle),
        timeout=httpx.Timeout(limits.remote_post, connect=limits.remote_connect, pool=None),
    )


class Pieces:
    """A body that is written in pieces, each within its own time limit: httpcore writes a text in one go.

    No generator: httpx closes none whose request fails, and the loop would have to, perhaps after its end."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return Pieces(self._body)

    async def __anext__(self) -> bytes:
        if self._at >= len(self._body):
            raise StopAsyncIteration
        at, self._at = self._at, self._at + PIECE
        return self._body[at : at + PIECE]


async def error_body(answer: httpx.Response) -> str:
    """The beginning of an error's body, as far as it comes in time."""
    data = b""
    with suppressed(_log, TimeoutError):
        async with asyncio.timeout(timeouts.get().remote_error):
            async for chunk in answer.aiter_raw():
                data += chunk
                if len(data) >= MAX_ERROR_BODY:
                    break
    return data[:MAX_ERROR_BODY].decode("utf-8", "replace")


def retry_after(answer: httpx.Response) -> float | None:
    """The seconds in Retry-After."""
    return seconds_to_wait(answer.headers.get("Retry-After", ""))


def keep_alive(answer: httpx.Response) -> None:
    """Have the system ask whether the other end is there: a network that vanished is an error then.

    Without it, nobody would know while a server that sends no comments is silent."""
    stream = answer.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if connection is None:
        return
    pause = max(1, int(timeouts.get().remote_silence) // 3)
    with suppressed(_log, OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", pause), ("TCP_KEEPINTVL", pause // 3 or 1), ("TCP_KEEPCNT", 5)):
            if hasattr(socket, name):  # not everywhere
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
