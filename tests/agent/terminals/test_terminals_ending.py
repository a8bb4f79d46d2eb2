"""Commands end on kill, release, the turn's end or the kernel's, in any order, and leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.processes import guardian_client
from acp_notebook.agent.terminals.session_terminals import (
    Exit,
    Terminal,
    Terminals,
    TerminalTrouble,
    UnknownTerminal,
)
from acp_notebook.core.events import UNSET, TerminalChanged
from tests.agent.process_helpers import (
    DAEMON,
    ROOT,
    WAIT_S,
    ended_at_last,
    is_running,
    run,
    wait_gone,
    wait_until,
)
from tests.agent.terminals.terminal_bench import (
    IGNORES_TERM,
    LEAVERS,
    SLEEPS,
    Bench,
    bench,
    soon,
)

# ---- kill and release


@pytest.mark.parametrize(
    ("script", "exit", "graces"),
    [(SLEEPS, Exit(None, "SIGTERM"), "patient"), (IGNORES_TERM, Exit(None, "SIGKILL"), "ruthless")],
    ids=["polite", "ignores SIGTERM"],
)
def test_kill_is_as_gentle_as_the_command_allows(
    request: pytest.FixtureRequest, script: str, exit: Exit, graces: str
) -> None:
    request.getfixturevalue(graces)

    async def test() -> None:
        async with bench() as b:
            made = b.python(script)
            await b.says(made, "ready")
            await soon(made.kill())
            assert made.exit == exit
            assert not is_running(made.child.pid)
            assert b.terminals.get(made.id) is made
            assert made.output() == ("ready\n", False)
            assert await made.wait() == exit
            await soon(made.kill())
            last = b.changes(made)[-1]
            assert (last.status, last.exit_code, last.signal) == ("killed", None, exit.signal)

    run(test())


@LEAVERS
@pytest.mark.parametrize("end", ["\nsys.exit(0)", "\n" + IGNORES_TERM], ids=["exited", "stubborn"])
@pytest.mark.parametrize("how", ["kill", "release", "close", "kill_now"])
@pytest.mark.usefixtures("ruthless")
def test_every_way_of_ending_ends_the_whole_tree(leaver: str, end: str, how: str) -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(leaver + end)
            relatives = await b.relatives(made)
            if "sys.exit" in end:
                await soon(made.wait())
            else:
                await b.says(made, "ready")
            match how:
                case "kill":
                    await soon(made.kill())
                case "release":
                    await soon(b.terminals.release(made.id))
                case "close":
                    await soon(b.terminals.close())
                case "kill_now":
                    killer = threading.Thread(target=b.terminals.kill_now)
                    killer.start()
                    killer.join(WAIT_S)  # blocks the loop
                    wait_gone(*relatives)
            assert not any(map(is_running, [made.child.pid, *relatives]))

    run(test())


async def step(b: Bench, made: Terminal, what: str) -> Exit | None:
    """Like the protocol's methods: by id."""
    found = b.terminals.get(made.id)
    match what:
        case "kill":
            await found.kill()
        case "release":
            await b.terminals.release(made.id)
        case "wait":
            return await found.wait()
    return None


ORDERS = sorted(set(itertools.permutations(["kill", "kill", "release", "release", "wait"])))


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_kill_release_and_wait_in_any_order(order: tuple[str, ...]) -> None:
    """One after the other, all at once, and on a command that has exited."""

    async def one_by_one(b: Bench, made: Terminal) -> list[Exit | BaseException | None]:
        tasks = []
        for what in order:
            tasks.append(asyncio.ensure_future(step(b, made, what)))
            await asyncio.wait(tasks[-1:], timeout=None if what != "wait" else 0)
        return await asyncio.gather(*tasks, return_exceptions=True)

    async def at_once(b: Bench, made: Terminal) -> list[Exit | BaseException | None]:
        return await asyncio.gather(*(step(b, made, what) for what in order), return_exceptions=True)

    async def test() -> None:
        async with bench() as b:
            first, second, exited = (b.create(*it) for it in (["sleep", "600"], ["sleep", "600"], ["true"]))
            await exited.wait()
            for made, way in [(first, one_by_one), (second, at_once), (exited, at_once)]:
                async with asyncio.timeout(WAIT_S):
                    results = await way(b, made)
                released = order.index("release")
                assert made.exit == (Exit(0, None) if made is exited else Exit(None, "SIGTERM"))
                for at, (what, result) in enumerate(zip(order, results, strict=True)):
                    if at > released:
                        assert isinstance(result, UnknownTerminal)
                    else:
                        assert result == (made.exit if what == "wait" else None)

    run(test())


