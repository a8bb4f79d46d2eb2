"""ProcessTransport with real processes, well-behaved and not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import zlib
from pathlib import Path

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.processes.process_transport import Command, ProcessTransport
from acp_notebook.agent.processes.ring import Ring
from acp_notebook.agent.transport import Ending, Transport
from tests.agent.process_helpers import (
    CHILD,
    DAEMON,
    SETSID_CHILD,
    WAIT_S,
    Agent,
    python,
    run,
    running,
    shell,
    wait_gone,
)

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
IGNORES_EOF = "import signal, time\nprint('ready', flush=True)\nwhile True: time.sleep(60)"
IGNORES_TERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + IGNORES_EOF

STAYS = "\nsys.stdin.read()\n"


@pytest.fixture(autouse=True)
def unhurried() -> None:
    """Who closes the output exits, and who gets SIGTERM ends, on a machine of any speed."""
    timeouts.replace(agent_exit=WAIT_S, agent_term_grace=WAIT_S)


@pytest.fixture
def patient() -> None:
    """For agents that will exit at EOF, on a machine of any speed."""
    timeouts.replace(agent_eof_grace=WAIT_S)


@pytest.fixture
def impatient(unhurried: None) -> None:
    """For agents that will not: no need to wait for it."""
    timeouts.replace(agent_eof_grace=0.05, agent_exit=0.05)


@pytest.fixture
def ruthless(impatient: None) -> None:
    """For agents that ignore SIGTERM, too."""
    timeouts.replace(agent_term_grace=0.05)


def test_it_is_a_transport() -> None:
    transport: Transport = ProcessTransport(python(ECHO))
    assert transport.unsent == 0
    assert "not started" in repr(transport)


def test_written_bytes_are_echoed() -> None:
    async def test() -> None:
        async with running(python(ECHO)) as agent:
            agent.transport.write(b"one\n")
            agent.transport.write(b"two\n")
            await agent.until(lambda: agent.received == b"one\ntwo\n")

    run(test())


def test_it_works_with_a_loop_in_another_thread() -> None:
    failures: list[BaseException] = []

    async def test() -> None:
        async with running(python(ECHO)) as agent:
            agent.transport.write(b"hello\n")
            await agent.says("hello")

    def body() -> None:
        try:
            run(test())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(WAIT_S)
    assert not failures
    assert not thread.is_alive()


@pytest.mark.usefixtures("unsupervised")
@pytest.mark.parametrize("missing", [("pidfd_open",), ("pidfd_open", "waitid")])
def test_the_exit_is_seen_without_pidfd_and_waitid(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    for name in missing:
        monkeypatch.delattr(os, name, raising=False)

    async def test() -> None:
        async with running(python("raise SystemExit(7)")) as agent:
            assert (await agent.ending()).exit_code == 7

    run(test())


# ---- amounts


def test_a_line_of_20_mb_arrives_complete() -> None:
    async def test() -> None:
        script = "import sys\nsys.stdout.write('x' * 20_000_000 + '\\n')"
        async with running(python(script)) as agent:
            ending = await agent.ending()
            assert ending.exit_code == 0
            assert len(agent.received) == 20_000_001
            assert agent.received.endswith(b"x\n")

    run(test())


def test_a_flood_of_stderr_does_not_block_and_keeps_the_newest() -> None:
    async def test() -> None:
        script = (
            "import sys\nfor n in range(50_000): print('line', n, 'ä' * 10, file=sys.stderr)\nprint('done')"
        )
        async with running(python(script)) as agent:
            ending = await agent.ending()
            assert agent.received == b"done\n"
            text = agent.transport.stderr_text()
            assert 200_000 < len(text.encode()) <= 256 * 1024
            assert text.endswith("line 49999 " + "ä" * 10 + "\n")
            assert ending.stderr.startswith("line ")
            assert text.endswith(ending.stderr)
            assert len(ending.stderr.encode()) <= 4096

    run(test())


@pytest.mark.usefixtures("impatient")
def test_a_write_to_an_agent_that_does_not_read_waits_in_our_queue() -> None:
    async def test() -> None:
        async with running(python(IGNORES_EOF)) as agent:
            for _ in range(2048):
                agent.transport.write(b"x" * 1024)
            assert 1_000_000 < agent.transport.unsent < 2 * 1024 * 1024
            await agent.says("ready")
        assert agent.transport.unsent == 0
        agent.transport.write(b"late")  # nothing happens
        assert agent.transport.unsent == 0

    run(test())


def test_a_big_write_arrives_complete_and_in_order() -> None:
    async def test() -> None:
        script = "import sys, zlib\nprint(zlib.crc32(sys.stdin.buffer.read(5_000_000)), flush=True)"
        async with running(python(script + STAYS)) as agent:
            data = b"".join(b"%07d\n" % n for n in range(625_000))
            agent.transport.write(data[:4_000_000])
            agent.transport.write(data[4_000_000:])
            await agent.says(str(zlib.crc32(data)))
            await agent.until(lambda: agent.transport.unsent == 0)

    run(test())


@pytest.mark.usefixtures("patient")
def test_close_sends_what_is_queued_before_the_end_of_stdin() -> None:
    async def test() -> None:
        script = "import sys\nprint(len(sys.stdin.buffer.read()), flush=True)"
        async with running(python(script)) as agent:
            agent.transport.write(b"x" * 1_000_000)
        assert agent.received == b"1000000\n"
        assert agent.endings == [Ending("the agent was closed", 0, "")]

    run(test())


@pytest.mark.usefixtures("impatient")
def test_an_agent_that_closes_its_stdin_is_still_heard(tmp_path: Path) -> None:
    async def test() -> None:
        script = (
            "import os, time\nos.close(0)\nprint('closed', flush=True)\n"
            "while not os.path.exists(FLAG): time.sleep(.01)\nprint('still here', flush=True)\n" + IGNORES_EOF
        )
        flag = tmp_path / "flag"
        async with running(python(f"FLAG = {str(flag)!r}\n{script}")) as agent:
            await agent.says("closed")
            agent.transport.write(b"anybody?\n")
            assert agent.transport.stdin_closed
            agent.transport.write(b"x" * 1_000_000)
            assert agent.transport.unsent == 0
            flag.touch()
            await agent.says("still here")

    run(test())


@pytest.mark.usefixtures("impatient")
def test_an_agent_that_closes_its_stdin_while_we_write_is_noticed() -> None:
    async def test() -> None:
        script = "import os, sys\nsys.stdin.buffer.read(100_000)\nos.close(0)\n" + IGNORES_EOF
        async with running(python(script)) as agent:
            agent.transport.write(b"x" * 5_000_000)
            await agent.says("ready")
            while not agent.transport.stdin_closed:
                await asyncio.sleep(0.01)
            assert agent.transport.unsent == 0

    run(test())


@pytest.mark.usefixtures("impatient")
def test_an_agent_that_closes_its_stdout_but_keeps_running_is_ended() -> None:
    async def test() -> None:
        script = "import os, sys\nprint('bye', flush=True)\nos.close(1)\nsys.stdout = open(os.devnull, 'w')\n"
        async with running(python(script + IGNORES_EOF)) as agent:
            ending = await agent.ending()
            assert ending.reason == "the agent closed its output but was still running"
            assert ending.exit_code is None
            assert agent.received == b"bye\n"

    run(test())


# ---- deaths


def test_the_exit_code_and_the_tail_of_stderr_are_reported() -> None:
    async def test() -> None:
        script = "import sys\nprint('it broke', file=sys.stderr)\nprint('x')\nsys.exit(3)"
        async with running(python(script)) as agent:
            assert await agent.ending() == Ending("the agent exited with code 3", 3, "it broke\n")
            assert agent.received == b"x\n"

    run(test())


def test_death_by_a_signal_is_a_negative_exit_code() -> None:
    async def test() -> None:
        async with running(python("import os\nos.kill(os.getpid(), 9)")) as agent:
            assert await agent.ending() == Ending("the agent was killed by signal 9 (SIGKILL)", -9, "")

    run(test())


@pytest.mark.usefixtures("unsupervised")
def test_an_exit_code_reaped_elsewhere_is_unknown() -> None:
    async def test() -> None:
        async with running(python("import sys\nsys.stdin.read()\nsys.exit(3)")) as agent:
            assert agent.transport.pid is not None
            os.kill(agent.transport.pid, signal.SIGKILL)
            os.waitpid(agent.transport.pid, 0)  # the loop does not run in between, so it is too late
            ending = await agent.ending()
            assert ending.exit_code is None
            assert "another wait()" in ending.reason

    run(test())


@pytest.mark.parametrize("script", [CHILD, SETSID_CHILD, DAEMON], ids=["child", "setsid", "daemon"])
def test_a_death_is_noticed_even_if_a_grandchild_holds_the_pipes(script: str) -> None:
    async def test() -> None:
        async with running(python(script + "\nsys.exit(5)")) as agent:
            relatives = await agent.relatives(1)
            ending = await agent.ending()
            assert ending.exit_code == 5
            assert agent.transport._finishing is not None
            await agent.transport._finishing  # without close: an ending alone ends the whole tree
            wait_gone(*relatives)

    run(test())


# ---- closing


@pytest.mark.parametrize(
    ("script", "code", "graces"),
    [
        ("import sys\nprint('ready', flush=True)" + STAYS, 0, "patient"),
        (IGNORES_EOF, -signal.SIGTERM, "impatient"),
        (IGNORES_TERM, -signal.SIGKILL, "ruthless"),
    ],
    ids=["exits at EOF", "ignores EOF", "ignores SIGTERM"],
)
def test_close_ends_the_agent_as_gently_as_it_allows(
    request: pytest.FixtureRequest, script: str, code: int, graces: str
) -> None:
    request.getfixturevalue(graces)

    async def test() -> None:
        async with running(python(script)) as agent:
            await agent.says("ready")
        assert agent.endings == [Ending("the agent was closed", code, "")]

    run(test())


@pytest.mark.parametrize("script", [CHILD, SETSID_CHILD, DAEMON], ids=["child", "setsid", "daemon"])
@pytest.mark.parametrize("end", [STAYS, "\n" + IGNORES_TERM], ids=["polite", "stubborn"])
@pytest.mark.usefixtures("ruthless")
def test_close_ends_the_whole_tree(script: str, end: str) -> None:
    async def test() -> None:
        async with running(python(script + end)) as agent:
            await agent.relatives(1)

    run(test())


@pytest.mark.usefixtures("impatient")
def test_close_ends_an_agent_behind_a_shell() -> None:
    async def test() -> None:
        line = '"$PYTHON" -I -S -c "$SCRIPT" & echo pid $!; wait; true'
        async with running(shell(line, SCRIPT="import time; time.sleep(600)")) as agent:
            await agent.relatives(1)

    run(test())


@pytest.mark.usefixtures("unsupervised")
def test_close_finds_a_descendant_that_cleared_its_environment() -> None:
    async def test() -> None:
        # Neither a token nor a living parent: only the session identifies it.
        line = 'env -i "$PYTHON" -I -S -c "import time; time.sleep(600)" & echo pid $!; exit 0'
        async with running(shell(line)) as agent:
            await agent.relatives(1)
            await agent.ending()

    run(test())


@pytest.mark.usefixtures("impatient")
def test_concurrent_closes_are_one_shutdown() -> None:
    async def test() -> None:
        async with running(python(IGNORES_EOF)) as agent:
            await asyncio.gather(*(agent.transport.close() for _ in range(5)))
            await agent.transport.close()
            assert len(agent.endings) == 1

    run(test())


@pytest.mark.usefixtures("ruthless")
def test_cancelling_a_close_still_closes() -> None:
    async def test() -> None:
        async with running(python(IGNORES_TERM)) as agent:
            closing = asyncio.ensure_future(agent.transport.close())
            await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            await agent.ending()

    run(test())


def test_a_loop_closed_in_the_middle_leaves_nothing() -> None:
    agents: list[Agent] = []

    async def test() -> None:
        agent = Agent(python(IGNORES_TERM))
        agents.append(agent)
        agent.start()
        await agent.says("ready")
        closing = asyncio.ensure_future(agent.transport.close())
        await asyncio.sleep(0)
        closing.cancel()  # asyncio.run cancels the shutdown itself, too

    run(test())
    assert len(agents[0].endings) == 1
    wait_gone(*agents[0].pids)


def test_closing_a_transport_that_never_started_does_nothing() -> None:
    async def test() -> None:
        transport = ProcessTransport(python(ECHO))
        transport.write(b"x")
        transport.kill_now()
        await transport.close()

    run(test())


def test_kill_now_ends_the_tree_while_the_loop_is_stuck() -> None:
    async def test() -> None:
        async with running(python(DAEMON + IGNORES_TERM)) as agent:
            await agent.relatives(1)
            await agent.says("ready")
            killer = threading.Thread(target=agent.transport.kill_now)
            killer.start()
            killer.join(WAIT_S)  # blocks the loop
            wait_gone(*agent.pids)
            assert (await agent.ending()).exit_code == -9

    run(test())


def test_a_forked_copy_of_the_owner_kills_nothing() -> None:
    async def test() -> None:
        async with running(python(ECHO)) as agent:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "getpid", lambda: 1)  # as in a forked child
                agent.transport.kill_now()
                assert agent.transport._child is not None
                assert agent.transport._child.tree.signal(signal.SIGKILL) == 0
            agent.transport.write(b"alive\n")
            await agent.says("alive")

    run(test())


# ---- starting


@pytest.mark.parametrize(
    ("argv", "cwd", "error", "named"),
    [
        (("no-such-command-anywhere",), "/", FileNotFoundError, "no-such-command-anywhere"),
        ((sys.executable,), "/no/such/folder", FileNotFoundError, "/no/such/folder"),
        ((sys.executable,), sys.executable, NotADirectoryError, "python"),
        ((__file__,), "/", PermissionError, "test_process_transport"),
        ((), "/", OSError, "empty"),
        (("a\0b",), "/", OSError, "null byte"),
    ],
)
def test_a_failed_start_says_what_is_missing(
    argv: tuple[str, ...], cwd: str, error: type[OSError], named: str
) -> None:
    async def test() -> None:
        before = set(os.listdir("/dev/fd"))
        transport = ProcessTransport(Command(argv, cwd, dict(os.environ)))
        with pytest.raises(error, match=named):
            transport.start(lambda data: None, lambda ending: None)
        assert transport.pid is None
        await transport.close()
        assert len(os.listdir("/dev/fd")) <= len(before) + 1  # the guardian's pipe, if it was the first

    run(test())


def test_windows_gets_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        transport = ProcessTransport(python(ECHO))
        monkeypatch.setattr(os, "name", "nt")
        with pytest.raises(OSError, match="needs POSIX"):
            transport.start(lambda data: None, lambda ending: None)
        monkeypatch.undo()

    run(test())


def test_no_file_descriptor_is_left_open() -> None:
    async def once() -> None:
        async with running(python(ECHO)) as agent:
            agent.transport.write(b"x\n")
            await agent.says("x")

    run(once())
    before = len(os.listdir("/dev/fd"))
    run(once())
    assert len(os.listdir("/dev/fd")) == before


def test_the_agent_sees_its_environment_and_its_folder(tmp_path: Path) -> None:
    async def test() -> None:
        script = "import os\nprint(os.getcwd(), os.environ['COLOUR'], 'HOME' in os.environ, flush=True)"
        command = Command((sys.executable, "-c", script), str(tmp_path), {"COLOUR": "blue"})
        async with running(command) as agent:
            await agent.says(f"{tmp_path.resolve()} blue False")

    run(test())


# ---- the ring


def test_a_ring_keeps_the_newest_and_cuts_between_characters() -> None:
    ring = Ring(kept=10)
    for _ in range(30):
        ring.append("ä€".encode())
    assert ring.text() == "ä€ä€"
    ring.append("€".encode()[:2])
    assert ring.text() == "€ä€"


def test_a_tail_contains_whole_lines_unless_the_last_line_is_too_long() -> None:
    ring = Ring()
    ring.append(b"first line\nsecond line\nthird\n")
    assert ring.tail(20) == "second line\nthird\n"
    assert ring.tail(18) == "third\n"
    assert ring.tail(100) == "first line\nsecond line\nthird\n"
    assert ring.tail(3) == "rd\n"


def test_broken_characters_on_stderr_are_replaced() -> None:
    ring = Ring()
    ring.append(b"a\xffb\n")
    assert ring.text() == "a\ufffdb\n"
