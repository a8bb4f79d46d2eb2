"""Read any message: on the typed fast path, else on the tolerant one."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from .. import lenient_types, tolerant_json

T = TypeVar("T")

REFUSED = (msgspec.DecodeError, ValueError, RecursionError)
"""What the fast path raises for a message that the tolerant path may still read."""


class Malformed(ValueError):
    """A required part of the message is missing or invalid; the text says which."""


_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def read(cls: type[T], data: Raw) -> tuple[T, Any]:
    """Read a message; also return its plain value if it has parts that are not in the schema, else None."""
    decoder = _decoders.get(cls)
    if decoder is None:
        decoder = _decoders[cls] = msgspec.json.Decoder(cls)
    try:
        return decoder.decode(data), None
    except REFUSED:
        pass
    try:
        value = tolerant_json.loads(bytes(data))
        return lenient_types.read(cls, value), value
    except (tolerant_json.Unreadable, msgspec.ValidationError) as error:
        raise Malformed(str(error)) from None


def read_exactly(cls: type[T], data: Raw) -> T:
    """Read a request that we carry out: ignore unknown fields, but refuse invalid ones.

    To replace an invalid field by a default could do something else than the agent asked for.
    """
    try:
        return lenient_types.exact(cls, tolerant_json.loads(bytes(data)))
    except (tolerant_json.Unreadable, msgspec.ValidationError) as error:
        raise Malformed(str(error)) from None
