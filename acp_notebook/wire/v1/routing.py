"""Where a message belongs, for transports that carry each session on its own stream."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from .. import tolerant_json

CANCEL = "session/cancel"
CLOSE = "session/close"
PROMPT = "session/prompt"
WITHDRAW = "$/cancel_request"
ATTACH = frozenset({"session/load", "session/resume"})
"""Requests that make a stored session one of the connection's."""
CREATE = frozenset({"session/new", "session/fork"})
"""Requests whose answer names a new session."""


class Route(Struct, frozen=True):
    """The parts of a message that a transport needs."""

    method: str | None
    id: int | str | None
    has_id: bool
    session: str | None
    """The session that the message is about."""
    opened: str | None = None
    """The session that this response opened."""
    is_error: bool = False
    """Whether this response is an error."""
    withdrawn: int | str | None = None
    """The id of the request that is no longer waited for."""

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.has_id

    @property
    def is_response(self) -> bool:
        return self.method is None and self.has_id


class _Session(Struct):
    sessionId: str | UnsetType | None = UNSET


class _Withdrawal(Struct):
    requestId: int | str | UnsetType | None = UNSET


class _Message(Struct):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"null")
    result: Raw = Raw(b"null")
    error: Raw = Raw(b"null")


_message = msgspec.json.Decoder(_Message)
_session = msgspec.json.Decoder(_Session)
_withdrawal = msgspec.json.Decoder(_Withdrawal)


def read_route(line: bytes) -> Route | None:
    """The route of a message; None if it cannot be read, or is no message."""
    try:
        tolerant_json.check_nesting(line)
        found = _message.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    id = None if found.id is UNSET else found.id
    method = None if found.method is UNSET else found.method
    of, opened = _session_in(found.params), _session_in(found.result)
    is_error = method is None and bytes(found.error) != b"null"
    withdrawn = _withdrawn_in(found.params) if method == WITHDRAW else None
    return Route(method, id, found.id is not UNSET, of, opened, is_error, withdrawn)


def _withdrawn_in(params: Raw) -> int | str | None:
    try:
        id = _withdrawal.decode(params).requestId
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return None if id is UNSET else id


def _session_in(value: Raw) -> str | None:
    try:
        session: Any = _session.decode(value).sessionId
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return session if isinstance(session, str) and session else None
