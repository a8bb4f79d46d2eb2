"""All processes of an agent: find them, signal them; run as a script, outlive the kernel to do it.

Knows nothing of the package (standard library only: the guardian is this very file, run by its path and
isolated), nothing of pipes or protocols, and never who else runs on the machine: what is not provably a
relative of the agent is not touched. `guard.py` starts the script; `process.py` uses `Tree` by itself.

Who is a relative
-----------------
1. Whoever bears the agent's token in the marker variable of its environment. The token is random, so this
   is proof by itself; it finds daemons whose parents are long dead.
2. Children of a relative.
3. Whoever shares a session with a relative. The agent is started in a session of its own, and a process
   can only leave a session by making a new one: every session with a relative in it was made by one.
   (A process group lies within one session, so groups add nothing.)
4. Whoever was a relative before: a process id together with its start time is never used twice.

The agent's process id is also the number of its session, and stays taken while the agent is unreaped or
the session has a member. After that it may be reused, so the *number* alone counts only up to the first
look that finds the agent gone: an instant ago it still held it, and ids are given out in a circle.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MARKER = "ACP_NOTEBOOK_AGENT"
"""The environment variable that every process of an agent inherits; its value is the agent's token."""

TOKEN_LENGTH = 32
"""Digits of a token: nobody else has it by chance."""

GUARDIAN_TOKEN = "guardian"
"""The guardian's own value of it: nobody's relative, even below an agent that runs a kernel of its own."""

TERM_GRACE_S = 1.0
"""The kernel is gone and nobody waits for the agents' last words: shorter than in an orderly close."""

QUIET_S = 0.5
"""How long nothing may be seen before the guardian is done: an agent that was being started when the
kernel was killed bears its token only after its exec."""

END_S = 10.0
"""When the guardian gives up: what SIGKILL did not end by then hangs in the operating system."""

LOOK_S = 0.05
"""Between two looks: processes need about that long to end."""

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Whoever ends the kernel by signalling all around it must not end the guardian first."""

PARENT_POLL_MS = 500
"""Only where there is no pidfd: how soon the kernel's death is seen."""


class Process(NamedTuple):
    """One row of the process table."""

    pid: int
    parent: int
    session: int
    start: str
    """When it started, in whatever unit: with the pid, an identity."""
    alive: bool
    """False for a zombie: it holds its pid, but there is nothing left to end."""
    token: str


Table = Mapping[int, Process]


# ---- the process table


def snapshot() -> dict[int, Process]:
    """Every process that we can see."""
    return _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()


def start_of(pid: int) -> str:
    """When that process started, or "" when there is none."""
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
    # A "zombie" with threads is a process whose main thread ended before the others: it lives.
    alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
    token = _token_in(b"\0" + _read(f"/proc/{pid}/environ"))
    return Process(pid, int(fields[1]), int(fields[3]), fields[19].decode(), alive, token)


def _stat_fields(stat: bytes) -> list[bytes]:
    """The fields from the third on (proc(5)); the second, the name, may hold blanks and brackets."""
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
    except OSError:  # ended meanwhile, or another user's
        return b""


def _from_ps() -> dict[int, Process]:
    """macOS. It shows no environment of its own tools (/bin/sh), so there the token is not found."""
    rows = _ps("-axo", "pid=,ppid=,stat=,lstart=")
    return parse_ps(rows, _ps("-axEwwo", "pid=,command="))


def parse_ps(rows: str, commands: str) -> dict[int, Process]:
    """The table from `ps` output: `pid ppid stat lstart` rows, and `pid command environment` rows."""
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
        return os.getsid(pid)  # `ps -o sess` shows an address of the system's there
    except OSError:
        return 0


