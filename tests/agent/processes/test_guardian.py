"""When the kernel is killed, the guardian ends everything that an agent started, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.agent.processes import guardian, guardian_client
from acp_notebook.agent.processes.guardian import (
    GUARDIAN_TOKEN,
    Orders,
    Process,
    Tree,
    parse_ps,
    relatives,
    snapshot,
)
from tests.agent.process_helpers import ROOT, WAIT_S, ended_at_last, is_running, wait_gone, wait_until

# Random: two runs of these tests at once must not end each other's processes.
T, T1, T2, T3 = (guardian.new_token() for _ in range(4))

# ---- who belongs to a tree: decided on a table, no processes needed


def table(*rows: tuple[int, int, int, str, str]) -> dict[int, Process]:
    """Rows of pid, parent, session, start, token."""
    return {row[0]: Process(row[0], row[1], row[2], row[3], True, row[4]) for row in rows}


def pids(found: list[Process]) -> set[int]:
    return {process.pid for process in found}


def test_a_tree_is_descendants_session_members_and_token_holders() -> None:
    everybody = table(
        (100, 50, 100, "t1", T),
        (101, 100, 100, "t2", ""),  # a child
        (102, 1, 100, "t3", ""),  # of the session, its parent dead
        (103, 101, 103, "t4", ""),  # a grandchild in its own session
        (104, 1, 103, "t5", ""),  # of that session
        (105, 1, 105, "t6", T),  # a daemon
        (106, 105, 105, "t7", ""),
        (200, 50, 200, "t1", "other"),
        (201, 1, 201, "t1", ""),
        (50, 1, 50, "t0", ""),
    )
    assert pids(Tree(T, 100, "t1").look(everybody)) == {100, 101, 102, 103, 104, 105, 106}
    assert pids(Tree(T).look(everybody)) == {100, 101, 102, 103, 104, 105, 106}


def test_a_pid_that_was_reused_is_not_touched() -> None:
    reused = table((100, 1, 100, "later", ""), (101, 100, 100, "later", ""))
    assert Tree(T, 100, "t1").look(reused) == []


def test_the_session_id_counts_only_until_the_agent_is_gone() -> None:
    tree = Tree(T, 100, "t1")
    assert pids(tree.look(table((102, 1, 100, "t3", "")))) == {102}
    # 103 came later, but shares the session with a known member of the tree.
    assert pids(tree.look(table((102, 1, 100, "t3", ""), (103, 1, 100, "t4", "")))) == {102, 103}
    assert tree.look(table()) == []
    assert tree.look(table((104, 1, 100, "t9", ""))) == []  # the pid, reused by another process


def test_a_known_relative_is_recognised_by_its_start_time() -> None:
    tree = Tree(T, 100, "t1")
    tree.look(table((100, 1, 100, "t1", ""), (101, 100, 101, "t2", "")))
    assert pids(tree.look(table((101, 1, 101, "t2", "")))) == {101}
    assert tree.look(table((101, 1, 101, "later", ""))) == []


def test_guardians_our_session_and_our_ancestors_belong_to_no_tree() -> None:
    me = os.getpid()
    everybody = table(
        (1, 0, 1, "t0", T),
        (60, 1, 60, "t0", T),  # one of our ancestors
        (me, 60, 77, "t0", T),
        (104, 1, 77, "t5", T),  # of our own session
        (100, me, 100, "t1", T),
        (101, 100, 101, "t2", GUARDIAN_TOKEN),  # of a kernel that runs below an agent
        (102, 1, 0, "t3", T),
        (103, 1, 0, "t4", ""),  # session 0: outside of the container
    )
    assert relatives(everybody, everybody.keys() - {103}) == {100, 102}


def test_zombies_need_not_be_ended() -> None:
    zombie = Process(100, 1, 100, "t1", False, "")
    child = Process(101, 100, 100, "t2", True, "")
    assert Tree(T, 100, "t1").look({100: zombie, 101: child}) == [child]


def test_this_machines_process_table_contains_us() -> None:
    me = snapshot()[os.getpid()]
    assert (me.parent, me.session, me.alive) == (os.getppid(), os.getsid(0), True)
    assert me.start == guardian.start_of(me.pid)
    assert guardian.start_of(2**22 + 1) == ""


def test_the_output_of_ps_is_understood() -> None:
    me = os.getpid()
    rows = f"    1     0 Ss   Mon Nov  2 09:00:00 2026    \n{me} 1 Z+   Mon Nov  2 09:01:02 2026\n"
    commands = f"    1 /sbin/launchd\n{me} node agent.js A=1 ACP_NOTEBOOK_AGENT=0123abc HOME=/home/me\n"
    found = parse_ps(rows, commands)
    assert found[me] == Process(me, 1, os.getsid(0), "Mon Nov  2 09:01:02 2026", False, "0123abc")
    assert found[1].alive
    assert found[1].token == ""


@pytest.mark.skipif(not os.path.exists("/bin/ps"), reason="needs ps")
def test_ps_and_proc_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    by_ps = parse_ps(guardian._ps("-axo", "pid=,ppid=,stat=,lstart="), "")
    me = by_ps[os.getpid()]
    assert (me.parent, me.session, me.alive) == (os.getppid(), os.getsid(0), True)


@pytest.mark.parametrize("token", ["", "short", GUARDIAN_TOKEN])
def test_a_guessable_token_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="long and random"):
        Tree(token)


def test_new_tokens_are_long_and_unique() -> None:
    assert len({guardian.new_token() for _ in range(100)}) == 100
    Tree(guardian.new_token())


# ---- signals go to the right process only


@contextlib.contextmanager
def sleeper(token: str = "") -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, guardian.MARKER: token} if token else None
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True); import time; time.sleep(600)"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # its environment can be read now
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("pidfd", [True, False])
def test_a_signal_reaches_the_process_and_not_another_with_its_pid(
    monkeypatch: pytest.MonkeyPatch, pidfd: bool
) -> None:
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    with sleeper() as process:
        row = snapshot()[process.pid]
        guardian.send(row._replace(start="long ago"), signal.SIGKILL)
        assert process.poll() is None
        guardian.send(row, signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM
        guardian.send(row, signal.SIGTERM)  # gone: no error


def test_a_process_is_found_by_its_token_alone() -> None:
    with sleeper(T1) as process, sleeper(T2) as other:
        assert Tree(T1).signal(signal.SIGKILL) == 1
        assert process.wait() == -signal.SIGKILL
        assert is_running(other.pid)


# ---- orders


def test_commands_are_read_from_lines_split_anywhere() -> None:
    orders = Orders()
    text = f"watch {T1}\nwatch {T2}\nwatch {T1} 12 Mon Nov  2\nnonsense\n"
    text += f"forget {T2}\nforget {T3}\nwatch \nwatch x\nwatch"
    for at in range(0, len(text), 7):
        orders.feed(text[at : at + 7].encode())
    assert list(orders.trees) == [T1]
    assert orders.trees[T1]._known == {(12, "Mon Nov  2")}


# ---- the kernel is killed

OWNER = """
import asyncio, json, os, re, sys, threading, time
from acp_notebook.agent.processes import guardian_client
from acp_notebook.agent.processes.process_transport import Command, ProcessTransport

