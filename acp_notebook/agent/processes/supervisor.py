"""The parent process of one agent or command, and of every orphan below it (Linux only).

Runs in a process that the guardian forks for each start, and imports only the standard library. It never sees
what the agent says: stdin, stdout and stderr go straight to the kernel.

Why it exists: a process that leaves its session, clears its environment and loses its parent
(`(setsid env -i … &)`) is reparented to init, and nothing connects it with the agent any more. A parent that
is a "child subreaper" (prctl(2)) adopts such orphans instead. The setting applies to descendants only, so
without a supervisor the kernel would have to set it, and would then adopt the orphans of all its children.

The supervisor ends no process. The kernel, or the guardian after the kernel's death, finds the children of
the supervisor in the process table and ends them. The supervisor exits when the kernel has released it and it
has no more children.

The control socket
------------------
1. kernel → supervisor: a length, the fields of a `StartRequest` separated by NUL, and three file descriptors.
2. supervisor → kernel: `started PID START SUPERVISOR SUPERVISOR_START`, or `failed ERRNO WHERE`.
3. supervisor → kernel: `exited CODE`, negative for a signal.
4. The kernel closes its end: it has released the supervisor.
"""

from __future__ import annotations

import array
import errno
import functools
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from .guardian import IGNORED, start_of

PR_SET_CHILD_SUBREAPER = 36
"""From <linux/prctl.h>."""

LENGTH = struct.Struct("!I")

EXEC_FAILED = 127
"""What a shell returns for a command that it cannot start. Nothing reads it: the reason is sent instead."""


class StartRequest(NamedTuple):
    """What to start, with everything that a direct child of the kernel would inherit."""

    cwd: bytes
    umask: int
    limits: tuple[tuple[int, int], ...]
    """Soft and hard limits, by the number of the resource."""
    argv: tuple[bytes, ...]
    environment: tuple[bytes, ...]
    """As NAME=value."""

    def encode(self) -> bytes:
        limits = " ".join(f"{soft} {hard}" for soft, hard in self.limits)
        head = (self.cwd, b"%d" % self.umask, limits.encode(), b"%d" % len(self.argv))
        fields = (*head, *self.argv, *self.environment)
        if any(b"\0" in field for field in fields):
            raise ValueError("embedded null byte")
        return b"\0".join(fields)


def decode(data: bytes) -> StartRequest:
    cwd, umask, limits, count, *rest = data.split(b"\0")
    numbers = [int(number) for number in limits.split()]
    pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    argv, environment = rest[: int(count)], rest[int(count) :]
    return StartRequest(cwd, int(umask), pairs, tuple(argv), tuple(environment))


