"""One child process: start it, watch for its exit, reap it, kill it with its whole tree.

Does not read or write: it only provides the pipes.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from collections.abc import Callable, Collection

from ... import timeouts
from ...log import logger, suppressed
from .command import Command
from .direct import Direct
from .guardian import Table, Tree, snapshot, start_of
from .supervised import NotSupervised, Supervised
from .terminate import pauses

_log = logger(__name__)

__all__ = ["Child", "Command", "kill_now", "spawn"]


class Child:
    """A started command, with every process that it starts."""

    def __init__(self, command: Command, token: str, *, talks: bool = True) -> None:
        """`talks=False`: no stdin, and `stdout` also carries stderr."""
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

    def watch(self, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], object]) -> None:
        """Set `exited` and call `on_exit` on the loop when the process exits; its pipes may still be open."""

        def exited() -> None:
            self.exited.set()
            on_exit()

        self._process.watch(loop, exited)

    def unwatch(self) -> None:
        """Stop watching and release the supervisor; call this last."""
        self._process.unwatch()

    @property
    def reaped(self) -> bool:
        return self._process.ended

    def reap(self) -> int | None:
        """The exit code, negative for a signal; None while it runs, or if the code is lost."""
        return self._process.poll()

    def peek(self) -> int | None:
        """The same exit code as from `reap`, without freeing the pid, where the system allows that."""
        return self._process.poll(keep=True)

    def kill_now(self) -> None:
        """Send SIGKILL to the whole tree, from any thread; does nothing in a forked copy of the owner."""
        kill_now([self])

    def _kill(self, table: Table | None) -> bool:
        """Kill the tree, or without a table at least its own group; return whether anything may be left."""
        if os.getpid() != self._owner:
            return False
        left = table is None or self.tree.signal(signal.SIGKILL, table) > 0
        self.reap()
        if table is None and not self.reaped:  # so the pid is still its own
            with suppressed(_log, ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return left or not self.reaped


def kill_now(children: Collection[Child]) -> None:
    """Send SIGKILL to the trees of all children, with one time limit and shared process tables."""
    deadline = time.monotonic() + timeouts.get().kill_now
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
    """Start the command in its own session, because the stop button interrupts the kernel's whole group."""
    if os.name != "posix":
        raise OSError("acp_notebook needs POSIX (Linux, macOS, or WSL on Windows) to start a process")
    if not command.argv:
        raise OSError(errno.EINVAL, "the command is empty")
    try:
        try:
            return Supervised(command, token, talks)
        except NotSupervised:
            _log.debug("there is no supervisor here", exc_info=True)
            return Direct(command, token, talks)
    except ValueError as error:  # a NUL or a lone surrogate in an argument, a "=" in a name
        raise OSError(errno.EINVAL, f"this command cannot be started: {error}") from error
