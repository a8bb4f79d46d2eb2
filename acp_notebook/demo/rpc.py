"""JSON-RPC 2.0 in newline-delimited JSON, from the agent's side: dispatch, answers, requests, cancellation.

It knows no method but ``$/cancel_request``, no session, and no descriptor: bytes go to the outbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import traceback
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from .outbox import Outbox

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
AUTH_REQUIRED, NOT_FOUND, CANCELLED = -32000, -32002, -32800

EXIT_GRACE_S = 1.0
"""How long handlers may clean up when the process ends; killing a command's group takes far less."""

Json = dict[str, Any]
encode: Callable[[object], str] = json.JSONEncoder(separators=(",", ":")).encode


class RpcError(Exception):
    """What a handler raises to answer its request with an error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ClientError(Exception):
    """The client answered one of our requests with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Answer(NamedTuple):
    """A request's result, and what is to be sent right after it."""

    result: Json
    then: Callable[[], None] | None = None


Handler = Callable[[Json], Awaitable[Answer]]
Listener = Callable[[Json], None]


class Peer:
    """The connection to the client."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.closing = False
        self.handlers: dict[str, Handler] = {}
        self.listeners: dict[str, Listener] = {"$/cancel_request": self._withdraw}
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: dict[Any, asyncio.Task[None]] = {}
        self._withdrawn: set[Any] = set()
        self._pending: dict[Any, asyncio.Future[Any]] = {}
        self._next_id = 0

    # -- to the client

    def send(self, message: Json) -> None:
        self.outbox.put(encode({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def notify(self, method: str, params: Json) -> None:
        self.send({"method": method, "params": params})

    def notify_many(self, method: str, batch: Iterable[Json]) -> None:
        """Many notifications in one write: a thread switch for each would cost more than the message."""
        lines = [encode({"jsonrpc": "2.0", "method": method, "params": params}) for params in batch]
        self.outbox.put("\n".join([*lines, ""]).encode())

    def notify_texts(self, method: str, params: Json, mark: str, texts: Iterable[str]) -> None:
        """The same notification once per text, which replaces the mark: encoding each whole is slow."""
        head, tail = encode({"jsonrpc": "2.0", "method": method, "params": params}).split(encode(mark))
        self.outbox.put("".join([f"{head}{encode(text)}{tail}\n" for text in texts]).encode())

    def start_request(self, method: str, params: Json) -> tuple[int, asyncio.Future[Any]]:
        """Send a request without waiting; its id and its answer."""
        request_id, answer = self._next_id, asyncio.get_running_loop().create_future()
        self._next_id += 1
        self._pending[request_id] = answer
        answer.add_done_callback(lambda _: self._forget(request_id))
        self.send({"id": request_id, "method": method, "params": params})
        return request_id, answer

    async def request(self, method: str, params: Json) -> Json:
        _, answer = self.start_request(method, params)
        result = await answer
        return result if isinstance(result, dict) else {}

    # -- from the client

    def receive(self, line: bytes) -> None:
        """Take one line; every message is served by a task of its own, and tasks start in order."""
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._refuse(None, RpcError(PARSE_ERROR, f"not JSON: {error}"))
            return
        if not isinstance(message, dict):
            self._refuse(None, RpcError(INVALID_REQUEST, "a message must be one JSON object"))
        elif "method" in message:
            # Notifications go through the loop too: a cancel must not overtake the prompt before it.
            self._start(self._serve(message) if "id" in message else self._hear(message), message)
        elif "result" in message or "error" in message:
            self._settle(message)
        else:
            self._refuse(message.get("id"), RpcError(INVALID_REQUEST, "neither a method nor an answer"))

    async def close(self) -> None:
        """Stop all that runs, and give it a moment to clean up."""
        self.closing = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=EXIT_GRACE_S)

    def _start(self, work: Any, message: Json) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if "id" in message and isinstance(message["id"], (str, int)):
            self._serving[message["id"]] = task

    async def _serve(self, message: Json) -> None:
        request_id = message["id"]
        try:
            answer = await self._call(message)
        except RpcError as error:
            self._refuse(request_id, error)
        except ClientError as error:
            self._refuse(request_id, RpcError(INTERNAL_ERROR, f"the client answered {error.code}: {error}"))
        except asyncio.CancelledError:
            if request_id not in self._withdrawn:
                raise
            self._refuse(request_id, RpcError(CANCELLED, "the request was cancelled"))
        except Exception as error:  # the edge: a bug in a scene must not leave the client waiting
            self.trace(error)
            self._refuse(request_id, RpcError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        else:
            self.send({"id": request_id, "result": answer.result})
            if answer.then:
                answer.then()
        finally:
            self._withdrawn.discard(request_id)
            self._serving.pop(request_id, None)

    async def _call(self, message: Json) -> Answer:
        method, params = message["method"], message.get("params")
        handler = self.handlers.get(method) if isinstance(method, str) else None
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method: {method}")
        if not isinstance(params, (dict, type(None))):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        return await handler(params or {})

    async def _hear(self, message: Json) -> None:
        listener = self.listeners.get(message["method"]) if isinstance(message["method"], str) else None
        params = message.get("params")
        if listener and isinstance(params, dict):
            with contextlib.suppress(RpcError):  # nobody can be answered
                listener(params)

    def _withdraw(self, params: Json) -> None:
        request_id = params.get("requestId")
        task = self._serving.get(request_id) if isinstance(request_id, (str, int)) else None
        if task:
            self._withdrawn.add(request_id)
            task.cancel()

    def _settle(self, message: Json) -> None:
        request_id = message.get("id")
        answer = self._pending.get(request_id) if isinstance(request_id, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            answer.set_exception(ClientError(error.get("code", 0), str(error.get("message"))))
        else:
            answer.set_result(message.get("result"))

    def _forget(self, request_id: int) -> None:
        answer = self._pending.pop(request_id)
        if not answer.cancelled():
            answer.exception()  # looked at, so that an error nobody waits for is not logged as lost

    def _refuse(self, request_id: Any, error: RpcError) -> None:
        fields: Json = {"code": error.code, "message": str(error)}
        self.send({"id": request_id, "error": fields | ({} if error.data is None else {"data": error.data})})

    @staticmethod
    def trace(error: Exception) -> None:
        """Show a bug on stderr, where agents log."""
        traceback.print_exception(error)
