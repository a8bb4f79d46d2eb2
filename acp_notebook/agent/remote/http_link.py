"""What the messages and the streams of one connection over HTTP share: headers, interruptions, its end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..transport import Interrupted, LinkChange, Restored
from .failures import Failure
from .http_client import new_client
from .outbox import Outlet
from .server import HeadersFailed, Server

if TYPE_CHECKING:
    import httpx


class Ended(Exception):
    """The connection is over."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class HttpLink:
    """One connection to a server over HTTP, whatever carries it at the moment."""

    def __init__(self, server: Server, outlet: Outlet, fail: Callable[[Failure], None]) -> None:
        """`fail` ends the connection."""
        self.server = server
        self.outlet = outlet
        self.fail = fail
        self.listener: Callable[[LinkChange], None] = lambda change: None
        self.id: dict[str, str] = {}
        """The header of this connection; empty before `initialize` was answered."""
        self.headers: dict[str, str] = {}
        self.is_stale = False
        """Whether something broke: other connections of this one may be dead, too."""
        self._tls: ssl.SSLContext | None = None
        self._renewed = False
        """Whether the headers were made anew because of a 401, and nothing was accepted since."""
        self._renewing = asyncio.Lock()
        self._interrupted: set[object] = set()

    async def prepare(self) -> None:
        """Make the headers, which may ask the user's function; raises HeadersFailed."""
        self.headers = await self.server.fresh_headers()
        self._tls = self.server.tls() if self.server.url.is_secure else None

    def client(self) -> httpx.AsyncClient:
        return new_client(self.server, self._tls)

    def request_headers(self) -> dict[str, str]:
        """The headers that every request of this connection has."""
        return {**self.server.with_cookies(self.headers), **self.id}

    def accepted(self) -> None:
        """The server has accepted the headers."""
        self._renewed = False

    async def renew(self, used: dict[str, str]) -> bool:
        """Make the headers anew after a 401; return whether there are other ones to try.

        Requests that are refused at the same time wait for the same renewal."""
        async with self._renewing:
            if self.headers != used:  # another request has renewed them meanwhile
                return True
            if self._renewed:
                return False
            self._renewed = True
            try:
                self.headers = await self.server.fresh_headers()
            except HeadersFailed as error:
                raise Ended(Failure(str(error))) from None
            return self.headers != used

    # ---- interruptions -------------------------------------------------------------------------

    def report(self, change: LinkChange) -> None:
        if not self.outlet.over:
            self.outlet.flush()  # what came before it
            self.listener(change)

    def interrupt(self, what: object, failure: Failure) -> None:
        """This stream or message waits for the network."""
        if not self.outlet.over:
            first = not self._interrupted
            self._interrupted.add(what)
            if first:
                self.report(Interrupted(failure.reason))

    def settled(self, what: object) -> None:
        """This stream or message waits no longer."""
        was_interrupted = bool(self._interrupted)
        self._interrupted.discard(what)
        if was_interrupted and not self._interrupted:
            self.report(Restored())
