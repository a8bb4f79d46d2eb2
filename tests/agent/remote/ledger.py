"""What the agent behind a test server has received and said, in a file that outlives the server.

The servers append to it; the tests read it. A session can be loaded from it after a restart.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Ledger:
    """Lines of JSON, each with `what`: "session", "prompt", "cancel", "update" or "answer"."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def add(self, what: str, **fields: Any) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({"what": what, **fields}) + "\n")

    def entries(self, what: str) -> list[dict[str, Any]]:
        lines = self.path.read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["what"] == what]

    def prompts(self, text: str) -> int:
        """How often the agent received this prompt."""
        return sum(entry["text"] == text for entry in self.entries("prompt"))

    def cancels(self, session: str) -> int:
        return sum(entry["session"] == session for entry in self.entries("cancel"))

    def mode(self, session: str) -> str:
        """The mode that the agent has for this session."""
        return str(next((it["mode"] for it in self.entries("mode")[::-1] if it["session"] == session), "ask"))

    def history(self, session: str) -> list[dict[str, Any]] | None:
        """The updates of a session, for a load; None for an unknown session."""
        if not any(entry["session"] == session for entry in self.entries("session")):
            return None
        return [entry["update"] for entry in self.entries("update") if entry["session"] == session]
