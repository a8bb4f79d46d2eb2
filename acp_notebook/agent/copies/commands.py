"""Runs a command of the user in a copy: bounded in time, stopped on request, and ended with the kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from ... import timeouts
from ...log import logger, suppressed
from ..processes.environment import agent_environment
from ..processes.guardian import MARKER, Tree, new_token, start_of
from ..processes.guardian_client import guardian
from ..processes.terminate import QUIET_LOOKS, pauses

_log = logger(__name__)

TAIL_BYTES = 20_000
"""How much of the output is kept: the end, where tests print their counts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended. `code` is None if it was stopped or took too long."""

    code: int | None
    output: str
    seconds: float


class ShellCommand:
    """A shell command in a folder. Any thread may stop it."""

    def __init__(self, line: str, cwd: str) -> None:
        """Starts it. Raises OSError."""
        self._token = new_token()
        guardian().watch(self._token)
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", line],
                cwd=cwd,
                env=agent_environment(os.environ) | {MARKER: self._token, "PWD": cwd},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except BaseException:
            guardian().forget(self._token)
            raise
        self._tree = Tree(self._token, self._process.pid, start_of(self._process.pid))
        self._begun = time.monotonic()
        self._stopped = False
        self._tail = b""
        self._reader = threading.Thread(target=self._read, name="acp-command", daemon=True)
        self._reader.start()

    def wait(self, seconds: float) -> Outcome:
        """Wait for its end, at most so long. Whatever it leaves running is ended, too."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
        finally:
            self._end_tree()
            self._process.wait()
            guardian().forget(self._token)
            self._reader.join(timeouts.get().command_drain)
        code = None if self._stopped else self._process.returncode
        return Outcome(code, self._tail.decode(errors="replace"), time.monotonic() - self._begun)

    def stop(self) -> None:
        self._stopped = True
        self._kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe, suppressed(_log, OSError):
            while data := os.read(pipe.fileno(), 65536):
                self._tail = (self._tail + data)[-TAIL_BYTES:]

    def _end_tree(self) -> None:
        """Kill all of its processes, in whatever group or session they are."""
        until = time.monotonic() + timeouts.get().command_kill
        quiet = 0
        for pause in pauses():
            with suppressed(_log, OSError):  # no file descriptor left: look again
                quiet = 0 if self._tree.signal(signal.SIGKILL) else quiet + 1
            if quiet == QUIET_LOOKS or time.monotonic() > until:
                return
            time.sleep(pause)

    def _kill(self) -> None:
        with suppressed(_log, ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
