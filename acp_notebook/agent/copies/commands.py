"""Runs a command of the user in a copy: bounded in time, stopped on request, and ended with the kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

from ...log import logger, suppressed
from ..processes.environment import agent_environment
from ..processes.guardian import MARKER, new_token
from ..processes.guardian_client import guardian

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
        self._output = tempfile.TemporaryFile(prefix="acp-notebook-")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", line],
                cwd=cwd,
                env=agent_environment(os.environ) | {MARKER: self._token, "PWD": cwd},
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except BaseException:
            self._output.close()
            guardian().forget(self._token)
            raise
        self._begun = time.monotonic()
        self._stopped = False

    def wait(self, seconds: float) -> Outcome:
        """Wait for its end, at most so long. Whatever it leaves running in its session is ended, too."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
        finally:
            self._kill()
            self._process.wait()
            guardian().forget(self._token)
        code = None if self._stopped else self._process.returncode
        with self._output as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = file.read().decode(errors="replace")
        return Outcome(code, text, time.monotonic() - self._begun)

    def stop(self) -> None:
        self._stopped = True
        self._kill()

    def _kill(self) -> None:
        with suppressed(_log, ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