def test_a_release_ends_a_pending_wait_with_the_exit() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(SLEEPS)
            waiting = [asyncio.ensure_future(made.wait()) for _ in range(3)]
            await b.says(made, "ready")
            await soon(b.terminals.release(made.id))
            assert await asyncio.gather(*waiting) == [Exit(None, "SIGTERM")] * 3
            assert b.changes(made)[-1] == TerminalChanged(made.id, released=True)
            with pytest.raises(UnknownTerminal):
                b.terminals.get(made.id)
            await made.kill()  # by a caller that still has it: nothing is left to kill
            assert made.output()[0] == "ready\n"

    run(test())


def test_an_unknown_id_is_refused() -> None:
    async def test() -> None:
        async with bench() as b:
            with pytest.raises(UnknownTerminal, match="term-1"):
                b.terminals.get("term-1")
            with pytest.raises(UnknownTerminal, match="term-1"):
                await b.terminals.release("term-1")

    run(test())


@pytest.mark.parametrize("how", ["kill", "release"])
@pytest.mark.usefixtures("ruthless")
def test_cancelling_an_end_still_ends_the_command(how: str) -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(IGNORES_TERM)
            await b.says(made, "ready")
            ending = asyncio.ensure_future(step(b, made, how))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            ending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ending
            assert await soon(made.wait()) == Exit(None, "SIGKILL")
            if how == "release":
                await soon(asyncio.shield(made.release()))
                assert b.changes(made)[-1].released is True
                assert not b.terminals._held

    run(test())


def test_an_abandoned_wait_leaves_the_command_running() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(SLEEPS)
            await b.says(made, "ready")
            waiting = asyncio.ensure_future(made.wait())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert is_running(made.child.pid)

    run(test())


def test_a_loop_closed_in_the_middle_leaves_nothing() -> None:
    benches: list[Bench] = []

    async def test() -> None:
        b = Bench()
        benches.append(b)
        made = b.python(DAEMON + IGNORES_TERM)
        await b.relatives(made)
        await b.says(made, "ready")
        closing = asyncio.ensure_future(b.terminals.close())
        await asyncio.sleep(0)
        closing.cancel()  # asyncio.run cancels the ending itself, too

    run(test())
    wait_gone(*benches[0].pids)
    assert benches[0].events[-1] == TerminalChanged("term-1", released=True)


@pytest.mark.usefixtures("ruthless")
def test_a_process_that_cannot_be_killed_is_given_up_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts.replace(command_kill=0.05, kill_now=0.05)

    async def test() -> None:
        b = Bench()
        made = b.python(SLEEPS)
        with ended_at_last(b.pids):
            await b.says(made, "ready")
            waiting = asyncio.ensure_future(made.wait())
            with monkeypatch.context() as patch:
                patch.setattr("acp_notebook.agent.processes.guardian.send", lambda process, number: None)
                await soon(b.terminals.release(made.id))
            assert made.survivors == (made.child.pid,)
            assert await waiting == Exit(None, None)
            assert made._token in guardian_client.guardian()._watched
            guardian_client.guardian().forget(made._token)
            os.kill(made.child.pid, signal.SIGKILL)
            wait_gone(made.child.pid)

    run(test())


# ---- turns and the end of everything


@pytest.mark.usefixtures("ruthless")
def test_a_cancelled_turn_ends_only_its_own_commands() -> None:
    async def test() -> None:
        async with bench() as b:
            server = b.python(SLEEPS, turn="first")
            mine = [b.python(script, turn="second") for script in (SLEEPS, DAEMON + IGNORES_TERM)]
            relatives = await b.relatives(mine[1])
            done = b.create("echo done", turn="second")
            for it in (server, *mine):
                await b.says(it, "ready")
            await done.wait()
            await soon(b.terminals.kill_turn("second"))
            # One that would end at SIGTERM has little time, too: a slow one is killed.
            assert mine[0].exit in (Exit(None, "SIGTERM"), Exit(None, "SIGKILL"))
            assert mine[1].exit == Exit(None, "SIGKILL")
            assert not any(map(is_running, relatives))
            assert is_running(server.child.pid)
            assert server.exit is None
            assert b.changes(done)[-1].status == "exited"
            assert all(b.terminals.get(it.id) is it for it in (server, *mine, done))

    run(test())


