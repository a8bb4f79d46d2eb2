"""Find and signal all processes of an agent; run as a script, survive the kernel to do so.

Imports only the standard library (the guardian is this file, run in isolation) and is independent of pipes
and protocols. It never touches a process that is not provably a relative of the agent. `guardian_client.py`
starts the script; `process_transport.py` uses `Tree` directly.

Who is a relative
-----------------
1. A process with the agent's token in the marker variable of its environment. The token is random, so this
   alone is proof; it finds daemons whose parents are long dead.
2. Children of a relative.
3. A process that shares a session with a relative. The agent is started in its own session, and a process
   can only leave a session by making a new one: every session with a relative in it was made by one.
   (A process group lies within one session, so groups add nothing.)
4. A process that was a relative before: a process id together with its start time is never used twice.
5. Children of the agent's supervisor (`supervisor.py`, Linux): orphans end up there, whatever they did to
   their session and their environment.

The agent's process id is also the id of its session, and is not reused while the agent is unreaped or the
session has a member. After that it may be reused, so the *number* alone counts only up to the first look that
finds the agent gone: it was the agent's an instant ago, and ids are assigned in a cycle.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

MARKER = "ACP_NOTEBOOK_AGENT"
"""The environment variable that every process of an agent inherits; its value is the agent's token."""

TOKEN_LENGTH = 32
"""Hexadecimal digits of a token: too many for a collision."""

GUARDIAN_TOKEN = "guardian"
"""The marker's value for guardians and their supervisors: they are never relatives, even below an agent that
runs its own kernel. They exit when they have nothing more to do."""

TERM_GRACE_S = 1.0
"""Shorter than in an orderly close: the kernel is gone, and nothing waits for the agents' last output."""

QUIET_S = 0.5
"""How long no process may be found before the guardian exits: an agent that was being started when the kernel
was killed has its token only after its exec."""

END_S = 10.0
"""When the guardian gives up: a process that SIGKILL has not ended by then hangs in the operating system."""

LOOK_S = 0.05
"""The time between two looks: processes need about that long to exit."""

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A signal that ends the kernel and everything around it must not end the guardian first."""

PARENT_POLL_MS = 500
"""How soon the kernel's death is noticed, where there is no pidfd."""


class Process(NamedTuple):
    """One row of the process table."""

    pid: int
    parent: int
    session: int
    start: str
    """When it started, in any unit: identifies a process together with its pid."""
    alive: bool
    """False for a zombie, which keeps its pid, but has nothing left to end."""
    token: str


Table = Mapping[int, Process]


# ---- the process table


def snapshot() -> dict[int, Process]:
    """Every process that we can see."""
    return _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()


def start_of(pid: int) -> str:
    """When that process started; "" if there is none."""
    if os.path.exists("/proc/self/stat"):
        stat = _read(f"/proc/{pid}/stat")
        return _stat_fields(stat)[19].decode() if stat else ""
    return _ps("-p", str(pid), "-o", "lstart=").strip()


