"""One way to read any message: the typed fast path, else the tolerant one.

Knows no particular message.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from .. import lenient, tolerant

T = TypeVar("T")

REFUSED = (msgspec.DecodeError, ValueError, RecursionError)
"""What the fast path raises on a message that the tolerant path may still read."""


class Malformed(ValueError):
    """A message that lacks what it cannot do without; says what."""


_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def read(cls: type[T], data: Raw) -> tuple[T, Any]:
    """The message, and the plain value it was read from if it had parts that the schema does not know."""
    decoder = _decoders.get(cls)
    if decoder is None:
        decoder = _decoders[cls] = msgspec.json.Decoder(cls)
    try:
        return decoder.decode(data), None
    except REFUSED:
        pass
    try:
        value = tolerant.loads(bytes(data))
        return lenient.read(cls, value), value
    except (tolerant.Unreadable, msgspec.ValidationError) as error:
        raise Malformed(str(error)) from None


def read_exactly(cls: type[T], data: Raw) -> T:
    """For what is carried out: fields that we do not know are passed over, one that does not fit is refused.

    A default in the place of what the agent said would do something else than it asked for.
    """
    try:
        return lenient.exact(cls, tolerant.loads(bytes(data)))
    except (tolerant.Unreadable, msgspec.ValidationError) as error:
        raise Malformed(str(error)) from None
