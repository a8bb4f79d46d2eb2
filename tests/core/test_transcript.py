from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from acp_notebook.core import events as ev
from acp_notebook.core.patches import Add, Append, Patch, Remove, Set, State, from_wire, to_wire
from acp_notebook.core.records import (
    Command,
    ConfigOption,
    Cost,
    Image,
    Json,
    Mode,
    Option,
    PlanEntry,
    Resource,
    Text,
    TokenUsage,
    Usage,
    plain,
)
from acp_notebook.core.snapshot import Changes, Item, Message, Notice, Plan, Question, ToolCall, TurnStart
from acp_notebook.core.transcript import CLOSED_STATUSES, RAW_KEPT, Transcript
from tests.core.strategies import (
    PROMPT,
    event_runs,
    event_runs_with_marked_raw,
    events,
    kept_events,
    reference_apply,
    runs_of,
    splits,
)

START = ev.TurnStarted((Text(PROMPT),))
END = ev.TurnEnded("done", "end_turn")
CLEARED = ev.HistoryCleared()
PICTURE = Image("aGk=", "image/png")


def chunk(text: str, role: ev.Role = "agent", id: str | None = None, raw: Json = None) -> ev.MessageChunk:
    return ev.MessageChunk(role, Text(text), id, raw)


def said(text: str, id: str | None = None, raw: Json = None) -> ev.MessageChunk:
    return chunk(text, "user", id, raw)


def announced(id: str, **fields: Any) -> ev.ToolChanged:
    return ev.ToolChanged(id, created=True, **fields)


def transcript_of(*run: ev.Event) -> Transcript:
    transcript = Transcript()
    transcript.apply_all(run)
    return transcript


def items(*run: ev.Event) -> tuple[Item, ...]:
    return transcript_of(*run).snapshot().items


def shown(*run: ev.Event) -> list[str]:
    """A short description of each item."""
    return [_words(item) for item in items(*run)]


def _words(item: Item) -> str:
    match item:
        case TurnStart():
            return f"turn {item.number} {item.status}: {item.text}"
        case Message():
            return f"{item.role}: {item.text}"
        case ToolCall():
            return f"tool {item.id} {item.status}"
        case Plan():
            return f"plan {[entry.content for entry in item.entries]}"
        case Question():
            return f"question {item.id} {item.status}"
    return type(item).__name__


# ---- what agents add in _meta -------------------------------------------------------------------


def test_a_message_has_the_newest_value_of_each_key_of_its_chunks() -> None:
    metas: list[Json] = [{"a": 1, "b": {"c": 1}}, None, {"b": 2}, {"d": []}]
    chunks = [replace(chunk("x"), meta=meta) for meta in metas]
    transcript = transcript_of(START, *chunks)
    assert transcript.snapshot().items[-1].meta == {"a": 1, "b": 2, "d": []}
    assert State.from_plain(transcript.plain()).plain() == transcript.plain()


def test_one_chunk_with_meta_changes_only_what_differs() -> None:
    transcript = transcript_of(START, replace(chunk("x"), meta={"a": 1, "b": 1}))
    patches = transcript.apply(replace(chunk("y"), meta={"a": 1, "b": 2}))
    assert [(type(it), it.path) for it in patches if isinstance(it, Set)] == [(Set, ("meta", "b"))]


def test_an_empty_chunk_with_meta_is_kept() -> None:
    assert items(START, replace(chunk(""), meta={"a": 1}))[-1].meta == {"a": 1}


def test_an_echo_and_the_end_of_a_turn_add_to_the_turn() -> None:
    echo = replace(said(PROMPT), meta={"id": "m1"})
    (turn,) = items(START, echo, replace(END, meta={"cost": 1}))
    assert turn.meta == {"id": "m1", "cost": 1}


def test_updates_about_the_session_add_to_its_header() -> None:
    run: list[ev.Event] = [
        ev.InfoChanged(meta={"a": 1}),
        ev.ModeChanged("plan", meta={"b": 2}),
        ev.InfoChanged("T", meta={"a": 3}),
    ]
    assert transcript_of(*run).snapshot().meta == {"a": 3, "b": 2}


# ---- patches --------------------------------------------------------------------------------


