"""A transport over HTTP: each message is a POST, answers and updates come on streams of server-sent events.

The profile "Streamable HTTP" of the protocol's remote transport: `initialize` opens a connection and its
stream, and each session has a stream of its own, which is open before anything is posted for the session.
HTTP/2 is asked for, HTTP/1.1 is taken.

A stream that breaks is opened again on the same connection: the server keeps what was not read, or sends what
followed the last event id. Without ids, what it had written may be lost with any stream that ended, even with
one of which nothing has arrived here: the server may have a reader all the same.

A POST is repeated only if the server certainly has not taken it; a response or a cancel, which do no harm
twice, also if that is unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ... import timeouts
from ...log import logger, suppressed
from ...wire.jsonrpc import INTERNAL_ERROR, MAX_LINE, Peer, RpcError
from ...wire.v1.routing import ATTACH, CANCEL, CLOSE, CREATE, PROMPT, Route, read_route
from ..backoff import FIRST_PAUSE_S, Backoff
from ..transport import CLOSED, Interrupted, LinkChange, MessagesLost, Restored, Silent
from . import failures, library_logs
from .failures import Failure
from .http_client import error_body, keep_alive, new_client, retry_after
from .outbox import one_line
from .remote_transport import RemoteTransport
from .server import HeadersFailed, Server
from .sse import EventParser, EventTooLong

if TYPE_CHECKING:
    import httpx

_log = logger(__name__)

T = TypeVar("T")

ACCEPT = "application/json, text/event-stream"
"""For a POST. Some servers refuse one without both, although they answer with JSON only."""

MAX_HEADER_BYTES = 100 * 1024
"""What the library takes of headers; more is an error of the server."""

UNKNOWN = frozenset({403, 404})
"""How servers answer for the stream of a session that they do not know yet."""

IDS_KEPT = 64
"""How many ids of events a stream remembers, to recognise those that a server sends again."""

LASTING_S = 5.0
"""A stream that lasted longer than this was useful, even if nothing came: something cuts idle streams."""

MAYBE_READ = frozenset({500, 502, 504})
"""Statuses of a proxy that lost the server's answer: the server may have opened the stream."""

REFUSED = frozenset({401, 403, 404, 405, 410, 413, 415, 426, 429, 503})
"""Statuses by which the server says that it has not taken the message."""


