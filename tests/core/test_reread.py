"""A turn with gaps is completed from the agent's own history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core import events as ev
from acp_notebook.core.records import Image, PlanEntry, Text
from acp_notebook.core.reread import Found, corrections
from acp_notebook.core.snapshot import Message, Plan, ToolCall
from acp_notebook.core.transcript import Transcript

UNKNOWN = Found([], is_certain=False)
NOTHING = Found([], is_certain=True)


def said(text: str, role: str = "agent") -> ev.MessageChunk:
    return ev.MessageChunk(role, Text(text))  # type: ignore[arg-type]


def call(id: str, status: str = "completed", title: str = "Run") -> ev.ToolChanged:
    return ev.ToolChanged(id, title=title, kind="execute", status=status, created=True)


def plan(*statuses: str) -> ev.PlanReplaced:
    return ev.PlanReplaced(tuple(PlanEntry(f"step {at}", status=it) for at, it in enumerate(statuses)))


def turn(*events: ev.Event) -> Transcript:
    transcript = Transcript()
    transcript.apply_all([ev.TurnStarted((Text("go"),), "t1"), *events, ev.TurnEnded("done", "end_turn")])
    return transcript


def found_for(ours: Transcript, *history: ev.Event, again: int = 0) -> Found:
    return corrections(ours.turn_items(ours.current_turn), [said("go", "user"), *history], again)


def completed(ours: Transcript, *history: ev.Event) -> list[str]:
    """The turn as it is shown afterwards, of which nothing is missing."""
    found = found_for(ours, *history)
    assert found.is_certain
    ours.apply_all(found.events)
    assert found_for(ours, *history) == NOTHING, "a second time changes nothing"
    return shown(ours)


def shown(ours: Transcript) -> list[str]:
    lines = []
    for item in ours.turn_items(ours.current_turn)[1:]:
        match item:
            case Message():
                lines.append(item.text if item.role == "agent" else f"{item.role}: {item.text}")
            case ToolCall():
                lines.append(f"{item.title} {item.id} {item.status}")
            case Plan():
                lines.append(" ".join(entry.status for entry in item.entries))
    return lines


# ---- texts -------------------------------------------------------------------------------------


def test_what_was_lost_is_put_in() -> None:
    ours = turn(said("one "), said("three"), call("a"), said("end"))
    history: list[ev.Event] = [said("one two three"), call("a"), said("end.")]
    assert completed(ours, *history) == ["one two three", "Run a completed", "end."]


def test_an_earlier_turn_of_the_history_is_not_looked_at() -> None:
    ours = turn(said("one "), said("three"))
    history: list[ev.Event] = [said("earlier", "user"), said("x"), said("go", "user"), said("one two three")]
    found = corrections(ours.turn_items(ours.current_turn), history)
    assert found == Found([ev.MessageReplaced("k2", "one two three")], is_certain=True)


def test_an_answer_that_was_lost_whole_is_added() -> None:
    assert completed(turn(), said("All of it.")) == ["All of it."]


def test_a_message_that_was_lost_at_the_end_is_added() -> None:
    ours = turn(said("I look."), call("a"))
    assert completed(ours, said("I look."), call("a"), said("Done.")) == [
        "I look.",
        "Run a completed",
        "Done.",
    ]


def test_a_message_that_was_lost_in_the_middle_is_put_where_it_was() -> None:
    ours = turn(said("I look."), call("a"), said("Done."))
    history: list[ev.Event] = [said("I look."), call("a"), said("I see."), call("b"), said("Done.")]
    assert completed(ours, *history) == ["I look.", "Run a completed", "I see.\n\nDone.", "Run b completed"]


def test_a_message_that_was_lost_at_the_start_comes_first() -> None:
    ours = turn(call("a"), said("Done."))
    assert completed(ours, said("I look."), call("a"), said("Done.")) == [
        "Run a completed",
        "I look.\n\nDone.",
    ]


def test_messages_that_a_lost_call_no_longer_parts_are_not_doubled() -> None:
    ours = turn(said("I look."), said("Done."))
    assert completed(ours, said("I look."), call("a"), said("Done.")) == [
        "I look.Done.",
        "Run a completed",
    ]


def test_nothing_is_changed_if_nothing_was_lost() -> None:
    assert found_for(turn(said("all of it")), said("all of it")) == NOTHING


def test_a_history_that_joins_messages_has_what_is_here() -> None:
    ours = turn(said("I look."), call("a"), said("Done."))
    assert found_for(ours, call("a"), said("I look.\nDone.")) == NOTHING


def test_a_history_that_lacks_another_part_does_not_replace_what_was_shown() -> None:
    """As long as ours, or longer, and yet without the end that is here."""
    ours = turn(said("w0 w1 w3"))
    assert found_for(ours, said("w0 w1 w2")) == UNKNOWN
    assert found_for(ours, said("w0 w1 w2 and more")) == UNKNOWN


def test_a_history_that_knows_less_changes_nothing() -> None:
    ours = turn(said("all of it"), said("I think.", "thought"), call("a"), plan("pending"))
    assert found_for(ours, said("all")) == UNKNOWN
    assert found_for(ours) == UNKNOWN
    assert corrections(ours.turn_items(ours.current_turn), []) == UNKNOWN
    assert found_for(ours, said("all of it")) == NOTHING, "it may leave out anything but the answer"


def test_an_image_that_was_lost_cannot_be_told() -> None:
    image = ev.MessageChunk("agent", Image("aGk=", "image/png"))
    assert found_for(turn(said("Look:")), said("Look:"), call("a"), image).is_certain is False


@given(st.data())
def test_whatever_was_lost_is_there_once_and_nothing_disappears(data: st.DataObject) -> None:
    content = st.sampled_from([said("ab "), said("b"), said("ca"), said("a", "thought"), None])
    drawn = data.draw(st.lists(content, max_size=8))
    history: list[ev.Event] = [call(f"c{at}") if it is None else it for at, it in enumerate(drawn)]
    arrived = [event for event in history if data.draw(st.booleans())]
    ours, whole = turn(*arrived), turn(*history)
    found = found_for(ours, *history)
    ours.apply_all(found.events)
    for role in ("agent", "thought"):
        assert text(ours, role) == text(whole, role)
    calls = sorted(event.id for event in history if isinstance(event, ev.ToolChanged))
    assert sorted(it.id for it in ours.snapshot().items if isinstance(it, ToolCall)) == calls
    assert found_for(ours, *history).events == []
    assert found.is_certain == bool(text(whole, "agent"))


def text(transcript: Transcript, role: str) -> str:
    """What is said, without white space."""
    messages = [it for it in transcript.snapshot().items if isinstance(it, Message) and it.role == role]
    return "".join("".join(it.text.split()) for it in messages)


# ---- which turn it is --------------------------------------------------------------------------


def test_the_answer_of_another_turn_replaces_nothing() -> None:
    ours = turn(said("Yes"))
    stored: list[ev.Event] = [said("an earlier question", "user"), said("Yes, that was the earlier answer")]
    assert corrections(ours.turn_items(ours.current_turn), stored) == UNKNOWN


def test_the_answer_to_an_earlier_prompt_of_the_same_words_is_not_taken() -> None:
    """The agent has not stored the newest turn yet."""
    assert found_for(turn(), said("The first answer."), again=1) == UNKNOWN
    both = said("The first answer."), said("go", "user"), said("The second answer.")
    found = found_for(turn(), *both, again=1)
    assert found.is_certain
    assert [it.found for it in found.events if isinstance(it, ev.Recovered)] == [said("The second answer.")]


def test_a_prompt_without_words_is_not_taken_for_another() -> None:
    ours = Transcript()
    ours.apply(ev.TurnStarted((Image("aGk=", "image/png"),), "t1"))
    items = ours.turn_items(ours.current_turn)
    assert corrections(items, [said("go", "user"), said("The answer to go.")]) == UNKNOWN


def test_a_prompt_that_the_agent_stores_with_more_around_it_is_the_same() -> None:
    ours = turn(said("Yes"))
    stored: list[ev.Event] = [said("<context>x</context>\ngo\n", "user"), said("Yes, it is")]
    assert corrections(ours.turn_items(ours.current_turn), stored).events == [
        ev.MessageReplaced(ours.turn_items(ours.current_turn)[1].key, "Yes, it is")
    ]


# ---- tool calls --------------------------------------------------------------------------------


def test_tool_calls_that_were_lost_are_added() -> None:
    ours = turn(said("Done."))
    history: list[ev.Event] = [
        call("a", title="rm -rf build"),
        said("Done."),
        call("b", title="git push --force"),
    ]
    assert completed(ours, *history) == [
        "Done.",
        "rm -rf build a completed",
        "git push --force b completed",
    ]


def test_a_call_that_the_history_has_as_running_is_not_shown_as_running() -> None:
    ours = turn(said("Done."))
    assert completed(ours, call("a", "in_progress"), said("Done.")) == ["Done.", "Run a unfinished"]


def test_a_call_of_which_the_end_was_lost_gets_its_end() -> None:
    ours = turn(call("a", "in_progress"), said("Done."))
    done = ev.ToolChanged("a", status="failed", content=(Text("no such file"),))
    assert completed(ours, call("a", "pending"), done, said("Done.")) == ["Run a failed", "Done."]
    assert ours.tool("a").text == "no such file"


def test_a_call_of_which_the_beginning_was_lost_gets_its_title() -> None:
    ours = turn(ev.ToolChanged("a", status="completed"), said("Done."))
    assert completed(ours, call("a"), said("Done.")) == ["Run a completed", "Done."]
    assert ours.tool("a").kind == "execute"


def test_a_rejected_call_stays_rejected() -> None:
    ours = turn(call("a", "rejected"), said("Done."))
    assert found_for(ours, call("a", "failed"), said("Done.")) == NOTHING


def test_calls_whose_ids_the_history_changed_are_not_doubled() -> None:
    ours = turn(call("a"), said("Done."))
    assert found_for(ours, call("other"), said("Done.")) == NOTHING


def test_calls_with_other_ids_and_other_titles_cannot_be_told() -> None:
    ours = turn(call("a", title="Run ls"), said("Done."))
    assert found_for(ours, call("x", title="ls"), call("y", title="rm"), said("Done.")) == UNKNOWN


def test_a_call_of_the_same_title_is_another_one_if_the_agent_keeps_its_ids() -> None:
    ours = turn(call("asked"), call("a", title="Look"), said("Done."))
    assert completed(ours, call("a", title="Look"), call("b"), said("Done.")) == [
        "Run asked completed",
        "Look a completed",
        "Done.",
        "Run b completed",
    ]


# ---- thoughts and plans ------------------------------------------------------------------------


def test_thoughts_that_were_lost_are_added() -> None:
    ours = turn(said("I th", "thought"), said("Done."))
    history = [said("I think.", "thought"), said("Done."), said("Over.", "thought")]
    assert completed(ours, *history) == ["thought: I think.", "Done.", "thought: Over."]


def test_other_thoughts_cannot_be_told_and_replace_nothing() -> None:
    ours = turn(said("I think.", "thought"), said("Done."))
    assert found_for(ours, said("A summary", "thought"), said("Done.")) == UNKNOWN
    assert found_for(ours, said("I", "thought"), said("Done.")) == NOTHING, "a part of it"


def test_a_plan_that_was_lost_is_added_and_an_older_one_follows() -> None:
    assert completed(turn(said("Done.")), plan("completed"), said("Done.")) == ["Done.", "completed"]
    ours = turn(plan("completed", "pending"), said("Done."))
    newer = plan("completed", "completed")
    assert completed(ours, newer, said("Done.")) == ["completed completed", "Done."]


def test_a_plan_that_is_newer_here_stays() -> None:
    ours = turn(plan("completed"), said("Done."))
    assert found_for(ours, plan("pending"), said("Done.")) == NOTHING


def test_another_plan_cannot_be_told() -> None:
    ours = turn(plan("completed"), said("Done."))
    assert found_for(ours, plan("pending", "pending"), said("Done.")) == UNKNOWN
