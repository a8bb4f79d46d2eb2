"""Many terminals at once, and a system without file descriptors or processes left."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
import resource
import subprocess

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.processes import child, terminate
from acp_notebook.agent.processes.guardian import Process, Tree, new_token, snapshot
from acp_notebook.agent.processes.terminate import Terminator
from acp_notebook.agent.terminals.session_terminals import (
    Exit,
    TerminalTrouble,
)
from tests.agent.process_helpers import WAIT_S, ended_at_last, is_running, run, wait_gone
from tests.agent.terminals.terminal_bench import (
    SLEEPS,
    bench,
    soon,
)

# ---- many


def test_fifty_commands_at_once() -> None:
    async def test() -> None:
        async with bench() as b:
            made = [b.create("sh", "-c", f"echo {n}; exec sleep 600") for n in range(50)]
            assert len({it.id for it in made}) == 50
            for n, it in enumerate(made):
                await b.says(it, f"{n}\n")
            await soon(asyncio.gather(*(b.terminals.release(it.id) for it in made[:20])))
            assert not any(is_running(it.child.pid) for it in made[:20])
            assert all(is_running(it.child.pid) for it in made[20:])
            await soon(asyncio.gather(*(it.kill() for it in made[20:40])))
            assert {it.exit for it in made[:40]} == {Exit(None, "SIGTERM")}

    run(test())


def test_one_process_table_serves_all_commands_that_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []

    def counted() -> dict[int, Process]:
        looks.append(None)
        return {}

    async def test() -> None:
        ender = Terminator(WAIT_S, WAIT_S)
        monkeypatch.setattr(terminate, "snapshot", counted)
        assert all(await soon(asyncio.gather(*(ender.end(Tree(new_token())) for _ in range(50)))))
        assert len(looks) == terminate.QUIET_LOOKS

    run(test())


def test_a_process_that_is_missing_from_one_table_is_found_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = itertools.chain([dict[int, Process]], itertools.repeat(snapshot))
    monkeypatch.setattr(terminate, "snapshot", lambda: next(looks)())

    async def test() -> None:
        async with bench() as b:
            made = b.python(SLEEPS)
            await b.says(made, "ready")
            await soon(made.kill())
            assert not is_running(made.child.pid)

    timeouts.replace(command_term_grace=0.05)
    run(test())


def test_too_many_are_refused_until_one_is_released() -> None:
    async def test() -> None:
        async with bench(limit=2) as b:
            first, second = b.create("sleep", "600"), b.create("true")
            await second.wait()
            with pytest.raises(TerminalTrouble, match="2 terminals are open"):
                b.create("true")
            releasing = asyncio.ensure_future(b.terminals.release(first.id))
            await asyncio.sleep(0)
            with pytest.raises(TerminalTrouble, match="release one"):
                b.create("true")  # its processes have not ended yet
            await soon(releasing)
            assert b.create("true").id == "term-3"

    run(test())


def test_no_file_descriptor_is_left_open() -> None:
    async def test() -> None:
        async with bench() as b:
            await b.create("true").wait()
            await b.terminals.release("term-1")
            before = os.listdir("/dev/fd")
            for _ in range(3):
                made = b.create("echo x")
                await made.wait()
                await b.terminals.release(made.id)
            assert os.listdir("/dev/fd") == before

    run(test())


@pytest.mark.usefixtures("unsupervised")
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAGAIN])
def test_a_system_that_is_full_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    async def test() -> None:
        async with bench() as b:
            with monkeypatch.context() as patch:
                patch.setattr(subprocess, "Popen", full)
                with pytest.raises(TerminalTrouble, match="release terminals"):
                    b.create("echo", "x")
            assert b.events == []
            assert await b.create("true").wait() == Exit(0, None)

    run(test())


@pytest.mark.parametrize("free", range(12))
def test_with_few_file_descriptors_it_works_or_is_a_clear_error(free: int) -> None:
    async def test() -> None:
        async with bench() as b:
            await b.create("true").wait()
            before = os.listdir("/dev/fd")
            with contextlib.ExitStack() as restoring:
                limits = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, before)) + 20, limits[1]))
                restoring.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
                filling: list[int] = []
                with pytest.raises(OSError, match="Too many open files"):
                    while True:
                        filling.append(os.dup(0))
                for each in filling[free:]:
                    restoring.callback(os.close, each)
                for each in filling[:free]:
                    os.close(each)
                try:
                    made = b.create("sleep", "600")
                except TerminalTrouble as error:
                    assert "Too many open files" in str(error)
                    made = None
            if made is not None:
                await soon(b.terminals.release(made.id))
            else:
                assert free < 8
            assert os.listdir("/dev/fd") == before

    run(test())


def test_a_command_that_cannot_be_watched_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def unwatchable(self: child.Child, *_: object) -> None:
        started.append(self.pid)
        raise RuntimeError("can't start new thread")

    async def test() -> None:
        async with bench() as b:
            await b.create("true").wait()
            before = os.listdir("/dev/fd")
            with monkeypatch.context() as patch, ended_at_last(started):
                patch.setattr(child.Child, "watch", unwatchable)
                with pytest.raises(TerminalTrouble, match="can't start new thread"):
                    b.create("sleep", "600")
                assert not is_running(*started)
            assert os.listdir("/dev/fd") == before

    run(test())


def test_without_a_process_table_the_commands_own_group_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts.replace(command_kill=0.05)
    timeouts.replace(kill_now=2.0)  # it passes: who is left cannot be seen

    def unreadable() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async def test() -> None:
        async with bench() as b:
            made = b.create("sleep 600 & echo pid $!; wait")
            await b.relatives(made)
            with monkeypatch.context() as patch:
                for module in ("child", "terminate", "guardian"):
                    patch.setattr(f"acp_notebook.agent.processes.{module}.snapshot", unreadable)
                await soon(b.terminals.release(made.id))
            wait_gone(*b.pids)
            assert made.exit == Exit(None, "SIGKILL")

    timeouts.replace(command_term_grace=0.05)
    run(test())
