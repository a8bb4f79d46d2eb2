"""A turn with gaps is completed from the agent's own history."""

from __future__ import annotations

from acp_notebook.core import events as ev
from acp_notebook.core.records import Text
from acp_notebook.core.reread import corrections
from acp_notebook.core.transcript import Transcript


def said(text: str, role: str = "agent") -> ev.MessageChunk:
    return ev.MessageChunk(role, Text(text))  # type: ignore[arg-type]


def call(id: str) -> ev.ToolChanged:
    return ev.ToolChanged(id, title="Run", kind="execute", status="completed", created=True)


def turn(*events: ev.Event) -> Transcript:
    transcript = Transcript()
    transcript.apply_all([ev.TurnStarted((Text("go"),), "t1"), *events, ev.TurnEnded("done", "end_turn")])
    return transcript


def test_what_was_lost_is_put_in() -> None:
    ours = turn(said("one "), said("three"), call("a"), said("end"))
    history: list[ev.Event] = [
        said("earlier", "user"),
        said("x"),
        said("go", "user"),
        said("one two three"),
        call("a"),
        said("end."),
    ]
    found = corrections(ours.turn_items(ours.current_turn), history)
    assert found is not None
    ours.apply_all(found)
    texts = [it.text for it in ours.turn_items(ours.current_turn) if it.type == "message"]  # type: ignore[union-attr]
    assert texts == ["one two three", "end."]


def test_nothing_is_changed_if_nothing_was_lost() -> None:
    ours = turn(said("all of it"))
    assert corrections(ours.turn_items(ours.current_turn), [said("go", "user"), said("all of it")]) == []


def test_a_history_that_lacks_another_part_does_not_replace_what_was_shown() -> None:
    """As long as ours, or longer, and yet without the end that is here."""
    ours = turn(said("w0 w1 w3"))
    items = ours.turn_items(ours.current_turn)
    assert corrections(items, [said("go", "user"), said("w0 w1 w2")]) is None
    assert corrections(items, [said("go", "user"), said("w0 w1 w2 and more")]) is None


def test_a_history_that_knows_less_changes_nothing() -> None:
    ours = turn(said("all of it"))
    items = ours.turn_items(ours.current_turn)
    assert corrections(items, [said("go", "user"), said("all")]) is None
    assert corrections(items, [said("go", "user")]) is None
    assert corrections(items, []) is None


def test_the_answer_of_another_turn_replaces_nothing() -> None:
    ours = turn(said("Yes"))
    stored: list[ev.Event] = [said("an earlier question", "user"), said("Yes, that was the earlier answer")]
    assert corrections(ours.turn_items(ours.current_turn), stored) is None


def test_a_prompt_that_the_agent_stores_with_more_around_it_is_the_same() -> None:
    ours = turn(said("Yes"))
    stored: list[ev.Event] = [said("<context>x</context>\ngo\n", "user"), said("Yes, it is")]
    assert corrections(ours.turn_items(ours.current_turn), stored) == [
        ev.MessageReplaced(ours.turn_items(ours.current_turn)[1].key, "Yes, it is")
    ]
