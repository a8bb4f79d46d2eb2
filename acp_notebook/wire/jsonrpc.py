"""JSON-RPC 2.0 without I/O: bytes in, messages out; numbers our requests and matches their answers.

Knows no method and no parameter: `params` and `result` stay raw JSON for `v1` to read. Nothing that
an agent writes raises: what is no message comes out as Garbage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from . import tolerant

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002

MAX_LINE = 256 * 1024 * 1024
"""A longer line is thrown away: ten times the largest that was ever seen, and memory stays bounded."""

_HEAD = 400
"""How much of an unreadable line is looked at, and kept for people to see."""

Id = int | str | None


class RpcError(Struct, frozen=True):
    code: int
    message: str
    data: Any = None


class Request(Struct, frozen=True):
    """The other side asks. The answer carries the same id, with its type: 0, "a" and null are ids."""

    id: Id
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    method: str
    params: Raw


class Answer(Struct, frozen=True):
    """The answer to our request `id`: a result, or an error; or one that cannot be read."""

    id: int
    method: str
    result: Raw
    error: RpcError | None = None
    unreadable: str | None = None


class Unaddressed(Struct, frozen=True):
    """An error with the id null: about a line that the agent could not read, a notification perhaps."""

    error: RpcError
    head: str


class Garbage(Struct, frozen=True):
    """A line that is no message. `id` is set if it can be read that an answer is owed for it."""

    head: str
    why: str
    id: Id | UnsetType = UNSET
    code: int = PARSE_ERROR
    """Of that answer."""


Incoming = Request | Notification | Answer | Unaddressed | Garbage


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


_envelope = msgspec.json.Decoder(_Envelope)
_error = msgspec.json.Decoder(_Error)
_encode = msgspec.json.Encoder().encode
_NULL = Raw(b"null")


class Peer:
    """Our end of a conversation in JSON-RPC."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._last_id = 0
        self._pending: dict[int, str] = {}

    # ---- out -----------------------------------------------------------------------------

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        """A new request: its id, and the bytes to send."""
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
        """The messages that are complete now, in order."""
        for line in self._lines.feed(data):
            if isinstance(line, Garbage):
                yield self._owed(line)
                continue
            try:
                tolerant.check_nesting(line)
                envelope = _envelope.decode(line)
            except (msgspec.DecodeError, RecursionError, ValueError):  # ValueError: Unreadable, UTF-8, digits
                if line and not line.isspace():
                    yield from self._repaired(line)
            else:
                yield self._sorted(envelope, line)

    def _repaired(self, line: bytes) -> Iterator[Incoming]:
        try:
            value = tolerant.loads(line)
        except tolerant.Unreadable as error:
            yield self._owed(_garbage(line, str(error)))
            return
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if isinstance(entry, dict) and not isinstance(entry.get("method", ""), str):
                id = _envelope_of(entry).id
                yield Garbage(_head(line), "the method of a request must be a text", id, INVALID_REQUEST)
            elif isinstance(entry, dict):
                yield self._sorted(_envelope_of(entry), _encode(entry))
            else:
                yield _garbage(line, "not a JSON-RPC message")

    def _sorted(self, message: _Envelope, line: bytes) -> Incoming:
        if message.method is not UNSET:
            if message.id is UNSET:
                return Notification(message.method, message.params)
            return Request(message.id, message.method, message.params)
        if message.id is UNSET or (message.result is UNSET and message.error is UNSET and message.id is None):
            return _garbage(line, "neither a method nor an answer")
        error = _rpc_error(message.error)
        if message.id is None and error is not None:
            return Unaddressed(error, _head(line))
        id = self._ours(message.id)
        if id is None:
            return _garbage(line, f"an answer to a request that is not open (id {message.id!r})")
        result = _NULL if message.result is UNSET else message.result
        return Answer(id, self._pending.pop(id), result, error)

    def method_of(self, id: int) -> str | None:
        """Of a request that is not answered yet."""
        return self._pending.get(id)

    def _ours(self, id: Id) -> int | None:
        """Which open request an id means: ours are numbers, and some agents answer with a string."""
        if isinstance(id, str):
            id = int(id) if _OUR_ID.fullmatch(id) else None
        return id if isinstance(id, int) and id in self._pending else None

    def _owed(self, line: Garbage) -> Incoming:
        """An unreadable line that is an answer to us must fail that request, or it would wait for ever."""
        found, sort = _SALVAGE_ID.search(line.head), _SALVAGE_SORT.search(line.head)
        if found is None or sort is None or '"jsonrpc"' not in line.head:
            return line
        try:
            id: Id = msgspec.json.decode(found[1])
        except msgspec.DecodeError:
            return line
        if sort[1] == "method":
            inside = '"params"' in line.head[: found.start()]  # then it is the id of something else
            return line if inside else Garbage(line.head, line.why, id)
        ours = self._ours(id)
        if ours is None:
            return line
        return Answer(ours, self._pending.pop(ours), _NULL, unreadable=line.why)


_OUR_ID = re.compile(r"[0-9]{1,18}")
_SALVAGE_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}"|null)\s*[,}]')
_SALVAGE_SORT = re.compile(r'"(method|result|error)"\s*:')


class _Lines:
    """Bytes to lines; a long line costs what its length is, not its square."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | Garbage]:
        *complete, rest = data.split(b"\n")
        for line in complete:
            if self._skipping:
                self._skipping = False
                continue
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts, self._size = [], 0
            yield line if len(line) <= MAX_LINE else _too_long(line)
        if rest and not self._skipping:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > MAX_LINE:
                yield _too_long(b"".join(self._parts))
                self._parts, self._size, self._skipping = [], 0, True


def _line(message: dict[str, Any]) -> bytes:
    try:
        return _encode(message) + b"\n"
    except UnicodeEncodeError:
        return _encode(tolerant.repaired(msgspec.to_builtins(message))) + b"\n"


def _too_long(line: bytes) -> Garbage:
    return _garbage(line, f"a line of more than {MAX_LINE} bytes")


def _garbage(line: bytes, why: str) -> Garbage:
    return Garbage(_head(line), why)


def _head(line: bytes) -> str:
    return line[:_HEAD].decode("utf-8", "replace")


def _envelope_of(message: dict[str, Any]) -> _Envelope:
    """An envelope from a repaired message, whose fields may have any type."""
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
        return _odd_error(tolerant.loads(bytes(raw)))
    except tolerant.Unreadable as unreadable:
        return RpcError(INTERNAL_ERROR, f"an error that cannot be read ({unreadable})")


def _odd_error(value: Any) -> RpcError:
    """An error that is not shaped like one: a bare text, a code that is a string, a missing message."""
    if not isinstance(value, dict):
        return RpcError(INTERNAL_ERROR, value if isinstance(value, str) else _encode(value).decode())
    code, message = value.get("code"), value.get("message")
    return RpcError(
        code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        message if isinstance(message, str) else _encode(value).decode(),
        value.get("data"),
    )