@settings(deadline=None)
@given(event_runs)
def test_the_patches_of_each_event_lead_from_the_old_state_to_the_new(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        mirror = State.from_plain(transcript.plain())
        for patch in transcript.apply(event):
            mirror.apply(patch)
        assert mirror.plain() == transcript.plain()


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_a_browser_that_only_gets_json_ends_in_the_same_state(run: list[ev.Event]) -> None:
    transcript = Transcript()
    by_state, by_reference = State(), transcript.plain()
    for event in run:
        for wire in json.loads(json.dumps([to_wire(patch) for patch in transcript.apply(event)])):
            by_state.apply(from_wire(wire))
            by_reference = reference_apply(by_reference, wire)
    assert by_state.plain() == by_reference == json.loads(json.dumps(transcript.plain()))


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_patches_and_events_are_not_changed_by_later_events(run: list[ev.Event]) -> None:
    transcript = Transcript()
    events_before = copy.deepcopy(run)
    returned: list[list[Patch]] = []
    before: list[list[Patch]] = []
    for event in run:
        returned.append(transcript.apply(event))
        before.append(copy.deepcopy(returned[-1]))
    assert returned == before
    assert run == events_before


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_the_version_increases_exactly_when_something_changed(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        version = transcript.version
        changed = bool(transcript.apply(event))
        assert (transcript.version > version) == changed


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_the_same_events_give_the_same_patches(run: list[ev.Event]) -> None:
    assert Transcript().apply_all(run) == Transcript().apply_all(copy.deepcopy(run))


# ---- order ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_items_never_move_and_new_ones_come_last(run: list[ev.Event]) -> None:
    transcript = Transcript()
    keys: list[str] = []
    ever: set[str] = set()
    for event in run:
        transcript.apply(event)
        now = [item["key"] for item in transcript.plain()["items"]]
        stayed = [key for key in keys if key in now]
        assert now[: len(stayed)] == stayed
        assert not ever & set(now[len(stayed) :])
        keys, ever = now, ever | set(now)


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_an_item_belongs_to_the_turn_before_it_and_a_turns_items_are_those(run: list[ev.Event]) -> None:
    transcript = transcript_of(*run)
    turn = None
    for item in transcript.snapshot().items:
        turn = item.key if isinstance(item, TurnStart) else turn
        between = isinstance(item, Notice) and item.source == "client" and item.turn is None
        assert item.turn == turn or between or isinstance(item, Changes)  # which may come long after
    assert transcript.current_turn == turn
    for key in {None, *(item.turn for item in transcript.snapshot().items)}:
        assert transcript.turn_items(key) == tuple(i for i in transcript.snapshot().items if i.turn == key)


@settings(deadline=None, max_examples=40)
@given(runs_of(kept_events), st.sampled_from(["agent", "thought"]))
def test_the_text_of_all_messages_is_the_text_of_all_chunks(run: list[ev.Event], role: str) -> None:
    sent = [event.content for event in run if isinstance(event, ev.MessageChunk) and event.role == role]
    got = [item for item in items(*run) if isinstance(item, Message) and item.role == role]
    assert "".join(item.text for item in got) == "".join(c.text for c in sent if isinstance(c, Text))
    others = [block for item in got for block in item.content if not isinstance(block, Text)]
    assert others == [content for content in sent if not isinstance(content, Text)]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["agent", "thought", "tool"]), st.text(max_size=2)), max_size=20))
def test_messages_thoughts_and_tools_keep_their_order(run: list[tuple[str, str]]) -> None:
    expected: list[str] = []
    sent: list[ev.Event] = []
    for number, (what, text) in enumerate(run):
        if what == "tool":
            sent.append(announced(str(number)))
            expected.append(f"tool {number} pending")
            continue
        sent.append(ev.MessageChunk("agent" if what == "agent" else "thought", Text(text)))
        if expected and expected[-1].startswith(f"{what}: "):
            expected[-1] += text
        elif text:
            expected.append(f"{what}: {text}")
    assert shown(*sent) == expected


def test_chunks_of_one_message_make_one_text() -> None:
    assert shown(START, chunk("a", id="m"), chunk("b"), chunk("c", id="m"))[1:] == ["agent: abc"]


def test_another_message_id_starts_another_message() -> None:
    assert shown(START, chunk("a", id="m"), chunk("b", id="n"))[1:] == ["agent: a", "agent: b"]


def test_the_first_message_id_after_none_starts_another_message() -> None:
    assert shown(START, chunk("a"), chunk("b", id="m"))[1:] == ["agent: a", "agent: b"]


def test_text_after_a_tool_is_another_message_even_with_the_same_id() -> None:
    run = (START, chunk("a", id="m"), announced("t"), chunk("b", id="m"))
    assert shown(*run)[1:] == ["agent: a", "tool t pending", "agent: b"]


def test_an_update_of_an_older_item_does_not_break_the_newest_message() -> None:
    run = (START, announced("t"), chunk("a"), ev.ToolChanged("t", status="completed"), chunk("b"))
    assert shown(*run)[1:] == ["tool t completed", "agent: ab"]


def test_an_empty_chunk_shows_nothing_and_breaks_nothing() -> None:
    run = (START, chunk(""), chunk("a"), chunk("", "thought"), chunk(""), chunk("b"))
    assert shown(*run)[1:] == ["agent: ab"]


def test_an_empty_chunk_with_raw_is_kept() -> None:
    (item,) = items(chunk("", raw={"new": 1}))
    assert isinstance(item, Message)
    assert item.raw == ({"new": 1},)


def test_pictures_and_texts_in_one_message_keep_their_order() -> None:
    run = [
        chunk("a"),
        ev.MessageChunk("agent", PICTURE),
        chunk("b"),
        chunk("c"),
        ev.MessageChunk("agent", PICTURE),
    ]
    (item,) = items(*run)
    assert isinstance(item, Message)
    assert item.content == (Text("a"), PICTURE, Text("bc"), PICTURE)


