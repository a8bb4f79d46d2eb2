"""Terminals against real commands, well-behaved and not: output, exits, and nothing left of any of them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from acp_notebook.agent.processes import child, ending, guard
from acp_notebook.agent.processes.ending import Ender
from acp_notebook.agent.processes.guardian import Process, Tree, new_token, snapshot
from acp_notebook.agent.terminals import terminal
from acp_notebook.agent.terminals.output import BATCH_CHARS
from acp_notebook.agent.terminals.session_terminals import (
    Exit,
    Terminal,
    Terminals,
    TerminalTrouble,
    UnknownTerminal,
    terminal_environment,
    words,
)
from acp_notebook.core.events import UNSET, TerminalChanged, TerminalOutput
from tests.agent.process_helpers import ROOT, WAIT_S, ended_at_last, is_running, run, wait_gone, wait_until

T = TypeVar("T")

SLEEPS = "import time\nprint('ready', flush=True)\ntime.sleep(600)"
IGNORES_TERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPS
CHILD = """
import os, subprocess, sys
sleeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
print("pid", sleeper.pid, flush=True)
"""
SETSID_CHILD = CHILD.replace('sleep(600)"]', 'sleep(600)"], start_new_session=True')
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print("pid", os.getpid(), flush=True)
    time.sleep(600)
os.wait()
"""
SILENT_DAEMON = DAEMON.replace("    time.sleep(600)", "    os.close(1); os.close(2)\n    time.sleep(600)")
LEAVERS = pytest.mark.parametrize(
    "leaver", [CHILD, SETSID_CHILD, DAEMON, SILENT_DAEMON], ids=["child", "setsid", "daemon", "silent daemon"]
)


class Bench:
    """Terminals, and all that they told."""

    def __init__(self, **options: int) -> None:
        self.events: list[TerminalChanged | TerminalOutput] = []
        self.pids: list[int] = []
        self._news = asyncio.Event()
        self.terminals = Terminals(dict(os.environ), self._changed, **options)

    def _changed(self, event: TerminalChanged | TerminalOutput) -> None:
        self.events.append(event)
        self._news.set()

    def create(
        self,
        command: str,
        *args: str,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        byte_limit: int | None = None,
        turn: object = None,
    ) -> Terminal:
        made = self.terminals.create(command, args, cwd=cwd, env=env or {}, byte_limit=byte_limit, turn=turn)
        self.pids.append(made.child.pid)
        return made

    def python(self, script: str, *args: str, turn: object = None, byte_limit: int | None = None) -> Terminal:
        return self.create(sys.executable, "-I", "-S", "-c", script, *args, turn=turn, byte_limit=byte_limit)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def shown(self, terminal: Terminal) -> str:
        return "".join(
            event.text
            for event in self.events
            if isinstance(event, TerminalOutput) and event.id == terminal.id
        )

    def changes(self, terminal: Terminal) -> list[TerminalChanged]:
        return [it for it in self.events if isinstance(it, TerminalChanged) and it.id == terminal.id]

    async def says(self, terminal: Terminal, text: str) -> None:
        await self.until(lambda: text in self.shown(terminal))

    async def relatives(self, terminal: Terminal, count: int = 1) -> list[int]:
        """The pids that it printed as `pid N`."""
        await self.until(lambda: len(re.findall(r"pid \d+\n", self.shown(terminal))) >= count)
        found = [int(pid) for pid in re.findall(r"pid (\d+)\n", self.shown(terminal))]
        self.pids += found
        return found


@contextlib.asynccontextmanager
async def bench(**options: int) -> AsyncIterator[Bench]:
    """At the end all is closed, and nothing runs, is watched, or is held open."""
    made = Bench(**options)
    watched = set(guard.guardian()._watched)
    with ended_at_last(made.pids):
        try:
            yield made
        finally:
            await made.terminals.close()
        assert not any(map(is_running, made.pids))
        assert not made.terminals._held
        assert set(guard.guardian()._watched) == watched
        for pid in made.pids:
            with pytest.raises(ChildProcessError):  # reaped, or never ours
                os.waitpid(pid, os.WNOHANG)


@pytest.fixture
def ruthless(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that ignore SIGTERM: no need to wait for it."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", 0.05)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that end at SIGTERM, on a machine of any speed."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", WAIT_S)


async def soon(work: Awaitable[T]) -> T:
    async with asyncio.timeout(WAIT_S):
        return await work


