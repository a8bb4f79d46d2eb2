"""JSON-RPC 2.0 without I/O: bytes in, messages out; numbers our requests and matches the responses.

Independent of methods and parameters: `params` and `result` stay raw JSON for `v1` to read. Nothing that an
agent writes raises an exception: a line that is not a message becomes Garbage.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from . import tolerant_json

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002

MAX_LINE = 256 * 1024 * 1024
"""Longer lines are discarded, to limit memory: ten times the longest line ever seen."""

SAFE_RECURSION = 3000
"""Up to this recursion limit, decoders refuse what would exhaust the stack; users may set higher ones."""

_HEAD = 400
"""How much of an unreadable line is examined, and kept to show it."""

Id = int | str | None

T = TypeVar("T")


class RpcError(Struct, frozen=True):
    code: int
    message: str
    data: Any = None


class Request(Struct, frozen=True):
    """A request from the agent. The response repeats its id with the same type: 0, "a" and null are ids."""

    id: Id
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    method: str
    params: Raw


class Response(Struct, frozen=True):
    """The response to our request `id`: a result or an error; `unreadable` says why it is neither."""

    id: int
    method: str
    result: Raw
    error: RpcError | None = None
    unreadable: str | None = None


class Unaddressed(Struct, frozen=True):
    """An error with the id null: about a line that the agent could not read, perhaps a notification."""

    error: RpcError
    head: str


class Garbage(Struct, frozen=True):
    """A line that is not a message. `id` is set if it is recognisably a request, which needs a response."""

    head: str
    why: str
    id: Id | UnsetType = UNSET
    code: int = PARSE_ERROR
    """The error code for that response."""


Incoming = Request | Notification | Response | Unaddressed | Garbage


class _Envelope(Struct):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"null")
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Error(Struct):
    code: int
    message: str
    data: Any = None


REFUSED = (msgspec.DecodeError, RecursionError, ValueError)
"""What a decoder raises. ValueError: nested too deeply, not UTF-8, or too many digits."""

_envelope = msgspec.json.Decoder(_Envelope)
_error = msgspec.json.Decoder(_Error)
_encode = msgspec.json.Encoder().encode
_NULL = Raw(b"null")


class Typed(NamedTuple, Generic[T]):
    """Decoders for the messages that are expected most; each raises a REFUSED for any other message."""

    flat: Callable[[bytes | bytearray], T]
    """For messages without a part that may have any form: what is nested too deeply cannot be one of them."""
    flat_lines: Callable[[memoryview], Sequence[T]]
    """The same for several lines at once; refuses all of them if it refuses one."""
    nested: Callable[[bytes | bytearray], T]
    """For the others, once it is known that they are not nested too deeply."""


class Peer:
    """Our side of a JSON-RPC connection: encodes, decodes and tracks open requests."""

    def __init__(self, max_line: int | None = None) -> None:
        self._lines = _Lines(MAX_LINE if max_line is None else max_line)
        self._last_id = 0
        self._pending: dict[int, str] = {}

    # ---- out -----------------------------------------------------------------------------

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        """Start a request; return its id and the bytes to send."""
        self._last_id += 1
        self._pending[self._last_id] = method
        return self._last_id, _line(
            {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        )

    @staticmethod
    def notification(method: str, params: Any) -> bytes:
        return _line({"jsonrpc": "2.0", "method": method, "params": params})

    @staticmethod
    def result(id: Id, result: Any) -> bytes:
        return _line({"jsonrpc": "2.0", "id": id, "result": result})

    @staticmethod
    def error(id: Id, error: RpcError) -> bytes:
        fields = {"code": error.code, "message": error.message}
        if error.data is not None:
            fields["data"] = error.data
        return _line({"jsonrpc": "2.0", "id": id, "error": fields})

    # ---- in ------------------------------------------------------------------------------

    def receive(self, data: bytes) -> Iterator[Incoming]:
        """Yield the messages that these bytes complete, in order."""
        for line in self._lines.feed(data):
            yield from self._read(line)

    def receive_typed(self, data: bytes, typed: Typed[T]) -> Iterator[Incoming | list[T]]:
        """Like `receive`, but the messages of the type that is expected most are read in one step.

        They come in lists, in order with the others. A message of another type is refused at its method or
        its first unknown field, and is then read in two steps.
        """
        shallow = sys.getrecursionlimit() <= SAFE_RECURSION
        together = self._lines.read_together(data, typed.flat_lines) if shallow else None
        if together is None:
            yield from self._read_typed(self._lines.feed(data), typed, shallow)
            return
        first, messages, rest = together
        begun = self._lines.feed(first)
        self._lines.feed(rest)
        yield from self._read_typed(begun, typed, shallow)
        yield messages

    def _read_typed(
        self, lines: Iterable[bytes | bytearray | Garbage], typed: Typed[T], shallow: bool
    ) -> Iterator[Incoming | list[T]]:
        found: list[T] = []
        for line in lines:
            message = None if isinstance(line, Garbage) else _typed_message(line, typed, shallow)
            if message is not None:
                found.append(message)
                continue
            if found:
                yield found
                found = []
            yield from self._read(line)
        if found:
            yield found

    def _read(self, line: bytes | bytearray | Garbage) -> Iterator[Incoming]:
        if isinstance(line, Garbage):
            yield self._salvage(line)
            return
        line = bytes(line)  # what is raw in a message refers to it
        try:
            tolerant_json.check_nesting(line)
            envelope = _envelope.decode(line)
        except REFUSED:
            if line and not line.isspace():
                yield from self._repair(line)
        else:
            yield self._classify(envelope, line)

    def _repair(self, line: bytes) -> Iterator[Incoming]:
        try:
            value = tolerant_json.loads(line)
        except tolerant_json.Unreadable as error:
            yield self._salvage(_garbage(line, str(error)))
            return
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if isinstance(entry, dict) and _has_invalid_method(entry):
                id = _envelope_of(entry).id
                yield Garbage(_head(line), "the method of a request must be a string", id, INVALID_REQUEST)
            elif isinstance(entry, dict):
                yield self._classify(_envelope_of(entry), _encode(entry))
            else:
                yield _garbage(line, "not a JSON-RPC message")

    def _classify(self, message: _Envelope, line: bytes) -> Incoming:
        if message.method is not UNSET:
            if message.id is UNSET:
                return Notification(message.method, message.params)
            return Request(message.id, message.method, message.params)
        if message.id is UNSET or (message.result is UNSET and message.error is UNSET and message.id is None):
            return _garbage(line, "neither a method nor a response")
        error = _rpc_error(message.error)
        if message.id is None and error is not None:
            return Unaddressed(error, _head(line))
        id = self._ours(message.id)
        if id is None:
            return _garbage(line, f"a response to a request that is not open (id {message.id!r})")
        result = _NULL if message.result is UNSET else message.result
        return Response(id, self._pending.pop(id), result, error)

    def method_of(self, id: int) -> str | None:
        """The method of an open request."""
        return self._pending.get(id)

    def _ours(self, id: Id) -> int | None:
        """The open request that an id means: ours are numbers, but some agents respond with a string."""
        if isinstance(id, str):
            id = int(id) if _OUR_ID.fullmatch(id) else None
        return id if isinstance(id, int) and id in self._pending else None

    def _salvage(self, line: Garbage) -> Incoming:
        """Find out which request an unreadable line belongs to: an unreadable response must fail our request,
        which would otherwise wait forever, and an unreadable request needs a response."""
        found, sort = _SALVAGE_ID.search(line.head), _SALVAGE_SORT.search(line.head)
        if found is None or sort is None or '"jsonrpc"' not in line.head:
            return line
        try:
            id: Id = msgspec.json.decode(found[1])
        except msgspec.DecodeError:
            return line
        if sort[1] == "method":
            inside = '"params"' in line.head[: found.start()]  # then the id belongs to something else
            return line if inside else Garbage(line.head, line.why, id)
        ours = self._ours(id)
        if ours is None:
            return line
        return Response(ours, self._pending.pop(ours), _NULL, unreadable=line.why)


_OUR_ID = re.compile(r"[0-9]{1,18}")
_SALVAGE_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}"|null)\s*[,}]')
_SALVAGE_SORT = re.compile(r'"(method|result|error)"\s*:')


class _Lines:
    """Splits bytes into lines, in time linear in a line's length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = bytearray()
        """The line that has no end yet. It grows in place: joining the pieces of a long line is slower."""
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | bytearray | Garbage]:
        """The lines that these bytes complete; a line that is too long as Garbage."""
        lines: list[Any] = data.split(b"\n")
        rest, limit = lines.pop(), self._limit
        if lines and self._skipping:
            self._skipping = False
            del lines[0]
        elif lines and self._begun:
            self._begun += lines[0]
            lines[0], self._begun = self._begun, bytearray()
        if lines and max(len(data), len(lines[0])) > limit:
            lines = [line if len(line) <= limit else _too_long(line, limit) for line in lines]
        if rest and not self._skipping:
            self._begun += rest
            if len(self._begun) > limit:
                lines.append(_too_long(self._begun, limit))
                self._begun, self._skipping = bytearray(), True
        return lines

    def read_together(
        self, data: bytes, decode: Callable[[memoryview], Sequence[T]]
    ) -> tuple[bytes, list[T], bytes] | None:
        """The end of the line that has begun, what the lines after it are, and the start of the next one.

        None if there are not several lines, or if one of them is refused: then no data is used up.
        """
        last = data.rfind(b"\n")
        start = data.find(b"\n") + 1 if self._begun or self._skipping else 0
        if data.find(b"\n", start, last) < 0 or len(data) > self._limit:
            return None
        try:
            messages = [*decode(memoryview(data)[start : last + 1])]
        except REFUSED:
            return None
        if not _is_one_a_line(data, start, last, len(messages)):
            return None
        return data[:start], messages, data[last + 1 :]


