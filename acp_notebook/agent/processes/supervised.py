"""The kernel's side of a supervisor: request a start, read the exit code.

`supervisor.py` adopts the orphans; `guardian.Tree` ends them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from typing import IO, Literal, NamedTuple

from ... import timeouts
from ...log import logger, suppressed
from .command import Command
from .guardian import MARKER
from .guardian_client import guardian
from .supervisor import LENGTH, StartRequest

_log = logger(__name__)


class Stdio(NamedTuple):
    """Our ends of the pipes, and the descriptors for the child."""

    stdin: IO[bytes] | None
    stdout: IO[bytes]
    stderr: IO[bytes] | None
    theirs: tuple[int, int, int]


class Supervised:
    """A started command with its own supervisor."""

    def __init__(self, command: Command, token: str, talks: bool) -> None:
        """Raises NotSupervised if the command must be started directly; an OSError names any other fault."""
        request = _request(command, token)
        with contextlib.ExitStack() as on_failure:
            stdio = _pipes(talks, on_failure)
            try:
                self._control = _ask(token, request, stdio.theirs)
            finally:
                for descriptor in set(stdio.theirs):
                    os.close(descriptor)
            on_failure.callback(self._control.close)
            self._text = b""
            self._exit_code: int | None = None
            self.ended = False
            self._lock = threading.Lock()
            self._loop: asyncio.AbstractEventLoop | None = None
            self.pid, self.supervisor = self._started(command)
            self._control.setblocking(False)
            self.stdin, self.stdout, self.stderr = stdio[:3]
            on_failure.pop_all()

    def _started(self, command: Command) -> tuple[int, tuple[int, str]]:
        match self._answer().split():
            case ["started", pid, _start, supervisor, supervisor_start]:
                return int(pid), (int(supervisor), supervisor_start)
            case ["failed", number, where]:
                name = command.cwd if where == "folder" else command.argv[0]
                raise OSError(int(number), os.strerror(int(number)), name)
        raise NotSupervised("the supervisor exited without an answer")

    def _answer(self) -> str:
        """The first line of the answer; more may follow it, because the agent may already have exited."""
        try:
            while b"\n" not in self._text:
                more = self._control.recv(4096)
                if not more:
                    return ""
                self._text += more
        except OSError as error:
            raise NotSupervised(f"no answer from the supervisor: {error}") from error
        line, _newline, self._text = self._text.partition(b"\n")
        return line.decode()

    def watch(self, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], object]) -> None:
        self._loop, self._on_exit = loop, on_exit
        loop.add_reader(self._control.fileno(), self._report)
        loop.call_soon(self._report)  # the exit may have arrived together with the start

    def unwatch(self) -> None:
        """Release the supervisor, which exits when it has no more children."""
        self.poll()
        if self._control.fileno() >= 0:
            if self._loop is not None:
                self._loop.remove_reader(self._control.fileno())
            self._control.close()

    def _report(self) -> None:
        """Call `on_exit`, once, after the command has exited."""
        self.poll()
        if self.ended and self._loop is not None and self._control.fileno() >= 0:
            self._loop.remove_reader(self._control.fileno())
            on_exit, self._on_exit = self._on_exit, _do_nothing
            on_exit()

    def poll(self, keep: bool = False) -> int | None:
        """The exit code; None while it runs, or if the supervisor was killed. From any thread."""
        with self._lock:
            if not self.ended:
                self._read()
                if self.ended and self._loop is not None:
                    with suppressed(_log, RuntimeError):  # the loop is closed: nothing waits any more
                        self._loop.call_soon_threadsafe(self._report)
            return self._exit_code

    def _read(self) -> None:
        try:
            while more := self._control.recv(4096):
                self._text += more
            self.ended = True
        except BlockingIOError:
            pass
        except OSError:  # closed, or reset by a supervisor that was killed
            self.ended = True
        if b"\n" in self._text:
            _word, code = self._text.split()
            self._exit_code, self.ended = int(code), True


class NotSupervised(Exception):
    """No supervisor is available on this system, or at this time."""


def _do_nothing() -> None:
    pass


def _ask(token: str, request: bytes, stdio: tuple[int, int, int]) -> socket.socket:
    if not sys.platform.startswith("linux"):
        raise NotSupervised("only Linux has child subreapers")
    control = guardian().supervisor(token)
    if control is None:
        raise NotSupervised("there is no guardian")
    control.settimeout(timeouts.get().supervisor_answer)
    try:
        socket.send_fds(control, [LENGTH.pack(len(request))], stdio)
        control.sendall(request)
    except OSError as error:
        control.close()
        raise NotSupervised(str(error)) from error
    return control


def _request(command: Command, token: str) -> bytes:
    if any(not name or "=" in name for name in command.env):
        raise ValueError("illegal environment variable name")
    environment = {**command.env, MARKER: token}
    return StartRequest(
        os.fsencode(command.cwd),
        _umask(),
        _limits(),
        tuple(map(os.fsencode, command.argv)),
        tuple(os.fsencode(f"{name}={value}") for name, value in environment.items()),
    ).encode()


def _umask() -> int:
    """Read the umask without setting it, as os.umask would: other threads may be creating files."""
    with suppressed(_log, OSError), open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def _limits() -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    with contextlib.suppress(ValueError):  # there is no resource with that number
        while True:
            found.append(resource.getrlimit(len(found)))
    return tuple(found)


def _pipes(talks: bool, on_failure: contextlib.ExitStack) -> Stdio:
    """Make the pipes. `on_failure` closes our ends; the caller closes those of the child."""
    with contextlib.ExitStack() as theirs:

        def pipe(mode: Literal["rb", "wb"]) -> tuple[IO[bytes], int]:
            read, write = os.pipe()
            mine, other = (read, write) if mode == "rb" else (write, read)
            theirs.callback(os.close, other)
            return on_failure.enter_context(os.fdopen(mine, mode, buffering=0)), other

        stdout, their_stdout = pipe("rb")
        if talks:
            stdin, their_stdin = pipe("wb")
            stderr, their_stderr = pipe("rb")
            made = Stdio(stdin, stdout, stderr, (their_stdin, their_stdout, their_stderr))
        else:
            made = Stdio(None, stdout, None, (os.open(os.devnull, os.O_RDWR), their_stdout, their_stdout))
        theirs.pop_all()
    return made