def _ps(*arguments: str) -> str:
    import subprocess  # here, because the guardian needs it on macOS only, and it is half of its start

    # Start times are compared as text between processes: one language, one time zone.
    environment = {"LC_ALL": "C", "TZ": "UTC", MARKER: GUARDIAN_TOKEN}
    command = ["/bin/ps", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    return done.stdout.decode("utf-8", "replace")


# ---- who is a relative


def relatives(table: Table, seeds: Iterable[int]) -> set[int]:
    """The seeds, their descendants, and all who share a session with any of these; never a bystander."""
    spared = bystanders(table)
    found = set(seeds) - spared
    while True:
        # Session 0 is "led from outside of this container": who is in it has nothing in common.
        sessions = {table[pid].session for pid in found} - {0}
        more = (
            {
                process.pid
                for process in table.values()
                if process.parent in found or process.session in sessions
            }
            - found
            - spared
        )
        if not more:
            return found
        found |= more


def bystanders(table: Table) -> set[int]:
    """Those who cannot be relatives, whatever the evidence: ourselves, our ancestors, all of our session
    (an agent has left it before its first instruction), init, and guardians."""
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
    """The processes of one agent, looked up anew each time: they fork and end while we look."""

    def __init__(self, token: str, pid: int = 0, start: str = "") -> None:
        if len(token) < TOKEN_LENGTH:
            # Not a formality: an empty token would be borne by every process of the machine.
            raise ValueError("the token of an agent must be long and random: use new_token()")
        self._owner = os.getpid()
        self._token = token
        self._root = pid
        self._known = {(pid, start)}
        self._session_is_ours = pid > 0

    def look(self, table: Table | None = None) -> list[Process]:
        """Those who are alive now."""
        table = snapshot() if table is None else table
        found = [table[pid] for pid in relatives(table, self._seeds(table))]
        self._known.update((process.pid, process.start) for process in found)
        return [process for process in found if process.alive]

    def _seeds(self, table: Table) -> list[int]:
        root = table.get(self._root)
        if root is not None and (root.pid, root.start) not in self._known:
            self._session_is_ours = False  # another process has the number now
        seeds = [process.pid for process in table.values() if self._is_seed(process)]
        if root is None:
            self._session_is_ours = False  # from the next look on
        return seeds

    def _is_seed(self, process: Process) -> bool:
        return (
            process.token == self._token
            or (process.pid, process.start) in self._known
            or (self._session_is_ours and process.session == self._root)
        )

    def signal(self, number: int, table: Table | None = None) -> int:
        """Send a signal to all who are alive; returns how many there were.

        A forked copy of the owner (os.fork, multiprocessing) has this object too, and touches nobody.
        """
        if os.getpid() != self._owner:
            return 0
        living = self.look(table)
        for process in living:
            send(process, number)
        return len(living)


def send(process: Process, number: int) -> None:
    """Signal exactly that process: never another one that got its pid in the meantime."""
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
        pass  # it ended by itself, or it became another user's (sudo)
    finally:
        if handle is not None:
            os.close(handle)


# ---- the guardian: `python -I -S guardian.py KERNEL_PID`, told on stdin what to watch


class Orders:
    """What the kernel wants watched, kept from the lines that it writes.

    `watch TOKEN` comes before the agent is started, `watch TOKEN PID START` after, `forget TOKEN` when
    nothing of it is left.
    """

    def __init__(self) -> None:
        self.trees: dict[str, Tree] = {}
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._obey(line.decode("ascii", "replace").split(" ", 3))

    def _obey(self, words: list[str]) -> None:
        match words:
            case ["watch", token] if len(token) >= TOKEN_LENGTH:
                self.trees[token] = Tree(token)
            case ["watch", token, pid, start] if len(token) >= TOKEN_LENGTH:
                self.trees[token] = Tree(token, int(pid), start)
            case ["forget", token]:
                self.trees.pop(token, None)


def listen(kernel: int, pipe: int, orders: Orders) -> None:
    """Take orders until the kernel is gone or has closed the pipe.

    Both are watched: a worker that the user forked may hold the pipe open long after the kernel's death.
    """
    os.set_blocking(pipe, False)
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    handle = _pidfd(kernel)
    if handle is not None:
        poller.register(handle, select.POLLIN)
    more = True
    while more and os.getppid() == kernel:
        ready = poller.poll(None if handle is not None else PARENT_POLL_MS)
        more = _take(pipe, orders) and not any(descriptor == handle for descriptor, _ in ready)
    _take(pipe, orders)  # what the kernel wrote just before its end


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _take(pipe: int, orders: Orders) -> bool:
    """Read what there is; False at the end of the pipe."""
    while True:
        try:
            data = os.read(pipe, 65536)
        except BlockingIOError:
            return True
        if not data:
            return False
        orders.feed(data)


def end_all(trees: Iterable[Tree]) -> None:
    """SIGTERM, a short grace, then SIGKILL until nothing is seen for a while."""
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
    orders = Orders()
    listen(kernel, 0, orders)
    if orders.trees:
        end_all(orders.trees.values())


if __name__ == "__main__":
    main(int(sys.argv[1]))