def _from_proc() -> dict[int, Process]:
    found = (_proc_row(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def _proc_row(pid: int) -> Process | None:
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    fields = _stat_fields(stat)
    # A "zombie" with threads is a process whose main thread ended before the others: it is alive.
    alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
    token = _token_in(b"\0" + _read(f"/proc/{pid}/environ"))
    return Process(pid, int(fields[1]), int(fields[3]), fields[19].decode(), alive, token)


def _stat_fields(stat: bytes) -> list[bytes]:
    """The fields from the third on (proc(5)); the second, the name, may contain blanks and parentheses."""
    return stat[stat.rindex(b")") + 2 :].split()


def new_token() -> str:
    return os.urandom(TOKEN_LENGTH // 2).hex()


def _token_in(environment: bytes) -> str:
    _before, marker, after = environment.partition(b"\0" + MARKER.encode() + b"=")
    return after.partition(b"\0")[0].decode("ascii", "replace") if marker else ""


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError:  # the process has just exited, or belongs to another user
        return b""


def _from_ps() -> dict[int, Process]:
    """For macOS, which hides the environment of its own tools (/bin/sh), so that their token is not found."""
    rows = _ps("-axo", "pid=,ppid=,stat=,lstart=")
    return parse_ps(rows, _ps("-axEwwo", "pid=,command="))


def parse_ps(rows: str, commands: str) -> dict[int, Process]:
    """Build the table from `ps` output: `pid ppid stat lstart` rows and `pid command environment` rows."""
    import re

    tokens: dict[int, str] = {}
    for line in commands.splitlines():
        if match := re.match(rf"\s*(\d+)\s.*?\s{MARKER}=(\S*)", line):
            tokens[int(match[1])] = match[2]
    table: dict[int, Process] = {}
    for line in rows.splitlines():
        pid_text, parent, stat, start = line.split(None, 3)
        pid = int(pid_text)
        table[pid] = Process(
            pid, int(parent), _session(pid), start.strip(), stat[0] != "Z", tokens.get(pid, "")
        )
    return table


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)  # `ps -o sess` shows a kernel address there
    except OSError:
        return 0


def _ps(*arguments: str) -> str:
    import subprocess  # here, because only macOS needs it, and importing it doubles the guardian's start time

    # Start times are compared as text between processes, so all need the same language and time zone.
    environment = {"LC_ALL": "C", "TZ": "UTC", MARKER: GUARDIAN_TOKEN}
    command = ["/bin/ps", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    return done.stdout.decode("utf-8", "replace")


# ---- who is a relative


def relatives(table: Table, seeds: Iterable[int]) -> set[int]:
    """The seeds, their descendants, and all that share a session with any of these; never a bystander.

    A guardian below an agent is not a relative, but the children of its supervisors are.
    """
    helpers = {process.pid for process in table.values() if process.token == GUARDIAN_TOKEN}
    spared = bystanders(table)
    strangers = spared - (helpers - {os.getpid()})
    reached = set(seeds) - strangers
    while True:
        # Session 0 means "led from outside of this container": its members have nothing in common.
        sessions = {table[pid].session for pid in reached - helpers} - {0}
        more = (
            {
                process.pid
                for process in table.values()
                if process.parent in reached or process.session in sessions
            }
            - reached
            - strangers
        )
        if not more:
            return reached - spared
        reached |= more


def bystanders(table: Table) -> set[int]:
    """Processes that cannot be relatives, whatever the evidence: this one, its ancestors, its whole session
    (an agent leaves it before its first instruction), init, and guardians."""
    spared = {0, 1, os.getpid()}
    spared.update(process.pid for process in table.values() if process.token == GUARDIAN_TOKEN)
    me = table.get(os.getpid())
    if me is not None:
        spared.update(process.pid for process in table.values() if process.session == me.session)
    ancestor = me
    while ancestor is not None and ancestor.parent != ancestor.pid:
        spared.add(ancestor.pid)
        ancestor = table.get(ancestor.parent)
    return spared


class Tree:
    """Finds and signals the processes of one agent; looks them up each time, because they fork and exit."""

    def __init__(self, token: str, pid: int = 0, start: str = "") -> None:
        if len(token) < TOKEN_LENGTH:
            # Essential: an empty token would match every process on the machine.
            raise ValueError("the token of an agent must be long and random: use new_token()")
        self._owner = os.getpid()
        self._token = token
        self._root = pid
        self._known = {(pid, start)}
        self._session_is_ours = pid > 0
        self.supervisor: tuple[int, str] | None = None
        """The supervisor's pid and start time."""

    def look(self, table: Table | None = None) -> list[Process]:
        """The processes that are alive now."""
        table = snapshot() if table is None else table
        found = [table[pid] for pid in relatives(table, self._seeds(table))]
        self._known.update((process.pid, process.start) for process in found)
        return [process for process in found if process.alive]

    def _seeds(self, table: Table) -> list[int]:
        root = table.get(self._root)
        if root is not None and (root.pid, root.start) not in self._known:
            self._session_is_ours = False  # another process has this pid now
        parent = self._supervisor_in(table)
        seeds = [
            process.pid for process in table.values() if process.parent == parent or self._is_seed(process)
        ]
        if root is None:
            self._session_is_ours = False  # from the next look on
        return seeds

    def _supervisor_in(self, table: Table) -> int:
        """The supervisor's pid if it is alive, else -1."""
        if self.supervisor is None:
            return -1
        pid, start = self.supervisor
        return pid if pid in table and table[pid].start == start else -1

    def _is_seed(self, process: Process) -> bool:
        return (
            process.token == self._token
            or (process.pid, process.start) in self._known
            or (self._session_is_ours and process.session == self._root)
        )

    def signal(self, number: int, table: Table | None = None) -> int:
        """Send a signal to all processes that are alive; return how many there were.

        Does nothing in a forked copy of the owner (os.fork, multiprocessing), which has this object, too.
        """
        if os.getpid() != self._owner:
            return 0
        living = self.look(table)
        for process in living:
            send(process, number)
        return len(living)


def send(process: Process, number: int) -> None:
    """Signal exactly this process, never another one that has since got its pid."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # macOS, an old Linux, a sandbox, no file descriptor left
        handle = None
    try:
        if start_of(process.pid) != process.start:
            return
        if handle is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        pass  # it has exited, or now belongs to another user (sudo)
    finally:
        if handle is not None:
            os.close(handle)


# ---- the guardian: `main(KERNEL_PID)` in a separate process, which reads on stdin (a socket) what to watch


class Orders:
    """Reads the kernel's orders, line by line, and keeps what it wants watched.

    `watch TOKEN` comes before the agent is started; `watch TOKEN PID START` and `supervisor TOKEN PID START`
    after; `forget TOKEN` when none of its processes is left. `supervise TOKEN` comes with a file descriptor,
    the control socket of a new supervisor.
    """

    def __init__(self, supervise: Callable[[int], tuple[int, str] | None] = lambda control: None) -> None:
        """`supervise` starts a supervisor and returns its pid and start time."""
        self.trees: dict[str, Tree] = {}
        self._supervise = supervise
        self._rest = b""
        self._descriptors: list[int] = []

    def feed(self, data: bytes, descriptors: Iterable[int] = ()) -> None:
        self._descriptors += descriptors
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._obey(line.decode("ascii", "replace").split(" ", 3))

    def _obey(self, words: list[str]) -> None:
        match words:
            case ["watch", token] if len(token) >= TOKEN_LENGTH:
                self.trees[token] = Tree(token)
            case ["watch", token, pid, start] if len(token) >= TOKEN_LENGTH:
                self.trees[token] = Tree(token, int(pid), start)
            case ["supervisor", token, pid, start] if token in self.trees:
                self.trees[token].supervisor = (int(pid), start)
            case ["forget", token]:
                self.trees.pop(token, None)
            case ["supervise", token] if self._descriptors and token in self.trees:
                self.trees[token].supervisor = self._supervise(self._descriptors.pop(0))


def listen(kernel: int, handle: int | None, orders: Orders, connection: socket.socket) -> None:
    """Read orders until the kernel is gone or has closed the pipe.

    Watches both: a worker that the user forked may keep the pipe open long after the kernel's death.
    """
    connection.setblocking(False)
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    if handle is not None:
        poller.register(handle, select.POLLIN)
    more = True
    while more and os.getppid() == kernel:
        ready = poller.poll(None if handle is not None else PARENT_POLL_MS)
        more = _read_orders(connection, orders) and not any(descriptor == handle for descriptor, _ in ready)
    _read_orders(connection, orders)  # what the kernel wrote just before its end


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _read_orders(connection: socket.socket, orders: Orders) -> bool:
    """Read what is available; return False at the end of the stream."""
    while True:
        try:
            data, descriptors, _flags, _address = socket.recv_fds(connection, 65536, 16)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        if not data:
            return False
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        orders.feed(data, descriptors)


def fork_supervisor(control: int, kernel: int | None) -> tuple[int, str] | None:
    """Fork a supervisor with this socket; if that fails, the kernel sees the socket closed."""
    from .supervisor import supervise

    _reap_supervisors()
    try:
        pid = os.fork()
    except OSError:  # the user's process limit is reached
        return None
    else:
        if pid == 0:
            supervise(control, kernel)
        return pid, start_of(pid)
    finally:
        os.close(control)


def _reap_supervisors() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


def end_all(trees: Iterable[Tree]) -> None:
    """Send SIGTERM, wait a short time, then send SIGKILL until no process is found for QUIET_S."""
    trees = list(trees)
    table = snapshot()
    for tree in trees:
        tree.signal(signal.SIGTERM, table)
    begin = seen = time.monotonic()
    while (now := time.monotonic()) - seen < QUIET_S and now - begin < END_S:
        time.sleep(LOOK_S)
        table = snapshot()
        if now - begin < TERM_GRACE_S:
            left = sum(len(tree.look(table)) for tree in trees)
        else:
            left = sum(tree.signal(signal.SIGKILL, table) for tree in trees)
        if left:
            seen = time.monotonic()


def main(kernel: int) -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    handle = _pidfd(kernel)
    if sys.platform.startswith("linux"):
        from .supervisor import prctl

        prctl()
    orders = Orders(lambda control: fork_supervisor(control, handle))
    with socket.socket(fileno=0) as connection:
        listen(kernel, handle, orders, connection)
    if orders.trees:
        end_all(orders.trees.values())