# ---- what is run


def test_what_happens_is_told_in_order() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("echo hello; exit 3", turn="t")
            assert (made.id, made.command, made.cwd, made.turn) == ("term-1", "echo hello; exit 3", "/", "t")
            assert made.exit is None
            assert await made.wait() == Exit(3, None)
            assert made.output() == ("hello\n", False)
            await b.terminals.release(made.id)
            assert b.events == [
                TerminalChanged(made.id, command="echo hello; exit 3", cwd="/", status="running"),
                TerminalOutput(made.id, "hello\n"),
                TerminalChanged(made.id, status="exited", exit_code=3, signal=None),
                TerminalChanged(made.id, released=True),
            ]

    run(test())


def test_a_program_with_arguments_is_run_without_a_shell() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("echo", "$HOME; *", "a b")
            assert made.command == "echo '$HOME; *' 'a b'"
            await made.wait()
            assert made.output()[0] == "$HOME; * a b\n"

    run(test())


def test_a_command_alone_is_a_program_if_there_is_one_and_else_a_line_for_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "my tool; really"
    script.write_text("#!/bin/sh\necho ran with $#\n")
    (tmp_path / "plain").write_text("not executable")

    async def test() -> None:
        async with bench() as b:
            here = str(tmp_path)
            env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
            for command in (f"./{script.name}", str(script)):
                made = b.create(command, cwd=here)
                assert await made.wait() == Exit(126 if not os.access(script, os.X_OK) else 0, None)
            line = b.create("for n in {1..3}; do [[ $n == 2 ]] || echo $n; done | cat", cwd=here)
            assert await line.wait() == Exit(0, None)
            assert line.output()[0] == "1\n3\n"
            by_name = b.create(script.name, cwd="/", env=env)
            await by_name.wait()
            assert by_name.output()[0] == "ran with 0\n"
            for command, code in {"no-such-command": 127, "-x": 127, "./plain": 126, "exit 7": 7}.items():
                made = b.create(command, cwd=here)
                assert (command, await made.wait()) == (command, Exit(code, None))

    script.chmod(0o755)
    run(test())


def test_where_there_is_no_bash_a_line_goes_to_sh() -> None:
    assert words("a | b", [], "/", {"PATH": "/nowhere"}) == ["/bin/sh", "-c", "--", "a | b"]


def test_a_line_may_begin_with_a_dash_in_plain_sh_too() -> None:
    async def test() -> None:
        async with bench() as b:
            assert await b.create("-x 1", env={"PATH": "/nowhere"}).wait() == Exit(127, None)

    run(test())


def test_variables_of_the_agent_win_and_the_marker_is_ours() -> None:
    environment = terminal_environment({"A": "1", "TERM": "xterm-color", "FORCE_COLOR": "1", "PAGER": "less"})
    assert environment == {"A": "1", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}

    async def test() -> None:
        async with bench() as b:
            made = b.create(
                'echo "$COLOUR $TERM $HOME"; test "$ACP_NOTEBOOK_AGENT" = weak; echo $?; pwd; cat; tty',
                env={"COLOUR": "blue", "TERM": "xterm", "ACP_NOTEBOOK_AGENT": "weak"},
                cwd=os.path.realpath("/tmp"),
            )
            await made.wait()
            home, folder = os.environ.get("HOME", ""), os.path.realpath("/tmp")
            assert made.output()[0] == f"blue xterm {home}\n1\n{folder}\nnot a tty\n"

    run(test())


@pytest.mark.parametrize(
    ("command", "args", "cwd", "why"),
    [
        ("no-such-command", ["x"], "/", "no command 'no-such-command'"),
        ("echo", ["x"], "/no/such/folder", "folder /no/such/folder cannot be used: No such"),
        ("echo x", [], "/no/such/folder", "folder /no/such/folder cannot be used: No such"),
        ("echo", ["x"], __file__, "cannot be used: Not a directory"),
        (__file__, ["x"], "/", "Permission denied"),
        ("/bin", ["x"], "/", "Permission denied"),
        ("", [], "/", "empty"),
        (" \n", [], "/", "empty"),
        ("a\0b", [], "/", "null byte"),
        ("echo", ["a\0b"], "/", "null byte"),
        ("echo", ["\ud800"], "/", "surrogates"),
        ("echo", ["x" * 5_000_000], "/", "too long"),
    ],
)
def test_a_start_that_fails_says_why_and_leaves_nothing(
    command: str, args: Sequence[str], cwd: str, why: str
) -> None:
    async def test() -> None:
        async with bench() as b:
            await b.create("true").wait()  # the guardian has its pipe
            before = os.listdir("/dev/fd")
            with pytest.raises(TerminalTrouble, match=why):
                b.create(command, *args, cwd=cwd)
            assert os.listdir("/dev/fd") == before
            assert len(b.events) == 2
            assert b.create("echo", "x").id == "term-2"

    run(test())