def test_close_ends_all_commands_and_prevents_new_ones() -> None:
    async def test() -> None:
        async with bench() as b:
            made = [b.create("sleep", "600"), b.create("true"), b.python(DAEMON)]
            await b.relatives(made[2])
            await soon(asyncio.gather(b.terminals.close(), b.terminals.close()))
            await b.terminals.close()
            assert all(b.changes(it)[-1].released is True for it in made)
            assert all(it.exit is not None for it in made)
            with pytest.raises(TerminalTrouble, match="closed"):
                b.create("true")
            with pytest.raises(UnknownTerminal):
                b.terminals.get(made[0].id)

    run(test())


def test_a_forked_copy_of_the_kernel_kills_nothing() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("sleep", "600")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "getpid", lambda: 1)  # as in a forked child
                b.terminals.kill_now()
            assert is_running(made.child.pid)
            assert made.exit is None

    run(test())


def test_unread_events_do_not_keep_a_command_alive() -> None:
    async def test() -> None:
        def fails(event: object) -> None:
            if isinstance(event, TerminalChanged) and event.command is UNSET:
                raise RuntimeError("no thanks")

        terminals = Terminals(dict(os.environ), fails)
        made = [
            terminals.create("sleep", ["600"], cwd="/", env={}, byte_limit=None, turn=None) for _ in range(2)
        ]
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        with pytest.raises(RuntimeError, match="no thanks"):
            await soon(terminals.close())
        assert not any(is_running(it.child.pid) for it in made)
        assert all(it.exit == Exit(None, "SIGTERM") for it in made)
        assert not terminals._held

    run(test())


OWNER = """
import asyncio, json, os, re, sys
from acp_notebook.agent import loop
from acp_notebook.agent.processes import guardian_client
from acp_notebook.agent.terminals.session_terminals import Terminals
from acp_notebook.core.events import TerminalOutput

output = []

async def start():
    full = asyncio.Event()
    def changed(event):
        if isinstance(event, TerminalOutput):
            output.append(event.text)
            if len(re.findall(r"pid \\d+\\n", "".join(output))) == 4:
                full.set()
    terminals = Terminals(dict(os.environ), changed)
    def create(command, *args):
        terminal = terminals.create(command, args, cwd="/", env={}, byte_limit=None, turn=None)
        output.append(f"pid {terminal.child.pid}\\n")
        return terminal
    create(sys.executable, "-I", "-S", "-c", sys.argv[1])
    await create("sleep 600 & echo pid $!").wait()
    await full.wait()
    return terminals

terminals = loop.call(start())
"""
REPORT = """
pids = [int(pid) for pid in re.findall(r"pid (\\d+)\\n", "".join(output))]
print(json.dumps([*pids, guardian_client.guardian().pid]), flush=True)
sys.stdin.read()
"""
AT_EXIT = "loop.at_exit(terminals, terminals.close, terminals.kill_now)\n"


@contextlib.contextmanager
def kernel(script: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A process with terminals: one command runs, another has exited and left a server."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", script, DAEMON + IGNORES_TERM]
    pids: list[int] = []
    with (
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as process,
        ended_at_last(pids),
    ):
        try:
            assert process.stdout is not None
            pids += json.loads(process.stdout.readline())
            yield process, pids
        finally:
            process.kill()


def test_kill_9_of_the_kernel_leaves_no_command() -> None:
    with kernel(OWNER + REPORT) as (process, pids):
        assert sum(map(is_running, pids)) == 4  # except the shell, which has exited
        process.kill()
        wait_gone(*pids)


@pytest.mark.parametrize("script", [OWNER + REPORT, OWNER + AT_EXIT + REPORT], ids=["guardian", "at_exit"])
def test_the_end_of_the_interpreter_leaves_no_command(script: str) -> None:
    with kernel(script) as (process, pids):
        assert process.stdin is not None
        process.stdin.close()
        wait_until(lambda: process.poll() is not None, "the kernel has ended")
        assert process.returncode == 0
        wait_gone(*pids)
