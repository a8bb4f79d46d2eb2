"""A JSON-RPC connection over a transport: ordered input, concurrent requests, cancellation.

Handles everything that arrives strictly in order, responses included, in the call that received the bytes.
Only the agent's requests run concurrently, as tasks. A handler interprets the methods. Runs on the loop
thread.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import UNSET, Raw

from .. import timeouts
from ..core.redaction import Redactor
from ..errors import AgentDied, AgentError, ConnectionLost, ProtocolError
from ..log import WARNING, logger, suppressed
from ..wire import jsonrpc, v1
from ..wire.jsonrpc import Garbage, Id, Notification, Request, Response, RpcError, Unaddressed
from .tap import Tap
from .transport import LOCAL, Ending, Reach, Transport

_log = logger(__name__)

MAX_OPEN_REQUESTS = 1000
"""How many requests of the agent may be open at once. Further ones are refused."""

STDERR_LINES = 10
"""How many lines of the agent's stderr an error shows; `agent.stderr` has more."""

MAX_UNSENT = 256 * 1024 * 1024
"""How many bytes an agent may leave unread before the connection is closed."""

DETAIL_CHARS = 1000
"""How much of an error's data its message shows; the error itself has all of it."""

SHOWN_CHARS = 400
"""How much of a message that cannot be handled is shown."""

_REASONS = ("reason", "message", "details", "detail", "error", "suggestion")
"""Keys under which agents explain an error in its data."""

_BRING_UPDATES = frozenset({"session/prompt", "session/load"})

NO_SECRETS = Redactor()

_CANCELLED = RpcError(jsonrpc.CANCELLED, "cancelled")