def test_text_with_annotations_is_a_separate_block() -> None:
    noted = Text("b", {"audience": ["user"]})
    run = [chunk("a"), ev.MessageChunk("agent", noted), chunk("c")]
    (item,) = items(*run)
    assert isinstance(item, Message)
    assert item.content == (Text("a"), noted, Text("c"))


def test_chunks_with_the_same_annotations_make_one_text() -> None:
    noted = [Text(text, {"audience": ["user"], "priority": 1}) for text in ("**bo", "ld**")]
    (item,) = items(*(ev.MessageChunk("agent", it) for it in noted))
    assert isinstance(item, Message)
    assert item.content == (Text("**bold**", {"audience": ["user"], "priority": 1}),)


@pytest.mark.parametrize(
    ("audience", "text"),
    [
        (["assistant"], "ac"),
        (["user"], "abc"),
        (["user", "assistant"], "abc"),
        ([], "abc"),
        (None, "abc"),
        ("assistant", "abc"),
    ],
)
def test_content_for_the_model_only_is_not_part_of_the_answer(audience: Any, text: str) -> None:
    annotations = {"audience": audience, "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
    noted = Text("b", annotations)
    (item,) = items(chunk("a"), ev.MessageChunk("agent", noted), chunk("c"))
    assert isinstance(item, Message)
    assert item.text == text
    assert item.content[1] == noted


# ---- tool calls -----------------------------------------------------------------------------


def test_an_update_before_its_call_shows_the_tool() -> None:
    run = (START, ev.ToolChanged("t", status="in_progress"), announced("t", title="Read"))
    tool = items(*run)[1]
    assert isinstance(tool, ToolCall)
    assert (tool.title, tool.status, len(items(*run))) == ("Read", "in_progress", 2)


def test_a_call_announced_twice_in_one_turn_is_one_call() -> None:
    run = (START, announced("t", title="a"), announced("t", kind="read"))
    (tool,) = items(*run)[1:]
    assert isinstance(tool, ToolCall)
    assert (tool.title, tool.kind) == ("a", "read")


def test_a_call_announced_again_in_a_later_turn_is_another_call() -> None:
    run = (
        START,
        announced("t", status="completed"),
        END,
        START,
        announced("t"),
        ev.ToolChanged("t", status="failed"),
    )
    assert [words for words in shown(*run) if "tool" in words] == ["tool t completed", "tool t failed"]


def test_a_late_update_stays_with_its_turn() -> None:
    transcript = transcript_of(
        START, announced("t"), END, ev.ToolChanged("t", status="completed"), chunk("late")
    )
    first = transcript.current_turn
    transcript.apply_all([START, ev.ToolChanged("t", title="later still"), chunk("new")])
    assert [_words(item) for item in transcript.turn_items(first)][1:] == ["tool t completed", "agent: late"]
    assert [_words(item) for item in transcript.turn_items(transcript.current_turn)][1:] == ["agent: new"]


def test_an_update_that_repeats_the_status_only_replaces_the_content() -> None:
    transcript = Transcript()
    transcript.apply_all([START, announced("t", title="Run", status="in_progress")])
    line = ev.ToolChanged("t", status="in_progress", content=(Text("1 passed"),))
    [patch] = transcript.apply(line)
    assert patch == Set(transcript.tool("t").key, ("content",), [{"type": "text", "text": "1 passed"}])
    assert transcript.tool("t").content == (Text("1 passed"),)
    patch.value.append("later")
    assert transcript.tool("t").content == (Text("1 passed"),)


def test_an_update_changes_only_its_fields_and_replaces_lists() -> None:
    run = (
        announced("t", title="a", content=(Text("1"), Text("2")), raw_input={"x": 1}),
        ev.ToolChanged("t", content=(Text("3"),), raw_output=[1], name="n", meta={"m": 1}),
    )
    (tool,) = items(*run)
    assert isinstance(tool, ToolCall)
    assert (tool.title, tool.content, tool.raw_input) == ("a", (Text("3"),), {"x": 1})
    assert (tool.raw_output, tool.name, tool.meta, tool.text) == ([1], "n", {"m": 1}, "3")


def test_a_status_may_go_back_and_is_closed_again_at_the_end() -> None:
    run = (START, announced("t", status="completed"), ev.ToolChanged("t", status="pending"))
    assert shown(*run)[1] == "tool t pending"
    assert shown(*run, END)[1] == "tool t unfinished"


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (ev.TurnCancelling(), "cancelled"),
        (ev.TurnEnded("done", "cancelled"), "cancelled"),
        (END, "unfinished"),
        (ev.TurnEnded("failed", error="gone"), "unfinished"),
        (ev.TurnEnded("abandoned"), "unfinished"),
    ],
)
def test_closed_tools_still_accept_updates(ending: ev.Event, status: str) -> None:
    run = (
        START,
        announced("a"),
        announced("b", status="in_progress"),
        announced("c", status="failed"),
        ending,
    )
    assert shown(*run)[1:] == [f"tool a {status}", f"tool b {status}", "tool c failed"]
    assert shown(*run, ev.ToolChanged("a", status="completed"))[1] == "tool a completed"


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_an_ended_turn_has_no_open_tool_call(run: list[ev.Event]) -> None:
    transcript = transcript_of(*run)
    assume(transcript.current_turn is not None)
    transcript.apply(END)
    tools = [item for item in transcript.snapshot().items if isinstance(item, ToolCall)]
    assert not [tool for tool in tools if tool.status not in CLOSED_STATUSES]


