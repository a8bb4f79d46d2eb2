"""A turn can always be stopped: by the agent, or by us if it does not obey."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.snapshot import Question
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent, begun, notices, pids_of
from tests.waiting import wait_until

STUBBORN = Path(__file__).parents[1] / "agents" / "stubborn.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def short_graces() -> None:
    timeouts.replace(cancel_grace=0.1, restart_grace=0.1)


@pytest.fixture
def never_restarted() -> None:
    timeouts.replace(cancel_grace=0.1, restart_grace=600.0)


# ---- agents that obey -----------------------------------------------------------------------------


def test_a_cancelled_turn_keeps_what_has_arrived(session: acp.Session) -> None:
    turn = begun(session.start("/slow 600"))
    turn.cancel()
    assert turn.wait(LIMIT_S) is turn
    assert (turn.status, turn.stop_reason, turn.error) == ("done", "cancelled", None)
    assert turn.text.startswith("tick1 ")
    assert session.status == "idle"


def test_cancelling_a_session_stops_only_the_running_turn(session: acp.Session) -> None:
    running, queued = begun(session.start("/slow 600")), session.start("next")
    session.cancel()
    assert running.wait(LIMIT_S).stop_reason == "cancelled"
    assert queued.wait(LIMIT_S).stop_reason == "end_turn"


def test_a_turn_that_has_just_started_is_cancelled(session: acp.Session) -> None:
    turn = session.start("/slow 600")
    session.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"


def test_a_queued_turn_is_cancelled_without_being_sent(session: acp.Session) -> None:
    running, first, second = begun(session.start("/slow 600")), session.start("no"), session.start("yes")
    first.cancel()
    assert first.wait(LIMIT_S).stop_reason == "cancelled"
    assert (first.status, first.text, first.items) == ("done", "", ())
    assert not running.done
    running.cancel()
    assert "yes" in second.wait(LIMIT_S).text
    assert "“no”" not in session.to_text()


def test_cancelling_twice_or_a_finished_turn_or_an_idle_session_does_nothing(session: acp.Session) -> None:
    session.cancel()
    finished = session.prompt("Hello", timeout=LIMIT_S)
    finished.cancel()
    session.cancel()
    turn = begun(session.start("/slow 600"))
    turn.cancel()
    turn.cancel()
    session.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert finished.stop_reason == "end_turn"
    assert session.prompt("Hello again", timeout=LIMIT_S).stop_reason == "end_turn"


def test_an_open_tool_call_of_a_cancelled_turn_is_cancelled(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path, permissions="allow")
    turn = session.start("/run sleep 60")
    wait_until(lambda: [it.status for it in turn.tool_calls] == ["in_progress"], "the command runs", LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert [call.status for call in turn.tool_calls] == ["cancelled"]


def test_a_cancel_settles_a_question_that_a_function_is_deciding(demo: Demo) -> None:
    asked, never = threading.Event(), threading.Event()

    def hanging(request: acp.PermissionRequest) -> str:
        asked.set()
        never.wait(LIMIT_S)
        return "allow"

    session = demo(permissions=hanging)
    turn = session.start("/ask")
    assert asked.wait(LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    never.set()
    (question,) = (item for item in turn.items if isinstance(item, Question))
    assert (question.status, question.reason) == ("cancelled", "the turn was cancelled")


def test_closing_the_session_ends_a_running_and_a_queued_turn(session: acp.Session) -> None:
    running, queued = begun(session.start("/hang")), session.start("never")
    session.close()
    assert running.wait(LIMIT_S).stop_reason == "cancelled"
    with pytest.raises(acp.SessionClosed):
        queued.wait(LIMIT_S)
    with pytest.raises(acp.SessionClosed):
        session.start("too late")


# ---- agents that do not ---------------------------------------------------------------------------


@pytest.mark.usefixtures("never_restarted")
def test_an_unending_turn_is_abandoned_and_keeps_late_updates(demo: Demo) -> None:
    session = demo()
    turn = begun(session.start("/deaf"))
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert (turn.status, session.status) == ("abandoned", "stuck")
    wait_until(lambda: "late3" in turn.text, "late updates are shown in the abandoned turn", LIMIT_S)


@pytest.mark.usefixtures("never_restarted")
def test_a_late_response_frees_the_session_without_a_restart(tmp_path: Path) -> None:
    with agent(sys.executable, STUBBORN, tmp_path) as session:
        pid = session.agent.pid
        turn = begun(session.start("wait"))
        turn.cancel()
        turn.wait(LIMIT_S)
        following = session.start("hello")
        assert session.status == "stuck"
        session.agent.new_session()
        assert following.wait(LIMIT_S).text == f"hello {pid} "
        assert turn.text == f"wait {pid} late "
        assert (turn.status, session.agent.pid) == ("abandoned", pid)
        assert notices(session) == []


@pytest.mark.usefixtures("short_graces")
def test_without_one_the_agent_is_restarted_and_the_next_prompt_works(demo: Demo) -> None:
    session = demo()
    before = session.agent.pid
    turn = begun(session.start("/hang"))
    turn.cancel()
    turn.wait(LIMIT_S)
    following = session.prompt("/pid", timeout=LIMIT_S)
    assert pids_of(following) == [session.agent.pid] != [before]
    (notice,) = notices(session)
    assert "did not end a cancelled turn" in notice


@pytest.mark.usefixtures("short_graces")
def test_two_stuck_sessions_restart_their_agent_once(demo: Demo) -> None:
    first = demo()
    second = first.agent.new_session()
    turns = [begun(session.start("/hang")) for session in (first, second)]
    for turn in turns:
        turn.cancel()
    pids = [pids_of(session.prompt("/pid", timeout=LIMIT_S)) for session in (first, second)]
    # A second restart would have happened before this prompt.
    assert [pids_of(session.prompt("/pid", timeout=LIMIT_S)) for session in (first, second)] == pids
    assert pids[0] == pids[1] == [first.agent.pid]
    assert [len(notices(session)) for session in (first, second)] == [1, 1]


@pytest.mark.usefixtures("never_restarted")
def test_an_agent_that_dies_while_stuck_is_no_longer_stuck(demo: Demo) -> None:
    first = demo()
    second = first.agent.new_session()
    turn = begun(first.start("/hang"))
    turn.cancel()
    turn.wait(LIMIT_S)
    with pytest.raises(acp.AgentDied):
        second.prompt("/die", timeout=LIMIT_S)
    assert second.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert first.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"


# ---- Ctrl-C ---------------------------------------------------------------------------------------


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_before_the_wait_cancels_the_turn(
    session: acp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_notebook.api.session.present", interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.prompt("/slow 600")
    assert session.turns[-1].wait(LIMIT_S).stop_reason == "cancelled"


def test_an_interrupt_before_a_turn_is_sent_leaves_nothing_to_wait_for(
    session: acp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    attended: list[object] = []
    monkeypatch.setattr("acp_notebook.notebook.kernel.attend", attended.append)
    with monkeypatch.context() as patches:
        patches.setattr("acp_notebook.api.session.can_be_asked", interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.start("hello")
    assert attended == []  # a turn that never begins would keep the pump for ever
    assert session.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert len(attended) == 1


@pytest.mark.parametrize("call", [acp.Session.start, acp.Session.prompt, acp.Session.stream])
def test_an_interrupt_while_a_turn_is_sent_cancels_it(
    session: acp.Session, monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]
) -> None:
    monkeypatch.setattr("acp_notebook.notebook.kernel.attend", interrupt)
    with pytest.raises(KeyboardInterrupt):
        call(session, "/slow 600")
    assert session.turns[-1].wait(LIMIT_S).stop_reason == "cancelled"


INTERRUPTED = """
import os, signal, threading
import acp_notebook as acp

def interrupt():
    while not session.turns or not session.turns[0].text:
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGINT)

with acp.connect("demo") as session:
    pid = session.agent.pid
    threading.Thread(target=interrupt).start()
    try:
        {call}
    except KeyboardInterrupt:
        print("interrupted")
    turn = session.turns[0].wait(60)
    print(turn.stop_reason, session.prompt("hi").stop_reason, session.agent.pid == pid)
"""


@pytest.mark.parametrize("call", ["session.prompt('/slow 600')", "list(session.stream('/slow 600'))"])
def test_an_interrupt_cancels_the_turn_and_leaves_the_session_usable(call: str) -> None:
    script = [sys.executable, "-X", "dev", "-c", INTERRUPTED.format(call=call)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("interrupted\ncancelled end_turn True\n", "")
