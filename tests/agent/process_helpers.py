"""Start real processes behind a transport, check whether a pid runs, wait until it is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from pathlib import Path

from acp_notebook.agent.processes.process_transport import Command, ProcessTransport
from acp_notebook.agent.transport import Ending

WAIT_S = 60.0
"""A bound for what takes milliseconds on an idle machine."""

# A child that holds all three pipes; in its own session; as a daemon whose parents are dead.
CHILD = """
import os, subprocess, sys
sleeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
print("pid", sleeper.pid, flush=True)
"""
SETSID_CHILD = CHILD.replace('sleep(600)"]', 'sleep(600)"], start_new_session=True')
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print("pid", os.getpid(), flush=True)
    time.sleep(600)
os.wait()
"""

ROOT = Path(__file__).parents[2]


def is_running(pid: int) -> bool:
    """Whether that process runs (a zombie does not)."""
    if not os.path.exists("/proc/self/stat"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return True
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat[stat.rindex(b")") + 2 :][:1] not in (b"Z", b"X")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait, on the test's thread, for what only the operating system knows."""
    never = threading.Event()
    for _ in range(int(WAIT_S / 0.02)):
        if condition():
            return
        never.wait(0.02)
    raise AssertionError(f"waited in vain until {what}")


def wait_gone(*pids: int) -> None:
    wait_until(lambda: not any(map(is_running, pids)), f"these are gone: {pids}")


@contextlib.contextmanager
def ended_at_last(pids: list[int]) -> Iterator[None]:
    """Ends the processes that a failed test left running."""
    try:
        yield
    finally:
        for pid in filter(is_running, pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Agent:
    """A transport with the agent's output and its ending."""

    def __init__(self, command: Command) -> None:
        self.transport = ProcessTransport(command)
        self.received = bytearray()
        self.endings: list[Ending] = []
        self.pids: list[int] = []
        self.chunks_after_end = 0
        self._changed = asyncio.Event()

    def start(self) -> None:
        self.transport.start(self._receive, self._end)
        assert self.transport.pid is not None
        self.pids.append(self.transport.pid)

    def _receive(self, data: bytes) -> None:
        self.received += data
        self.chunks_after_end += len(self.endings)
        self._changed.set()

    def _end(self, ending: Ending) -> None:
        self.endings.append(ending)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def says(self, line: str) -> None:
        await self.until(lambda: line.encode() + b"\n" in self.received)

    async def relatives(self, count: int) -> list[int]:
        """The pids that it printed as `pid N`, noted so that none is left if the test fails."""
        await self.until(lambda: len(re.findall(rb"pid \d+\n", self.received)) >= count)
        found = [int(pid) for pid in re.findall(rb"pid (\d+)\n", self.received)]
        self.pids += found
        return found

    async def ending(self) -> Ending:
        await self.until(lambda: bool(self.endings))
        return self.endings[0]


def python(script: str, *arguments: str) -> Command:
    return Command((sys.executable, "-I", "-S", "-c", script, *arguments), os.getcwd(), dict(os.environ))


def shell(line: str, **variables: str) -> Command:
    env: Mapping[str, str] = {**os.environ, "PYTHON": sys.executable, **variables}
    return Command(("/bin/sh", "-c", line), os.getcwd(), env)


@contextlib.asynccontextmanager
async def running(command: Command) -> AsyncIterator[Agent]:
    """A started agent; afterwards it is closed, has ended exactly once, and left no process."""
    agent = Agent(command)
    with ended_at_last(agent.pids):
        agent.start()
        try:
            yield agent
        finally:
            await agent.transport.close()
        assert len(agent.endings) == 1
        assert agent.chunks_after_end == 0
        assert agent.transport.survivors == ()
        assert not any(map(is_running, agent.pids))


def run(test: Coroutine[object, object, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 3 * WAIT_S))
