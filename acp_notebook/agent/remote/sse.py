"""Server-sent events from bytes. Pure: no I/O, and bounded in memory.

Lines end with LF, CRLF or CR and nothing else: U+2028 and similar characters are part of the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_ID = 1000
"""Characters of an id. A longer one, or one that no header can carry, counts as none."""

_FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9_.-]{0,39}")
"""The name of a field, known or not; noise and pieces of JSON look otherwise."""

_BOM = b"\xef\xbb\xbf"

_BREAK = re.compile(rb"\r\n|\n|\r")


class EventTooLong(Exception):
    """An event, or one of its lines, exceeds the limit."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event with data."""

    data: bytes
    id: str | None
    """Its own, not that of an event before it: a server may number only some. "": from here on, the events
    before it are no longer numbered."""


class EventParser:
    """Parses one stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._after_cr = False
        self._is_first = True
        self._data: list[bytes] = []
        self._data_size = 0
        self._id: str | None = None
        self.has_comments = False
        """Whether the server sends comments, which keep a silent stream alive."""
        self.is_damaged = False
        """Whether a line came that no server writes: what it was before is lost."""

    @property
    def inside(self) -> bool:
        """Whether an event has begun and not ended."""
        return bool(self._data or self._rest_size)

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete. Raises EventTooLong."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        at = 0
        for found in _BREAK.finditer(chunk):
            line = chunk[at : found.start()]
            if self._rest:
                line = b"".join([*self._rest, line])
                self._rest, self._rest_size = [], 0
            at = found.end()
            if (event := self._line(line)) is not None:
                yield event
        self._after_cr = chunk.endswith(b"\r")
        if at < len(chunk):
            self._rest.append(chunk[at:])
            self._rest_size += len(chunk) - at
            self._check()

    def _check(self) -> None:
        if self._rest_size + self._data_size > self._limit:
            raise EventTooLong

    def _line(self, line: bytes) -> Event | None:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not name:
            self.has_comments = True
        elif name == b"data":
            self._data.append(value)
            self._data_size += len(value)
            self._check()
        elif name == b"id":
            text = value.decode("utf-8", "replace")
            is_usable = len(text) <= MAX_ID and text.isascii() and text.isprintable()
            self._id = text if is_usable else ""
        elif not _FIELD.fullmatch(name):
            self.is_damaged = True
        return None

    def _dispatch(self) -> Event | None:
        data, self._data, self._data_size = self._data, [], 0
        id, self._id = self._id, None
        return Event(b"\n".join(data), id) if data else None
