"""Helpers for tests that count prompts at the agent, and look for what runs leave behind."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.agent.process_helpers import is_running

WAIT_S = 60.0
AGENT = Path(__file__).parents[2] / "agents" / "counting.py"


class Counted:
    """The agent that notes its prompts, and its notes."""

    def __init__(self, log: Path) -> None:
        self.log = log
        log.touch()

    @property
    def agents(self) -> list[dict[str, object]]:
        return [{"agent": [sys.executable, str(AGENT), str(self.log)], "label": "counting"}]

    @property
    def prompts(self) -> list[str]:
        return [line.split(" ", 1)[1] for line in self.log.read_text().splitlines()]

    @property
    def pids(self) -> list[int]:
        return [int(line.split()[0]) for line in self.log.read_text().splitlines()]

    @property
    def living(self) -> list[int]:
        return [it for it in set(self.pids) if is_running(it)]


def leftovers(folder: Path | None = None) -> list[str]:
    """Folders of runs and snapshots in the temporary folder."""
    return sorted(it.name for it in Path(folder or tempfile.gettempdir()).glob("acp-run*"))
