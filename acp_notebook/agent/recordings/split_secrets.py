"""Secrets that an agent sends in several chunks, taken out of its recording.

What may be the beginning of a secret moves from the end of one chunk to the beginning of the next, so that
the text stays the same; entries wait for that, in their order. Knows of the protocol only where chunks of
text stand.
"""

from __future__ import annotations

from typing import Any

from ...core.redaction import Redactor

MOST_HELD = 64
"""Entries that wait for a chunk to go on: it was no secret, then."""

_BESIDE = frozenset(
    {
        "usage_update",
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
    }
)
"""Updates after which a message goes on."""

Entry = dict[str, Any]


class SplitSecrets:
    """Removes secrets that reach a recording in several chunks."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held: list[Entry] = []
        """The chunk whose end may be the beginning of a secret, and what came after it."""
        self._key: tuple[Any, ...] = ()
        self._tail = ""

    def put(self, entry: Entry) -> list[Entry]:
        """The entries that can be written now."""
        if self._redactor.idle:
            return [entry]
        block, key = _chunk_of(entry)
        if block is not None and self._held and key == self._key:
            return self._goes_on(entry, block)
        if self._held and block is None and _is_beside(entry) and len(self._held) < MOST_HELD:
            self._held.append(entry)
            return []
        ready = self.rest()
        if block is None:
            return [*ready, entry]
        return [*ready, *self._begins(entry, block, key)]

    def rest(self) -> list[Entry]:
        """Nothing goes on: what was held back is no secret."""
        if self._held and self._tail:
            block, _ = _chunk_of(self._held[0])
            assert block is not None
            block["text"] += self._tail
        ready, self._held, self._tail = self._held, [], ""
        return ready

    def _goes_on(self, entry: Entry, block: dict[str, Any]) -> list[Entry]:
        block["text"] = self._redactor.text(self._tail + block["text"])
        ready, self._held, self._tail = self._held, [], ""
        return [*ready, *self._begins(entry, block, self._key)]

    def _begins(self, entry: Entry, block: dict[str, Any], key: tuple[Any, ...]) -> list[Entry]:
        end = len(block["text"]) - self._redactor.tail(block["text"])
        self._tail = block["text"][end:]
        if not self._tail:
            return [entry]
        block["text"] = block["text"][:end]
        self._held, self._key = [entry], key
        return []


def _chunk_of(entry: Entry) -> tuple[dict[str, Any] | None, tuple[Any, ...]]:
    """The text of a chunk of a message, and whose it is."""
    match entry:
        case {"dir": "a2c", "msg": {"params": {"sessionId": session, "update": dict(update)}}}:
            kind, block = str(update.get("sessionUpdate")), update.get("content")
            if kind.endswith("_chunk") and isinstance(block, dict) and isinstance(block.get("text"), str):
                return block, (session, kind, update.get("messageId"))
    return None, ()


def _is_beside(entry: Entry) -> bool:
    match entry:
        case {"dir": "a2c", "msg": {"params": {"update": {"sessionUpdate": str(kind)}}}}:
            return kind in _BESIDE
    return entry.get("dir") == "c2a"
