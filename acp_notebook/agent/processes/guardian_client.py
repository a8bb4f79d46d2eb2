"""The kernel's side of the guardian: start it once, and register what to watch.

`guardian.py` finds and ends the processes, in a separate process that survives a `kill -9` of the kernel.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings

from ...log import logger, suppressed
from . import guardian as script

_log = logger(__name__)

INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What Python may need to start; the guardian needs nothing else and must not get any secrets."""

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(script.__file__)))
RUN = "import sys; sys.path.append(sys.argv[1]); from processes.guardian import main; main(int(sys.argv[2]))"
"""Imports this folder as a package, without the package around it, so that it starts in milliseconds."""


class Guardian:
    """Controls the guardian process: starts it when needed, and again if it has died."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.pid: int | None = None
        self.problem: str | None = None
        """Why there is no guardian, for people; None if there is one."""
        self._pipe: int | None = None
        self._watched: dict[str, str] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start it now, so that the first agent does not wait for its interpreter (40 ms)."""
        with self._lock, suppressed(_log, OSError):  # `watch` reports the error
            if not self._is_alive():
                self._say("")

    def watch(
        self, token: str, pid: int = 0, start: str = "", supervisor: tuple[int, str] | None = None
    ) -> bool:
        """End all processes with this token when the kernel is gone. Returns False if there is no guardian.

        Call it with the token alone before the agent starts, so that there is no gap, and again with its
        process. Never raises: an agent without a guardian is better than no agent.
        """
        orders = f"watch {token} {pid} {start}\n" if pid else f"watch {token}\n"
        if supervisor is not None:
            orders += f"supervisor {token} {supervisor[0]} {supervisor[1]}\n"
        with self._lock:
            self._watched[token] = orders
            try:
                self._say(self._watched[token])
            except OSError as error:
                self._complain(str(error))
                return False
            self.problem = None
            return True

    def forget(self, token: str) -> None:
        """Stop watching a token of which no process is left."""
        with self._lock:
            known = self._watched.pop(token, None)
            if known is not None and self._is_alive():
                with suppressed(_log, OSError):  # a dead one has nothing to forget
                    self._write(f"forget {token}\n")

    def supervisor(self, token: str) -> socket.socket | None:
        """Connect to a new supervisor for a watched token; None if there is no guardian."""
        with self._lock:
            try:
                if not self._is_alive():
                    self._say("")
                assert self._pipe is not None
                ours, theirs = socket.socketpair()
            except OSError as error:
                self._complain(str(error))
                return None
            connection = socket.socket(fileno=self._pipe)
            try:
                socket.send_fds(connection, [f"supervise {token}\n".encode()], [theirs.fileno()])
            except OSError:  # it has just died, or is stuck
                ours.close()
                return None
            finally:
                connection.detach()
                theirs.close()
            return ours

    def drop(self) -> None:
        """Close our copy of the pipe: in a forked child, which inherits the pipe but not the guardian."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _say(self, line: str) -> None:
        if self._is_alive():
            with suppressed(_log, BrokenPipeError):  # it has just died
                return self._write(line)
        self._start()
        self._write("".join(self._watched.values()))

    def _write(self, text: str) -> None:
        assert self._pipe is not None
        # Lines are short: the socket takes each as a whole, or raises BlockingIOError if the guardian is
        # stuck.
        os.write(self._pipe, text.encode())

    def _is_alive(self) -> bool:
        if self.pid is None:
            return False
        try:
            return os.waitpid(self.pid, os.WNOHANG) == (0, 0)
        except ChildProcessError:  # other code has waited for it
            return False

    def _start(self) -> None:
        if not sys.executable:
            raise OSError("sys.executable is empty, so Python cannot be started")
        self.drop()
        ours, theirs = socket.socketpair()
        # A new process inherits the signal mask of the thread that starts it, so these signals cannot end the
        # guardian before its interpreter ignores them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, script.IGNORED)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", RUN, FOLDER, str(self.owner)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=self._environment(),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()
        self.pid = process.pid
        process.returncode = 0  # it outlives us: no "still running" warning; `_is_alive` reaps it
        ours.setblocking(False)
        self._pipe = ours.detach()

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return {**kept, script.MARKER: script.GUARDIAN_TOKEN}

    def _complain(self, reason: str) -> None:
        first, self.problem = self.problem is None, reason
        if first:
            with contextlib.suppress(RuntimeWarning):  # with -W error it would prevent the agent's start
                warnings.warn(
                    f"no guardian process ({reason}): agents may keep running if this process is killed",
                    RuntimeWarning,
                    stacklevel=3,
                )


_guardian: Guardian | None = None


def guardian() -> Guardian:
    """The guardian of this process; a forked child gets its own, for its own agents."""
    global _guardian
    if _guardian is None or _guardian.owner != os.getpid():
        if _guardian is not None:
            _guardian.drop()
        _guardian = Guardian()
    return _guardian
