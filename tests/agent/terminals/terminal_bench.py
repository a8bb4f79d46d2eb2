"""Terminals with a log of their events, and commands that leave children behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TypeVar

import pytest

from acp_notebook.agent.processes import guardian_client
from acp_notebook.agent.terminals.session_terminals import (
    Terminal,
    Terminals,
)
from acp_notebook.core.events import TerminalChanged, TerminalOutput
from tests.agent.process_helpers import CHILD, DAEMON, SETSID_CHILD, WAIT_S, ended_at_last, is_running

T = TypeVar("T")

SLEEPS = "import time\nprint('ready', flush=True)\ntime.sleep(600)"
IGNORES_TERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPS
SILENT_DAEMON = DAEMON.replace("    time.sleep(600)", "    os.close(1); os.close(2)\n    time.sleep(600)")
LEAVERS = pytest.mark.parametrize(
    "leaver", [CHILD, SETSID_CHILD, DAEMON, SILENT_DAEMON], ids=["child", "setsid", "daemon", "silent daemon"]
)


class Bench:
    """Terminals, and all their events."""

    def __init__(self, **options: int) -> None:
        self.events: list[TerminalChanged | TerminalOutput] = []
        self.pids: list[int] = []
        self._news = asyncio.Event()
        self.terminals = Terminals(dict(os.environ), self._changed, **options)

    def _changed(self, event: TerminalChanged | TerminalOutput) -> None:
        self.events.append(event)
        self._news.set()

    def create(
        self,
        command: str,
        *args: str,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        byte_limit: int | None = None,
        turn: object = None,
    ) -> Terminal:
        made = self.terminals.create(command, args, cwd=cwd, env=env or {}, byte_limit=byte_limit, turn=turn)
        self.pids.append(made.child.pid)
        return made

    def python(self, script: str, *args: str, turn: object = None, byte_limit: int | None = None) -> Terminal:
        return self.create(sys.executable, "-I", "-S", "-c", script, *args, turn=turn, byte_limit=byte_limit)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def shown(self, terminal: Terminal) -> str:
        return "".join(
            event.text
            for event in self.events
            if isinstance(event, TerminalOutput) and event.id == terminal.id
        )

    def changes(self, terminal: Terminal) -> list[TerminalChanged]:
        return [it for it in self.events if isinstance(it, TerminalChanged) and it.id == terminal.id]

    async def says(self, terminal: Terminal, text: str) -> None:
        await self.until(lambda: text in self.shown(terminal))

    async def relatives(self, terminal: Terminal, count: int = 1) -> list[int]:
        """The pids that it printed as `pid N`."""
        await self.until(lambda: len(re.findall(r"pid \d+\n", self.shown(terminal))) >= count)
        found = [int(pid) for pid in re.findall(r"pid (\d+)\n", self.shown(terminal))]
        self.pids += found
        return found


@contextlib.asynccontextmanager
async def bench(**options: int) -> AsyncIterator[Bench]:
    """Afterwards everything is closed, and nothing runs, is watched, or is open."""
    made = Bench(**options)
    watched = set(guardian_client.guardian()._watched)
    with ended_at_last(made.pids):
        try:
            yield made
        finally:
            await made.terminals.close()
        assert not any(map(is_running, made.pids))
        assert not made.terminals._held
        assert set(guardian_client.guardian()._watched) == watched
        for pid in made.pids:
            with pytest.raises(ChildProcessError):  # reaped, or never ours
                os.waitpid(pid, os.WNOHANG)


async def soon(work: Awaitable[T]) -> T:
    async with asyncio.timeout(WAIT_S):
        return await work
