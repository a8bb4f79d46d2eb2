"""A conversation in JSON-RPC over a transport: ordered in, concurrent requests, cancellation.

Knows no method's meaning: a handler takes what comes in. Everything that arrives is handled strictly
in its order, in the call that brought it, answers to us included; only the agent's requests run
beside each other, as tasks. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import UNSET, Raw

from ..core.redaction import Redactor
from ..errors import AgentDied, AgentError, CassetteMismatch, ProtocolError
from ..wire import jsonrpc, v1
from ..wire.jsonrpc import Answer, Garbage, Id, Notification, Request, RpcError, Unaddressed
from .recordings import client_actions
from .transport import Ending, Transport

MAX_OPEN_REQUESTS = 1000
"""Requests of the agent's that may be open at once; a flood beyond that is refused, one by one."""

STDERR_LINES = 10
"""How much of an agent's stderr an error shows; `agent.stderr` has more."""

MAX_UNSENT = 256 * 1024 * 1024
"""Bytes that an agent may leave unread before we give it up: it will not read them any more."""


DETAIL_CHARS = 1000
"""Of an error's data; the error itself has all of them."""

_REASONS = ("reason", "message", "details", "detail", "error", "suggestion")
"""Where agents say in an error's data what happened."""

NULL_ID_S = 5.0
"""After an error with the id null: if nothing more comes in this time, the only open request counts as the
one that the agent could not read."""

NULL_ID_BEGUN_S = 60.0
"""The same for a request that the agent has begun to work on: it may be at a long command."""

_BRING_UPDATES = frozenset({"session/prompt", "session/load"})

NO_SECRETS = Redactor()

_CANCELLED = RpcError(jsonrpc.CANCELLED, "cancelled")


class RequestRefused(Exception):
    """A request of the agent's is answered with this error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = RpcError(code, message, data)


class Handler(Protocol):
    """Takes what the agent sends."""

    def notified(self, method: str, params: Raw) -> None: ...

    async def requested(self, method: str, params: Raw) -> Any:
        """The result; raises RequestRefused."""

    def unreadable(self, line: Garbage) -> None: ...

    def ended(self, error: Exception) -> None:
        """The connection is over; called once, after all pending requests have failed with that error."""


class Tap(Protocol):
    """Sees every byte of a connection, and of those that follow it, as a recorder does."""

    def sent(self, data: bytes) -> None: ...

    def received(self, data: bytes) -> None: ...

    def record_action(self, action: dict[str, Any]) -> None:
        """What the client did itself, and no message tells (`client_actions`)."""

    def ended(self) -> None:
        """The connection is over; another one may follow."""

    def close(self) -> None:
        """No other one follows."""


Answered = Callable[[Raw | None, Exception | None], None]


class Connection:
    def __init__(
        self, transport: Transport, handler: Handler, tap: Tap | None = None, redactor: Redactor = NO_SECRETS
    ) -> None:
        """`redactor`: takes secrets out of errors; they end in a notebook's file, as tracebacks."""
        self._transport = transport
        self._handler = handler
        self._tap = tap
        self._redactor = redactor
        self._peer = jsonrpc.Peer()
        self._waiting: dict[int, Answered] = {}
        self._written = 0
        self._messages = 0
        """How many have arrived."""
        self._sent_at: dict[int, int] = {}
        """Of each open request: how many had arrived when it was sent."""
        self._ends: dict[int, int] = {}
        """Of each open request: how many bytes had been written when its last character was."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._by_id: dict[Id, asyncio.Task[None]] = {}
        self._error: Exception | None = None
        self._closing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the transport; raises OSError if that fails."""
        self._transport.start(self._receive, self._ended)

    @property
    def error(self) -> Exception | None:
        """Why the connection is over; None while it lives."""
        return self._error

    # ---- out -----------------------------------------------------------------------------

    def ask(self, call: v1.Call, answered: Answered) -> int:
        """Send a request; `answered` gets the result or the error, in order with all that arrives."""
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
        """Send a request and wait. Cancelling the wait, or its timeout, tells the agent too."""
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
        """Stop waiting for an answer, and tell the agent so."""
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
            self._fail(AgentDied("the agent does not read its input any more, and was given up"))
            self._closing = asyncio.get_running_loop().create_task(self._transport.close())

    async def close(self) -> None:
        """End the connection and what it runs on."""
        await self._transport.close()

    # ---- in ------------------------------------------------------------------------------

    def _receive(self, data: bytes) -> None:
        if self._error is not None:
            return
        if self._tap is not None:
            self._tap.received(data)
        for message in self._peer.receive(data):
            if self._error is not None:
                return
            try:
                self._take(message)
            except Exception as error:  # a fault of ours in one message must not cost the next ones
                what = Garbage(repr(message)[:400], f"the client failed on it: {error!r}")
                with contextlib.suppress(Exception):  # whatever failed may fail once more
                    self._handler.unreadable(what)

    def _take(self, message: jsonrpc.Incoming) -> None:
        self._messages += 1
        if type(message) is Notification:  # first and without a match: this is what every chunk comes as
            if message.method == "$/cancel_request":
                self._withdrawn(message.params)
            else:
                self._handler.notified(message.method, message.params)
            return
        match message:
            case Answer():
                self._answer(message)
            case Request():
                self._request(message)
            case Unaddressed():
                self._unaddressed(message)
            case Garbage():
                self._unreadable(message)

    def _answer(self, answer: Answer) -> None:
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
        """Agents answer so to notifications, too, which have no answer: that must fail no living turn."""
        if len(self._waiting) == 1:
            (id,) = self._waiting
            method = self._peer.method_of(id) or ""
            if method not in _BRING_UPDATES:
                self._answer(Answer(id, method, Raw(b"null"), message.error))
                return
            begun = self._sent_at.get(id) != self._messages - 1
            self._fail_if_silent(id, NULL_ID_BEGUN_S if begun else NULL_ID_S, message.error)
        why = f"an error that answers no request: {message.error.message}"
        self._handler.unreadable(Garbage(message.head, why))

    def _fail_if_silent(self, id: int, seconds: float, error: RpcError) -> None:
        def fail() -> None:
            if self._messages == messages and self._error is None:
                self._answer(Answer(id, self._peer.method_of(id) or "", Raw(b"null"), error))

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
            if task.cancelled():  # before its first step: nothing of `_serve` has run
                self._write(self._peer.error(request.id, _CANCELLED))

        task.add_done_callback(done)

    async def _serve(self, request: Request) -> None:
        """Every request gets exactly one answer, whatever happens."""
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
            error = RpcError(jsonrpc.INTERNAL_ERROR, f"the client failed: {unexpected!r}")
        else:
            self._write(answer)
            return
        self._write(self._peer.error(request.id, error))

    def _withdrawn(self, params: Raw) -> None:
        try:
            task = self._by_id.get(v1.read_cancel_request(params))
        except v1.Malformed:
            return
        if task is not None:
            task.cancel()

    def _unreadable(self, line: Garbage) -> None:
        if line.id is not UNSET:
            self._write(self._peer.error(line.id, RpcError(line.code, line.why)))
        self._handler.unreadable(line)

    # ---- end -----------------------------------------------------------------------------

    def _ended(self, ending: Ending) -> None:
        self._fail(_error_of_ending(ending, self._redactor), ending)

    def _fail(self, error: Exception, ending: Ending | None = None) -> None:
        if self._error is not None:
            return
        self._error = error
        untaken = [id for id in self._waiting if ending is not None and self._never_read(id, ending)]
        if self._tap is not None:
            self._tap.ended()
            self._tap.record_action(client_actions.ended(ending, untaken))
        waiting, self._waiting = self._waiting, {}
        for id, answered in waiting.items():
            answered(None, _untaken(error) if id in untaken else error)
        for task in list(self._tasks):
            task.cancel()
        self._handler.ended(error)

    def _never_read(self, id: int, ending: Ending) -> bool:
        """Whether at least its last character was still in the pipe: of a part nothing is done."""
        return id in ending.untaken or self._ends.get(id, 0) > self._written - ending.unread