def test_a_tool_that_is_still_open_after_its_turn_is_closed_with_the_next() -> None:
    run = (START, announced("t"), END, START, ev.ToolChanged("t", status="in_progress"))
    assert "tool t in_progress" in shown(*run)
    assert "tool t unfinished" in shown(*run, END)


def test_a_tool_with_an_unknown_status_is_closed_at_the_end() -> None:
    assert shown(START, announced("t", status="strange"))[1] == "tool t strange"
    assert shown(START, announced("t", status="strange"), END)[1] == "tool t unfinished"


def test_closed_tools_are_not_closed_twice() -> None:
    transcript = transcript_of(START, announced("t"), ev.TurnCancelling())
    assert [
        p
        for p in transcript.apply(ev.TurnEnded("done", "cancelled"))
        if p == Set("k2", ("status",), "cancelled")
    ] == []


# ---- turns and the user's messages ------------------------------------------------------------


def test_a_turn_shows_its_prompt_and_its_end() -> None:
    usage = TokenUsage(total=3)
    (turn,) = items(
        ev.TurnStarted((Text("a"), PICTURE)), ev.TurnEnded("failed", "refusal", "no", usage, {"x": 1})
    )
    assert turn == TurnStart(
        "k1", "k1", 1, "failed", (Text("a"), PICTURE), False, "refusal", "no", usage, ({"x": 1},), id="t1"
    )


def test_cancelling_is_shown_until_the_turn_ends_and_means_nothing_outside_a_turn() -> None:
    (turn,) = items(START, ev.TurnCancelling())
    assert isinstance(turn, TurnStart)
    assert (turn.cancelling, turn.status) == (True, "running")
    assert transcript_of(ev.TurnCancelling(), END).version == 0
    assert transcript_of(START, END).apply(ev.TurnCancelling()) == []


@settings(deadline=None)
@given(splits(PROMPT), st.booleans(), st.sampled_from([None, "m"]))
def test_the_prompt_echoed_in_any_chunking_is_not_shown_again(
    parts: list[str], late: bool, id: str | None
) -> None:
    run: list[ev.Event] = [START, *([END] if late else []), *(said(part, id) for part in parts)]
    assert len(items(*run)) == 1


@settings(deadline=None)
@given(st.data())
def test_another_user_message_is_shown_completely_in_any_chunking(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(["help", "hello there", "world", "wait, hello"]))
    echoed = data.draw(splits(PROMPT)) if data.draw(st.booleans()) else []
    run: list[ev.Event] = [START, *map(said, echoed), chunk("a"), *map(said, data.draw(splits(text)))]
    assert shown(*run)[1:] == ["agent: a", f"user: {text}"]


def test_a_prompt_of_several_blocks_echoed_is_not_shown_again() -> None:
    prompt = (Text("look "), PICTURE, Text("here"))
    run: list[ev.Event] = [ev.TurnStarted(prompt), *(ev.MessageChunk("user", content) for content in prompt)]
    assert len(items(*run)) == 1


def test_an_image_that_was_not_in_the_prompt_is_shown() -> None:
    run = (ev.TurnStarted((Text("look"),)), ev.MessageChunk("user", PICTURE))
    (message,) = items(*run)[1:]
    assert isinstance(message, Message)
    assert (message.role, message.content) == ("user", (PICTURE,))


def test_an_unfinished_echo_is_dropped_when_the_agent_speaks() -> None:
    assert shown(START, said("hello"), chunk("a"), said("wait"))[1:] == ["agent: a", "user: wait"]


def test_an_echo_with_raw_leaves_it_with_the_turn() -> None:
    (turn,) = items(START, said(PROMPT, raw={"new": 1}))
    assert isinstance(turn, TurnStart)
    assert turn.raw == ({"new": 1},)


def test_history_keeps_the_raw_user_messages() -> None:
    first, second = items(said("a", "m", {"n": 1}), said("b", "m", {"n": 2}), said("c", "n", {"n": 3}))
    assert first.raw == ({"n": 1}, {"n": 2})  # type: ignore[union-attr]
    assert second.raw == ({"n": 3},)  # type: ignore[union-attr]


def test_the_echoed_prompt_is_dropped_only_once() -> None:
    assert shown(START, said(PROMPT), said(PROMPT))[1:] == [f"user: {PROMPT}"]


def test_an_echo_does_not_break_the_agents_message() -> None:
    assert shown(START, chunk("a"), said(PROMPT), chunk("b"))[1:] == ["agent: ab"]


