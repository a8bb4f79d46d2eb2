"""A command as a direct child of the kernel: on macOS, and on Linux where no supervisor can be started.

Does not track the process tree: `guardian.Tree` finds orphans of the command by its session and its token.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable

from ...log import logger, suppressed
from .command import Command
from .guardian import MARKER

_log = logger(__name__)

REAP_POLL_S = 0.05
"""Only where the system can neither show nor wait for an exit without reaping (macOS, Python < 3.13)."""


class Direct:
    """A started command. It stays unreaped, and so keeps its pid, until `poll` collects its exit code."""

    supervisor = None

    def __init__(self, command: Command, token: str, talks: bool) -> None:
        self._popen = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env={**command.env, MARKER: token},
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if talks else subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        assert self._popen.stdout
        self.stdin, self.stdout, self.stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr
        self.pid = self._popen.pid
        self._exit_code: int | None = None
        self._reaping = threading.Lock()
        self._handle: int | None = None

    def watch(self, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], object]) -> None:
        self._loop, self._on_exit = loop, on_exit
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
        self._on_exit()

    def _wait(self) -> None:
        if hasattr(os, "waitid"):
            with suppressed(_log, ChildProcessError):  # reaped elsewhere: it has exited
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            while not self.ended:
                time.sleep(REAP_POLL_S)
                self.poll()
        with suppressed(_log, RuntimeError):  # the loop is closed: nothing waits any more
            self._loop.call_soon_threadsafe(self._exit)

    @property
    def ended(self) -> bool:
        return self._popen.returncode is not None

    def poll(self, keep: bool = False) -> int | None:
        """The exit code; None while it runs, or if another wait() has collected it. From any thread.

        With `keep`, the pid is not freed, where the system allows that.
        """
        if keep and not self.ended and hasattr(os, "waitid"):
            with suppressed(_log, ChildProcessError):
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    return None
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        with self._reaping:
            if not self.ended:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    self._popen.returncode = 0  # only to keep Popen from warning about a running child
                else:
                    if pid:
                        self._popen.returncode = self._exit_code = os.waitstatus_to_exitcode(status)
            return self._exit_code