def supervise(control: int, kernel: int | None) -> NoReturn:
    """Run the forked process until it exits. `kernel`: a pidfd of the kernel."""
    try:
        _release_guardian()
        prctl()(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        with socket.socket(fileno=control) as connection:
            received = receive(connection)
            if received is not None:
                _run(connection, *received, kernel)
    except BaseException:  # in any case, the guardian's own code must not continue in this process
        os._exit(1)
    os._exit(0)


def _release_guardian() -> None:
    """Replace stdin, which is the guardian's connection to the kernel."""
    os.dup2(1, 0)


@functools.cache
def prctl() -> Callable[..., int]:
    """prctl(2), looked up once, in the guardian: importing ctypes takes longer than the rest of a start."""
    import ctypes

    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function


def receive(connection: socket.socket) -> tuple[StartRequest, list[int]] | None:
    """The request and the agent's stdin, stdout and stderr; None if the kernel has given up."""
    stdio = array.array("i")
    space = socket.CMSG_SPACE(3 * stdio.itemsize)
    head, ancillary, _flags, _address = connection.recvmsg(LENGTH.size, space)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            stdio.frombytes(data[: len(data) - len(data) % stdio.itemsize])
    for descriptor in stdio:
        os.set_inheritable(descriptor, False)
    head += _exactly(connection, LENGTH.size - len(head))
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    payload = _exactly(connection, length)
    return (decode(payload), list(stdio)) if len(payload) == length and _wanted(connection) else None


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length and (more := connection.recv(length - len(data))):
        data += more
    return bytes(data)


def _wanted(connection: socket.socket) -> bool:
    """Whether the kernel is still waiting for the answer."""
    try:
        return connection.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True


def _run(connection: socket.socket, request: StartRequest, stdio: list[int], kernel: int | None) -> None:
    woken = _wake_at_exits()
    agent = _start(connection, request, stdio)
    poller = select.poll()
    for watched in (woken, connection.fileno(), kernel):
        if watched is not None:
            poller.register(watched, select.POLLIN)
    released = agent is None
    while _reap(connection, agent) or not released:
        for descriptor, _events in poller.poll():
            if descriptor == woken:
                os.read(woken, 4096)
            else:
                released = True
                poller.unregister(descriptor)


def _wake_at_exits() -> int:
    """A file descriptor that becomes readable when a child has exited."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


def _start(connection: socket.socket, request: StartRequest, stdio: list[int]) -> int | None:
    """Start the agent and return its pid; on failure, report the reason to the kernel and return None."""
    errors, problem = os.pipe()  # closed by a successful exec
    try:
        pid = os.fork()
    except OSError as error:  # the user's process limit is reached
        _say(connection, f"failed {error.errno} fork")
        return None
    if pid == 0:
        _become(request, stdio, problem)
    # Before the kernel learns of the start: only the agent may hold these.
    for descriptor in (problem, *stdio):
        os.close(descriptor)
    failure = os.read(errors, 100)
    os.close(errors)
    if failure:
        _say(connection, f"failed {failure.decode()}")
        return None
    me = os.getpid()
    if not _say(connection, f"started {pid} {start_of(pid)} {me} {start_of(me)}"):
        os.kill(pid, signal.SIGKILL)  # the kernel has given up and will not end it
    return pid


def _become(request: StartRequest, stdio: list[int], problem: int) -> NoReturn:
    """In the forked child: set up everything as if the kernel had started it, then exec."""
    where = "command"
    try:
        os.setsid()
        for target, descriptor in enumerate(stdio):
            os.dup2(descriptor, target)
        signal.set_wakeup_fd(-1)
        for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(request.umask)
        _limit(request.limits)
        where = "folder"
        os.chdir(request.cwd)
        where = "command"
        _execute(request)
    except OSError as error:
        os.write(problem, f"{error.errno} {where}".encode())
    finally:
        os._exit(EXEC_FAILED)


def _limit(limits: tuple[tuple[int, int], ...]) -> None:
    for number, pair in enumerate(limits):
        if resource.getrlimit(number) != pair:
            resource.setrlimit(number, pair)


def _execute(request: StartRequest) -> None:
    """Execute the command, looked up like in `subprocess`: on the PATH of the new environment."""
    environment = dict(entry.split(b"=", 1) for entry in request.environment)
    command = request.argv[0]
    found: OSError | None = None
    path = environment.get(b"PATH", os.fsencode(os.defpath))
    for folder in [b""] if b"/" in command else path.split(b":"):
        try:
            os.execve(os.path.join(folder, command), request.argv, environment)
        except (FileNotFoundError, NotADirectoryError) as error:
            missing = error
        except OSError as error:
            found = found or error
    raise found or missing


def _reap(connection: socket.socket, agent: int | None) -> bool:
    """Collect the exit codes of all children that have exited; return whether any child is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        if pid == agent:
            _say(connection, f"exited {os.waitstatus_to_exitcode(status)}")


def _say(connection: socket.socket, line: str) -> bool:
    """Send a line to the kernel; return False if the kernel has closed its end."""
    try:
        connection.sendall(line.encode() + b"\n", socket.MSG_NOSIGNAL)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ECONNRESET):
            raise
        return False
    return True
