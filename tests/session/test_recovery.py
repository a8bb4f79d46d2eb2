"""A dead agent is started again when needed, and its sessions are restored."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.snapshot import TurnStart
from tests.demo_agent import COMMAND
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent, begun, notices, pids_of
from tests.waiting import gone, wait_until

STUBBORN = Path(__file__).parents[1] / "agents" / "stubborn.py"
ROOT = Path(__file__).parents[2]


def kill(session: acp.Session) -> None:
    """Kill the agent, and wait until its sessions know."""
    assert session.agent.pid is not None
    os.kill(session.agent.pid, signal.SIGKILL)
    wait_until(lambda: session.status == "dead", "the session knows that its agent died", LIMIT_S)


def prompts(session: acp.Session) -> list[str]:
    return [item.text for item in session.transcript.items if isinstance(item, TurnStart)]


# ---- restoring a session ---------------------------------------------------------------------


@pytest.mark.parametrize(("can", "remembers"), [("load", True), ("", False)])
def test_a_replaced_session_loses_its_title_and_its_cost(
    demo: Demo, tmp_path: Path, can: str, remembers: bool
) -> None:
    session = demo(env={"ACP_DEMO_HOME": str(tmp_path), "ACP_DEMO_CAPS": can})
    session.prompt("/title A name", timeout=LIMIT_S)
    session.prompt("/usage", timeout=LIMIT_S)
    kill(session)
    session._loop.call(session._conversation.ready())
    assert session.usage is not None
    assert ((session.title == "A name"), (session.usage.cost is not None)) == (remembers, remembers)


@pytest.mark.parametrize(
    ("can", "memory"),
    [
        ("resume,load", "The session was resumed."),
        ("resume", "The session was resumed."),
        ("load", "The session was loaded."),
        ("list", "It does not remember this conversation."),
        ("", "It does not remember this conversation."),
    ],
)
def test_a_session_is_resumed_else_loaded_else_replaced(
    demo: Demo, tmp_path: Path, can: str, memory: str
) -> None:
    session = demo(env={"ACP_DEMO_HOME": str(tmp_path), "ACP_DEMO_CAPS": can})
    session.prompt("/tools 2", timeout=LIMIT_S)
    before = session.transcript.items
    kill(session)
    session.prompt("and on", timeout=LIMIT_S)
    assert prompts(session) == ["/tools 2", "and on"]
    assert session.transcript.items[: len(before)] == before
    (notice,) = notices(session)
    assert "demo was restarted because it had ended." in notice
    assert notice.endswith(memory)
    assert ("repeat interrupted work" in notice) == (can == "load")  # a load has made openhands do so


def test_a_session_that_the_agent_has_lost_is_replaced(demo: Demo, tmp_path: Path) -> None:
    session = demo(env={"ACP_DEMO_HOME": str(tmp_path)})
    session.prompt("one", timeout=LIMIT_S)
    kill(session)
    for kept in tmp_path.iterdir():
        kept.unlink()
    assert "two" in session.prompt("two", timeout=LIMIT_S).text
    assert notices(session)[0].endswith("It does not remember this conversation.")


def test_death_in_a_turn_fails_that_turn_and_the_next_one_works(session: acp.Session) -> None:
    with pytest.raises(acp.AgentDied, match="exited with code 5") as caught:
        session.prompt("/die 5", timeout=LIMIT_S)
    assert caught.value.exit_code == 5
    assert "giving up" in caught.value.stderr
    turn = session.turns[-1]
    assert (turn.status, turn.text) == ("failed", "I am about to die.")
    assert [call.status for call in turn.tool_calls] == ["unfinished"]
    assert session.prompt("alive?", timeout=LIMIT_S).stop_reason == "end_turn"
    assert session.status == "idle"


def test_turns_queued_when_the_agent_died_run_on_the_next_one(session: acp.Session) -> None:
    dying, following = session.start("/die"), session.start("/pid")
    with pytest.raises(acp.AgentDied):
        dying.wait(LIMIT_S)
    assert pids_of(following.wait(LIMIT_S)) == [session.agent.pid]


def test_two_sessions_are_restored_together_on_one_agent(demo: Demo) -> None:
    first = demo()
    second = first.agent.new_session()
    kill(first)
    turns = [session.start("/pid") for session in (first, second)]
    pids = [pids_of(turn.wait(LIMIT_S)) for turn in turns]
    assert pids == [[first.agent.pid]] * 2
    assert [len(notices(session)) for session in (first, second)] == [1, 1]
    assert first.id != second.id


def test_settings_and_new_sessions_revive_a_dead_agent_too(session: acp.Session) -> None:
    kill(session)
    session.mode = "plan"
    assert session.mode == "plan"
    kill(session)
    other = session.agent.new_session()
    assert pids_of(other.prompt("/pid", timeout=LIMIT_S)) == [session.agent.pid]


# ---- when that fails ------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path) -> str:
    """The demo agent as a command that can be taken away, and that waits while `gate` is there."""
    path = tmp_path / "agent"
    path.write_text(
        f"#!/bin/sh\nwhile [ -e {tmp_path}/gate ]; do sleep 0.02; done\nexec {shlex.join(COMMAND)}\n"
    )
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def connect(command: str) -> Iterator[Callable[[], acp.Session]]:
    opened: list[acp.Session] = []

    def connect() -> acp.Session:
        opened.append(acp.connect([command], env={"PYTHONPATH": str(ROOT)}))
        return opened[-1]

    yield connect
    for session in opened:
        session.agent.close()


Connect = Callable[[], acp.Session]


def test_an_agent_that_cannot_be_restarted_is_an_error_until_it_can(connect: Connect, command: str) -> None:
    session = connect()
    kill(session)
    Path(command).rename(command + ".away")
    for _ in range(2):
        with pytest.raises(acp.AgentNotFound, match="cannot be started"):
            session.prompt("hello", timeout=LIMIT_S)
        assert session.status == "dead"
    Path(command + ".away").rename(command)
    assert session.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert session.status == "idle"


def test_a_session_that_cannot_be_reopened_does_not_block_the_others(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with agent(sys.executable, STUBBORN, tmp_path, cwd=elsewhere) as refused:
        other = refused.agent.new_session(cwd=tmp_path)
        kill(refused)
        (tmp_path / "full").write_text(str(elsewhere))
        for _ in range(2):
            with pytest.raises(acp.AgentError, match="there is no room"):
                refused.prompt("hello", timeout=LIMIT_S)
            assert refused.status == "dead"
            assert other.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
        pid = refused.agent.pid
        (tmp_path / "full").unlink()
        assert refused.prompt("hello", timeout=LIMIT_S).text == f"hello {pid} "
        assert len(notices(refused)) == len(notices(other)) == 1
        assert (other.id, refused.id) == ("s99", "s98")
        kill(refused)  # and now the first restored session gets the id that the other had
        assert refused.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
        assert other.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
        assert (other.id, refused.id) == ("s98", "s99")


def test_cancelling_the_turn_that_restarts_the_agent_keeps_the_other(
    connect: Connect, tmp_path: Path
) -> None:
    first = connect()
    second = first.agent.new_session()
    kill(first)
    (tmp_path / "gate").touch()
    turn = first.start("hello")
    wait_until(lambda: second.status == "restarting", "the agent is being started again", LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    (tmp_path / "gate").unlink()
    wait_until(lambda: second.status == "idle", "the other session is open again", LIMIT_S)
    assert second.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert first.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert [len(notices(session)) for session in (first, second)] == [1, 1]


def test_a_session_closed_during_a_restart_stays_closed(connect: Connect, tmp_path: Path) -> None:
    first = connect()
    second = first.agent.new_session()
    kill(first)
    (tmp_path / "gate").touch()
    turn = first.start("hello")
    wait_until(lambda: second.status == "restarting", "the agent is being started again", LIMIT_S)
    second.close()
    (tmp_path / "gate").unlink()
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert second.status == "closed"
    pid = first.agent.pid
    first.close()
    assert pid is not None
    assert gone(pid), "it was the last session"


def test_a_session_closed_while_it_is_reopened_stays_closed(tmp_path: Path) -> None:
    first = acp.connect([sys.executable, str(STUBBORN), str(tmp_path)])
    second = first.agent.new_session()
    kill(first)
    (tmp_path / "slow").touch()
    first.start("hello")
    wait_until((tmp_path / "asked").exists, "the session is being opened again", LIMIT_S)
    first.close()
    (tmp_path / "slow").unlink()
    assert second.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert first.status == "closed"
    pid = second.agent.pid
    second.close()
    assert pid is not None
    assert gone(pid), "it was the last session"


def test_closing_the_last_session_during_a_restart_leaves_no_agent(connect: Connect, tmp_path: Path) -> None:
    session = connect()
    kill(session)
    (tmp_path / "gate").touch()
    turn, old = session.start("hello"), session.agent.pid
    wait_until(lambda: session.agent.pid != old, "the agent is being started again", LIMIT_S)
    pid = session.agent.pid
    session.close()
    assert pid is not None
    assert gone(pid)
    with pytest.raises(acp.SessionClosed):
        turn.wait(LIMIT_S)


# ---- stuck next to other sessions --------------------------------------------------------------------------


def test_a_restart_for_a_stuck_session_waits_for_the_turns_of_others(demo: Demo) -> None:
    timeouts.replace(cancel_grace=0.1, restart_grace=0.1)
    stuck = demo()
    other = stuck.agent.new_session()
    hanging, working = begun(stuck.start("/hang")), begun(other.start("/slow 1"))
    hanging.cancel()
    following = stuck.start("/pid")
    assert working.wait(LIMIT_S).stop_reason == "end_turn"
    assert pids_of(following.wait(LIMIT_S)) == [stuck.agent.pid]
    assert [len(notices(session)) for session in (stuck, other)] == [1, 1]


def test_the_restart_does_not_wait_forever_and_fails_the_running_turn(demo: Demo) -> None:
    timeouts.replace(cancel_grace=0.1, restart_grace=0.1, restart_defer=0.1)
    stuck = demo()
    other = stuck.agent.new_session()
    hanging, working = begun(stuck.start("/hang")), begun(other.start("/slow 600"))
    hanging.cancel()
    with pytest.raises(acp.AgentDied, match="restarted because it did not end a cancelled turn"):
        working.wait(LIMIT_S)
    assert working.status == "failed"
    assert other.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert stuck.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
