"""The supervisor ends orphans that left their session and cleared their environment (Linux)."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import sys
from pathlib import Path

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.processes import guardian_client
from acp_notebook.agent.processes.guardian import GUARDIAN_TOKEN, snapshot
from acp_notebook.agent.processes.supervisor import StartRequest, decode
from tests.agent.process_helpers import (
    ended_at_last,
    is_running,
    python,
    run,
    running,
    shell,
    wait_gone,
    wait_until,
)
from tests.agent.processes.test_guardian import OWNER, owner
from tests.agent.terminals.terminal_bench import bench, soon

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")

# It leaves its session, its environment and its parents, and prints its pid.
HOSTILE = "(setsid env -i /bin/sh -c 'echo pid $$; exec sleep 600' &)"
HOSTILE_TWICE = f"(setsid env -i /bin/sh -c {shlex.quote(HOSTILE)} &)"


@pytest.mark.parametrize("line", [HOSTILE, HOSTILE_TWICE], ids=["once", "twice"])
@pytest.mark.parametrize("then", ["exec cat", "exit 3"])
def test_close_ends_an_orphan_without_session_and_token(line: str, then: str) -> None:
    async def test() -> None:
        async with running(shell(f"{line}; {then}")) as agent:
            (pid,) = await agent.relatives(1)
            if then == "exit 3":
                assert (await agent.ending()).exit_code == 3
            else:
                assert is_running(pid)

    run(test())


@pytest.mark.usefixtures("ruthless")
@pytest.mark.parametrize("how", ["kill", "release", "kill_now"])
def test_a_terminal_ends_an_orphan_without_session_and_token(how: str) -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create(HOSTILE)
            (pid,) = await b.relatives(made)
            await soon(made.wait())
            assert is_running(pid)
            if how == "kill":
                await soon(made.kill())
            elif how == "release":
                await soon(b.terminals.release(made.id))
            else:
                b.terminals.kill_now()
            wait_gone(pid)

    run(test())


def supervisors() -> set[int]:
    """Of this process, whose other tests may have some as well."""
    guardian = guardian_client.guardian().pid
    found = snapshot().values()
    return {p.pid for p in found if p.token == GUARDIAN_TOKEN and p.parent == guardian and p.alive}


def test_thirty_starts_and_ends_leave_nothing() -> None:
    async def test() -> None:
        pids: list[int] = []
        before = supervisors()
        with ended_at_last(pids):
            for number in range(30):
                async with running(shell(f"{HOSTILE}; {('exec cat', 'exit 0')[number % 2]}")) as agent:
                    pids += await agent.relatives(1)
            assert not any(map(is_running, pids))
        wait_until(lambda: supervisors() <= before, "the supervisors have ended")

    run(test())


HOSTILE_OWNER = OWNER.replace('print("pid", os.getpid(), flush=True)\nif', f"os.system({HOSTILE!r})\nif")


@pytest.mark.parametrize("guardian_dies", [False, True])
def test_kill_9_of_the_kernel_ends_orphans_without_session_and_token(guardian_dies: bool) -> None:
    again = """
os.kill(guardian_client.guardian().pid, 9)
os.waitpid(guardian_client.guardian().pid, 0)
guardian_client.guardian().watch("0" * 32)
"""
    report = "report(relatives=relatives, guardian=guardian_client.guardian().pid)\nsys.stdin.read()\n"
    with owner(HOSTILE_OWNER + again * guardian_dies + report) as kernel:
        facts = kernel.report()
        assert len(facts["relatives"]) == 8
        assert all(map(is_running, facts["relatives"]))
        parents = {snapshot()[pid].parent for pid in facts["relatives"]}
        kernel.process.kill()
        wait_gone(*facts["relatives"], facts["guardian"], *(pid for pid in parents if pid > 1))


# ---- the agent is as if the kernel had started it


def test_a_child_inherits_from_the_kernel() -> None:
    script = """
import os, resource, signal
mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
handlers = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]
print(oct(os.umask(0)), resource.getrlimit(resource.RLIMIT_CORE)[0], mask, handlers == [signal.SIG_DFL] * 3)
print(os.getsid(0) == os.getpid(), sorted(os.listdir("/dev/fd")), os.getcwd(), flush=True)
"""

    async def test() -> None:
        before = os.umask(0o027)
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        try:
            async with running(python(script)) as agent:
                await agent.ending()
        finally:
            os.umask(before)
            resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        first, second = agent.received.decode().splitlines()
        assert first == "0o27 0 set() True"
        assert second == f"True ['0', '1', '2', '3'] {os.getcwd()}"  # 3: the listing itself

    run(test())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_death_by_a_signal_is_reported_exactly(number: int) -> None:
    async def test() -> None:
        async with running(shell(f"kill -{int(number)} $$")) as agent:
            assert (await agent.ending()).exit_code == -number

    run(test())


def test_a_supervisor_ignores_signals_and_its_death_is_survived() -> None:
    async def test() -> None:
        async with running(shell("exec cat")) as agent:
            child = agent.transport._child
            assert child is not None and child.supervisor is not None
            supervisor = child.supervisor[0]
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(supervisor, number)
            agent.transport.write(b"alive\n")
            await agent.says("alive")
            os.kill(supervisor, signal.SIGKILL)
            ending = await agent.ending()
            assert ending.exit_code is None

    run(test())


def test_the_supervisor_holds_none_of_the_pipes() -> None:
    async def test() -> None:
        async with running(shell("exec cat")) as agent:
            child = agent.transport._child
            assert child is not None and child.supervisor is not None
            links = [os.readlink(path) for path in Path(f"/proc/{child.supervisor[0]}/fd").iterdir()]
            theirs = {os.readlink(f"/proc/{child.pid}/fd/{number}") for number in range(3)}
            assert not theirs & set(links)

    run(test())


def test_without_a_guardian_the_agent_is_a_child_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guardian_client.Guardian, "supervisor", lambda self, token: None)

    async def test() -> None:
        async with running(python("raise SystemExit(5)")) as agent:
            assert agent.transport._child is not None
            assert agent.transport._child.supervisor is None
            assert (await agent.ending()).exit_code == 5

    run(test())


def test_an_unresponsive_guardian_only_delays_a_start() -> None:
    timeouts.replace(supervisor_answer=0.05)

    async def test() -> None:
        before = supervisors()
        async with running(shell("exec cat")):
            pass
        watcher = guardian_client.guardian().pid
        assert watcher is not None
        os.kill(watcher, signal.SIGSTOP)
        try:
            async with running(python("raise SystemExit(5)")) as agent:
                assert (await agent.ending()).exit_code == 5
        finally:
            os.kill(watcher, signal.SIGCONT)
        wait_until(lambda: supervisors() <= before, "the late supervisor has given up")

    run(test())


def test_a_request_survives_the_wire() -> None:
    request = StartRequest(b"/tmp/\xff", 0o22, ((1, -1), (0, 5)), (b"a", b"", b"c\nd"), (b"A=", b"B==x"))
    assert decode(request.encode()) == request
    with pytest.raises(ValueError, match="null byte"):
        request._replace(argv=(b"a\0b",)).encode()