AGENT = '''
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
print("pid", subprocess.Popen(sleep).pid, flush=True)
print("pid", subprocess.Popen(sleep, start_new_session=True).pid, flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print("pid", os.getpid(), flush=True)
    time.sleep(600)
os.wait()
print("pid", os.getpid(), flush=True)
if sys.argv[1] == "exits at EOF":
    sys.stdin.read()
while sys.argv[1] == "stays":
    time.sleep(60)
'''

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
transports = []

async def start(kind):
    output, full = bytearray(), asyncio.Event()
    def receive(data):
        output.extend(data)
        if len(re.findall(rb"pid \\d+\\n", output)) == 4:
            full.set()
    command = Command((sys.executable, "-I", "-S", "-c", AGENT, kind), "/", dict(os.environ))
    transport = ProcessTransport(command)
    transport.start(receive, lambda ending: None)
    transports.append(transport)
    await full.wait()
    return [int(pid) for pid in re.findall(rb"pid (\\d+)\\n", output)]

def on_loop(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

def report(**facts):
    print(json.dumps(facts), flush=True)

relatives = on_loop(start("stays")) + on_loop(start("exits at EOF"))
"""

REPORT = "report(relatives=relatives, guardian=guardian_client.guardian().pid)\nsys.stdin.read()\n"

FORK_WORKER = """
worker = os.fork()
if worker == 0:
    while True:
        time.sleep(60)
report(relatives=relatives, guardian=guardian_client.guardian().pid, worker=worker)
sys.stdin.read()
"""


@dataclass
class Owner:
    """A process that started agents, and its report about them."""

    process: subprocess.Popen[bytes]
    started: list[int]

    def report(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the owner died"
        facts: dict[str, Any] = json.loads(line)
        self.started += facts.get("relatives", [])
        self.started += [facts[name] for name in ("guardian", "worker") if name in facts]
        return facts

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()


@contextlib.contextmanager
def owner(script: str) -> Iterator[Owner]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    started: list[int] = []
    with process, ended_at_last(started):
        try:
            yield Owner(process, started)
        finally:
            process.kill()


def test_kill_9_of_the_kernel_leaves_nothing() -> None:
    with owner(OWNER + REPORT) as kernel:
        facts = kernel.report()
        assert all(map(is_running, facts["relatives"]))
        kernel.process.kill()
        wait_gone(*facts["relatives"], facts["guardian"])


def test_kill_9_of_the_kernels_whole_session_leaves_nothing() -> None:
    with owner(OWNER + REPORT) as kernel:
        facts = kernel.report()
        os.kill(facts["guardian"], signal.SIGTERM)
        os.kill(facts["guardian"], signal.SIGINT)
        os.kill(facts["guardian"], signal.SIGHUP)
        os.killpg(kernel.process.pid, signal.SIGKILL)
        wait_gone(*facts["relatives"], facts["guardian"])


def test_kill_9_of_the_kernel_while_a_forked_worker_holds_the_pipes() -> None:
    with owner(OWNER + FORK_WORKER) as kernel:
        facts = kernel.report()
        kernel.process.kill()
        wait_gone(*facts["relatives"], facts["guardian"])
        assert is_running(facts["worker"])


def test_a_kernel_that_ends_without_closing_leaves_nothing() -> None:
    with owner(OWNER + REPORT) as kernel:
        facts = kernel.report()
        kernel.go_on()
        wait_gone(kernel.process.pid, *facts["relatives"], facts["guardian"])


def test_the_guardian_ends_after_a_kernel_that_closed_everything() -> None:
    close = "for transport in transports: on_loop(transport.close())\n"
    with owner(OWNER + close + REPORT) as kernel:
        facts = kernel.report()
        assert not any(map(is_running, facts["relatives"]))
        assert is_running(facts["guardian"])
        kernel.go_on()
        wait_gone(facts["guardian"])


def test_a_forked_child_that_exits_leaves_its_parents_agents_alone() -> None:
    fork = """
import atexit
for transport in transports:
    atexit.register(transport.kill_now)
child = os.fork()
if child == 0:
    sys.exit(0)
_pid, status = os.waitpid(child, 0)
report(relatives=relatives, guardian=guardian_client.guardian().pid, status=status)
sys.stdin.read()
"""
    with owner(OWNER + fork) as kernel:
        facts = kernel.report()
        assert facts["status"] == 0
        assert all(map(is_running, [*facts["relatives"], facts["guardian"]]))
        kernel.go_on()
        wait_gone(*facts["relatives"], facts["guardian"])


def test_a_forked_child_gets_its_own_guardian() -> None:
    fork = """
child = os.fork()
if child == 0:
    loop = asyncio.new_event_loop()
    relatives = loop.run_until_complete(start("stays"))
    report(relatives=relatives, guardian=guardian_client.guardian().pid, worker=os.getpid())
    time.sleep(600)
report(relatives=relatives, guardian=guardian_client.guardian().pid, parent=os.getpid())
sys.stdin.read()
"""
    with owner(OWNER + fork) as kernel:
        reports = [kernel.report(), kernel.report()]
        child = next(facts for facts in reports if "worker" in facts)
        parent = next(facts for facts in reports if "parent" in facts)
        assert child["guardian"] != parent["guardian"]
        kernel.process.kill()
        wait_gone(*parent["relatives"], parent["guardian"])
        assert all(map(is_running, [*child["relatives"], child["guardian"]]))
        os.kill(child["worker"], signal.SIGKILL)
        wait_gone(*child["relatives"], child["guardian"])


def test_an_agent_below_an_agent_is_ended_with_it() -> None:
    """A kernel started by an agent: its guardian survives the end of the tree, and works."""
    with owner(OWNER + REPORT) as kernel:
        facts = kernel.report()
        tree = Tree(T, kernel.process.pid, guardian.start_of(kernel.process.pid))
        found = pids(tree.look())
        assert {kernel.process.pid, *facts["relatives"][:2]} <= found
        assert facts["guardian"] not in found
        tree.signal(signal.SIGKILL)
        wait_gone(*facts["relatives"], facts["guardian"])


def test_the_guardian_holds_no_files_or_variables_of_the_kernel() -> None:
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("needs /proc")
    with owner(OWNER + REPORT) as kernel:
        folder = Path(f"/proc/{kernel.report()['guardian']}")
        wait_until(lambda: len(list((folder / "fd").iterdir())) == 4, "it watches")
        targets = {link.name: os.readlink(link) for link in (folder / "fd").iterdir()}
        assert targets.pop("0").startswith("socket:")
        assert [targets[name] for name in "12"] == ["/dev/null", "/dev/null"]
        assert all("pidfd" in target for name, target in targets.items() if name not in "12")
        assert os.readlink(folder / "cwd") == "/"
        names = {line.partition(b"=")[0] for line in (folder / "environ").read_bytes().split(b"\0") if line}
        assert names <= {b"PATH", b"LD_LIBRARY_PATH", b"ACP_NOTEBOOK_AGENT"}


# ---- the guardian without pidfd

WITHOUT_PIDFD = """
import os, sys
vars(os).pop('pidfd_open', None)
sys.path.append(sys.argv[2])
from processes.guardian import main
main(int(sys.argv[1]))
"""


def test_without_pidfd_polling_notices_the_kernels_death() -> None:
    script = f"""
import json, os, socket, subprocess, sys
write, read = socket.socketpair()
write.set_inheritable(True)
holder = [sys.executable, "-c", "import time; time.sleep(600)"]
command = [sys.executable, "-I", "-S", "-c", {WITHOUT_PIDFD!r}, str(os.getpid()), {guardian_client.FOLDER!r}]
guardian = subprocess.Popen(command, stdin=read, start_new_session=True)
os.environ["ACP_NOTEBOOK_AGENT"] = {T!r}
sleeper = subprocess.Popen(holder, start_new_session=True)
del os.environ["ACP_NOTEBOOK_AGENT"]
worker = subprocess.Popen(holder, pass_fds=[write.fileno()])
write.send(b"watch {T}\\n")
print(json.dumps(dict(relatives=[sleeper.pid], guardian=guardian.pid, worker=worker.pid)), flush=True)
sys.stdin.read()
"""
    with owner(script) as kernel:
        facts = kernel.report()
        kernel.process.kill()
        wait_gone(*facts["relatives"], facts["guardian"])
        assert is_running(facts["worker"])


# ---- our end of it


@pytest.fixture
def ours() -> Iterator[guardian_client.Guardian]:
    guardian_of_test = guardian_client.Guardian()
    yield guardian_of_test
    guardian_of_test.drop()
    if guardian_of_test.pid is not None:
        wait_until(lambda: not guardian_of_test._is_alive(), "the guardian of this test is gone")


def test_closing_the_pipe_ends_the_watched_trees_and_the_guardian(ours: guardian_client.Guardian) -> None:
    with sleeper(T1) as watched, sleeper(T2) as forgotten:
        assert ours.watch(T1)
        assert ours.watch(T2)
        ours.forget(T2)
        ours.forget(T3)
        ours.drop()
        assert watched.wait() == -signal.SIGTERM
        wait_until(lambda: not ours._is_alive(), "the guardian is gone")
        assert forgotten.poll() is None


def test_a_guardian_ignores_signals_from_the_start(ours: guardian_client.Guardian) -> None:
    with sleeper(T1) as watched:
        assert ours.watch(T1)
        assert ours.pid is not None
        for number in guardian.IGNORED:
            os.kill(ours.pid, number)  # its interpreter is still starting
        ours.drop()
        assert watched.wait(WAIT_S) == -signal.SIGTERM


def test_starting_a_guardian_keeps_the_threads_signal_mask(ours: guardian_client.Guardian) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert ours.watch(T1)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_dead_guardian_is_restarted_and_gets_the_full_state(ours: guardian_client.Guardian) -> None:
    with sleeper(T1) as first, sleeper(T2) as second:
        assert ours.watch(T1)
        before = ours.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        wait_gone(before)
        ours.forget(T3)
        assert ours.watch(T2)
        assert ours.pid != before
        ours.drop()
        assert first.wait() == -signal.SIGTERM
        assert second.wait() == -signal.SIGTERM


def test_a_missing_guardian_is_reported_once_and_stops_nothing(
    ours: guardian_client.Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert not ours.watch(T1)
        assert not ours.watch(T2)
    assert ["no guardian process" in str(warning.message) for warning in said] == [True]
    assert ours.problem is not None
    assert "/no/such/python" in ours.problem
    monkeypatch.setattr(sys, "executable", "")
    assert not ours.watch(T1)  # with warnings as errors, as here, too
    monkeypatch.undo()
    assert ours.watch(T1)
    assert ours.problem is None


def test_there_is_one_guardian_per_process() -> None:
    assert guardian_client.guardian() is guardian_client.guardian()
