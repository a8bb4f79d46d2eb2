"""The streams of server-sent events of one connection over HTTP: one for itself and one for each session.

A stream that breaks is opened again on the same connection: the server keeps what was not read, or sends what
followed the last event id. Without ids, what it had written may be lost with any stream that ended, even with
one of which nothing has arrived here: the server may have a reader all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from ... import timeouts
from ...log import logger
from ...wire.jsonrpc import MAX_LINE
from ..backoff import FIRST_PAUSE_S, LONGEST_PAUSE_S, Backoff
from ..transport import MessagesLost, Silent
from . import failures
from .failures import Failure
from .http_client import error_body, keep_alive, retry_after
from .http_link import Ended, HttpLink
from .outbox import one_line
from .remote_transport import end
from .server import HeadersFailed
from .sse import Event, EventParser, EventTooLong

_log = logger(__name__)

UNKNOWN = frozenset({403, 404})
"""How servers answer for the stream of a session that they do not know yet."""

IDS_KEPT = 64
"""How many ids of events a stream remembers, to recognise those that a server sends again."""

LASTING_S = 5.0
"""A stream that lasted longer than this was useful, even if nothing came: something cuts idle streams."""

MAYBE_READ = frozenset({500, 502, 504})
"""Statuses of a proxy that lost the server's answer: the server may have opened the stream."""

_ENDED = Failure("the server ended the stream again and again", True)