class _Ended(Exception):
    """The connection is over."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class HttpTransport(RemoteTransport):
    """Carries the messages of one connection over HTTP. Use it on the loop thread."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._listener: Callable[[LinkChange], None] = lambda change: None
        self._poster: httpx.AsyncClient | None = None
        """For messages. Each stream has a connection of its own: when one breaks, the others are not stuck to
        it, and on one from which a stream is read, httpcore's HTTP/2 does not notice that the server has room
        for more: a POST of over 64 kB would wait for the next event."""
        self._is_stale = False
        """Whether something broke since the poster was created: its connections may be dead, too."""
        self._tls: ssl.SSLContext | None = None
        self._headers: dict[str, str] = {}
        self._renewed = False
        """Whether the headers were made anew because of a 401, and nothing was accepted since."""
        self._connection: dict[str, str] = {}
        """The header of this connection; empty before `initialize` was answered."""
        self._streams: dict[str | None, _Stream] = {}
        self._asked: dict[int | str | None, str] = {}
        """The sessions of the agent's open requests, by id: a response goes where the request came from."""
        self._leaving: dict[int | str | None, str] = {}
        """The sessions that are being closed, by the id of our request."""
        self._creating: set[int | str | None] = set()
        """Our requests for a new session: only the answers to these, once each, open a stream."""
        self._attaching: dict[int | str | None, str] = {}
        """The sessions that are being loaded or resumed, by the id of our request."""
        self._doubtful: dict[int | str | None, asyncio.TimerHandle] = {}
        """Our requests that the server may not have got, by id."""
        self._interrupted: set[object] = set()
        self._has_comments = False
        """Whether the server sends comments, so that a silent stream is a broken one."""
        self.wire = ""
        """The version of HTTP that the server speaks."""

    def __repr__(self) -> str:
        state = "ended" if self._outlet.over else "open" if self._connection else "connecting"
        return f"<HttpTransport {self._server.url.identity} {state}>"

    def listen(self, listener: Callable[[LinkChange], None]) -> None:
        """Report interruptions, and when they are over, to this function."""
        self._listener = listener

    async def close(self) -> None:
        library_logs.leave_out_this_task()
        connected = bool(self._connection) and not self._outlet.over
        self._outlet.close(CLOSED)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if connected and self._poster is not None:
            with suppressed(_log, Exception):  # the server drops the connection later by itself
                async with asyncio.timeout(timeouts.get().remote_close):
                    headers = {**self._headers, **self._connection}
                    # Not `delete()`, which would read and decompress whatever the server answers.
                    async with self._poster.stream("DELETE", self._server.url.text, headers=headers):
                        pass
        await self._release()

    # ---- the life of the connection ------------------------------------------------------------

    async def _run(self) -> None:
        library_logs.leave_out_this_task()  # nor the streams, whose tasks are created in it
        try:
            await self._connect()
            while True:
                line = await self._out.next()
                await self._post(line)
                self._out.sent()
        except HeadersFailed as error:
            self._fail(Failure(str(error)))
        except _Ended as ended:
            self._fail(ended.failure)
        except OSError as error:
            self._fail(failures.of_exception(error))
        except Exception as error:  # a library's own fault must not leave requests open for ever
            _log.warning("the connection failed unexpectedly", exc_info=True)
            self._fail(Failure(f"the connection failed: {type(error).__name__}", True))

    def _fail(self, failure: Failure) -> None:
        """End the connection. Its tasks end later: this may run in one of them."""
        if self._outlet.over:
            return
        self._outlet.end(failure, self._out.untouched)
        asyncio.get_running_loop().create_task(self._release())

    async def _release(self) -> None:
        for handle in self._doubtful.values():
            handle.cancel()
        here = asyncio.current_task()
        tasks = [it.task for it in self._streams.values()] + ([self._task] if self._task else [])
        others = [it for it in tasks if it is not here]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._close_poster()

    async def _close_poster(self) -> None:
        poster, self._poster = self._poster, None
        if poster is not None:
            with suppressed(_log, Exception):
                await poster.aclose()

    async def _connect(self) -> None:
        self._headers = await self._server.fresh_headers()
        self._tls = self._server.tls() if self._server.url.is_secure else None
        self._poster = new_client(self._server, self._tls)

    # ---- sending -------------------------------------------------------------------------------

    async def _post(self, line: bytes) -> None:
        """Send one message, and wait until the server has taken it or the message has failed."""
        route = read_route(line) or Route(None, None, False, None)
        session = route.session if route.method is not None else self._asked.pop(route.id, None)
        attaches = route.is_request and route.method in ATTACH and session is not None
        if attaches and session is not None:
            self._attaching[route.id] = session
        # While its stream is interrupted, the answer could not come.
        if self._connection and await self._withdrawn(route, self._open(session)):
            return
        if route.is_request and route.method == CLOSE and session is not None:
            self._leaving[route.id] = session
        if route.is_request and route.method in CREATE:
            self._creating.add(route.id)
        attached = self._streams[session] if attaches else None
        if attached is not None and not attached.was_open:
            session = None  # the server knows the session only after this request
        harmless = route.is_response or route.method == CANCEL
        backoff = Backoff()
        while True:
            failure, status, after = await self._post_once(line, session)
            if failure is None:
                self._settled(line)
                if attached is not None:
                    attached.known.set()
                return
            if not self._connection or status in failures.GONE:
                raise _Ended(failures.RESTARTED_FAILURE if self._lost(status) else failure)
            if status == 429 or (status == 503 and after is not None):  # not taken, and not for ever
                self._interrupt(line, failure)
                if await self._withdrawn(route, pause := _task(backoff.pause(after))):
                    self._settled(line)
                    return
                if pause.result():
                    continue
                break
            if not (failure.unsent or (harmless and (failure.is_passing or status is None))):
                break
            self._interrupt(line, failure)
            if await self._withdrawn(route, pause := _task(backoff.pause(after))):
                self._settled(line)
                return
            if not pause.result():
                raise _Ended(failure)
        self._settled(line)
        self._not_taken(route, session, failure, status, after)

    async def _withdrawn(self, route: Route, waiting: Awaitable[Any]) -> bool:
        """Wait, before the server has got this message. Returns whether its turn was cancelled meanwhile."""
        if route.method != PROMPT or route.session is None:
            await waiting
            return False
        cancelled = _task(self._out.remove(lambda line: _is_cancel(line, route.session)))
        wait = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({wait, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if not cancelled.done():
                await wait
                return False
        finally:
            cancelled.cancel()
            wait.cancel()
        self._outlet.receive(_error(route.id, "cancelled before the server got it"))
        return True

    def _lost(self, status: int | None) -> bool:
        return bool(self._connection) and status in (404, 410)

    def _not_taken(
        self, route: Route, session: str | None, failure: Failure, status: int | None, after: float | None
    ) -> None:
        """A message failed for good: tell the side that waits for an answer."""
        if route.is_request and status is None:
            self._doubt(route, session, failure)
        elif route.is_request:
            data: dict[str, Any] = {"status": status}
            if after is not None:
                data["retryAfter"] = after
            self._outlet.receive(_error(route.id, failure.reason, data))
        elif route.is_response:
            self._asked[route.id] = session or ""
            self._out.put(_error(route.id, f"the client's answer did not arrive: {failure.reason}") + b"\n")
        else:
            _log.debug("a notification was not taken: %s", failure.reason)

    def _doubt(self, route: Route, session: str | None, failure: Failure) -> None:
        """The server may have got this request. If nothing more is heard of it, the connection is over."""
        stream = self._streams.get(session)
        heard = stream.heard if stream is not None else 0

        def check() -> None:
            now = self._streams.get(session)
            if self._doubtful.pop(route.id, None) is None or self._outlet.over:
                return
            if now is None or now.heard == heard:
                self._fail(Failure(f"{failure.reason}; it is unknown whether the server got the message"))
            elif session is not None:  # the server is there, but what came may belong to something else
                self._report(Silent(session))

        loop = asyncio.get_running_loop()
        self._doubtful[route.id] = loop.call_later(timeouts.get().remote_doubt, check)

    async def _post_once(
        self, line: bytes, session: str | None
    ) -> tuple[Failure | None, int | None, float | None]:
        """Send the message. Returns why it failed, the status, and the wait that the server asks for."""
        import httpx

        if self._is_stale:
            await self._close_poster()
            self._poster, self._is_stale = new_client(self._server, self._tls), False
        assert self._poster is not None
        of_session = {"Acp-Session-Id": session} if session else {}
        self._out.begin()
        for _ in range(2):
            headers = {**self._headers, "Content-Type": "application/json", "Accept": ACCEPT}
            headers |= {**self._connection, **of_session}
            used = self._headers
            try:
                async with self._poster.stream(
                    "POST", self._server.url.text, content=line, headers=headers, extensions=self._trace()
                ) as answer:
                    self.wire = answer.http_version
                    if answer.status_code in (200, 202, 204):
                        self._renewed = False
                        await self._take(answer)
                        return None, answer.status_code, None
                    if answer.status_code in REFUSED or 300 <= answer.status_code < 400:
                        self._out.refused()
                    if answer.status_code == 401 and self._connection and await self._renew(used):
                        self._out.begin()
                        continue
                    failure = failures.of_status(answer.status_code, await error_body(answer))
                    return failure, answer.status_code, retry_after(answer)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                _log.debug("a POST failed: %s", type(error).__name__)  # its text may contain a header
                failure = failures.while_sending(failures.of_exception(error), len(line))
                if failure.unsent:
                    self._out.refused()
                return failure, None, None
        raise AssertionError("unreachable: the headers are made anew only once")

    async def _take(self, answer: httpx.Response) -> None:
        """Take the body of an accepted POST; that of `initialize` opens the connection."""
        id = answer.headers.get("Acp-Connection-Id")
        first = not self._connection
        if first:
            if not id or len(id) > 1000 or not id.isprintable():
                raise _Ended(
                    Failure("the server's answer to initialize has no Acp-Connection-Id: try wss://")
                )
            self._connection = {"Acp-Connection-Id": id}
            self.stage = "opening the stream of the connection"
        is_event_stream = answer.headers.get("Content-Type", "").startswith("text/event-stream")
        body = b"" if is_event_stream else await _bytes(answer, MAX_LINE)
        if first:
            await self._open(None)
        if body.strip():
            self._message(one_line(body), None)

    def _trace(self) -> dict[str, Any]:
        if self._connection:
            return {}

        async def trace(name: str, info: Any) -> None:
            if name.endswith("connect_tcp.started"):
                self.stage = "looking up the server's name and connecting to it"
            elif name.endswith("start_tls.started"):
                self.stage = "setting up TLS"
            elif name.endswith("receive_response_headers.started"):
                self.stage = "waiting for the answer to initialize"

        return {"trace": trace}

    async def _renew(self, used: dict[str, str]) -> bool:
        """Make the headers anew after a 401; return whether there are other ones to try."""
        if self._headers != used:  # another request has renewed them meanwhile
            return True
        if self._renewed:
            return False
        self._renewed = True
        try:
            self._headers = await self._server.fresh_headers()
        except HeadersFailed as error:
            raise _Ended(Failure(str(error))) from None
        return self._headers != used

    # ---- receiving -----------------------------------------------------------------------------

    async def _open(self, session: str | None) -> None:
        """Open the stream of a session, or of the connection (None), unless it is open."""
        stream = self._streams.get(session)
        if stream is None or stream.task.done():
            stream = self._streams[session] = _Stream(asyncio.get_running_loop().create_future())
            stream.task = asyncio.get_running_loop().create_task(self._read(session, stream))
        if not stream.ready.done():
            await asyncio.shield(stream.ready)

    async def _read(self, session: str | None, stream: _Stream) -> None:
        try:
            await self._keep_reading(session, stream)
        except _Ended as ended:
            self._fail(ended.failure)
        except HeadersFailed as error:
            self._fail(Failure(str(error)))
        except EventTooLong:
            self._fail(Failure(f"the server sent a message of more than {MAX_LINE // 2**20} MiB"))
        except Exception as error:
            _log.warning("a stream failed unexpectedly", exc_info=True)
            self._fail(Failure(f"a stream of the connection failed: {type(error).__name__}", True))
        finally:
            stream.set_ready()

    async def _keep_reading(self, session: str | None, stream: _Stream) -> None:
        """Read the stream, and open it again whenever it ends."""
        backoff = Backoff()
        clock = asyncio.get_running_loop().time
        while True:
            heard, began = stream.heard, clock()
            failure, status, after = await self._read_once(session, stream)
            if stream.opened:  # this time
                stream.reset()
                if stream.heard > heard or clock() - began > LASTING_S:
                    backoff = Backoff()
            elif status in UNKNOWN and session in self._attaching.values() and not stream.was_open:
                stream.set_ready()  # what is posted makes the server know the session
                await stream.pause_until_known()
                continue
            elif status in failures.GONE and (session is None or stream.was_open or status != 404):
                raise _Ended(failures.RESTARTED_FAILURE if self._lost(status) else failure or _ENDED)
            elif failure is not None and not (failure.is_passing or status in (404, 409)):
                raise _Ended(failure)
            elif status == 404:
                stream.set_ready()  # what is posted may be what makes the server know the session
            if failure is not None:
                self._interrupt(stream, failure)
            if not await backoff.pause(after):
                raise _Ended(failure or _ENDED)

    async def _read_once(
        self, session: str | None, stream: _Stream
    ) -> tuple[Failure | None, int | None, float | None]:
        """Read until the stream ends. Returns why it failed; None if the server ended it properly."""
        import httpx

        used = self._headers
        headers = {**used, **self._connection, "Accept": "text/event-stream", "Cache-Control": "no-store"}
        headers |= {"Acp-Session-Id": session} if session else {}
        headers |= {"Last-Event-ID": stream.last_id} if stream.last_id else {}
        limits = timeouts.get()
        timeout = httpx.Timeout(limits.remote_silence, connect=limits.remote_connect, pool=None)
        parser = EventParser(MAX_LINE)
        try:
            async with (
                new_client(self._server, self._tls) as client,
                client.stream("GET", self._server.url.text, headers=headers, timeout=timeout) as answer,
            ):
                if answer.status_code == 401 and await self._renew(used):
                    return None, None, 0.0
                if answer.status_code != 200:
                    body = await error_body(answer)
                    failure = failures.of_status(answer.status_code, body)
                    if answer.status_code in MAYBE_READ:
                        self._cut(session, stream)
                    return failure, answer.status_code, retry_after(answer)
                if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
                    raise _Ended(Failure("the server answered a request for a stream with something else"))
                if answer.headers.get("Content-Encoding", "identity") != "identity":
                    raise _Ended(Failure("the server compresses its stream, which was not asked for"))
                self._renewed = False
                keep_alive(answer)
                stream.opened = True
                stream.first_open.set()
                stream.set_ready()
                self._settled(stream)
                async for chunk in answer.aiter_raw():
                    for event in parser.feed(chunk):
                        self._event(event.data, event.id, session, stream)
                    if parser.has_comments and not self._has_comments:
                        self._expect_comments()
                    if parser.is_damaged:
                        parser.is_damaged = False
                        self._cut(session, stream)
        except (httpx.HTTPError, OSError) as error:
            _log.debug("a stream broke: %s", type(error).__name__)  # its text may contain a header
            self._is_stale = True
            failure = failures.of_exception(error)
            silent = isinstance(error, httpx.ReadTimeout)
            if silent and stream.opened and not self._has_comments:
                self._doubt_silence(session, stream)
                return None, None, None
            if stream.opened or not failure.unsent:
                self._cut(session, stream)
            return failure, None, None
        self._cut(session, stream)  # whoever ended it properly: it may be a proxy that had more to read
        return None, None, None

    def _doubt_silence(self, session: str | None, stream: _Stream) -> None:
        """Nothing came for long, from a server that sends no comments: it may think, or be out of reach."""
        stream.was_silent = True
        if session is not None and stream.last_id is None and not self._outlet.over:
            self._report(Silent(session))

    def _expect_comments(self) -> None:
        """The first comment of this server: a stream that was silent before was broken, as by a sleep."""
        self._has_comments = True
        for session, stream in self._streams.items():
            if stream.was_silent:
                self._cut(session, stream, earlier=True)

    def _cut(self, session: str | None, stream: _Stream, *, earlier: bool = False) -> None:
        """The stream broke: what the server wrote meanwhile is lost, unless it numbers its events."""
        if session is not None and stream.last_id is None and not self._outlet.over:
            # At once: the turn may end before all streams are open again.
            self._report(MessagesLost(session, earlier))

    def _event(self, data: bytes, id: str | None, session: str | None, stream: _Stream) -> None:
        if id is not None and id != "":
            if stream.may_repeat and (id, hash(data)) in stream.seen:  # sent again after a reconnect
                return
            stream.may_repeat = False
            stream.last_id = id
            stream.seen.append((id, hash(data)))
        stream.heard += 1
        if not (data.startswith(b"{") and data.endswith(b"}")):
            self._cut(session, stream)  # it was a message before somebody changed it
        self._message(one_line(data), session)

    def _message(self, data: bytes, session: str | None) -> None:
        route = read_route(data) if b'"id"' in data else None
        if route is not None and route.is_request and (of := route.session or session):
            self._asked[route.id] = of
        elif route is not None and route.is_response:
            if (handle := self._doubtful.pop(route.id, None)) is not None:
                handle.cancel()
            is_new = route.id in self._creating
            self._creating.discard(route.id)
            if is_new and route.opened is not None and route.opened not in self._streams:
                # At once, for updates that follow; a POST for the session waits until it is open.
                opening = asyncio.get_running_loop().create_task(self._open(route.opened))
                opening.add_done_callback(_retrieved)
            attached = self._attaching.get(route.id)
            if attached is None or self._streams[attached].was_open:
                self._attaching.pop(route.id, None)
            else:
                self._streams[attached].known.set()
                confirming = asyncio.get_running_loop().create_task(self._confirm(attached, route, data))
                confirming.add_done_callback(_retrieved)
                return
            left = self._leaving.pop(route.id, None)
            if left is not None and left in self._streams:
                self._streams.pop(left).task.cancel()
        self._outlet.receive(data)

    async def _confirm(self, session: str, route: Route, answer: bytes) -> None:
        """Pass on the answer to a load or resume when the session's stream is open; else it has failed."""
        stream = self._streams[session]
        try:
            async with asyncio.timeout(timeouts.get().remote_stream):
                await stream.first_open.wait()
        except TimeoutError:
            self._streams.pop(session, None)
            stream.task.cancel()
            answer = _error(route.id, "the server opened the session, but has no stream for it")
        self._attaching.pop(route.id, None)
        self._outlet.receive(answer)

    # ---- interruptions -------------------------------------------------------------------------

    def _report(self, change: LinkChange) -> None:
        self._outlet.flush()  # what came before it
        self._listener(change)

    def _interrupt(self, what: object, failure: Failure) -> None:
        """This stream or message waits for the network."""
        if not self._outlet.over:
            first = not self._interrupted
            self._interrupted.add(what)
            if first:
                self._report(Interrupted(failure.reason))

    def _settled(self, what: object) -> None:
        """This stream or message waits no longer."""
        was_interrupted = bool(self._interrupted)
        self._interrupted.discard(what)
        if was_interrupted and not self._interrupted and not self._outlet.over:
            self._report(Restored())


class _Stream:
    """A stream of the connection, over all its interruptions."""

    task: asyncio.Task[None]

    def __init__(self, ready: asyncio.Future[None]) -> None:
        self.ready = ready
        """Done as soon as the stream is open, or something may be posted without it."""
        self.opened = False
        self.first_open = asyncio.Event()
        self.known = asyncio.Event()
        """Set when the server has got the request, or has answered it, by which it knows the session."""
        self.last_id: str | None = None
        self.seen: deque[tuple[str, int]] = deque(maxlen=IDS_KEPT)
        self.may_repeat = False
        """Whether it was opened again, and nothing new has come yet."""
        self.heard = 0
        self.was_silent = False
        """Whether it was opened again because nothing came, which does not have to mean that it broke."""

    @property
    def was_open(self) -> bool:
        return self.first_open.is_set()

    def reset(self) -> None:
        """The stream has ended: what is posted waits until it is open again."""
        self.opened, self.may_repeat = False, True
        if self.ready.done():
            self.ready = asyncio.get_running_loop().create_future()

    async def pause_until_known(self) -> None:
        """Wait before the next attempt to open the stream of a session that is being loaded."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_PAUSE_S):
                await self.known.wait()
        self.known.clear()

    def set_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)


_ENDED = Failure("the server ended the stream again and again", True)


async def _bytes(answer: httpx.Response, limit: int) -> bytes:
    """The body, as it is on the wire: nothing is decompressed."""
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.aiter_raw():
        size += len(chunk)
        if size > limit:
            raise _Ended(Failure(f"the server sent a message of more than {limit // 2**20} MiB"))
        parts.append(chunk)
    return b"".join(parts)


def _error(id: int | str | None, message: str, data: Any = None) -> bytes:
    return Peer.error(id, RpcError(INTERNAL_ERROR, message, data)).rstrip(b"\n")


def _is_cancel(line: bytes, session: str | None) -> bool:
    route = read_route(line) if CANCEL.encode() in line else None
    return route is not None and route.method == CANCEL and route.session == session


def _task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(work)


def _retrieved(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
