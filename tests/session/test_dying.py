"""An agent dies at the instant of a prompt, or while a turn waits: nothing is done twice."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.turn_queue import TurnRun
from acp_notebook.core.snapshot import TurnStart
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent, notices
from tests.waiting import gone, wait_until

MORTAL = Path(__file__).parents[1] / "agents" / "mortal.py"

Strike = Callable[[int], None]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[acp.Session]:
    with agent(sys.executable, MORTAL, tmp_path, cwd=tmp_path, undo=False, retry_rate_limits=True) as opened:
        yield opened


def life(folder: Path) -> list[str]:
    return (folder / "life").read_text().split()


def kill(pid: int) -> None:
    """Wait until it is dead, before anybody notices."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: gone(pid), "it is dead", LIMIT_S)


def stop(pid: int) -> None:
    """Stop it from reading."""
    os.kill(pid, signal.SIGSTOP)
    state = Path(f"/proc/{pid}/stat")
    wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", "it is stopped", LIMIT_S)


def at_the_next_prompt(session: acp.Session, before: Strike, after: Strike = lambda pid: None) -> None:
    """Kill it within the call that sends: between our last check of the agent and the write, or after it."""
    queue = session._conversation.queue
    begin = queue._begin

    def struck(run: TurnRun) -> None:
        queue._begin = begin
        pid = session.agent.pid
        assert pid is not None
        before(pid)
        begin(run)
        after(pid)

    queue._begin = struck


# ---- in the instant of a prompt -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [(kill, lambda pid: None), (stop, kill)],
    ids=["the pipe is closed", "it is written and never read"],
)
def test_a_prompt_unread_at_the_agents_death_is_sent_again_once(
    session: acp.Session, tmp_path: Path, before: Strike, after: Strike
) -> None:
    at_the_next_prompt(session, before, after)
    turn = session.prompt("hello", timeout=LIMIT_S)
    assert life(tmp_path) == ["start", "start", "hello"]
    assert (turn.text, turn.status) == (f"I am {session.agent.pid}", "done")
    assert (len(session.turns), session.status) == (1, "idle")
    (notice,) = notices(session)
    assert "was restarted because it had ended" in notice


@pytest.mark.parametrize("size", [10, 1_000_000], ids=["small", "larger than the pipe"])
def test_both_sessions_get_their_turn_and_each_prompt_is_read_once(
    session: acp.Session, tmp_path: Path, size: int
) -> None:
    other = session.agent.new_session()
    at_the_next_prompt(session, stop)
    waiting = session.start("x" * size)
    wait_until(lambda: waiting.items != (), "the first is written, perhaps in part", LIMIT_S)
    at_the_next_prompt(other, lambda pid: None, kill)
    assert other.prompt("y" * size, timeout=LIMIT_S).stop_reason == "end_turn"
    assert waiting.wait(LIMIT_S).stop_reason == "end_turn"
    assert sorted(life(tmp_path)) == ["start", "start", "x" * size, "y" * size]


def test_a_prompt_that_may_have_been_read_is_not_sent_again(session: acp.Session, tmp_path: Path) -> None:
    with pytest.raises(acp.AgentDied, match="unknown whether it started on it") as caught:
        session.prompt("mute", timeout=LIMIT_S)
    assert (caught.value.exit_code, caught.value.untaken) == (3, False)
    assert life(tmp_path) == ["start", "mute"]
    assert "unknown whether it started on it" in session.to_text()
    with pytest.raises(acp.AgentDied) as caught:
        session.prompt("loud", timeout=LIMIT_S)
    assert "unknown whether" not in str(caught.value), "that it had begun can be seen"
    assert session.prompt("hello", timeout=LIMIT_S).status == "done"


def test_an_agent_that_never_reads_is_not_restarted_forever(session: acp.Session, tmp_path: Path) -> None:
    (tmp_path / "hurry").touch()
    at_the_next_prompt(session, kill)
    with pytest.raises(acp.AgentDied):
        session.prompt("hello", timeout=LIMIT_S)
    assert set(life(tmp_path)) == {"start"}
    assert len(life(tmp_path)) <= 4
    assert session.turns[-1].status == "failed"
    (tmp_path / "hurry").unlink()
    assert session.prompt("hello", timeout=LIMIT_S).status == "done"


def test_a_prompt_unread_twice_is_reported(session: acp.Session, tmp_path: Path) -> None:
    def once_more(pid: int) -> None:
        at_the_next_send(session, kill)
        kill(pid)

    at_the_next_prompt(session, once_more)
    with pytest.raises(acp.AgentDied, match="It had not read the prompt: nothing was done") as caught:
        session.prompt("hello", timeout=LIMIT_S)
    assert caught.value.untaken
    assert life(tmp_path) == ["start", "start"]