def test_a_command_that_cannot_be_shown_as_it_is_can_be_run() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("printf", "%s", "\udcff")
            assert made.command == "printf %s '?'"
            await made.wait()
            assert made.output()[0] == "\ufffd"

    run(test())


# ---- output


def test_stdout_and_stderr_are_one_stream_in_the_order_of_writing() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("for n in 1 2 3; do echo out $n; echo err $n >&2; done")
            await made.wait()
            assert made.output()[0] == "".join(f"out {n}\nerr {n}\n" for n in (1, 2, 3))
            assert b.shown(made) == made.output()[0]

    run(test())


def test_characters_that_arrive_in_pieces_are_whole(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)

    async def test() -> None:
        async with bench() as b:
            # Each byte by itself; between the halves of a character it waits for us.
            made = b.create(f"printf 'a\\342\\202'; cat '{fifo}' >/dev/null; printf '\\254b'")
            await b.says(made, "a")
            assert made.output() == ("a", False)
            fifo.write_bytes(b"")
            await made.wait()
            assert made.output() == ("a€b", False)
            assert b.shown(made) == "a€b"

    run(test())


def test_bytes_that_are_no_text_are_replaced() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create(r"printf 'a\377b\342\202'")
            await made.wait()
            assert made.output() == ("a\ufffdb\ufffd", False)
            assert b.shown(made) == made.output()[0]

    run(test())


@pytest.mark.parametrize(("limit", "kept"), [(0, ""), (4, "€"), (5, "€b"), (8, "a€€b"), (None, "a€€b")])
def test_the_limit_cuts_from_the_beginning(limit: int | None, kept: str) -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("printf", "a€€b", byte_limit=limit)
            await made.wait()
            expected = "€b" if limit == 4 else kept
            assert made.output() == (expected, kept != "a€€b")
            assert b.shown(made) == "a€€b"

    run(test())


def test_a_flood_is_shown_in_few_batches_and_costs_bounded_memory() -> None:
    async def test() -> None:
        async with bench() as b:
            script = (
                "import os\nfor n in range(1600): os.write(1, b'%07d\\n' % n * 8192)\nos.write(1, b'end')"
            )
            made = b.python(script, byte_limit=1_000_000)
            assert await made.wait() == Exit(0, None)
            text, cut = made.output()
            assert cut
            assert len(text) == 1_000_000
            assert text.endswith("0001599\nend")
            shown = [event for event in b.events if isinstance(event, TerminalOutput)]
            assert sum(len(event.text) + event.dropped for event in shown) == 1600 * 65536 + 3
            assert max(len(event.text) for event in shown) <= BATCH_CHARS
            assert all(event.dropped for event in shown if len(event.text) == BATCH_CHARS)
            assert text.endswith(shown[-1].text)
            assert len(made._output._kept) <= 2 * 1_000_000
            assert len(shown) <= 1600 * 65536 / terminal.FLOOD_BYTES * 100

    run(test())


def test_a_command_that_never_stops_writing_leaves_the_loop_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "FLOOD_BYTES", 100_000)
    monkeypatch.setattr(terminal, "BATCH_S", WAIT_S)  # so it stays held up

    async def test() -> None:
        async with bench() as b:
            made = b.create("yes")
            async with asyncio.timeout(WAIT_S):
                while made._taken < 100_000:
                    await asyncio.sleep(0)
            held = made._taken
            assert held < 100_000 + 65536
            assert await b.create("echo", "x").wait() == Exit(0, None)
            assert made._taken == held
            await soon(made.kill())
            assert made.exit == Exit(None, "SIGTERM")
            assert made.output()[0].startswith("y\ny\n")

    run(test())


def test_a_command_that_closes_its_output_goes_on(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)

    async def test() -> None:
        async with bench() as b:
            made = b.create(f"echo bye; exec >/dev/null 2>&1; cat '{fifo}'; exit 5")
            await soon(made._pipe.eof.wait())
            assert made.exit is None
            fifo.write_bytes(b"")
            assert await made.wait() == Exit(5, None)
            assert made.output() == ("bye\n", False)

    run(test())