_OPEN, _CLOSE = b"{}"


def _is_one_a_line(data: bytes, start: int, last: int, count: int) -> bool:
    """Whether these JSON objects are in just as many lines, up to the line break at `last`.

    In JSON, an object that ends is never followed by the start of another one. So where a line ends with a
    bracket and the next one starts with one, the value has ended, too.
    """
    find = data.find
    at = start - 1
    for _ in range(count):
        if at == last or data[at + 1] != _OPEN:
            return False
        at = find(b"\n", at + 1)
        if data[at - 1] != _CLOSE:
            return False
    return at == last


def _typed_message(line: bytes | bytearray, typed: Typed[T], shallow: bool) -> T | None:
    """The message in this line if it is of the type. `shallow`: no decoder exhausts the stack."""
    try:
        if not shallow:
            tolerant_json.check_nesting(line)
        return typed.flat(line)
    except REFUSED:
        pass
    try:
        tolerant_json.check_nesting(line)
        return typed.nested(line)
    except REFUSED:
        return None


def _line(message: dict[str, Any]) -> bytes:
    try:
        return _encode(message) + b"\n"
    except UnicodeEncodeError:
        return _encode(tolerant_json.repaired(msgspec.to_builtins(message))) + b"\n"


def _too_long(line: bytes | bytearray, limit: int) -> Garbage:
    return _garbage(line, f"a line of more than {limit} bytes")


