"""A transport over WebSocket: one JSON message in each text frame.

The profile of the protocol's remote transport (RFD "Streamable HTTP & WebSocket Transport"): no subprotocol,
binary frames are ignored, `initialize` is the first message. The connection is the session with the server:
when it breaks, the server ends the turns on it, so nothing is sent again here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ... import timeouts
from ...log import logger, suppressed
from ...wire.jsonrpc import MAX_LINE
from ..backoff import Backoff
from ..transport import CLOSED
from . import failures, library_logs
from .failures import Failure
from .outbox import one_line
from .remote_transport import RemoteTransport, end, time_to_arrive
from .server import USER_AGENT, HeadersFailed, Server

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_log = logger(__name__)

MAX_QUEUE = 16
"""Frames that wait to be read; more of them stay in the network, and slow the server down."""


class WebSocketTransport(RemoteTransport):
    """Carries the messages of one connection over a WebSocket. Use it on the loop thread."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._socket: ClientConnection | None = None
        self._unanswered = 0
        """The size of the newest message, if nothing has come since it was sent."""
        self._is_sending = False
        self._heard = 0
        """How many bytes have come."""
        self._is_given_up = False
        self._again = False
        """Whether another connection to the server was open before."""

    def __repr__(self) -> str:
        state = "ended" if self._outlet.over else "connecting" if self._socket is None else "open"
        return f"<WebSocketTransport {self._server.url.identity} {state}>"

    def connects_again(self) -> None:
        """The server was reached before: an attempt that takes too long is one of several."""
        self._again = True

    async def close(self) -> None:
        self._outlet.close(CLOSED)
        if self._socket is not None:
            with suppressed(_log, TimeoutError, OSError):
                async with asyncio.timeout(timeouts.get().remote_close):
                    await self._socket.close()
        await end([self._task] if self._task else [])

    async def _run(self) -> None:
        from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

        try:
            failure = await self._talk_when_allowed()
        except HeadersFailed as error:
            failure = Failure(str(error))
        except InvalidStatus as error:
            body = bytes(error.response.body or b"")[: failures.BODY_CHARS * 4].decode("utf-8", "replace")
            failure = failures.of_status(error.response.status_code, body, websocket=True)
        except ConnectionClosed as error:
            failure = failures.GIVEN_UP if self._is_given_up else _of_closed(error)
        except (WebSocketException, OSError, TimeoutError, EOFError, ValueError) as error:
            # Only the type: some messages contain the address of a proxy, with its password.
            _log.debug("the connection failed: %s", type(error).__name__)
            failure = failures.of_exception(error, self._server.proxy)
            if failure is failures.INTERRUPTED and self._socket is None and self._server.url.is_secure:
                failure = failures.NO_TLS
        except Exception as error:  # a library's own fault must not leave requests open for ever
            _log.warning("the connection failed unexpectedly", exc_info=True)
            failure = Failure(f"the connection failed: {type(error).__name__}", True)
        self._outlet.end(failures.while_sending(failure, self._unanswered), self._out.untouched)

    async def _talk_when_allowed(self) -> Failure:
        """Connect, as late as a server wants that takes no connection at the moment."""
        from websockets.exceptions import InvalidStatus

        backoff = Backoff()
        while True:
            try:
                return await self._talk()
            except InvalidStatus as error:
                values = error.response.headers.get_all("Retry-After")
                after = failures.seconds_to_wait(values[0]) if values else None
                if error.response.status_code not in (429, 503) or after is None:
                    raise
                self.stage = "waiting until the server takes connections again, as it asked for"
                if not await backoff.pause(after):
                    raise

    async def _talk(self) -> Failure:
        """Connect and pass messages both ways until the server closes the connection."""
        headers = self._server.with_cookies(await self._server.fresh_headers())
        self.stage = "looking up the server's name, connecting to it or setting up TLS"
        async with self._connect(headers) as socket:
            self._socket = socket
            self.stage = "waiting for the answer to initialize"
            if socket.response is not None:
                self._server.keep_cookies(socket.response.headers.raw_items())
            loop = asyncio.get_running_loop()
            sender, watcher = loop.create_task(self._send(socket)), loop.create_task(self._watch(socket))
            try:
                async for frame in socket:
                    if not self._is_sending:  # else it answers something before
                        self._unanswered = 0
                    if isinstance(frame, str):
                        self._outlet.receive(one_line(frame.encode("utf-8", "surrogatepass")))
            finally:
                sender.cancel()
                watcher.cancel()
                await asyncio.gather(sender, watcher, return_exceptions=True)  # `_run` reports the cause
        return failures.of_close(socket.close_code or 1006, socket.close_reason or "")

    def _connect(self, headers: dict[str, str]) -> Any:
        from websockets.asyncio.client import ClientConnection, connect

        server, limits = self._server, timeouts.get()

        def opened() -> None:
            self.stage = "waiting for the server to open the WebSocket"

        def heard(size: int) -> None:
            self._heard += size

        class Socket(ClientConnection):
            def connection_made(self, transport: Any) -> None:
                opened()  # TCP and TLS
                super().connection_made(transport)

            def data_received(self, data: bytes) -> None:
                heard(len(data))
                super().data_received(data)

        class Connect(connect):
            """Follows no redirect: headers must not go to another server."""

            def process_redirect(self, exc: Exception) -> Exception | str:
                return exc

        return Connect(
            server.url.text,
            create_connection=Socket,
            additional_headers=headers,
            user_agent_header=USER_AGENT,
            logger=library_logs.WEBSOCKET,
            compression=None,  # nothing inflates here: a small frame stays small
            max_size=MAX_LINE,
            max_queue=MAX_QUEUE,
            open_timeout=limits.remote_connect if self._again else None,  # else the start timeout counts
            close_timeout=limits.remote_close,
            ping_interval=None,  # `_watch` pings
            proxy=True if server.uses_proxy else None,
            ssl=server.tls() if server.url.is_secure else None,
        )

    async def _watch(self, socket: ClientConnection) -> None:
        """End the connection when the server is gone.

        A pong that waits behind a long message, in either direction, is late and not lost: as long as
        something comes, or goes out, the server is there."""
        while True:
            await asyncio.sleep(timeouts.get().remote_ping)
            pong = asyncio.get_running_loop().create_task(_pong(socket))
            try:
                while not pong.done():
                    before = _, unwritten = self._progress(socket)
                    limit = timeouts.get().remote_pong
                    if not unwritten:
                        limit += time_to_arrive(self._unanswered)
                    await asyncio.wait({pong}, timeout=limit)
                    if not pong.done() and self._progress(socket) == before:
                        self._is_given_up = True
                        socket.transport.abort()
                        return
                await pong
            finally:
                pong.cancel()

    def _progress(self, socket: ClientConnection) -> tuple[int, int]:
        """Differs as long as bytes come or go."""
        return self._heard, socket.transport.get_write_buffer_size()

    async def _send(self, socket: ClientConnection) -> None:
        while True:
            line = await self._out.next()
            self._out.begin()
            self._unanswered, self._is_sending = len(line), True
            await socket.send(line, text=True)  # waits while the network is full
            self._is_sending = False
            self._out.sent()


async def _pong(socket: ClientConnection) -> None:
    """Send a ping and wait for the answer."""
    await (await socket.ping())


def _of_closed(error: Any) -> Failure:
    """The failure of a connection that broke or was closed with an error."""
    received, sent = error.rcvd, error.sent
    if received is not None:
        return failures.of_close(received.code, received.reason)
    if sent is not None and sent.code == 1009:
        return Failure(f"the server sent a message of more than {MAX_LINE // 2**20} MiB, which is not taken")
    return failures.of_close(1006 if sent is None else sent.code, "" if sent is None else sent.reason)
