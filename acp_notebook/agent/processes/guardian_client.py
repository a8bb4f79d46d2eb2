"""The kernel's end of the guardian: start it once, tell it what to watch.

Does not know how processes are found or ended; `guardian.py` does, in a process of its own that outlives
a `kill -9` of the kernel.
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

from . import guardian as script

INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""All that a Python may need to start; the guardian has no use for the rest, and no business with secrets."""

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(script.__file__)))
RUN = "import sys; sys.path.append(sys.argv[1]); from processes.guardian import main; main(int(sys.argv[2]))"
"""Its folder as a package of its own, without the package around it: so it starts in milliseconds."""


class Guardian:
    """One guardian process, started with the first thing to watch and again if it has died."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.pid: int | None = None
        self.problem: str | None = None
        """Why there is no guardian, for people; None while all is well."""
        self._pipe: int | None = None
        self._watched: dict[str, str] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start it now, so that the first agent need not wait for its interpreter (40 ms)."""
        with self._lock, contextlib.suppress(OSError):  # `watch` says what is wrong
            if not self._alive():
                self._say("")

    def watch(
        self, token: str, pid: int = 0, start: str = "", supervisor: tuple[int, str] | None = None
    ) -> bool:
        """End everything that bears this token when the kernel is gone. False: nobody is watching.

        Called with the token alone before the agent is started, so that no moment is uncovered, and again
        with its process. Never raises: an agent without a guardian is better than no agent.
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
        """Nothing of it is left."""
        with self._lock:
            known = self._watched.pop(token, None)
            if known is not None and self._alive():
                with contextlib.suppress(OSError):  # a dead one has nothing to forget
                    self._write(f"forget {token}\n")

    def supervisor(self, token: str) -> socket.socket | None:
        """A connection to a new supervisor for what `watch` was told of; None where there is no guardian."""
        with self._lock:
            try:
                if not self._alive():
                    self._say("")
                assert self._pipe is not None
                ours, theirs = socket.socketpair()
            except OSError as error:
                self._complain(str(error))
                return None
            connection = socket.socket(fileno=self._pipe)
            try:
                socket.send_fds(connection, [f"supervise {token}\n".encode()], [theirs.fileno()])
            except OSError:  # it died just now, or it is stuck
                ours.close()
                return None
            finally:
                connection.detach()
                theirs.close()
            return ours

    def drop(self) -> None:
        """Close our copy of the pipe: for a forked child, which has the copy but not the guardian."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _say(self, line: str) -> None:
        if self._alive():
            with contextlib.suppress(BrokenPipeError):  # it died just now
                return self._write(line)
        self._start()
        self._write("".join(self._watched.values()))

    def _write(self, text: str) -> None:
        assert self._pipe is not None
        # Short lines: the socket takes each whole or (when the guardian is stuck) raises BlockingIOError.
        os.write(self._pipe, text.encode())

    def _alive(self) -> bool:
        if self.pid is None:
            return False
        try:
            return os.waitpid(self.pid, os.WNOHANG) == (0, 0)
        except ChildProcessError:  # somebody else waited for it
            return False

    def _start(self) -> None:
        if not sys.executable:
            raise OSError("Python does not know its own command here")
        self.drop()
        ours, theirs = socket.socketpair()
        # A new process inherits the mask of the thread that starts it: so the guardian is proof against
        # these signals before its interpreter has come to ignoring them.
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
        process.returncode = 0  # it is meant to outlive us: no "still running" warning, `_alive` reaps it
        ours.setblocking(False)
        self._pipe = ours.detach()

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return {**kept, script.MARKER: script.GUARDIAN_TOKEN}

    def _complain(self, reason: str) -> None:
        first, self.problem = self.problem is None, reason
        if first:
            with contextlib.suppress(RuntimeWarning):  # with -W error it would stop the agent's start
                warnings.warn(
                    f"no guardian process ({reason}): agents may go on running if this process is killed",
                    RuntimeWarning,
                    stacklevel=3,
                )


_guardian: Guardian | None = None


def guardian() -> Guardian:
    """This process's guardian: a forked child has its own, for its own agents."""
    global _guardian
    if _guardian is None or _guardian.owner != os.getpid():
        if _guardian is not None:
            _guardian.drop()
        _guardian = Guardian()
    return _guardian