def _garbage(line: bytes | bytearray, why: str) -> Garbage:
    return Garbage(_head(line), why)


def _head(line: bytes | bytearray) -> str:
    return line[:_HEAD].decode("utf-8", "replace")


def _has_invalid_method(message: dict[str, Any]) -> bool:
    """Whether the method is no text; agents that write out every field send responses with a null method."""
    method = message.get("method", "")
    is_response = method is None and ("result" in message or "error" in message)
    return not isinstance(method, str) and not is_response


def _envelope_of(message: dict[str, Any]) -> _Envelope:
    """The envelope of a repaired message, whose fields may have any type."""
    method, id = message.get("method", UNSET), message.get("id", UNSET)
    if isinstance(id, float) and id.is_integer():
        id = int(id)
    return _Envelope(
        id=id if id is None or (isinstance(id, int | str) and not isinstance(id, bool)) else UNSET,
        method=method if isinstance(method, str) else UNSET,
        params=_raw(message, "params") or _NULL,
        result=_raw(message, "result") or UNSET,
        error=_raw(message, "error") or UNSET,
    )


def _raw(message: dict[str, Any], name: str) -> Raw | None:
    return Raw(_encode(message[name])) if name in message else None


def _rpc_error(raw: Raw | UnsetType) -> RpcError | None:
    if raw is UNSET or bytes(raw) == b"null":
        return None
    try:
        error = _error.decode(raw)
        return RpcError(error.code, error.message, error.data)
    except msgspec.DecodeError:
        pass
    try:
        return _nonstandard_error(tolerant_json.loads(bytes(raw)))
    except tolerant_json.Unreadable as unreadable:
        return RpcError(INTERNAL_ERROR, f"the error cannot be read ({unreadable})")


def _nonstandard_error(value: Any) -> RpcError:
    """Read an error with a wrong structure: a bare text, a code that is a string, a missing message."""
    if not isinstance(value, dict):
        return RpcError(INTERNAL_ERROR, value if isinstance(value, str) else _encode(value).decode())
    code, message = value.get("code"), value.get("message")
    return RpcError(
        code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        message if isinstance(message, str) else _encode(value).decode(),
        value.get("data"),
    )