def _untaken(error: Exception) -> Exception:
    """The same for a request that the agent has certainly not read."""
    if not isinstance(error, AgentDied):
        return error
    return AgentDied(str(error), exit_code=error.exit_code, stderr=error.stderr, untaken=True)


def _error_of(error: RpcError, method: str, redactor: Redactor) -> Exception:
    detail = _detail(redactor.plain(error.data), error.message)
    text = redactor.text(f"{method}: {error.message}") + (f" ({detail})" if detail else "")
    return AgentError(text, code=error.code, data=redactor.plain(error.data))


def _detail(data: Any, message: str) -> str:
    """What the error's data say, bounded: many agents have "Internal error" for a message."""
    if isinstance(data, dict):
        texts = [data[key] for key in _REASONS if isinstance(data.get(key), str)]
        data = "; ".join(dict.fromkeys(texts)) or (json.dumps(data, ensure_ascii=False) if data else "")
    elif not isinstance(data, str):
        data = "" if data is None else json.dumps(data, ensure_ascii=False)
    text = " ".join(data.split())
    text = text if len(text) <= DETAIL_CHARS else f"{text[:DETAIL_CHARS]}…"
    return "" if text in message else text


def _error_of_ending(ending: Ending, redactor: Redactor = NO_SECRETS) -> Exception:
    if ending.mismatch:
        return CassetteMismatch(ending.reason)
    stderr = redactor.text(ending.stderr)
    lines = [redactor.text(ending.reason)]
    if stderr.strip():
        last = stderr.strip().splitlines()[-STDERR_LINES:]
        lines += ["its last words on stderr:", *(f"  {line}" for line in last)]
    return AgentDied("\n".join(lines), exit_code=ending.exit_code, stderr=stderr)
