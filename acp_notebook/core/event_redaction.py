"""Removes secrets from events, even if a secret is split over several chunks.

Pure. Ids, values that can be set, and other words with a meaning for code stay as they are.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from . import events as ev
from .records import RunCell, Text
from .redaction import Redactor, StreamRedactor

_KEPT = frozenset(
    {"id", "tool_id", "message_id", "terminal_id", "status", "kind", "role", "type", "value", "current"}
    | {"answer", "by", "severity", "source", "scope", "mime_type", "data", "category", "sign_in"}
    | {"action", "mode"}
)
"""Fields that code relies on, such as ids; images and audio; and fields that are already redacted."""

_KEPT_OF_CELLS = _KEPT - {"source"}
"""There it is the code of a cell."""


class EventRedactor:
    """Removes secrets from the events of one session, before they enter its transcript."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._message = StreamRedactor(redactor)
        self._last: ev.MessageChunk | None = None
        """The chunk that the text held back belongs to."""
        self._terminals: dict[str, StreamRedactor] = {}

    def see(self, event: ev.Event) -> tuple[ev.Event, ...]:
        """Return the events to apply for this one; none while its text may be the start of a secret."""
        if self._redactor.idle:
            return (event,)
        if isinstance(event, ev.MessageChunk) and isinstance(event.content, Text):
            return self._chunk(event)
        if isinstance(event, ev.TerminalOutput):
            text = self._terminals.setdefault(event.id, StreamRedactor(self._redactor)).feed(event.text)
            return (replace(event, text=text),) if text or event.dropped else ()
        shown = event.found if isinstance(event, ev.Recovered) else event
        redactor = self._redactor.for_actions if shown.shows_actions else self._redactor
        if event.is_aside:
            return (_cleaned(event, redactor),)
        before = self.rest() + (self._terminal_rest(event) if isinstance(event, ev.TerminalChanged) else ())
        return (*before, _cleaned(event, redactor))

    def _chunk(self, event: ev.MessageChunk) -> tuple[ev.Event, ...]:
        before = () if self._last is not None and _stream(self._last) == _stream(event) else self.rest()
        assert isinstance(event.content, Text)
        self._last = event
        text = self._message.feed(event.content.text)
        if not text and event.content.text and event.raw is None and event.meta is None:
            return before
        raw, meta = self._redactor.plain(event.raw), self._redactor.plain(event.meta)
        return (*before, replace(event, content=_with_text(event, text), raw=raw, meta=meta))

    def rest(self) -> tuple[ev.Event, ...]:
        """What was held back of a message, because the message is over."""
        held, last, self._last = self._message.rest(), self._last, None
        if not held or last is None:
            return ()
        return (replace(last, content=_with_text(last, held), raw=None, meta=None),)

    def _terminal_rest(self, event: ev.TerminalChanged) -> tuple[ev.Event, ...]:
        stream = self._terminals.get(event.id)
        held = stream.rest() if stream is not None and event.status is not ev.UNSET else ""
        return (ev.TerminalOutput(event.id, held),) if held else ()


def _cleaned(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, Struct):
        kept = _KEPT_OF_CELLS if isinstance(value, RunCell) else _KEPT
        fields = {
            name: _cleaned(given, redactor)
            for name in value.__struct_fields__
            if name not in kept and (given := getattr(value, name)) is not None
        }
        return replace(value, **fields) if fields else value
    if isinstance(value, tuple):
        return tuple(_cleaned(item, redactor) for item in value)
    return redactor.plain(value)


def _stream(chunk: ev.MessageChunk) -> tuple[Any, ...]:
    """Identifies the message of a chunk: texts of equal streams are joined."""
    return chunk.role, chunk.message_id, getattr(chunk.content, "annotations", None)


def _with_text(chunk: ev.MessageChunk, text: str) -> Text:
    return Text(text, getattr(chunk.content, "annotations", None))
