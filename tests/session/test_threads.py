"""The loop thread does the work; other threads may ask and read, and never see half a change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Message, TurnStart
from tests.session.helpers import LIMIT_S, begun


def on_the_loop(session: acp.Session, work: Callable[[], Any]) -> BaseException | None:
    """The error that it raises on the loop thread."""
    raised: Future[BaseException | None] = Future()

    def run() -> None:
        try:
            work()
            raised.set_result(None)
        except BaseException as error:
            raised.set_result(error)

    session._conversation.agent.loop.post(run)
    return raised.result(LIMIT_S)


@pytest.mark.parametrize("what", ["prompt", "wait", "close", "new_session", "mode"])
def test_a_blocking_call_on_the_loop_thread_is_an_error_not_a_hang(session: acp.Session, what: str) -> None:
    running = begun(session.start("/slow 600"))
    calls: dict[str, Callable[[], Any]] = {
        "prompt": lambda: session.prompt("x"),
        "wait": running.wait,
        "close": session.close,
        "new_session": session.agent.new_session,
        "mode": lambda: setattr(session, "mode", "plan"),
    }
    error = on_the_loop(session, calls[what])
    assert isinstance(error, acp.UsageError)
    assert "its own thread" in str(error)
    running.cancel()
    assert running.wait(LIMIT_S).stop_reason == "cancelled"


def test_reading_and_starting_are_possible_on_the_loop_thread(session: acp.Session) -> None:
    assert on_the_loop(session, lambda: (session.transcript, session.start("x"))) is None
    assert session.turns[-1].wait(LIMIT_S).stop_reason == "end_turn"


def test_concurrent_readers_see_a_consistent_growing_transcript(
    session: acp.Session,
) -> None:
    over = threading.Event()

    def read() -> int:
        version, text, reads = 0, "", 0
        while not over.is_set() or reads == 0:
            snapshot = session.transcript
            assert snapshot.version >= version
            said = "".join(item.text for item in snapshot.items if isinstance(item, Message))
            assert said.startswith(text)
            assert said == "" or said.endswith(" ")
            assert all(isinstance(item, (Message, TurnStart)) for item in snapshot.items)
            version, text, reads = snapshot.version, said, reads + 1
        return reads

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(6)]
        turn = session.start("/stream 5000")
        try:
            turn.wait(LIMIT_S)
        finally:
            over.set()
        assert all(reader.result(LIMIT_S) for reader in readers)
    assert turn.text == "".join(f"word{n} " for n in range(1, 5001))


def test_a_snapshot_never_changes(session: acp.Session) -> None:
    session.prompt("one", timeout=LIMIT_S)
    kept = session.transcript
    text = repr(kept.items)
    session.prompt("two", timeout=LIMIT_S)
    assert repr(kept.items) == text
    assert session.transcript.version > kept.version


def test_a_policy_function_runs_off_the_loop_and_may_read_the_session(demo: Any) -> None:
    seen: list[tuple[str, str]] = []

    def policy(request: acp.PermissionRequest) -> str:
        seen.append((threading.current_thread().name, session.status))
        return "allow"

    session: acp.Session = demo(permissions=policy)
    assert session.prompt("/ask", timeout=LIMIT_S).text == "You answered allow_once."
    assert seen == [("acp-policy", "working")]
