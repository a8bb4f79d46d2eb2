"""One child process: started, watched for its exit, reaped, killed with all its relatives.

Knows nothing of what it says or is told: the pipes are handed on as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from acp_notebook.agent.guardian import MARKER, Tree, start_of

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

    def __init__(self, command: Command, token: str) -> None:
        self._popen = spawn(command, token)
        assert self._popen.stdin and self._popen.stdout and self._popen.stderr
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

    def kill_now(self) -> None:
        """SIGKILL for the whole tree, on whatever thread; a forked copy of the owner touches nobody."""
        if os.getpid() != self._owner:
            return
        deadline = time.monotonic() + KILL_NOW_S
        for pause in pauses():
            left = self.tree.signal(signal.SIGKILL)
            self.reap()
            if (self.reaped and not left) or time.monotonic() >= deadline:
                return
            time.sleep(pause)


def spawn(command: Command, token: str) -> subprocess.Popen[bytes]:
    """Start it in a session of its own: the stop button interrupts the kernel's whole group."""
    if os.name != "posix":
        raise OSError("acp_notebook needs POSIX (Linux, macOS, or WSL on Windows) to start an agent")
    if not command.argv:
        raise OSError(errno.EINVAL, "the command of the agent is empty")
    try:
        return subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env={**command.env, MARKER: token},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except ValueError as error:  # a NUL or a lone surrogate in an argument, a "=" in a name
        raise OSError(errno.EINVAL, f"this command cannot be started: {error}") from error


def pauses() -> Iterator[float]:
    """Between looks at what is left: most trees end at once, some need their time."""
    return itertools.chain((0.01, 0.02, 0.05), itertools.repeat(0.1))