# ---- exits


@pytest.mark.parametrize(
    ("line", "exit"),
    [
        ("kill -9 $$", Exit(None, "SIGKILL")),
        ("kill -SEGV $$", Exit(None, "SIGSEGV")),
        ("kill -40 $$", Exit(None, "SIG40")),
        ("exit 255", Exit(255, None)),
    ],
)
def test_an_exit_is_a_code_or_the_name_of_a_signal(line: str, exit: Exit) -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create(line)
            assert await made.wait() == exit
            last = b.changes(made)[-1]
            assert (last.status, last.exit_code, last.signal) == ("exited", exit.code, exit.signal)

    run(test())


@pytest.mark.parametrize("missing", [("pidfd_open",), ("pidfd_open", "waitid")])
def test_the_exit_is_seen_without_pidfd_and_waitid(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    for name in missing:
        monkeypatch.delattr(os, name, raising=False)

    async def test() -> None:
        async with bench() as b:
            made = b.create("echo x; exit 7")
            assert await made.wait() == Exit(7, None)
            server = b.python(DAEMON)
            relatives = await b.relatives(server)
            assert await server.wait() == Exit(0, None)
            assert all(map(is_running, relatives))
            await b.terminals.release(server.id)
            wait_gone(*relatives)

    run(test())


def test_an_exit_that_another_wait_took_is_unknown_and_its_number_proves_nothing() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(SLEEPS)
            await b.says(made, "ready")
            os.kill(made.child.pid, signal.SIGKILL)
            os.waitpid(made.child.pid, 0)  # the loop does not run meanwhile: it comes too late
            assert await made.wait() == Exit(None, None)
            assert not made.child.tree._session_is_ours
            assert guard.guardian()._watched[made._token] == f"watch {made._token}\n"

    run(test())


@LEAVERS
def test_what_a_command_left_running_goes_on_until_the_release(leaver: str) -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(leaver + "\nsys.exit(5)")
            relatives = await b.relatives(made)
            assert await soon(made.wait()) == Exit(5, None)
            await b.terminals.kill_turn(made.turn)
            assert all(map(is_running, relatives))
            await soon(b.terminals.release(made.id))
            assert not any(map(is_running, relatives))
            assert b.changes(made)[-2].status == "exited"

    run(test())


def test_what_is_left_is_found_by_its_session_alone_long_after_the_exit() -> None:
    async def test() -> None:
        async with bench() as b:
            # Neither a token nor a living parent, nor did we ever see the one that started it.
            inner = f"'{sys.executable}' -I -S -c 'import time; time.sleep(600)' & echo pid $!"
            made = b.create("sh", "-c", 'env -i /bin/sh -c "$1" & exit 0', "sh", inner)
            relatives = await b.relatives(made)
            await made.wait()
            assert not made.child.reaped  # so its number is still its own
            await soon(made.kill())
            assert not any(map(is_running, relatives))

    run(test())


def test_what_is_in_the_pipe_at_the_exit_is_taken_although_another_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "FLOOD_BYTES", 1)
    monkeypatch.setattr(terminal, "BATCH_S", WAIT_S)  # after one chunk nothing more is read

    async def test() -> None:
        async with bench() as b:
            made = b.create("sleep 600 & for n in {1..2000}; do echo line $n; done; echo end")
            assert await soon(made.wait()) == Exit(0, None)
            assert made.output()[0].endswith("line 2000\nend\n")
            assert b.shown(made) == made.output()[0]

    run(test())


def test_late_output_of_what_is_left_is_still_shown(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)

    async def test() -> None:
        async with bench() as b:
            made = b.create(f"(cat '{fifo}'; echo late) & echo early")
            assert await made.wait() == Exit(0, None)
            assert made.output()[0] == "early\n"
            fifo.write_bytes(b"")
            await b.says(made, "late\n")
            assert made.output()[0] == "early\nlate\n"

    run(test())


# ---- kill and release


