"""Helpers for tests that count prompts at the agent, and look for what runs leave behind."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import acp_notebook as acp
from tests.agent.process_helpers import is_running, wait_until

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


GONE_S = 2.0
"""How long an agent may outlive its run, its worker or its kernel."""


def wait_gone_soon(counted: Counted) -> float:
    """Wait until no agent is left, and return the seconds. Fails if that takes too long."""
    begun = time.monotonic()
    wait_until(lambda: not counted.living, f"{len(counted.living)} agents are gone")
    taken = time.monotonic() - begun
    assert taken < GONE_S, f"the agents lived on for {taken:.1f} s"
    return taken


class FinalStates:
    """Notes the final states that each run ever had."""

    def __init__(self, runs: acp.Runs) -> None:
        self._runs = runs
        self.states: dict[int, set[str]] = {}
        runs.on_change(self._note)

    def _note(self, changed: frozenset[int]) -> None:
        for row in self._runs.rows(changed):
            if row.is_final:
                self.states.setdefault(row.index, set()).add(row.state)

    def check(self) -> Counter[str]:
        """Every run has exactly one; how many have which."""
        self._note(frozenset(range(len(self._runs))))
        assert len(self.states) == len(self._runs)
        assert all(len(it) == 1 for it in self.states.values()), self.states
        return Counter(next(iter(it)) for it in self.states.values())


def leftovers(folder: Path | None = None) -> list[str]:
    """Folders of runs and snapshots in the temporary folder."""
    return sorted(it.name for it in Path(folder or tempfile.gettempdir()).glob("acp-run*"))
