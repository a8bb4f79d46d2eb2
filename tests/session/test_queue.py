"""Waiting prompts are listed, edited, moved, removed, and sent now."""

from __future__ import annotations

import threading

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, begun


def texts(session: acp.Session) -> list[str]:
    return [entry.text for entry in session.queue]


def answered(turn: acp.Turn) -> str:
    """The demo's answer to a prompt that is not a command; it contains the prompt."""
    return turn.wait(LIMIT_S).text


def test_queued_prompts_are_listed_in_order(session: acp.Session) -> None:
    assert (len(session.queue), repr(session.queue)) == (0, "<queue: empty>")
    running = begun(session.start("/slow 600"))
    one, two = session.start("one"), session.start("two", acp.Image("aGk=", "image/png"))
    assert texts(session) == ["one", "two"]
    assert repr(session.queue) == "<queue: 2 waiting>\n  0  <queued: one>\n  1  <queued: two (+1)>"
    assert [entry.text for entry in session.queue[1:]] == ["two"]
    running.cancel()
    assert "one" in answered(one)
    assert "two" in answered(two)
    assert texts(session) == []


def test_editing_a_queued_prompt_keeps_its_images(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    turn = session.start("wrong", acp.Image("aGk=", "image/png"))
    session.queue[0].edit("right")
    running.cancel()
    said = answered(turn)
    assert ("right" in said, "wrong" in said, "image" in said) == (True, False, True)


def test_a_removed_prompt_is_never_sent_and_its_turn_is_cancelled(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    gone, kept = session.start("not this"), session.start("but this")
    session.queue[0].remove()
    assert (gone.wait(LIMIT_S).stop_reason, gone.items) == ("cancelled", ())
    assert not running.done
    running.cancel()
    assert "but this" in answered(kept)
    assert "not this" not in session.to_text()


def test_the_whole_queue_can_be_cleared(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    waiting = [session.start(f"prompt {n}") for n in range(3)]
    session.queue.clear()
    assert [turn.wait(LIMIT_S).stop_reason for turn in waiting] == ["cancelled"] * 3
    assert not running.done


def test_queued_prompts_can_be_moved(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    turns = [session.start(text) for text in ("a", "b", "c")]
    session.queue[2].move(0)
    assert texts(session) == ["c", "a", "b"]
    session.queue[0].move(99)
    session.queue[1].move(-5)
    assert texts(session) == ["b", "a", "c"]
    running.cancel()
    for turn in turns:
        turn.wait(LIMIT_S)
    order = sorted(turns, key=lambda turn: turn.items[0].number)  # type: ignore[union-attr]
    assert [turn.items[0].text for turn in order] == ["b", "a", "c"]  # type: ignore[union-attr]


def test_sending_one_now_stops_the_running_turn_and_keeps_the_queue(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    first, urgent = session.start("first"), session.start("/slow 61")
    session.queue[1].send_now()
    assert running.wait(LIMIT_S).stop_reason == "cancelled"
    begun(urgent)
    assert texts(session) == ["first"]
    urgent.cancel()
    assert "first" in answered(first)


def test_sending_one_now_does_not_wait_for_an_agent_that_ignores_the_cancel(session: acp.Session) -> None:
    timeouts.replace(cancel_grace=0.1, restart_grace=0.1)
    running, urgent = begun(session.start("/hang")), session.start("urgent")
    session.queue[0].send_now()
    assert running.wait(LIMIT_S).status == "abandoned"
    assert "urgent" in answered(urgent)


def test_a_queue_outlives_the_agent(session: acp.Session) -> None:
    running = session.start("/slow 600")
    begun(running)
    dying, after = session.start("/die"), session.start("after")
    session.queue[0].send_now()
    with pytest.raises(acp.AgentDied):
        dying.wait(LIMIT_S)
    assert "after" in answered(after)


def test_a_prompt_that_was_sent_or_removed_cannot_be_changed(session: acp.Session) -> None:
    running = begun(session.start("/slow 600"))
    turn = session.start("/slow 61")
    (entry,) = session.queue
    entry.send_now()
    running.wait(LIMIT_S)
    begun(turn)
    for change in (entry.remove, entry.send_now, lambda: entry.edit("x"), lambda: entry.move(0)):
        with pytest.raises(acp.UsageError, match="is no longer waiting"):
            change()
    assert not turn.done


def test_an_empty_text_is_refused(session: acp.Session) -> None:
    begun(session.start("/slow 600"))
    session.start("something")
    with pytest.raises(acp.UsageError, match="the prompt is empty"):
        session.queue[0].edit(" \n")
    assert texts(session) == ["something"]


def test_closing_the_session_ends_the_queued_turns(session: acp.Session) -> None:
    begun(session.start("/slow 600"))
    waiting = [session.start("one"), session.start("two")]
    session.close()
    for turn in waiting:
        with pytest.raises(acp.SessionClosed):
            turn.wait(LIMIT_S)
    assert len(session.queue) == 0


def test_many_threads_at_the_queue_lose_nothing(demo: Demo) -> None:
    session = demo(undo=False)
    running = begun(session.start("/slow 600"))
    turns = [session.start(f"prompt {n}") for n in range(12)]
    entries = list(session.queue)

    def shuffle(at: int) -> None:
        entries[at].move((at * 5) % 12)
        entries[at].edit(f"edited {at}")

    threads = [threading.Thread(target=shuffle, args=(at,)) for at in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sorted(texts(session)) == sorted(f"edited {n}" for n in range(12))
    running.cancel()
    assert all(f"edited {n}" in answered(turn) for n, turn in enumerate(turns))
