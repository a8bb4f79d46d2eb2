"""A transport over HTTP: each message is a POST, answers and updates come on streams of server-sent events.

The profile "Streamable HTTP" of the protocol's remote transport: `initialize` opens a connection and its
stream, and each session has a stream of its own, which is open before anything is posted for the session.
HTTP/2 is asked for, HTTP/1.1 is taken.

`http_streams` reads the streams; here are the life of the connection, and what is sent.

A POST is repeated only if the server certainly has not taken it; a response or a cancel, which do no harm
twice, also if that is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ... import timeouts
from ...log import logger, suppressed
from ...wire.jsonrpc import INTERNAL_ERROR, MAX_LINE, Peer, RpcError
from ...wire.v1.routing import ATTACH, CANCEL, CLOSE, CREATE, PROMPT, WITHDRAW, Route, read_route
from ..backoff import Backoff
from ..transport import CLOSED, LinkChange, Silent
from . import failures, library_logs
from .failures import Failure
from .http_client import Pieces, error_body, retry_after
from .http_link import Ended, HttpLink
from .http_streams import Streams
from .outbox import one_line
from .remote_transport import SLOWEST_BYTES_S, RemoteTransport, end, time_to_arrive
from .server import HeadersFailed, Server

if TYPE_CHECKING:
    import httpx

_log = logger(__name__)

T = TypeVar("T")

ACCEPT = "application/json, text/event-stream"
"""For a POST. Some servers refuse one without both, although they answer with JSON only."""

MOST_OVERTAKEN = 100
"""So many queued messages are looked at, to find those that do not have to wait."""

NO_HEADER = "the id of this session cannot be a header of HTTP, which has to name it: use wss://, or ws://"

REFUSED = frozenset({401, 403, 404, 405, 410, 413, 415, 426, 429, 503})
"""Statuses by which the server says that it has not taken the message."""


@dataclass(frozen=True, slots=True)
class _Attach:
    """A request to load or resume a session."""

    session: str
    opened: bool
    """Whether its stream was opened for this request, and ends if it fails."""


class HttpTransport(RemoteTransport):
    """Carries the messages of one connection over HTTP. Use it on the loop thread."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._link = link = HttpLink(server, self._outlet, self._fail)
        self._streams = Streams(link, self._message, self._is_attaching)
        self._poster: httpx.AsyncClient | None = None
        """For messages. Each stream has a connection of its own: when one breaks, the others are not stuck to
        it, and on one from which a stream is read, httpcore's HTTP/2 does not notice that the server has room
        for more: a POST of over 64 kB would wait for the next event."""
        self._asked: dict[int | str | None, str] = {}
        """The sessions of the agent's open requests, by id: a response goes where the request came from."""
        self._leaving: dict[int | str | None, str] = {}
        """The sessions that are being closed, by the id of our request."""
        self._creating: set[int | str | None] = set()
        """Our requests for a new session: only the answers to these, once each, open a stream."""
        self._attaching: dict[int | str | None, _Attach] = {}
        """Our requests to load or resume a session, by id."""
        self._forgotten: set[str] = set()
        """Sessions whose last messages, such as a cancel, need no stream."""
        self._doubtful: dict[int | str | None, asyncio.TimerHandle] = {}
        """Our requests that the server may not have got, by id."""
        self._in_transfer = False
        """Whether the first message of the queue is on its way."""
        self.wire = ""
        """The version of HTTP that the server speaks."""

    def __repr__(self) -> str:
        state = "ended" if self._outlet.over else "open" if self._link.id else "connecting"
        return f"<HttpTransport {self._server.url.identity} {state}>"

    def listen(self, listener: Callable[[LinkChange], None]) -> None:
        """Report interruptions, and when they are over, to this function."""
        self._link.listener = listener

    def forget(self, session: str) -> None:
        """Read the stream of this session no longer; it is opened again only if the session is."""
        self._forgotten.add(session)
        self._streams.end(session)

    def reads(self, session: str | None) -> bool:
        """Whether the stream of this session is read."""
        return session in self._streams

    async def close(self) -> None:
        library_logs.leave_out_this_task()
        connected = bool(self._link.id) and not self._outlet.over
        self._outlet.close(CLOSED)
        await end([self._task] if self._task else [])
        if connected and self._poster is not None:
            with suppressed(_log, Exception):  # the server drops the connection later by itself
                async with asyncio.timeout(timeouts.get().remote_close):
                    headers = self._link.request_headers()
                    # Not `delete()`, which would read and decompress whatever the server answers.
                    async with self._poster.stream("DELETE", self._server.url.text, headers=headers):
                        pass
        await self._release()

    # ---- the life of the connection ------------------------------------------------------------

    async def _run(self) -> None:
        library_logs.leave_out_this_task()  # nor the streams, whose tasks are created in it
        try:
            await self._link.prepare()
            self._poster = self._link.client()
            while True:
                line = await self._out.next()
                await self._post(line)
                self._out.sent()
        except HeadersFailed as error:
            self._fail(Failure(str(error)))
        except Ended as ended:
            self._fail(ended.failure)
        except OSError as error:
            self._fail(failures.of_exception(error, self._server.proxy))
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
        await end(it for it in (self._task,) if it is not None and it is not here)
        await self._streams.close()
        await self._close_poster()

    async def _close_poster(self) -> None:
        poster, self._poster = self._poster, None
        if poster is not None:
            with suppressed(_log, Exception):
                await poster.aclose()

    # ---- sending -------------------------------------------------------------------------------

    async def _post(self, line: bytes) -> None:
        """Send one message, and wait until the server has taken it or the message has failed."""
        route = read_route(line) or Route(None, None, False, None)
        session = self._session(route)
        if route.is_response:
            self._asked.pop(route.id, None)
        if route.is_request and self._out.take_now(lambda lines: _withdrawal(lines, route)) is not None:
            return  # nobody waits for it any more
        if session is not None and not _fits_header(session):
            if route.is_request:
                self._outlet.receive(_error(route.id, NO_HEADER))
            return
        attaches = route.is_request and route.method in ATTACH and session is not None
        if attaches and session is not None:
            self._attaching[route.id] = _Attach(session, session not in self._streams)
            self._forgotten.discard(session)
        # While its stream is interrupted, the answer could not come.
        if (
            self._link.id
            and session not in self._forgotten
            and await self._withdrawn(route, self._streams.open(session))
        ):
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
            failure, status, after = await self._transfer(route, line, session)
            if failure is None:
                self._link.settled(line)
                if attached is not None:
                    attached.known.set()
                return
            if not self._link.id or status in failures.GONE:
                lost = bool(self._link.id) and status in (404, 410)
                raise Ended(failures.RESTARTED_FAILURE if lost else failure)
            if status == 429 or (status == 503 and after is not None):  # not taken, and not for ever
                self._link.interrupt(line, failure)
                if await self._withdrawn(route, pause := _task(backoff.pause(after))):
                    self._link.settled(line)
                    return
                if pause.result():
                    continue
                break
            if not (failure.unsent or (harmless and (failure.is_passing or status is None))):
                break
            self._link.interrupt(line, failure)
            if await self._withdrawn(route, pause := _task(backoff.pause(after))):
                self._link.settled(line)
                return
            if not pause.result():
                raise Ended(failure)
        self._link.settled(line)
        if route.is_response:
            await self._replace(route, session, failure)
        else:
            self._not_taken(route, session, failure, status, after)

    async def _transfer(
        self, route: Route, line: bytes, session: str | None
    ) -> tuple[Failure | None, int | None, float | None]:
        """Send the first message. A large one takes its time on a slow network."""
        self._in_transfer = True
        try:
            posting = _task(self._post_once(line, session))
            await self._let_pass(route, posting, withdraws=False)
            return posting.result()
        finally:
            self._in_transfer = False

    async def _withdrawn(self, route: Route, waiting: Awaitable[Any]) -> bool:
        """Wait, before the server has got this message. Returns whether it was cancelled meanwhile."""
        if not await self._let_pass(route, asyncio.ensure_future(waiting), withdraws=route.is_request):
            return False
        self._detach(route.id)
        self._creating.discard(route.id)
        self._leaving.pop(route.id, None)
        self._outlet.receive(_error(route.id, "cancelled before the server got it"))
        return True

    async def _let_pass(self, first: Route, wait: asyncio.Future[Any], *, withdraws: bool) -> bool:
        """Send answers and cancels of other sessions, which do not wait for the first message, until `wait`
        is done. Returns whether a cancel `withdraws` the first message before that."""
        taking = self._take_aside(first, overtaken=True, withdraws=withdraws)
        try:
            while True:
                await asyncio.wait({wait, taking}, return_when=asyncio.FIRST_COMPLETED)
                if not taking.done():
                    await wait
                    return False
                line = taking.result()
                if withdraws and _withdraws(read_route(line), first):
                    return True
                overtaken = await self._post_aside(line)
                taking = self._take_aside(first, overtaken=overtaken, withdraws=withdraws)
        finally:
            taking.cancel()
            wait.cancel()

    def _take_aside(self, first: Route, *, overtaken: bool, withdraws: bool) -> asyncio.Task[bytes]:
        return _task(self._out.take(lambda lines: self._next(lines, first, overtaken, withdraws)))

    def _next(self, lines: Sequence[bytes], first: Route, overtaken: bool, withdraws: bool) -> int | None:
        """Which message to take although the first one waits: the cancel that `withdraws` it, or, if it can
        be `overtaken`, an answer or a cancel of another session. Those of one session stay in their order."""
        before = {self._session(first)}
        for at in range(1, min(len(lines), MOST_OVERTAKEN)):
            if (route := read_route(lines[at])) is None:
                continue
            session = self._session(route)
            if withdraws and _withdraws(route, first):
                return at
            is_urgent = route.is_response or route.method == CANCEL
            goes_alone = session is not None and session not in before and self._streams.is_ready(session)
            if overtaken and is_urgent and goes_alone:
                return at
            before.add(session)
        return None

    async def _post_aside(self, line: bytes) -> bool:
        """Send an answer or a cancel before the first message. Returns whether others may follow."""
        route = read_route(line)
        assert route is not None, "`_next` has read it"
        session = self._session(route)
        failure, status, _ = await self._post_once(line, session, is_first=False)
        if failure is not None and status in failures.GONE:
            raise Ended(failures.RESTARTED_FAILURE if status in (404, 410) else failure)
        if failure is not None and (failure.is_passing or status is None):
            self._out.put_back(line)  # its turn comes, and more attempts
            return False
        if failure is not None and route.is_response:
            await self._replace(route, session, failure)
        if route.is_response:
            self._asked.pop(route.id, None)
        return True

    def _session(self, route: Route) -> str | None:
        """Where a message of ours goes: a response goes where the request came from."""
        return route.session if route.method is not None else self._asked.get(route.id)

    def _not_taken(
        self, route: Route, session: str | None, failure: Failure, status: int | None, after: float | None
    ) -> None:
        """A message of ours failed for good: answer it in place of the agent."""
        if route.is_request and status is None:
            self._doubt(route, session, failure)
        elif route.is_request:
            self._detach(route.id)
            self._creating.discard(route.id)
            self._leaving.pop(route.id, None)
            data: dict[str, Any] = {"status": status}
            if after is not None:
                data["retryAfter"] = after
            self._outlet.receive(_error(route.id, failure.reason, data))
        else:
            _log.debug("a notification was not taken: %s", failure.reason)

    async def _replace(self, route: Route, session: str | None, failure: Failure) -> None:
        """An answer of ours failed for good: answer the agent's request with an error, which is tried once.

        It is not queued: the bytes that are queued tell which requests the server has not got."""
        error = _error(route.id, f"the client's answer did not arrive: {failure.reason}")
        again, status, _ = await self._post_once(error, session, is_first=False)
        if again is not None and status in failures.GONE:
            raise Ended(again)
        if again is not None:
            _log.warning("the agent got no answer to its request: %s", again.reason)

    def _doubt(self, route: Route, session: str | None, failure: Failure) -> None:
        """The server may have got this request. If nothing more is heard of it, the connection is over."""
        heard = self._streams.heard(session) or 0

        def check() -> None:
            now = self._streams.heard(session)
            if self._doubtful.pop(route.id, None) is None or self._outlet.over:
                return
            if now is None or now == heard:
                self._fail(Failure(f"{failure.reason}; it is unknown whether the server got the message"))
            elif session is not None:  # the server is there, but what came may belong to something else
                self._link.report(Silent(session))

        loop = asyncio.get_running_loop()
        self._doubtful[route.id] = loop.call_later(timeouts.get().remote_doubt, check)

    async def _post_once(
        self, line: bytes, session: str | None, *, is_first: bool = True
    ) -> tuple[Failure | None, int | None, float | None]:
        """Send the message. Returns why it failed, the status, and the wait that the server asks for.

        `is_first`: whether it is the first one of the queue."""
        import httpx

        if self._link.is_stale and (is_first or not self._in_transfer):
            await self._close_poster()
            self._poster, self._link.is_stale = self._link.client(), False
        assert self._poster is not None
        of_session = {"Acp-Session-Id": session} if session else {}
        limits = timeouts.get()
        if is_first:
            self._out.begin()
        for is_last in (False, True):
            headers = {**self._link.request_headers(), **of_session}
            headers |= {"Content-Type": "application/json", "Accept": ACCEPT}
            headers |= {"Content-Length": str(len(line))}
            used = self._link.headers
            try:
                async with (
                    asyncio.timeout(self._most_time(line)),
                    self._poster.stream(
                        "POST",
                        self._server.url.text,
                        content=Pieces(line),
                        headers=headers,
                        extensions=self._trace(),
                        timeout=httpx.Timeout(
                            limits.remote_post,
                            connect=limits.remote_connect,
                            read=limits.remote_post + time_to_arrive(len(line)),
                            pool=None,
                        ),
                    ) as answer,
                ):
                    self.wire = answer.http_version
                    if answer.status_code in (200, 202, 204):
                        self._link.accepted()
                        await self._take(answer)
                        return None, answer.status_code, None
                    if is_first and (answer.status_code in REFUSED or 300 <= answer.status_code < 400):
                        self._out.refused()
                    refused = answer.status_code == 401 and bool(self._link.id) and not is_last
                    if refused and await self._link.renew(used):
                        if is_first:
                            self._out.begin()
                        continue
                    failure = failures.of_status(answer.status_code, await error_body(answer))
                    return failure, answer.status_code, retry_after(answer)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                _log.debug("a POST failed: %s", type(error).__name__)  # its text may contain a header
                late = isinstance(error, TimeoutError)
                failure = failures.UNFINISHED if late else failures.of_exception(error, self._server.proxy)
                failure = failures.while_sending(failure, len(line))
                if is_first and failure.unsent:
                    self._out.refused()
                return failure, None, None
        raise AssertionError("unreachable: the last attempt returns")

    async def _take(self, answer: httpx.Response) -> None:
        """Take the body of an accepted POST; that of `initialize` opens the connection."""
        id = answer.headers.get("Acp-Connection-Id")
        first = not self._link.id
        if first:
            if not id or len(id) > 1000 or not id.isprintable():
                raise Ended(Failure("the server's answer to initialize has no Acp-Connection-Id: try wss://"))
            self._link.id = {"Acp-Connection-Id": id}
            self.stage = "opening the stream of the connection"
        is_event_stream = answer.headers.get("Content-Type", "").startswith("text/event-stream")
        body = b"" if is_event_stream else await _bytes(answer, MAX_LINE)
        if first:
            await self._streams.open(None)
        if body.strip():
            self._message(one_line(body), None)

    def _most_time(self, line: bytes) -> float | None:
        """For the message and its answer. The start of an agent has a limit of its own."""
        return timeouts.get().remote_request + len(line) / SLOWEST_BYTES_S if self._link.id else None

    def _trace(self) -> dict[str, Any]:
        if self._link.id:
            return {}

        async def trace(name: str, info: Any) -> None:
            if name.endswith("connect_tcp.started"):
                self.stage = "looking up the server's name and connecting to it"
            elif name.endswith("start_tls.started"):
                self.stage = "setting up TLS"
            elif name.endswith("receive_response_headers.started"):
                self.stage = "waiting for the answer to initialize"

        return {"trace": trace}

    # ---- receiving -----------------------------------------------------------------------------

    def _message(self, data: bytes, session: str | None) -> None:
        route = read_route(data) if b'"id"' in data else None
        if route is not None and route.is_request:
            if of := route.session if route.session and _fits_header(route.session) else session:
                self._asked[route.id] = of
        elif route is not None and route.is_response:
            if (handle := self._doubtful.pop(route.id, None)) is not None:
                handle.cancel()
            is_new = route.id in self._creating
            self._creating.discard(route.id)
            if is_new and route.opened is not None and not _fits_header(route.opened):
                self._outlet.receive(_error(route.id, NO_HEADER))
                return
            if is_new and route.opened is not None and route.opened not in self._streams:
                # At once, for updates that follow; a POST for the session waits until it is open.
                opening = asyncio.get_running_loop().create_task(self._streams.open(route.opened))
                opening.add_done_callback(_retrieved)
            if route.is_error:
                self._detach(route.id)
            attach = self._attaching.get(route.id)
            if attach is not None and self._streams.is_unopened(attach.session):
                self._streams[attach.session].known.set()
                confirming = _task(self._confirm(attach.session, route, data))
                confirming.add_done_callback(_retrieved)
                return
            self._attaching.pop(route.id, None)
            left = self._leaving.pop(route.id, None)
            if left is not None:
                self._streams.end(left)
        self._outlet.receive(data)

    def _is_attaching(self, session: str | None) -> bool:
        return any(it.session == session for it in self._attaching.values())

    def _detach(self, id: int | str | None) -> None:
        """The request to load or resume a session has failed."""
        attach = self._attaching.pop(id, None)
        if attach is not None and attach.opened and not self._is_attaching(attach.session):
            self._streams.end(attach.session)

    async def _confirm(self, session: str, route: Route, answer: bytes) -> None:
        """Pass on the answer to a load or resume when the session's stream is open; else it has failed."""
        stream = self._streams[session]
        try:
            async with asyncio.timeout(timeouts.get().remote_stream):
                await stream.first_open.wait()
        except TimeoutError:
            self._detach(route.id)
            answer = _error(route.id, "the server opened the session, but has no stream for it")
        self._attaching.pop(route.id, None)
        self._outlet.receive(answer)


