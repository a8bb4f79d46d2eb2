"""Describe built-in types: strings, bytes, numbers and containers."""

from __future__ import annotations

import base64
from typing import Any

from ...core.records import Audio, Content, Resource
from .bounds import is_container, leaf, pretty
from .labels import Label
from .pictures import picture, sniff

BLOB_BYTES = 256 * 1024
"""The limit for bytes that are neither a picture nor audio."""

AUDIO_BYTES = 8 * 1024 * 1024

SHOWN_BYTES = 64

SCALARS = (bool, int, float, complex, type(None))


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if isinstance(value, str):
        return (label.resource(value),)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(value, label)
    if isinstance(value, SCALARS) or is_container(value):
        return (label.resource(f"{label.name} = {pretty(value)}" if label.name else pretty(value)),)
    return None


def _bytes(value: bytes | bytearray | memoryview, label: Label) -> tuple[Content, ...]:
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    start = bytes(memoryview(value).cast("B")[:SHOWN_BYTES]) if size else b""
    kind = sniff(start)
    if kind is not None and kind.startswith("image/"):
        return picture(bytes(value), kind, label, f"{kind} of {size:,} bytes")
    if kind is not None and size <= AUDIO_BYTES:
        data = base64.b64encode(value).decode("ascii")
        return (label.resource(label.heading(f"{kind} of {size:,} bytes")), Audio(data, kind))
    if size <= BLOB_BYTES:
        return (Resource(label.uri, blob=base64.b64encode(value).decode("ascii"), mime_type=kind or BINARY),)
    what = f"{size:,} bytes ({kind or BINARY}), too many to send; the first are {leaf(start)}"
    return (label.resource(label.heading(what)),)


BINARY = "application/octet-stream"