class RequestRefused(Exception):
    """Answer the agent's request with this error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = RpcError(code, message, data)


class Handler(Protocol):
    """Handles the messages of the agent."""

    def updated(self, messages: Sequence[v1.Update]) -> None:
        """These session/updates follow the schema, others are `notified`. Never raises."""

    def notified(self, method: str, params: Raw) -> None: ...

    async def requested(self, method: str, params: Raw) -> Any:
        """Return the result of a request. Raises RequestRefused."""

    def unreadable(self, line: Garbage) -> None: ...

    def ended(self, error: Exception) -> None:
        """The connection ended. Called once, after all open requests have failed with the error."""


Answered = Callable[[Raw | None, Exception | None], None]


class Connection:
    """Sends and receives JSON-RPC messages over one transport."""

    def __init__(
        self,
        transport: Transport,
        handler: Handler,
        tap: Tap | None = None,
        redactor: Redactor = NO_SECRETS,
        reach: Reach = LOCAL,
    ) -> None:
        """`redactor` removes secrets from errors, because tracebacks are saved in the notebook file."""
        self._transport = transport
        self._handler = handler
        self._tap = tap
        self._redactor = redactor
        self._reach = reach
        self._peer = jsonrpc.Peer()
        self._waiting: dict[int, Answered] = {}
        self._written = 0
        self._messages = 0
        """How many messages have arrived."""
        self._sent_at: dict[int, int] = {}
        """By open request: how many messages had arrived when it was sent."""
        self._ends: dict[int, int] = {}
        """By open request: how many bytes had been written at its end."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._by_id: dict[Id, asyncio.Task[None]] = {}
        self._error: Exception | None = None
        self._closing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the transport. Raises OSError."""
        self._transport.start(self._receive, self._ended)

    @property
    def error(self) -> Exception | None:
        """Why the connection ended; None while it is open."""
        return self._error

    # ---- sending -------------------------------------------------------------------------

    def ask(self, call: v1.Call, answered: Answered) -> int:
        """Send a request. `answered` gets the result or the error, in order with all other messages."""
        id, data = self._peer.request(*call)
        if self._error is not None:
            answered(None, _untaken(self._error))
            return id
        self._waiting[id] = answered
        self._sent_at[id] = self._messages
        self._ends[id] = self._written + len(data.rstrip())
        self._write(data)
        return id

    async def request(self, call: v1.Call, timeout: float | None = None) -> Raw:
        """Send a request and wait for the result. If the wait is cancelled or times out, notify the agent."""
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()

        def answered(result: Raw | None, error: Exception | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result if result is not None else Raw(b"null"))

        id = self.ask(call, answered)
        try:
            async with asyncio.timeout(timeout):
                return await future
        except (asyncio.CancelledError, TimeoutError):
            self.withdraw(id)
            raise

    def withdraw(self, id: int) -> None:
        """Stop waiting for a response and notify the agent."""
        self._ends.pop(id, None)
        self._sent_at.pop(id, None)
        if self._waiting.pop(id, None) is not None:
            self.notify(v1.cancel_request(id))

    def notify(self, call: v1.Call) -> None:
        self._write(self._peer.notification(*call))

    def _write(self, data: bytes) -> None:
        if self._error is not None:
            return
        if self._tap is not None:
            self._tap.sent(data)
        self._written += len(data)
        self._transport.write(data)
        if self._transport.unsent > MAX_UNSENT:
            self._fail(_stuck(self._reach))
            self._closing = asyncio.get_running_loop().create_task(self._transport.close())

    async def close(self) -> None:
        """Close the connection and its transport."""
        await self._transport.close()

    # ---- receiving -----------------------------------------------------------------------

    def _receive(self, data: bytes) -> None:
        if self._error is not None:
            return
        if self._tap is not None:
            self._tap.received(data)
        for message in self._peer.receive_typed(data, v1.typed_updates):
            self._take(message)

    def _take(self, message: jsonrpc.Incoming | list[v1.Update]) -> None:
        if self._error is not None:
            return
        self._messages += len(message) if isinstance(message, list) else 1
        try:
            self._handle(message)
        except Exception as error:  # a bug in handling one message must not lose the next ones
            _log.warning("a message could not be handled", exc_info=True)
            what = Garbage(repr(message)[:SHOWN_CHARS], f"the client failed on it: {error!r}")
            with suppressed(_log, Exception, level=WARNING):  # the same part may fail again
                self._handler.unreadable(what)

    def _handle(self, message: jsonrpc.Incoming | list[v1.Update]) -> None:
        match message:
            case list():
                self._handler.updated(message)
            case Notification("$/cancel_request", params):
                self._withdrawn(params)
            case Notification(method, params):
                self._handler.notified(method, params)
            case Response():
                self._answer(message)
            case Request():
                self._request(message)
            case Unaddressed():
                self._unaddressed(message)
            case Garbage():
                self._unreadable(message)

    def _answer(self, answer: Response) -> None:
        answered = self._waiting.pop(answer.id, None)
        self._ends.pop(answer.id, None)
        self._sent_at.pop(answer.id, None)
        if answered is None:
            return
        if answer.unreadable is not None:
            what = f"{answer.method}: the agent's answer cannot be read ({answer.unreadable})"
            answered(None, ProtocolError(what))
        elif answer.error is not None:
            answered(None, _error_of(answer.error, answer.method, self._redactor))
        else:
            answered(answer.result, None)

    def _unaddressed(self, message: Unaddressed) -> None:
        """Handle an error without an id. Some agents answer notifications with one, so a running turn must
        not fail because of it."""
        if len(self._waiting) == 1:
            (id,) = self._waiting
            method = self._peer.method_of(id) or ""
            if method not in _BRING_UPDATES:
                self._answer(Response(id, method, Raw(b"null"), message.error))
                return
            begun = self._sent_at.get(id) != self._messages - 1
            wait = timeouts.get().null_id_begun if begun else timeouts.get().null_id
            self._fail_if_silent(id, wait, message.error)
        why = f"an error that answers no request: {message.error.message}"
        self._handler.unreadable(Garbage(message.head, why))

    def _fail_if_silent(self, id: int, seconds: float, error: RpcError) -> None:
        def fail() -> None:
            if self._messages == messages and self._error is None:
                self._answer(Response(id, self._peer.method_of(id) or "", Raw(b"null"), error))

        messages = self._messages
        asyncio.get_running_loop().call_later(seconds, fail)

    def _request(self, request: Request) -> None:
        if len(self._tasks) >= MAX_OPEN_REQUESTS:
            refusal = RpcError(jsonrpc.INTERNAL_ERROR, f"more than {MAX_OPEN_REQUESTS} requests at once")
            self._write(self._peer.error(request.id, refusal))
            return
        task = asyncio.get_running_loop().create_task(self._serve(request))
        self._tasks.add(task)
        self._by_id[request.id] = task

        def done(_: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if self._by_id.get(request.id) is task:
                del self._by_id[request.id]
            if task.cancelled():  # before its first step, so `_serve` has not run at all
                self._write(self._peer.error(request.id, _CANCELLED))

        task.add_done_callback(done)

    async def _serve(self, request: Request) -> None:
        """Answer the request exactly once, whatever happens."""
        error = _CANCELLED
        try:
            answer = self._peer.result(
                request.id, await self._handler.requested(request.method, request.params)
            )
        except RequestRefused as refused:
            error = refused.error
        except asyncio.CancelledError:
            pass
        except Exception as unexpected:
            _log.warning("a request of the agent failed", exc_info=True)
            error = RpcError(jsonrpc.INTERNAL_ERROR, f"the client failed: {unexpected!r}")
        else:
            self._write(answer)
            return
        self._write(self._peer.error(request.id, error))

    def _withdrawn(self, params: Raw) -> None:
        try:
            task = self._by_id.get(v1.requests.read_cancel_request(params))
        except v1.Malformed:
            return
        if task is not None:
            task.cancel()

    def _unreadable(self, line: Garbage) -> None:
        if line.id is not UNSET:
            self._write(self._peer.error(line.id, RpcError(line.code, line.why)))
        self._handler.unreadable(line)

    # ---- ending --------------------------------------------------------------------------

    def _ended(self, ending: Ending) -> None:
        self._fail(_error_of_ending(ending, self._redactor), ending)

    def _fail(self, error: Exception, ending: Ending | None = None) -> None:
        if self._error is not None:
            return
        self._error = error
        untaken = [id for id in self._waiting if ending is not None and self._never_read(id, ending)]
        if self._tap is not None:
            self._tap.ended(ending, untaken)
        waiting, self._waiting = self._waiting, {}
        for id, answered in waiting.items():
            answered(None, _untaken(error) if id in untaken else error)
        for task in list(self._tasks):
            task.cancel()
        self._handler.ended(error)

    def _never_read(self, id: int, ending: Ending) -> bool:
        """Whether at least the request's last byte was still in the pipe: agents ignore incomplete ones."""
        return self._ends.get(id, 0) > self._written - ending.unread