def at_the_next_send(session: acp.Session, strike: Strike) -> None:
    """The second one: the first is under way."""
    conversation = session._conversation
    send: Any = conversation._prompting.send
    sent: list[TurnRun] = []

    def struck(run: TurnRun) -> None:
        if sent:
            assert session.agent.pid is not None
            strike(session.agent.pid)
        sent.append(run)
        send(run)

    conversation._prompting.send = struck  # type: ignore[method-assign]


def test_a_recording_of_it_replays_the_same_way(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with agent(sys.executable, MORTAL, tmp_path, cwd=tmp_path, undo=False, record=tape) as session:
        at_the_next_prompt(session, stop, kill)
        said = session.prompt("hello", timeout=LIMIT_S).text
    replayed = acp.connect(cassette=tape, cwd=tmp_path)
    try:
        assert replayed.prompt("hello", timeout=LIMIT_S).text == said
        assert len(notices(replayed)) == 1
    finally:
        replayed.agent.close()
    assert life(tmp_path) == ["start", "start", "hello"]


# ---- while a turn waits for a rate limit ------------------------------------------------------------


def limited(session: acp.Session, text: str) -> acp.Turn:
    """Wait until the turn waits; returns it."""
    turn = session.start(text)

    def waits() -> bool:
        return any(isinstance(it, TurnStart) and it.rate_limit is not None for it in turn.items)

    wait_until(waits, "it waits", LIMIT_S)
    return turn


def killed(session: acp.Session) -> None:
    """Kill it, and wait until the connection knows."""
    pid = session.agent.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    agent = session.agent._host.agent
    wait_until(lambda: agent.connection.error is not None, "the connection knows that it died", LIMIT_S)
    assert gone(pid)


def test_a_rate_limits_wait_outlives_the_agent(session: acp.Session, tmp_path: Path) -> None:
    (tmp_path / "wait").write_text("500")
    turn = limited(session, "limit")
    killed(session)
    assert not turn.done
    pass_the_wait(session)
    assert turn.wait(LIMIT_S).text == f"I am {session.agent.pid}"
    assert life(tmp_path) == ["start", "limit", "start", "limit"]
    assert session.status == "idle"


def pass_the_wait(session: acp.Session) -> None:
    """End the wait: replace it with one of zero length."""
    conversation = session._conversation

    async def now() -> None:
        run = conversation.state.running
        assert run is not None
        assert run.pause is not None
        run.pause.cancel()
        run.pause = conversation.agent.background(conversation._prompting._send_later(run, 0))

    session._loop.call(now())


def test_a_turn_started_before_the_limit_fails_with_the_agent(session: acp.Session, tmp_path: Path) -> None:
    (tmp_path / "wait").write_text("500")
    turn = limited(session, "work")
    killed(session)
    with pytest.raises(acp.AgentDied):
        turn.wait(LIMIT_S)
    assert session.status == "dead"
    assert life(tmp_path) == ["start", "work"]


def test_a_turn_that_waits_without_an_agent_can_be_cancelled_and_closed(
    session: acp.Session, tmp_path: Path
) -> None:
    (tmp_path / "wait").write_text("500")
    turn = limited(session, "limit")
    killed(session)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert session.status == "dead"
    (tmp_path / "met").unlink()
    turn = limited(session, "limit")
    killed(session)
    session.close()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"


def test_another_sessions_prompt_restarts_the_agent_during_the_wait(
    session: acp.Session, tmp_path: Path
) -> None:
    (tmp_path / "wait").write_text("500")
    other = session.agent.new_session()
    turn = limited(session, "limit")
    killed(session)
    assert other.prompt("hello", timeout=LIMIT_S).status == "done"
    wait_until(lambda: session.status == "working", "it is open on the new agent, and still waits", LIMIT_S)
    assert not turn.done
    pass_the_wait(session)
    assert turn.wait(LIMIT_S).text == f"I am {session.agent.pid}"
    assert life(tmp_path).count("start") == 2


# ---- while a turn waits for a sign-in ---------------------------------------------------------------


def test_a_turn_that_waits_for_a_sign_in_outlives_the_agent(demo: Demo) -> None:
    session = demo(env={"ACP_DEMO_AUTH": "trouble"}, auth="demo-login")
    session.agent.logout()
    session._conversation.state.audience.can_sign_in = True
    turn = session.start("hello")
    wait_until(lambda: session.transcript.sign_in is not None, "a sign-in is wanted", LIMIT_S)
    killed(session)
    assert (turn.done, session.status) == (False, "signed_out")
    assert session.transcript.sign_in is not None
    session.authenticate("demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert (len(session.turns), session.status) == (1, "idle")