class Stream:
    """A stream of the connection, over all its interruptions."""

    task: asyncio.Task[None]

    def __init__(self, ready: asyncio.Future[None]) -> None:
        self.ready = ready
        """Done as soon as the stream is open, or something may be posted without it."""
        self.opened = False
        self.is_connecting = False
        self.is_over = False
        """Whether it is to be read no longer, as soon as it has connected."""
        self.first_open = asyncio.Event()
        self.known = asyncio.Event()
        """Set when the server has got the request, or has answered it, by which it knows the session."""
        self.unknown = 0
        """How often the server did not know the session, since it was told about it."""
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

    def is_new(self, id: str, data: bytes) -> bool:
        """Remember this event. Returns whether the server has not sent it before a reconnect."""
        if self.may_repeat and (id, hash(data)) in self.seen:
            return False
        self.may_repeat = False
        self.last_id = id
        self.seen.append((id, hash(data)))
        return True

    async def pause_until_known(self) -> None:
        """Wait before the next attempt to open the stream of a session that is being loaded."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**self.unknown)):
                await self.known.wait()
        self.unknown = 0 if self.known.is_set() else self.unknown + 1
        self.known.clear()

    def set_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)


class Streams:
    """The streams of one connection, by session; None is the stream of the connection itself."""

    def __init__(
        self,
        link: HttpLink,
        receive: Callable[[bytes, str | None], None],
        is_attaching: Callable[[str | None], bool],
    ) -> None:
        """`receive` gets each message with the session of its stream. `is_attaching`: whether the session is
        being loaded or resumed, so that the server may not know it yet."""
        self._link = link
        self._receive = receive
        self._is_attaching = is_attaching
        self._streams: dict[str | None, Stream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        """Those that read, also of streams that are about to end."""
        self._has_comments = False
        """Whether the server sends comments, so that a silent stream is a broken one."""

    def __contains__(self, session: str | None) -> bool:
        return session in self._streams

    def __getitem__(self, session: str | None) -> Stream:
        return self._streams[session]

    def is_ready(self, session: str) -> bool:
        """Whether something may be posted for this session."""
        return session in self._streams and self._streams[session].ready.done()

    def is_unopened(self, session: str) -> bool:
        """Whether the stream of this session has not been open yet."""
        return session in self._streams and not self._streams[session].was_open

    def heard(self, session: str | None) -> int | None:
        """How many messages have come on the stream of this session; None if there is none."""
        stream = self._streams.get(session)
        return None if stream is None else stream.heard

    def end(self, session: str | None) -> None:
        """Read this stream no longer."""
        if (stream := self._streams.pop(session, None)) is None:
            return
        self._link.settled(stream)
        stream.set_ready()
        stream.is_over = True
        if not stream.is_connecting:  # anyio may leave a socket open whose connecting is cancelled
            stream.task.cancel()

    async def close(self) -> None:
        """End all streams, but not the one whose task this is."""
        for stream in self._streams.values():
            stream.is_over = True
        here = asyncio.current_task()
        await end(it for it in self._tasks if it is not here)

    async def open(self, session: str | None) -> None:
        """Open the stream of a session, or of the connection (None), unless it is open."""
        stream = self._streams.get(session)
        if stream is None or stream.task.done():
            stream = self._streams[session] = Stream(asyncio.get_running_loop().create_future())
            stream.task = asyncio.get_running_loop().create_task(self._read(session, stream))
            self._tasks.add(stream.task)
            stream.task.add_done_callback(self._tasks.discard)
        if not stream.ready.done():
            await asyncio.shield(stream.ready)

    async def _read(self, session: str | None, stream: Stream) -> None:
        try:
            await self._keep_reading(session, stream)
        except Ended as ended:
            self._link.fail(ended.failure)
        except HeadersFailed as error:
            self._link.fail(Failure(str(error)))
        except EventTooLong:
            self._link.fail(Failure(f"the server sent a message of more than {MAX_LINE // 2**20} MiB"))
        except Exception as error:
            _log.warning("a stream failed unexpectedly", exc_info=True)
            self._link.fail(Failure(f"a stream of the connection failed: {type(error).__name__}", True))
        finally:
            stream.set_ready()

    async def _keep_reading(self, session: str | None, stream: Stream) -> None:
        """Read the stream, and open it again whenever it ends."""
        backoff = Backoff()
        clock = asyncio.get_running_loop().time
        while True:
            heard, began = stream.heard, clock()
            stream.is_connecting = True
            failure, status, after = await self._read_once(session, stream)
            stream.is_connecting = False
            if stream.is_over:
                return
            if stream.opened:  # this time
                stream.reset()
                if stream.heard > heard or clock() - began > LASTING_S:
                    backoff = Backoff()
            elif status in UNKNOWN and self._is_attaching(session) and not stream.was_open:
                stream.set_ready()  # what is posted makes the server know the session
                await stream.pause_until_known()
                continue
            elif status in failures.GONE and (session is None or stream.was_open or status != 404):
                raise Ended(failures.RESTARTED_FAILURE if status in (404, 410) else failure or _ENDED)
            elif failure is not None and not (failure.is_passing or status in (404, 409)):
                raise Ended(failure)
            elif status == 404:
                stream.set_ready()  # what is posted may be what makes the server know the session
            if failure is not None:
                self._link.interrupt(stream, failure)
            if not await backoff.pause(after):
                raise Ended(failure or _ENDED)

    async def _read_once(
        self, session: str | None, stream: Stream
    ) -> tuple[Failure | None, int | None, float | None]:
        """Read until the stream ends. Returns why it failed; None if the server ended it properly."""
        import httpx

        used = self._link.headers
        headers = self._link.request_headers()
        headers |= {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        headers |= {"Acp-Session-Id": session} if session else {}
        headers |= {"Last-Event-ID": stream.last_id} if stream.last_id else {}
        limits = timeouts.get()
        timeout = httpx.Timeout(limits.remote_silence, connect=limits.remote_connect, pool=None)
        parser = EventParser(MAX_LINE)
        try:
            async with (
                asyncio.timeout(limits.remote_request) as opening,
                self._link.client() as client,
                client.stream("GET", self._link.server.url.text, headers=headers, timeout=timeout) as answer,
            ):
                opening.reschedule(None)
                stream.is_connecting = False
                if stream.is_over:
                    return None, None, None
                if answer.status_code == 401 and await self._link.renew(used):
                    return None, None, 0.0
                if answer.status_code != 200:
                    body = await error_body(answer)
                    failure = failures.of_status(answer.status_code, body)
                    if answer.status_code in MAYBE_READ:
                        self._cut(session, stream)
                    return failure, answer.status_code, retry_after(answer)
                if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
                    raise Ended(Failure("the server answered a request for a stream with something else"))
                if answer.headers.get("Content-Encoding", "identity") != "identity":
                    raise Ended(Failure("the server compresses its stream, which was not asked for"))
                self._link.accepted()
                keep_alive(answer)
                stream.opened = True
                stream.first_open.set()
                stream.set_ready()
                self._link.settled(stream)
                async for chunk in answer.aiter_raw():
                    for event in parser.feed(chunk):
                        self._event(event, session, stream)
                    if parser.has_comments and not self._has_comments:
                        self._expect_comments()
                    if parser.is_damaged:
                        parser.is_damaged = False
                        self._cut(session, stream)
        except (httpx.HTTPError, OSError) as error:
            _log.debug("a stream broke: %s", type(error).__name__)  # its text may contain a header
            self._link.is_stale = True
            late, proxy = isinstance(error, TimeoutError), self._link.server.proxy
            failure = failures.UNFINISHED if late else failures.of_exception(error, proxy)
            silent = isinstance(error, httpx.ReadTimeout)
            if silent and stream.opened and not self._has_comments:
                self._doubt_silence(session, stream)
                return None, None, None
            if stream.opened or not failure.unsent:
                self._cut(session, stream)
            return failure, None, None
        self._cut(session, stream)  # whoever ended it properly: it may be a proxy that had more to read
        return None, None, None

    def _doubt_silence(self, session: str | None, stream: Stream) -> None:
        """Nothing came for long, from a server that sends no comments: it may think, or be out of reach."""
        stream.was_silent = True
        if session is not None and stream.last_id is None:
            self._link.report(Silent(session))

    def _expect_comments(self) -> None:
        """The first comment of this server: a stream that was silent before was broken, as by a sleep."""
        self._has_comments = True
        for session, stream in self._streams.items():
            if stream.was_silent:
                self._cut(session, stream, earlier=True)

    def _cut(self, session: str | None, stream: Stream, *, earlier: bool = False) -> None:
        """The stream broke: what the server wrote meanwhile is lost, unless it numbers its events."""
        if session is not None and stream.last_id is None:
            # At once: the turn may end before all streams are open again.
            self._link.report(MessagesLost(session, earlier))

    def _event(self, event: Event, session: str | None, stream: Stream) -> None:
        if event.id == "":
            stream.last_id = None
        elif event.id is not None and not stream.is_new(event.id, event.data):
            return
        stream.heard += 1
        data = event.data.strip()
        if not (data.startswith(b"{") and data.endswith(b"}")):
            self._cut(session, stream)  # it was a message before somebody changed it
        self._receive(one_line(event.data), session)