def test_history_is_split_into_turns() -> None:
    run: list[ev.Event] = [
        said("a"),
        said("b"),
        chunk("x"),
        announced("t", status="completed"),
        said("c"),
        announced("t"),
        chunk("y"),
    ]
    assert shown(*run) == [
        "turn 1 history: ab",
        "agent: x",
        "tool t completed",
        "turn 2 history: c",
        "tool t pending",
        "agent: y",
    ]


def test_each_user_message_is_a_separate_history_turn() -> None:
    first, second = items(
        said("a", "m"), said("b", "m"), said("c", "n"), ev.MessageChunk("user", PICTURE, "n"), said("d")
    )
    assert isinstance(first, TurnStart)
    assert isinstance(second, TurnStart)
    assert first.prompt == (Text("ab"),)
    assert second.prompt == (Text("c"), PICTURE, Text("d"))


def test_the_prompt_of_a_history_turn_has_no_agent_text() -> None:
    assert shown(said("a"), chunk("b")) == ["turn 1 history: a", "agent: b"]


def test_an_empty_user_message_starts_no_turn() -> None:
    assert shown(said(""), chunk("a"), said("")) == ["agent: a"]
    assert shown(said("a"), chunk("b"), said(""), chunk("c")) == ["turn 1 history: a", "agent: bc"]


def test_a_user_message_after_a_turn_is_history() -> None:
    assert shown(START, END, said("new"))[1:] == ["turn 2 history: new"]


def test_a_real_turn_after_history_drops_only_its_own_echo() -> None:
    run = (said(PROMPT), chunk("old"), START, said(PROMPT), chunk("new"))
    assert shown(*run) == [
        f"turn 1 history: {PROMPT}",
        "agent: old",
        f"turn 2 running: {PROMPT}",
        "agent: new",
    ]


def test_items_before_the_first_turn_belong_to_none() -> None:
    transcript = transcript_of(chunk("hi"), announced("t"), START)
    assert [_words(item) for item in transcript.turn_items(None)] == ["agent: hi", "tool t pending"]
    assert transcript.turn_items("k99") == ()


# ---- plans and questions ----------------------------------------------------------------------


def plan(*entries: str, **fields: Any) -> ev.PlanReplaced:
    return ev.PlanReplaced(tuple(map(PlanEntry, entries)), **fields)


def test_a_plan_is_replaced_in_its_turn_and_new_in_the_next() -> None:
    run = (START, plan("a"), chunk("x"), plan("a", "b"), END, plan("late"), START, plan("c"))
    assert [words for words in shown(*run) if "plan" in words] == ["plan ['late']", "plan ['c']"]
    assert shown(*run)[1] == "plan ['late']"


def test_plans_with_different_ids_coexist() -> None:
    run = (START, plan("a", id="p"), plan("b", id="q"), plan("c"), plan("d", id="p"))
    assert shown(*run)[1:] == ["plan ['d']", "plan ['b']", "plan ['c']"]


def test_a_replaced_plan_keeps_nothing_of_the_old_one() -> None:
    (item,) = items(ev.PlanReplaced(text="prose", uri="file:///p"), plan("a"))
    assert item == Plan("k1", None, (PlanEntry("a"),))


def test_a_plan_that_did_not_change_makes_no_patches() -> None:
    assert transcript_of(START, plan("a", text="t")).apply(plan("a", text="t")) == []


def test_a_removed_plan_can_be_added_again() -> None:
    run = (START, plan("a", id="p"), chunk("x"), ev.PlanRemoved("p"), ev.PlanRemoved("p"), chunk("y"))
    assert shown(*run)[1:] == ["agent: xy"]
    assert shown(*run, plan("b", id="p"))[1:] == ["agent: xy", "plan ['b']"]


def test_a_removed_plan_is_no_longer_among_its_turns_items() -> None:
    transcript = transcript_of(START, plan("a", id="p"), chunk("x"), ev.PlanRemoved("p"))
    assert [_words(item) for item in transcript.turn_items(transcript.current_turn)][1:] == ["agent: x"]


OPTIONS = (Option("yes", "Yes", "allow_once"), Option("hm", "Hm", "strange"))


def test_a_question_is_asked_about_a_tool_and_settled_once() -> None:
    transcript = transcript_of(START, announced("t"), ev.QuestionAsked("q", "t", OPTIONS, {"x": 1}))
    assert transcript.item("k3") == Question("k3", "k1", "q", "k2", OPTIONS, "open", raw=({"x": 1},))
    transcript.apply(ev.QuestionSettled("q", "yes", "user", "because"))
    settled = Question("k3", "k1", "q", "k2", OPTIONS, "answered", "yes", "user", "because", ({"x": 1},))
    assert transcript.item("k3") == settled
    assert transcript.apply(ev.QuestionSettled("q", None, "policy")) == []
    assert transcript.item("k3") == settled


