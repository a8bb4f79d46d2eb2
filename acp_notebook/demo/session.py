"""One session: its counters, its choices, its history, and the turn that runs in it.

Knows neither what a prompt means nor the other sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .blocks import chunk, text_block
from .mcp import McpServer
from .options import Options
from .rpc import Json, Peer
from .store import Store

if TYPE_CHECKING:
    from .turn import Turn

REPLAYED = {
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
}
"""What history holds. Notices, usage and the like are about the moment in which they were sent."""

TITLE_LENGTH = 60
MARK = "<text>"
"""Stands where a chunk's text goes; no id looks like it."""


class Session:
    """State that outlives a turn. With a store, ``save`` keeps it for other processes."""

    def __init__(
        self, peer: Peer, cwd: str, options: Options, *, store: Store | None, record: Json | None = None
    ) -> None:
        kept: dict[str, Any] = record or {}
        self.id = ""
        self.cwd = cwd
        self.title: str | None = kept.get("title")
        self.options = options
        self.options.values.update(kept.get("options", {}))
        self.history: list[Json] = kept.get("history", [])
        self.grants: set[str] = set()  # tool kinds that were allowed "always", in this process only
        self.turn: Turn | None = None
        self.servers: list[Json] = []
        self.kernel: McpServer | None = None  # started when a scene first uses it
        self.cost = 0.0
        self.refused = 0  # how often /ratelimit has failed in a row
        self._peer = peer
        self._store = store
        self._counts: dict[str, int] = kept.get("counts", {})

    def next_id(self, prefix: str) -> str:
        """``call_1``, ``call_2`` and so on, never used twice in a session, even over load and resume."""
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}_{self._counts[prefix]}"

    def send(self, update: Json) -> None:
        self._record(update)
        self._peer.notify("session/update", {"sessionId": self.id, "update": update})

    def send_texts(self, message: str, texts: list[str]) -> None:
        """Many chunks of one message, fast."""
        for text in texts if self._store else ():
            self._record(chunk(text_block(text), message))
        params = {"sessionId": self.id, "update": chunk(text_block(MARK), message)}
        self._peer.notify_texts("session/update", params, MARK, texts)

    def replay(self) -> None:
        self._peer.notify_many(
            "session/update", ({"sessionId": self.id, "update": it} for it in self.history)
        )

    def remember_prompt(self, blocks: list[Json]) -> None:
        """Put the user's side into the history, and name a session after its first words."""
        message = self.next_id("msg")
        for block in blocks:
            self._record({"sessionUpdate": "user_message_chunk", "content": block, "messageId": message})
        words = " ".join(block["text"] for block in blocks if block["type"] == "text").split()
        if self.title is None and words:
            self.title = " ".join(words)[:TITLE_LENGTH]
        self.save()

    def record(self) -> Json:
        return {
            "cwd": self.cwd,
            "title": self.title,
            "options": self.options.values,
            "counts": self._counts,
            "history": self.history,
        }

    def save(self) -> None:
        if self._store:
            self._store.save(self.id, self.record())

    def forget(self) -> None:
        """Stop saving: a turn that still ends must not bring a deleted file back."""
        self._store = None

    def _record(self, update: Json) -> None:
        if self._store and update["sessionUpdate"] in REPLAYED:
            self.history.append(update)
