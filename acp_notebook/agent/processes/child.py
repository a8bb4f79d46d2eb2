"""One child process: started, watched for its exit, reaped, killed with all its relatives.

Knows nothing of what it says or is told: the pipes are handed on as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Collection

from .command import Command
from .direct import Direct
from .guardian import Table, Tree, snapshot, start_of
from .supervised import NotSupervised, Supervised
from .terminate import pauses

__all__ = ["Child", "Command", "kill_now", "spawn"]

KILL_NOW_S = 0.5
"""How long `kill_now` may take: it runs while the interpreter shuts down."""


class Child:
    """A started command, with everything that it starts in turn."""

    def __init__(self, command: Command, token: str, *, talks: bool = True) -> None:
        """`talks=False`: it reads nothing, and all that it writes is one stream, `stdout`."""
        self._process = spawn(command, token, talks)
        self.stdin, self.stdout, self.stderr = (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        )
        self.pid = self._process.pid
        self.started = start_of(self.pid)
        self.supervisor = self._process.supervisor
        self.tree = Tree(token, self.pid, self.started)
        self.tree.supervisor = self.supervisor
        self.exited = asyncio.Event()
        self._owner = os.getpid()

    def watch(self, loop: asyncio.AbstractEventLoop, exited: Callable[[], object]) -> None:
        """Set `exited` and call back, on the loop, when the process is over, whoever holds its pipes."""

        def on_exit() -> None:
            self.exited.set()
            exited()

        self._process.watch(loop, on_exit)

    def unwatch(self) -> None:
        """Last of all: a supervisor is let go of, too."""
        self._process.unwatch()

    @property
    def reaped(self) -> bool:
        return self._process.ended

    def reap(self) -> int | None:
        """The exit code, negative for a signal; None while it runs, or if nobody can tell any more."""
        return self._process.poll()

    def peek(self) -> int | None:
        """The exit code as `reap` tells it; the pid stays taken, where the system can do that."""
        return self._process.poll(keep=True)

    def kill_now(self) -> None:
        """SIGKILL for the whole tree, on whatever thread; a forked copy of the owner touches nobody."""
        kill_now([self])

    def _kill(self, table: Table | None) -> bool:
        """Whether anything may be left. Without a table at least its own group is killed."""
        if os.getpid() != self._owner:
            return False
        left = table is None or self.tree.signal(signal.SIGKILL, table) > 0
        self.reap()
        if table is None and not self.reaped:  # so the number is still its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return left or not self.reaped


def kill_now(children: Collection[Child]) -> None:
    """SIGKILL for the trees of all of them, as `Child.kill_now`: they share the time and the looks."""
    deadline = time.monotonic() + KILL_NOW_S
    for pause in pauses():
        try:
            table = snapshot() if children else {}
        except OSError:  # no file descriptor left
            table = None
        children = [child for child in children if child._kill(table)]
        if not children or time.monotonic() >= deadline:
            return
        time.sleep(pause)


def spawn(command: Command, token: str, talks: bool) -> Supervised | Direct:
    """Start it in a session of its own: the stop button interrupts the kernel's whole group."""
    if os.name != "posix":
        raise OSError("acp_notebook needs POSIX (Linux, macOS, or WSL on Windows) to start a process")
    if not command.argv:
        raise OSError(errno.EINVAL, "the command is empty")
    try:
        try:
            return Supervised(command, token, talks)
        except NotSupervised:
            return Direct(command, token, talks)
    except ValueError as error:  # a NUL or a lone surrogate in an argument, a "=" in a name
        raise OSError(errno.EINVAL, f"this command cannot be started: {error}") from error