def test_a_question_without_an_answer_is_cancelled() -> None:
    (item,) = items(ev.QuestionAsked("q", "unseen", OPTIONS), ev.QuestionSettled("q", None, "turn"))
    assert item == Question("k1", None, "q", None, OPTIONS, "cancelled", by="turn")


ANSWERS = (Option("yes", "Yes", "allow_once"), Option("no", "No", "reject_once"))
ASKED = (START, ev.ToolChanged("t", asked=True), ev.QuestionAsked("q", "t", ANSWERS))


@pytest.mark.parametrize(
    ("answer", "by", "status"),
    [
        ("no", "user", "rejected"),
        ("no", "policy", "rejected"),
        (None, "user", "rejected"),  # the agent offers no option to reject it
        (None, "policy", "rejected"),
        (None, "client", "cancelled"),
        (None, "agent", "cancelled"),
    ],
)
def test_a_call_that_was_not_allowed_ends_immediately(answer: str | None, by: str, status: str) -> None:
    settled = ev.QuestionSettled("q", answer, by)
    assert shown(*ASKED, settled)[1] == f"tool t {status}"
    assert shown(*ASKED, settled, END)[1] == f"tool t {status}"
    announced_first = (START, announced("t", status="in_progress"), *ASKED[1:], settled, END)
    assert shown(*announced_first)[1] == f"tool t {status}"


def test_a_rejected_call_stays_rejected_unless_it_is_completed() -> None:
    rejected = (*ASKED, ev.QuestionSettled("q", "no", "user"))
    assert shown(*rejected, ev.ToolChanged("t", status="failed"))[1] == "tool t rejected"
    assert shown(*rejected, ev.ToolChanged("t", status="completed"))[1] == "tool t completed"
    run = (*rejected, ev.ToolChanged("t", status="in_progress"))
    assert shown(*run)[1] == "tool t in_progress"
    assert shown(*run, ev.ToolChanged("t", status="failed"))[1] == "tool t rejected", "kimi ends so"
    assert shown(*run, END)[1] == "tool t rejected"


def test_a_call_that_we_asked_about_ends_when_the_agent_says_so() -> None:
    ours = (ev.ToolChanged("t", unprompted=True), ev.QuestionAsked("q2", "t", ANSWERS))
    rejected = (START, announced("t"), *ours, ev.QuestionSettled("q2", "no", "user"))
    assert shown(*rejected)[1] == "tool t pending"
    assert shown(*rejected, ev.ToolChanged("t", status="failed"))[1] == "tool t rejected"
    assert shown(*rejected, END)[1] == "tool t rejected"
    allowed_before = (*ASKED, ev.QuestionSettled("q", "yes", "user"), *ours)
    run = (*allowed_before, ev.QuestionSettled("q2", "no", "user"))
    assert shown(*run, ev.ToolChanged("t", status="failed"))[1] == "tool t failed"


def test_a_call_that_existed_for_its_question_only_ends_as_allowed() -> None:
    run = (*ASKED, ev.QuestionSettled("q", "yes", "user"))
    assert shown(*run)[1] == "tool t pending"
    assert shown(*run, END)[1] == "tool t allowed"
    assert shown(*run, ev.TurnEnded("done", "cancelled"))[1] == "tool t cancelled"
    assert shown(*run, ev.ToolChanged("t", title="x"), END)[1] == "tool t unfinished"
    assert shown(*ASKED, END)[1] == "tool t unfinished", "it was never answered"
    announced_first = (START, announced("t"), *ASKED[1:], ev.QuestionSettled("q", "yes", "user"), END)
    assert shown(*announced_first)[1] == "tool t unfinished"


def test_settling_a_question_that_was_never_asked_changes_nothing() -> None:
    assert Transcript().apply(ev.QuestionSettled("q", "yes", "user")) == []


def test_a_question_about_a_reused_id_is_about_the_newest_call() -> None:
    transcript = transcript_of(
        START, announced("t"), END, START, announced("t"), ev.QuestionAsked("q", "t", OPTIONS)
    )
    question = transcript.snapshot().items[-1]
    assert isinstance(question, Question)
    assert question.tool == transcript.snapshot().items[-2].key


# ---- compaction, notices, the unknown ---------------------------------------------------------


def test_a_compaction_is_updated_by_chunks_and_status() -> None:
    transcript = transcript_of(
        ev.CompactionChunk("c", Text("a")),
        ev.CompactionChunk("c", Text("b")),
        ev.CompactionChunk("c", PICTURE),
        ev.CompactionChunk("c", Text("c"), {"x": 1}),
        ev.CompactionChanged("c", "completed"),
    )
    (item,) = transcript.plain()["items"]
    assert (item["status"], item["summary"]) == ("completed", plain((Text("ab"), PICTURE, Text("c"))))
    assert item["raw"] == [{"x": 1}]
    transcript.apply(ev.CompactionChanged("c", "failed", (), "no"))
    assert transcript.plain()["items"][0]["summary"] == []
    transcript.apply(ev.CompactionChunk("c", Text("d")))
    assert transcript.plain()["items"][0]["summary"] == plain((Text("d"),))


