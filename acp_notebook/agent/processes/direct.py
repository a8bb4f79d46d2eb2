"""A command as a child of the kernel itself: macOS, and Linux where no supervisor can be had.

Does not know about trees of processes: orphans below the command are found by its session and its token.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable

from .command import Command
from .guardian import MARKER

REAP_POLL_S = 0.05
"""Only where the system can neither show nor wait for an exit without reaping (macOS, Python < 3.13)."""


class Direct:
    """A started command. It stays unreaped, its pid its own, until `poll` takes its exit."""

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

    def watch(self, loop: asyncio.AbstractEventLoop, exited: Callable[[], object]) -> None:
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
        self._on_exit()

    def _wait(self) -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):  # reaped elsewhere: it has exited
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            while not self.ended:
                time.sleep(REAP_POLL_S)
                self.poll()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._exit)

    @property
    def ended(self) -> bool:
        return self._popen.returncode is not None

    def poll(self, keep: bool = False) -> int | None:
        """The exit code; None while it runs, or if another's wait() has taken it. From any thread.

        `keep`: the pid stays taken, where the system can do that.
        """
        if keep and not self.ended and hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    return None
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        with self._reaping:
            if not self.ended:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    self._popen.returncode = 0  # for Popen only, which else warns of a running child
                else:
                    if pid:
                        self._popen.returncode = self._exit_code = os.waitstatus_to_exitcode(status)
            return self._exit_code