async def _bytes(answer: httpx.Response, limit: int) -> bytes:
    """The body, as it is on the wire: nothing is decompressed."""
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.aiter_raw():
        size += len(chunk)
        if size > limit:
            raise Ended(Failure(f"the server sent a message of more than {limit // 2**20} MiB"))
        parts.append(chunk)
    return b"".join(parts)


def _error(id: int | str | None, message: str, data: Any = None) -> bytes:
    return Peer.error(id, RpcError(INTERNAL_ERROR, message, data)).rstrip(b"\n")


def _fits_header(session: str) -> bool:
    return session.isascii() and session.isprintable() and session == session.strip()


def _withdraws(route: Route | None, request: Route) -> bool:
    """Whether this message says that nobody waits for the request any more."""
    if route is None:
        return False
    ends_turn = route.method == CANCEL and request.method == PROMPT and route.session == request.session
    return ends_turn or (route.method == WITHDRAW and route.withdrawn == request.id)


def _withdrawal(lines: Sequence[bytes], request: Route) -> int | None:
    """Which queued message withdraws the first one, which is this request and was not sent."""
    for at in range(1, len(lines)):
        if WITHDRAW.encode() in lines[at]:
            route = read_route(lines[at])
            if route is not None and route.method == WITHDRAW and route.withdrawn == request.id:
                return at
    return None


def _task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(work)


def _retrieved(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