def test_a_summary_does_not_append_to_annotated_text_or_resources() -> None:
    blocks = (Text("a", {"audience": []}), Text("b"), Resource("file:///a", "text"), Text("c"))
    (item,) = transcript_of(*(ev.CompactionChunk("c", block) for block in blocks)).plain()["items"]
    assert item["summary"] == plain(blocks)


def test_unknown_messages_are_kept_unchanged() -> None:
    transcript = transcript_of(START, chunk("a"), ev.UnknownReceived("dance", {"steps": [1]}), chunk("b"))
    unknown = transcript.plain()["items"][2]
    assert unknown == {
        "key": "k3",
        "type": "unknown",
        "turn": "k1",
        "what": "dance",
        "content": {"steps": [1]},
    }
    assert [_words(item) for item in transcript.snapshot().items][1:] == ["agent: a", "Unknown", "agent: b"]


def test_an_invalid_event_is_an_error_and_changes_nothing() -> None:
    transcript = transcript_of(START)
    before = transcript.plain()
    with pytest.raises(TypeError, match="not an event"):
        transcript.apply("dance")  # type: ignore[arg-type]
    assert transcript.plain() == before


def test_notices_are_items() -> None:
    (item,) = transcript_of(ev.NoticeGiven("warning", "Slow", source="client", raw={})).plain()["items"]
    assert item == {
        "key": "k1",
        "type": "notice",
        "turn": None,
        "severity": "warning",
        "title": "Slow",
        "source": "client",
        "raw": [{}],
    }


@settings(deadline=None)
@given(event_runs_with_marked_raw())
def test_every_raw_message_is_kept(case: tuple[list[ev.Event], list[Json]]) -> None:
    run, marks = case
    state = transcript_of(*run).plain()
    everything = json.dumps([state["session"], state["items"]])
    assert [mark for mark in marks if json.dumps(mark) not in everything] == []


@pytest.mark.parametrize(
    "event",
    [
        chunk("a", raw={"x": 1}),
        announced("t", raw={"x": 1}),
        plan("a", raw={"x": 1}),
        ev.ModeChanged("m", {"x": 1}),
        ev.CompactionChunk("c", Text("a"), {"x": 1}),
    ],
)
def test_raw_messages_of_one_item_are_bounded(event: ev.Event) -> None:
    transcript = transcript_of(START, *[event] * (RAW_KEPT + 5))
    state = transcript.plain()
    assert [len(item["raw"]) for item in [state["session"], *state["items"]] if "raw" in item] == [RAW_KEPT]


# ---- header and history -----------------------------------------------------------------------


def test_the_header_has_what_the_agent_reports_about_the_session() -> None:
    transcript = transcript_of(
        ev.AgentKnown("demo", version="1"),
        ev.StatusChanged("idle"),
        ev.CommandsReplaced((Command("init", "Start"),)),
        ev.ModesReplaced((Mode("plan", "Plan"), Mode("code", "Code")), "plan"),
        ev.ModeChanged("code", {"x": 1}),
        ev.ConfigReplaced((ConfigOption("fast", "Fast", "boolean", False),)),
        ev.UsageChanged(Usage(None, 9, Cost(0.5, "EUR"))),
        ev.InfoChanged("Title", "today"),
        ev.InfoChanged(title=None),
    )
    assert transcript.plain() == {
        "session": {
            "key": "session",
            "agent": {"name": "demo", "version": "1"},
            "status": "idle",
            "detail": None,
            "commands": [{"name": "init", "description": "Start"}],
            "modes": [{"id": "plan", "name": "Plan"}, {"id": "code", "name": "Code"}],
            "mode": "code",
            "config": [{"id": "fast", "name": "Fast", "type": "boolean", "value": False, "choices": []}],
            "usage": {"size": 9, "cost": {"amount": 0.5, "currency": "EUR"}},
            "title": None,
            "updated_at": "today",
            "raw": [{"x": 1}],
        },
        "items": [],
    }


def test_a_header_that_did_not_change_makes_no_patches() -> None:
    transcript = transcript_of(ev.ModeChanged("m"), ev.StatusChanged("idle"))
    assert transcript.apply(ev.ModeChanged("m")) == []
    assert transcript.apply(ev.StatusChanged("idle")) == []
    assert transcript.apply(ev.InfoChanged()) == []


@settings(deadline=None, max_examples=40)
@given(runs_of(events, 15), runs_of(events, 15))
def test_after_clearing_the_history_the_transcript_is_like_new(
    before: list[ev.Event], later: list[ev.Event]
) -> None:
    transcript = transcript_of(*before, CLEARED)
    assert transcript.snapshot().items == ()
    assert transcript.turn_items(None) == ()
    later = [it for it in later if not isinstance(it, ev.ChangesReplaced)]  # it names a turn by its key
    transcript.apply_all(later)
    assert _renumbered(transcript) == _renumbered(transcript_of(*later))