@pytest.mark.parametrize(
    ("script", "exit", "graces"),
    [(SLEEPS, Exit(None, "SIGTERM"), "patient"), (IGNORES_TERM, Exit(None, "SIGKILL"), "ruthless")],
    ids=["polite", "ignores SIGTERM"],
)
def test_kill_is_as_gentle_as_the_command_lets_us(
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
def test_every_end_takes_the_whole_tree(leaver: str, end: str, how: str) -> None:
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
    """As the protocol's methods do it: by the id."""
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
    """One begun after the other's end (but for the wait), all at once, and on a command that has exited."""

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


def test_a_pending_wait_ends_with_the_exit_when_the_release_comes() -> None:
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
            await made.kill()  # by one who still holds it: nothing is left to kill
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
def test_a_cancelled_end_is_an_end_all_the_same(how: str) -> None:
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


def test_a_wait_that_is_given_up_leaves_the_command_alone() -> None:
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


def test_a_loop_that_is_closed_in_the_middle_leaves_nothing() -> None:
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
def test_what_cannot_be_killed_is_given_up_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "KILL_S", 0.05)
    monkeypatch.setattr(child, "KILL_NOW_S", 0.05)

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
            assert made._token in guard.guardian()._watched
            guard.guardian().forget(made._token)
            os.kill(made.child.pid, signal.SIGKILL)
            wait_until(lambda: made.child.reap() is not None, "it is reaped")

    run(test())


# ---- many


def test_fifty_at_once() -> None:
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


def test_one_look_at_the_process_table_serves_all_that_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []

    def counted() -> dict[int, Process]:
        looks.append(None)
        return {}

    async def test() -> None:
        ender = Ender(WAIT_S, WAIT_S)
        monkeypatch.setattr(ending, "snapshot", counted)
        assert all(await soon(asyncio.gather(*(ender.end(Tree(new_token())) for _ in range(50)))))
        assert len(looks) == ending.QUIET_LOOKS

    run(test())


def test_a_process_that_is_missing_from_one_table_is_found_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = itertools.chain([dict[int, Process]], itertools.repeat(snapshot))
    monkeypatch.setattr(ending, "snapshot", lambda: next(looks)())

    async def test() -> None:
        async with bench() as b:
            made = b.python(SLEEPS)
            await b.says(made, "ready")
            await soon(made.kill())
            assert not is_running(made.child.pid)

    monkeypatch.setattr(terminal, "TERM_GRACE_S", 0.05)
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
def test_with_few_file_descriptors_left_it_works_or_is_a_clear_error(free: int) -> None:
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


def test_a_command_that_can_be_started_but_not_watched_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(terminal, "KILL_S", 0.05)

    def unreadable() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async def test() -> None:
        async with bench() as b:
            made = b.create("sleep 600 & echo pid $!; wait")
            await b.relatives(made)
            with monkeypatch.context() as patch:
                for module in ("child", "ending", "guardian"):
                    patch.setattr(f"acp_notebook.agent.processes.{module}.snapshot", unreadable)
                await soon(b.terminals.release(made.id))
            wait_gone(*b.pids)
            assert made.exit == Exit(None, "SIGKILL")

    monkeypatch.setattr(terminal, "TERM_GRACE_S", 0.05)
    run(test())


# ---- turns and the end of everything


@pytest.mark.usefixtures("ruthless")
def test_a_cancelled_turn_ends_its_own_commands_and_no_others() -> None:
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
            assert [it.exit for it in mine] == [Exit(None, "SIGTERM"), Exit(None, "SIGKILL")]
            assert not any(map(is_running, relatives))
            assert is_running(server.child.pid)
            assert server.exit is None
            assert b.changes(done)[-1].status == "exited"
            assert all(b.terminals.get(it.id) is it for it in (server, *mine, done))

    run(test())


def test_close_ends_all_and_nothing_is_started_after_it() -> None:
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


def test_a_forked_copy_of_the_kernel_kills_nobody() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.create("sleep", "600")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "getpid", lambda: 1)  # as in a forked child
                b.terminals.kill_now()
            assert is_running(made.child.pid)
            assert made.exit is None

    run(test())


def test_events_that_nobody_wants_do_not_keep_a_command_alive() -> None:
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
from acp_notebook.agent.processes import guard
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
print(json.dumps([*pids, guard.guardian().pid]), flush=True)
sys.stdin.read()
"""
AT_EXIT = "loop.at_exit(terminals, terminals.close, terminals.kill_now)\n"


@contextlib.contextmanager
def kernel(script: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A process that has terminals: one command runs, of another only a server that it left."""
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
        assert sum(map(is_running, pids)) == 4  # but for the shell that exited
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