def _untaken(error: Exception) -> Exception:
    """The same error for a request that the agent certainly has not read."""
    if not isinstance(error, AgentDied):
        return error
    return error.reworded(str(error), untaken=True)


def _error_of(error: RpcError, method: str, redactor: Redactor) -> Exception:
    detail = _detail(redactor.plain(error.data), error.message)
    text = redactor.text(f"{method}: {error.message}") + (f" ({detail})" if detail else "")
    return AgentError(text, code=error.code, data=redactor.plain(error.data))


def _detail(data: Any, message: str) -> str:
    """The explanation in an error's data, truncated. Many agents only send "Internal error" as message."""
    if isinstance(data, dict):
        texts = [data[key] for key in _REASONS if isinstance(data.get(key), str)]
        data = "; ".join(dict.fromkeys(texts)) or (json.dumps(data, ensure_ascii=False) if data else "")
    elif not isinstance(data, str):
        data = "" if data is None else json.dumps(data, ensure_ascii=False)
    text = " ".join(data.split())
    text = text if len(text) <= DETAIL_CHARS else f"{text[:DETAIL_CHARS]}…"
    return "" if text in message else text


def _stuck(reach: Reach) -> AgentDied:
    if reach.is_ours:
        return AgentDied("the agent stopped reading its input, so it was ended")
    most = MAX_UNSENT // 2**20
    return ConnectionLost(
        f"the server takes no messages: {most} MiB are waiting to be sent, so the connection was ended",
        may_pass=True,
    )


def _error_of_ending(ending: Ending, redactor: Redactor = NO_SECRETS) -> Exception:
    if ending.error is not None:
        return ending.error
    if ending.is_lost:
        return ConnectionLost(redactor.text(ending.reason), may_pass=ending.may_pass)
    stderr = redactor.text(ending.stderr)
    lines = [redactor.text(ending.reason)]
    if stderr.strip():
        last = stderr.strip().splitlines()[-STDERR_LINES:]
        lines += ["its last words on stderr:", *(f"  {line}" for line in last)]
    return AgentDied("\n".join(lines), exit_code=ending.exit_code, stderr=stderr)