def _renumbered(transcript: Transcript) -> Json:
    listed = transcript.plain()["items"]
    keys = {item["key"]: number for number, item in enumerate(listed)}
    return [
        {name: keys.get(item[name]) if name in ("key", "turn", "tool") else item[name] for name in item}
        for item in listed
    ]


def test_clearing_the_history_keeps_the_header_and_removes_each_item() -> None:
    transcript = transcript_of(ev.ModeChanged("m"), START, chunk("a"))
    assert transcript.apply(CLEARED) == [Remove("k1"), Remove("k2")]
    assert transcript.snapshot().mode == "m"
    assert transcript.current_turn is None
    assert transcript.apply(CLEARED) == []


# ---- cost -----------------------------------------------------------------------------------


def calls(work: Callable[[], object]) -> int:
    """The number of function calls, a cost that does not depend on the machine."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def conversation(turns: int) -> Transcript:
    transcript = Transcript()
    for number in range(turns):
        transcript.apply_all(
            [START, chunk("Let me see."), announced(f"t{number}", status="completed"), plan("a"), END]
        )
    transcript.apply_all([START, announced("t"), plan("a"), ev.QuestionAsked("q", "t", OPTIONS)])
    transcript.apply_all([chunk("text", id="m")] * (turns * 10 + 2))
    return transcript


NEXT = [
    chunk("more", id="m"),
    chunk("more", id="m", raw={"x": 1}),
    chunk("other", id="n"),
    said("wait"),
    ev.ToolChanged("t", status="in_progress"),
    announced("new"),
    plan("b"),
    ev.QuestionSettled("q", "yes", "user"),
    ev.CompactionChunk("c", Text("a")),
    ev.StatusChanged("working"),
    ev.UnknownReceived("dance", {}),
    END,
    START,
]


@pytest.mark.parametrize("event", NEXT, ids=lambda event: type(event).__name__)
def test_the_cost_of_an_event_does_not_depend_on_the_length(event: ev.Event) -> None:
    short, long = conversation(1), conversation(200)
    sizes = [
        len(json.dumps([to_wire(patch) for patch in copy.deepcopy(t).apply(event)])) for t in (short, long)
    ]
    assert sizes[1] <= sizes[0] + 10 * 3  # longer numbers in keys
    assert calls(lambda: long.apply(event)) == calls(lambda: short.apply(event))


def test_a_chunk_is_one_patch_of_its_own_size() -> None:
    transcript = transcript_of(START, chunk("a"))
    for _ in range(2000):
        assert transcript.apply(chunk("xyz")) == [Append("k2", ("content", 0, "text"), "xyz")]
    assert transcript.apply(chunk("b", "thought")) == [
        Add({"key": "k3", "type": "message", "turn": "k1", "role": "thought", "content": plain((Text("b"),))})
    ]


def test_reading_one_turn_costs_nothing_for_the_others() -> None:
    costs = []
    for turns in (1, 200):
        transcript = conversation(turns)
        transcript.apply_all([START, chunk("a"), announced("t2")])
        costs.append(calls(lambda read=transcript: read.turn_items(read.current_turn)))  # type: ignore[misc]
    assert costs[0] == costs[1]


# ---- what was lost of a turn -------------------------------------------------------------------


def test_what_is_filled_in_is_of_its_turn_and_does_not_interrupt_the_running_one() -> None:
    transcript = transcript_of(ev.TurnStarted((Text("one"),)), chunk("a"), ev.TurnEnded("done"))
    first = transcript.current_turn
    assert first is not None
    transcript.apply_all([ev.TurnStarted((Text("two"),)), chunk("He")])
    call = ev.ToolChanged("c", title="Run", status="completed", created=True)
    transcript.apply_all([ev.Recovered(first, call), ev.Recovered(first, chunk("Done.")), chunk("llo")])
    assert [it.text for it in transcript.turn_items(first) if isinstance(it, Message)] == ["a", "Done."]
    assert transcript.tool("c").turn == first
    (message,) = transcript.turn_items(transcript.current_turn)[1:]
    assert isinstance(message, Message)
    assert message.text == "Hello"


def test_a_question_about_a_call_that_was_filled_in_is_about_another_call() -> None:
    """What the user allows must not be taken for what has been done."""
    transcript = transcript_of(ev.TurnStarted((Text("one"),)), ev.TurnEnded("done"))
    turn = transcript.current_turn
    assert turn is not None
    call = ev.ToolChanged("c", title="Run", status="completed", created=True)
    transcript.apply_all([ev.Recovered(turn, call), ev.ToolChanged("c", title="Other", asked=True)])
    assert [it.title for it in transcript.snapshot().items if isinstance(it, ToolCall)] == ["Run", "Other"]


def test_a_late_chunk_follows_what_was_filled_in() -> None:
    transcript = transcript_of(ev.TurnStarted((Text("one"),)), chunk("a"), ev.TurnEnded("done"))
    turn = transcript.current_turn
    assert turn is not None
    transcript.apply_all([ev.Recovered(turn, chunk("b")), chunk("c")])
    assert [it.text for it in transcript.snapshot().items if isinstance(it, Message)] == ["a", "b", "c"]
