"""Removes secrets that an agent sends in several chunks from its recording.

Text that may be the beginning of a secret moves from the end of one chunk to the beginning of the next, so
that the whole text stays the same. Entries wait for that, in order. Of the protocol, this module knows only
where chunks have their text.
"""

from __future__ import annotations

from typing import Any

from ...core.redaction import Redactor
from ...wire import v1

MOST_HELD = 64
"""How many entries wait for the next chunk. If there are more, the text was no secret."""

Entry = dict[str, Any]


class SplitSecrets:
    """Holds back entries until their text is known to contain no part of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held: list[Entry] = []
        """The chunk whose end may begin a secret, and the entries after it."""
        self._key: tuple[Any, ...] = ()
        self._tail = ""

    def put(self, entry: Entry) -> list[Entry]:
        """Add an entry; return the entries that can be written now."""
        if self._redactor.idle:
            return [entry]
        block, key = _chunk_of(entry)
        if block is not None and self._held and key == self._key:
            return self._continue(entry, block)
        if self._held and block is None and _is_aside(entry) and len(self._held) < MOST_HELD:
            self._held.append(entry)
            return []
        ready = self.rest()
        if block is None:
            return [*ready, entry]
        return [*ready, *self._begin(entry, block, key)]

    def rest(self) -> list[Entry]:
        """Return the held entries. No chunk follows, so the text is no secret."""
        if self._held and self._tail:
            block, _ = _chunk_of(self._held[0])
            assert block is not None
            block["text"] += self._tail
        ready, self._held, self._tail = self._held, [], ""
        return ready

    def _continue(self, entry: Entry, block: dict[str, Any]) -> list[Entry]:
        block["text"] = self._redactor.text(self._tail + block["text"])
        ready, self._held, self._tail = self._held, [], ""
        return [*ready, *self._begin(entry, block, self._key)]

    def _begin(self, entry: Entry, block: dict[str, Any], key: tuple[Any, ...]) -> list[Entry]:
        end = len(block["text"]) - self._redactor.tail(block["text"])
        self._tail = block["text"][end:]
        if not self._tail:
            return [entry]
        block["text"] = block["text"][:end]
        self._held, self._key = [entry], key
        return []


def _chunk_of(entry: Entry) -> tuple[dict[str, Any] | None, tuple[Any, ...]]:
    """The content block of a message chunk, and a key for its message; (None, ()) for other entries."""
    match entry:
        case {"dir": "a2c", "msg": {"params": {"sessionId": session, "update": dict(update)}}}:
            kind, block = str(update.get("sessionUpdate")), update.get("content")
            if kind.endswith("_chunk") and isinstance(block, dict) and isinstance(block.get("text"), str):
                return block, (session, kind, update.get("messageId"))
    return None, ()


def _is_aside(entry: Entry) -> bool:
    """Whether a message may continue after this entry."""
    match entry:
        case {"dir": "a2c", "msg": {"params": {"update": {"sessionUpdate": str(kind)}}}}:
            return kind in v1.ASIDE
    return entry.get("dir") == "c2a"
