"""Several sessions on one agent: concurrent, loaded again, closed one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import TurnStart
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent, begun, pids_of
from tests.waiting import gone

STUBBORN = Path(__file__).parents[1] / "agents" / "stubborn.py"


@pytest.fixture
def keeping(demo: Demo, tmp_path: Path) -> acp.Session:
    """A session on an agent that stores its sessions."""
    return demo(env={"ACP_DEMO_HOME": str(tmp_path / "kept")}, cwd=tmp_path)


# ---- at the same time -----------------------------------------------------------------------------


def test_sessions_on_one_agent_run_concurrently_without_mixing(session: acp.Session) -> None:
    sessions = [session, *(session.agent.new_session() for _ in range(3))]
    assert len({it.id for it in sessions}) == 4

    def ask(number: int) -> str:
        return sessions[number].prompt(f"/think I am {number}", timeout=LIMIT_S).thoughts

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [f"I am {number}" for number in range(4)]
    assert {pids_of(it.prompt("/pid", timeout=LIMIT_S))[0] for it in sessions} == {session.agent.pid}


def test_a_slow_turn_in_one_session_does_not_hold_up_another(session: acp.Session) -> None:
    slow = begun(session.start("/slow 600"))
    assert session.agent.new_session().prompt("quick", timeout=LIMIT_S).stop_reason == "end_turn"
    assert not slow.done


def test_a_new_session_may_have_its_own_folder_and_policy(session: acp.Session, tmp_path: Path) -> None:
    other = session.agent.new_session(cwd=tmp_path, permissions="reject")
    assert other.cwd == str(tmp_path)
    assert "rejected" in other.prompt("/run true", timeout=LIMIT_S).text
    assert "exit code 0" in session.prompt("/run true", timeout=LIMIT_S).text
    with pytest.raises(acp.UsageError, match="is not a folder"):
        session.agent.new_session(cwd=tmp_path / "nowhere")
    with pytest.raises(acp.UsageError, match="permissions is"):
        session.agent.new_session(permissions="maybe")  # type: ignore[arg-type]


# ---- closing --------------------------------------------------------------------------------------


def test_a_new_session_has_only_the_roots_of_its_folder(demo: Demo, tmp_path: Path) -> None:
    (outside := tmp_path / "outside").mkdir()
    (outside / "a.txt").write_text("a file outside")
    running = demo(roots=[outside]).agent
    read = f"/read {outside / 'a.txt'}"
    assert "a file outside" in running.new_session().prompt(read, timeout=LIMIT_S).text
    (elsewhere := tmp_path / "elsewhere").mkdir()
    assert "a file outside" not in running.new_session(cwd=elsewhere).prompt(read, timeout=LIMIT_S).text


def test_closing_the_last_session_ends_the_agent(session: acp.Session) -> None:
    running, other = session.agent, session.agent.new_session()
    session.close()
    assert session.status == "closed"
    assert pids_of(other.prompt("/pid", timeout=LIMIT_S)) == [running.pid]
    other.close()
    assert running.pid is not None
    assert gone(running.pid)
    with pytest.raises(acp.SessionClosed):
        running.new_session()


def test_closing_the_agent_ends_all_its_sessions(session: acp.Session) -> None:
    running, other = session.agent, session.agent.new_session()
    turn = begun(other.start("/hang"))
    running.close()
    running.close()
    assert running.pid is not None
    assert gone(running.pid)
    assert (session.status, other.status) == ("closed", "closed")
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    for closed in (session, other):
        with pytest.raises(acp.SessionClosed):
            closed.prompt("too late")
        with pytest.raises(acp.SessionClosed):
            closed.mode = "plan"


def test_closing_twice_and_from_several_threads_is_closing_once(session: acp.Session) -> None:
    pid = session.agent.pid
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: session.close(), range(4)))
    session.close()
    assert pid is not None
    assert gone(pid)


def test_updates_for_an_unknown_session_do_not_reach_the_next_one(
    tmp_path: Path,
) -> None:
    with agent(sys.executable, STUBBORN, tmp_path) as session:
        session.prompt("s98", timeout=LIMIT_S)
        other = session.agent.new_session()
        assert other.id == "s98"
        assert "too early" not in other.to_text()
        assert "too early" not in session.to_text()


def test_a_closed_session_can_still_be_read(session: acp.Session) -> None:
    turn = session.prompt("remember me", timeout=LIMIT_S)
    session.close()
    assert "remember me" in turn.text
    assert "remember me" in session.to_html()
    assert session.turns == (turn,)


# ---- kept sessions --------------------------------------------------------------------------------


def test_a_stored_session_is_loaded_with_history_or_resumed_without(keeping: acp.Session) -> None:
    running, id = keeping.agent, keeping.id
    keeping.prompt("/think about it", timeout=LIMIT_S)
    other = running.new_session()
    keeping.close()

    loaded = running.load(id)
    (past_turn,) = (item for item in loaded.transcript.items if isinstance(item, TurnStart))
    assert (loaded.id, past_turn.text, past_turn.status) == (id, "/think about it", "history")
    assert "I have thought about it." in loaded.to_text()
    assert loaded.turns == ()
    loaded.close()

    resumed = running.resume(id)
    assert not any(isinstance(item, TurnStart) for item in resumed.transcript.items)
    assert resumed.prompt("go on", timeout=LIMIT_S).stop_reason == "end_turn"
    assert resumed.status == "idle"
    other.close()


def test_an_open_session_cannot_be_opened_again(keeping: acp.Session) -> None:
    keeping.prompt("one", timeout=LIMIT_S)
    before = keeping.transcript.items
    for again in (keeping.agent.load, keeping.agent.resume):
        with pytest.raises(acp.UsageError, match="open already"):
            again(keeping.id)
    assert keeping.transcript.items == before
    assert keeping.prompt("two", timeout=LIMIT_S).stop_reason == "end_turn"


def test_an_unknown_session_is_an_agent_error_and_leaves_nothing(
    keeping: acp.Session,
) -> None:
    for open in (keeping.agent.load, keeping.agent.resume):
        for _ in range(2):
            with pytest.raises(acp.AgentError, match="there is no session"):
                open("demo-4711")
    assert repr(keeping.agent).endswith("1 open>")


def test_all_pages_of_stored_sessions_are_listed(keeping: acp.Session, tmp_path: Path) -> None:
    here, elsewhere = keeping.agent, tmp_path / "elsewhere"
    elsewhere.mkdir()
    for _ in range(12):
        here.new_session(cwd=elsewhere)
    keeping.prompt("The first words", timeout=LIMIT_S)
    found = here.sessions()
    assert sorted(it.id for it in found) == sorted(f"demo-{number}" for number in range(1, 14))
    assert len(here.sessions(cwd=elsewhere)) == 12
    (first,) = here.sessions(cwd=tmp_path)
    assert (first.id, first.title, first.cwd) == (keeping.id, "The first words", str(tmp_path))


def test_what_the_agent_does_not_offer_is_a_usage_error_that_says_so(session: acp.Session) -> None:
    calls: dict[str, Callable[[], object]] = {
        "load": lambda: session.agent.load("x"),
        "resume": lambda: session.agent.resume("x"),
        "list": session.agent.sessions,
        "fork": session.fork,
        "delete": lambda: session.agent.delete("x"),
    }
    for what, call in calls.items():
        with pytest.raises(acp.UsageError, match=f"demo does not offer to {what} sessions"):
            call()


def test_connecting_can_load_or_resume_a_stored_session(
    keeping: acp.Session, demo: Demo, tmp_path: Path
) -> None:
    keeping.prompt("/think about it", timeout=LIMIT_S)
    env = {"ACP_DEMO_HOME": str(tmp_path / "kept")}
    loaded = demo(env=env, cwd=tmp_path, load=keeping.id)
    assert (loaded.id, "I have thought about it." in loaded.to_text()) == (keeping.id, True)
    resumed = demo(env=env, cwd=tmp_path, resume=keeping.id)
    assert (resumed.id, resumed.transcript.items) == (keeping.id, ())
    with pytest.raises(acp.AgentError, match="there is no session"):
        demo(env=env, load="demo-4711")
    with pytest.raises(acp.UsageError, match="give only one of them"):
        demo(env=env, load="a", resume="b")


def test_a_session_can_be_forked_even_during_a_turn(keeping: acp.Session) -> None:
    keeping.prompt("The first words", timeout=LIMIT_S)
    slow = begun(keeping.start("/slow 600"))
    fork = keeping.fork()
    assert fork.id != keeping.id
    assert fork.cwd == keeping.cwd
    assert "continues another one" in fork.to_text()
    assert fork.prompt("go on", timeout=LIMIT_S).stop_reason == "end_turn"
    assert not slow.done
    slow.cancel()
    assert keeping.agent.open_sessions == (keeping, fork)
    assert "The first words (fork)" in [it.title for it in keeping.agent.sessions()]
    with pytest.raises(acp.AgentError, match="there is no session"):
        keeping.agent.fork("demo-4711")


def test_deleting_a_session_also_closes_it(keeping: acp.Session) -> None:
    running, other = keeping.agent, keeping.agent.new_session()
    turn = begun(other.start("/slow 600"))
    running.delete(other.id)
    assert other.status == "closed"
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    running.delete(other.id)  # gone already counts as deleted
    assert [it.id for it in running.sessions()] == [keeping.id]
    assert running.open_sessions == (keeping,)


def test_stored_sessions_are_a_table(keeping: acp.Session) -> None:
    keeping.prompt("<b>bold</b> words", timeout=LIMIT_S)
    found = keeping.agent.sessions()
    assert found[0].updated_at is not None
    first, second = repr(found).splitlines()
    assert first.split() == ["title", "folder", "time", "id"]
    assert second.split()[:3] == ["open", "<b>bold</b>", "words"]
    assert second.endswith(keeping.id)
    assert "&lt;b&gt;bold" in found._repr_html_()
    assert found.to_dicts()[0]["id"] == keeping.id
    assert list(found[:1]) == list(found)


def test_every_session_of_an_agent_redacts_its_output(demo: Demo) -> None:
    first = demo(redact=lambda text: text.replace("hunter2", "***"))
    for session in (first, first.agent.new_session()):
        session.prompt("hunter2", timeout=LIMIT_S)
        kept = str(session._to_bundle())
        assert "hunter2" not in kept
        assert "***" in kept
