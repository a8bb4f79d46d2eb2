"""Terminals run real commands: what is run, its output, its exit."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.processes import guardian_client
from acp_notebook.agent.terminals import terminal
from acp_notebook.agent.terminals.output import BATCH_CHARS
from acp_notebook.agent.terminals.session_terminals import (
    Exit,
    TerminalTrouble,
    shell_words,
    terminal_environment,
)
from acp_notebook.core.events import TerminalChanged, TerminalOutput
from tests.agent.process_helpers import DAEMON, WAIT_S, is_running, run, wait_gone
from tests.agent.terminals.terminal_bench import (
    LEAVERS,
    SLEEPS,
    bench,
    soon,
)

# ---- what is run


def test_events_are_reported_in_order() -> None:
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


def test_a_command_without_arguments_is_a_program_or_a_shell_line(tmp_path: Path) -> None:
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


def test_without_bash_a_line_runs_in_sh() -> None:
    assert shell_words("a | b", {"PATH": "/nowhere"}) == ["/bin/sh", "-c", "--", "a | b"]


def test_a_line_may_begin_with_a_dash_in_sh() -> None:
    async def test() -> None:
        async with bench() as b:
            assert await b.create("-x 1", env={"PATH": "/nowhere"}).wait() == Exit(127, None)

    run(test())


def test_the_agents_variables_take_precedence_except_our_marker() -> None:
    environment = terminal_environment({"A": "1", "TERM": "xterm-color", "FORCE_COLOR": "1", "PAGER": "less"})
    assert environment == {"A": "1", "TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat"}

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
def test_a_failed_start_says_why_and_leaves_nothing(
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


def test_a_command_with_hidden_characters_can_be_run() -> None:
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


def test_characters_that_arrive_in_pieces_are_complete(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)

    async def test() -> None:
        async with bench() as b:
            # One byte at a time; it waits for us in the middle of a character.
            made = b.create(f"printf 'a\\342\\202'; cat '{fifo}' >/dev/null; printf '\\254b'")
            await b.says(made, "a")
            assert made.output() == ("a", False)
            fifo.write_bytes(b"")
            await made.wait()
            assert made.output() == ("a€b", False)
            assert b.shown(made) == "a€b"

    run(test())


def test_invalid_bytes_are_replaced() -> None:
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
            assert all(len(event.text) == BATCH_CHARS for event in shown if event.dropped)
            assert text.endswith(shown[-1].text)
            assert len(made._output._kept) <= 2 * 1_000_000
            assert len(shown) <= 1600 * 65536 / terminal.FLOOD_BYTES * 100

    run(test())


def test_endless_output_does_not_block_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "FLOOD_BYTES", 100_000)
    timeouts.replace(command_batch=WAIT_S)  # so it stays held up

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


def test_a_command_that_closes_its_output_keeps_running(tmp_path: Path) -> None:
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


@pytest.mark.usefixtures("unsupervised")
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


@pytest.mark.usefixtures("unsupervised")
def test_an_exit_reaped_elsewhere_is_unknown_and_its_pid_proves_nothing() -> None:
    async def test() -> None:
        async with bench() as b:
            made = b.python(SLEEPS)
            await b.says(made, "ready")
            os.kill(made.child.pid, signal.SIGKILL)
            os.waitpid(made.child.pid, 0)  # the loop does not run in between, so it is too late
            assert await made.wait() == Exit(None, None)
            assert not made.child.tree._session_is_ours
            assert guardian_client.guardian()._watched[made._token] == f"watch {made._token}\n"

    run(test())


@LEAVERS
def test_background_processes_run_until_the_release(leaver: str) -> None:
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


@pytest.mark.usefixtures("unsupervised")
def test_background_processes_are_found_by_their_session_after_the_exit() -> None:
    async def test() -> None:
        async with bench() as b:
            # Neither a token nor a living parent, and we never saw the process that started it.
            inner = f"'{sys.executable}' -I -S -c 'import time; time.sleep(600)' & echo pid $!"
            made = b.create("sh", "-c", 'env -i /bin/sh -c "$1" & exit 0', "sh", inner)
            relatives = await b.relatives(made)
            await made.wait()
            assert not made.child.reaped  # so its pid is not reused
            await soon(made.kill())
            assert not any(map(is_running, relatives))

    run(test())


def test_output_in_the_pipe_at_the_exit_is_read_even_if_others_hold_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "FLOOD_BYTES", 1)
    timeouts.replace(command_batch=WAIT_S)  # after one chunk nothing more is read

    async def test() -> None:
        async with bench() as b:
            made = b.create("sleep 600 & for n in {1..2000}; do echo line $n; done; echo end")
            assert await soon(made.wait()) == Exit(0, None)
            assert made.output()[0].endswith("line 2000\nend\n")
            assert b.shown(made) == made.output()[0]

    run(test())


def test_late_output_of_background_processes_is_shown(tmp_path: Path) -> None:
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
