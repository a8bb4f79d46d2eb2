"""One child process: started, watched for its exit, reaped, killed with all its relatives.

Knows nothing of what it says or is told: the pipes are handed on as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from .ending import pauses
from .guardian import MARKER, Table, Tree, snapshot, start_of

KILL_NOW_S = 0.5
"""How long `kill_now` may take: it runs while the interpreter shuts down."""

REAP_POLL_S = 0.05
"""Only where the system can neither show nor wait for an exit without reaping (macOS, Python < 3.13)."""


@dataclass(frozen=True)
class Command:
    """What to start, where, with which environment (all of it: nothing is added but our marker)."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


class Child:
    """A started command. It stays unreaped, its pid its own, until `reap` is called."""

    def __init__(self, command: Command, token: str, *, talks: bool = True) -> None:
        """`talks=False`: it reads nothing, and all that it writes is one stream, `stdout`."""
        self._popen = spawn(command, token, talks)
        assert self._popen.stdout
        self.stdin, self.stdout, self.stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr
        self.pid = self._popen.pid
        self.started = start_of(self.pid)
        self.tree = Tree(token, self.pid, self.started)
        self.exited = asyncio.Event()
        self._owner = os.getpid()
        self._exit_code: int | None = None
        self._reaping = threading.Lock()
        self._handle: int | None = None

    def watch(self, loop: asyncio.AbstractEventLoop, exited: Callable[[], object]) -> None:
        """Set `exited` and call back, on the loop, when the process is over, whoever holds its pipes."""
        self._loop, self._on_exit = loop, exited
        try:
            self._handle = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # macOS, an old Linux, a sandbox, no file descriptor left
            threading.Thread(target=self._wait, name=f"acp-exit-{self.pid}", daemon=True).start()
        else:
            loop.add_reader(self._handle, self._exit)

    def unwatch(self) -> None:
        if self._handle is not None:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def _exit(self) -> None:
        self.unwatch()
        self.exited.set()
        self._on_exit()

    def _wait(self) -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):  # reaped elsewhere: it has exited
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            while not self.reaped:
                time.sleep(REAP_POLL_S)
                self.reap()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._exit)

    @property
    def reaped(self) -> bool:
        return self._popen.returncode is not None

    def reap(self) -> int | None:
        """The exit code, negative for a signal; None while it runs, or if another's wait() has taken it."""
        with self._reaping:
            if not self.reaped:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    self._popen.returncode = 0  # for Popen only, which else warns of a running child
                else:
                    if pid:
                        self._popen.returncode = self._exit_code = os.waitstatus_to_exitcode(status)
            return self._exit_code

    def peek(self) -> int | None:
        """The exit code as `reap` tells it; the pid stays taken, where the system can do that."""
        if not self.reaped and hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    return None
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return self.reap()

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


def spawn(command: Command, token: str, talks: bool) -> subprocess.Popen[bytes]:
    """Start it in a session of its own: the stop button interrupts the kernel's whole group."""
    if os.name != "posix":
        raise OSError("acp_notebook needs POSIX (Linux, macOS, or WSL on Windows) to start a process")
    if not command.argv:
        raise OSError(errno.EINVAL, "the command is empty")
    try:
        return subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env={**command.env, MARKER: token},
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if talks else subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
    except ValueError as error:  # a NUL or a lone surrogate in an argument, a "=" in a name
        raise OSError(errno.EINVAL, f"this command cannot be started: {error}") from error
