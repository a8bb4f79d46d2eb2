from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings

from acp_notebook.core import events as ev
from acp_notebook.core.actions import FileAccess, Other
from acp_notebook.core.patches import Add, Append, Remove, Set
from acp_notebook.core.records import (
    Choice,
    Command,
    ConfigOption,
    Cost,
    Diff,
    Image,
    Location,
    Mode,
    Text,
    UnknownContent,
    Usage,
)
from acp_notebook.core.snapshot import (
    AgentInfo,
    Compaction,
    Item,
    Message,
    Notice,
    Question,
    Snapshot,
    ToolCall,
    TurnStart,
    Unknown,
    item_from_plain,
    snapshot_from,
    text_of,
)
from acp_notebook.core.transcript import Transcript
from tests.core.strategies import event_runs


def transcript_of(*run: ev.Event) -> Transcript:
    transcript = Transcript()
    transcript.apply_all(run)
    return transcript


# ---- snapshots and the state ------------------------------------------------------------------


@settings(deadline=None)
@given(event_runs)
def test_a_snapshot_equals_one_made_from_scratch(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        transcript.apply(event)
        state = json.loads(json.dumps(transcript.plain()))
        items = tuple(item_from_plain(item) for item in state["items"])
        assert transcript.snapshot() == snapshot_from(state["session"], items, transcript.version)


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_a_snapshot_is_the_same_object_until_something_changes(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        before = transcript.snapshot()
        changed = bool(transcript.apply(event))
        assert (transcript.snapshot() is before) == (not changed)
        assert transcript.snapshot() is transcript.snapshot()


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_earlier_snapshots_never_change(run: list[ev.Event]) -> None:
    transcript = Transcript()
    taken: list[Snapshot] = []
    before: list[Snapshot] = []
    for event in run:
        transcript.apply(event)
        taken.append(transcript.snapshot())
        before.append(copy.deepcopy(taken[-1]))
    assert taken == before


@settings(deadline=None, max_examples=40)
@given(event_runs)
def test_only_changed_items_are_rebuilt(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        before = {item.key: item for item in transcript.snapshot().items}
        patches = transcript.apply(event)
        changed = {patch.key for patch in patches if isinstance(patch, Append | Set | Remove)}
        changed |= {patch.item["key"] for patch in patches if isinstance(patch, Add)}
        for item in transcript.snapshot().items:
            assert (before.get(item.key) is item) == (item.key not in changed)
            assert transcript.item(item.key) is item


def test_snapshots_do_not_share_raw_json_with_events() -> None:
    given_input = {"path": ["a"]}
    transcript = transcript_of(ev.ToolChanged("t", raw_input=given_input))
    (tool,) = transcript.snapshot().items
    given_input["path"].append("b")
    assert isinstance(tool, ToolCall)
    assert tool.raw_input == {"path": ["a"]}
    assert transcript.plain()["items"][0]["raw_input"] == {"path": ["a"]}


def test_an_item_cannot_be_changed() -> None:
    (message,) = transcript_of(ev.MessageChunk("agent", Text("a"))).snapshot().items
    with pytest.raises(AttributeError):
        message.key = "other"  # type: ignore[misc]


def test_an_unknown_item_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="k1"):
        Transcript().item("k1")


# ---- what the records show --------------------------------------------------------------------


def test_a_new_transcript_is_an_empty_snapshot_that_is_starting() -> None:
    assert Transcript().snapshot() == Snapshot((), 0, status="starting")


def test_the_header_is_converted_to_records() -> None:
    config = (
        ConfigOption("model", "Model", "select", "x", (Choice("x", "X", group="g"),)),
        ConfigOption("fast", "Fast", "boolean", False),
    )
    snapshot = transcript_of(
        ev.AgentKnown("demo", "Demo", "1", "here"),
        ev.StatusChanged("dead", "exit 1"),
        ev.CommandsReplaced((Command("init", "Start", "what"),)),
        ev.ModesReplaced((Mode("plan", "Plan"),), None),
        ev.ConfigReplaced(config, {"x": 1}),
        ev.UsageChanged(Usage(None, 9, Cost(0.5, "EUR"))),
        ev.InfoChanged("Title", None),
    ).snapshot()
    assert snapshot == Snapshot(
        (),
        snapshot.version,
        status="dead",
        detail="exit 1",
        agent=AgentInfo("demo", "Demo", "1", "here"),
        title="Title",
        modes=(Mode("plan", "Plan"),),
        config=config,
        commands=(Command("init", "Start", "what"),),
        usage=Usage(None, 9, Cost(0.5, "EUR")),
    )


@pytest.mark.parametrize(
    ("event", "item"),
    [
        (ev.NoticeGiven("info", "Hi", "there"), Notice("k1", None, "info", "Hi", "there")),
        (ev.UnknownReceived("dance", None), Unknown("k1", None, "dance", None)),
        (
            ev.CompactionChanged("c", "completed", (Text("a"),)),
            Compaction("k1", None, "c", "completed", (Text("a"),)),
        ),
        (ev.ToolChanged("t"), ToolCall("k1", None, "t", "", "other", "pending")),
        (
            ev.ToolChanged(
                "t", "T", "edit", "failed", (Diff("a", "b"),), (Location("a", 3),), 1, [2], "n", {}
            ),
            ToolCall(
                "k1",
                None,
                "t",
                "T",
                "edit",
                "failed",
                (Diff("a", "b"),),
                (Location("a", 3),),
                1,
                [2],
                "n",
                {},
            ),
        ),
        (ev.TurnStarted(()), TurnStart("k1", "k1", 1, "running", (), id="t1")),
    ],
)
def test_each_kind_of_item_is_converted_to_its_record(event: ev.Event, item: Item) -> None:
    assert transcript_of(event).snapshot().items == (item,)


def test_text_joins_the_text_blocks() -> None:
    content = (Text("a"), Image("aGk=", "image/png"), Text("b", {"audience": []}))
    assert text_of(content) == "ab"
    assert Message("k1", None, "agent", content).text == "ab"
    assert TurnStart("k1", "k1", 1, "done", content).text == "ab"


def test_a_tool_call_knows_its_diffs() -> None:
    diffs = (Diff("a", "new", "old"), Diff("b", "new"))
    tool = ToolCall("k1", None, "t", "Edit", "edit", "completed", (diffs[0], Text("x"), diffs[1]))
    assert tool.diffs == diffs
    assert tool.text == "x"


def test_a_snapshot_has_a_short_repr() -> None:
    snapshot = transcript_of(
        ev.TurnStarted(()), ev.MessageChunk("agent", Text("a")), ev.StatusChanged("idle")
    ).snapshot()
    assert repr(snapshot) == "<Snapshot: 1 turns, 2 items, idle>"


def test_parts_of_unknown_types_do_not_prevent_reading_an_item() -> None:
    block = {"type": "hologram", "depth": 3}
    message = item_from_plain(
        {"type": "message", "key": "k1", "turn": None, "role": "agent", "content": [block], "colour": "red"}
    )
    assert message == Message("k1", None, "agent", (UnknownContent(block),))
    action = {"type": "teleport", "to": "/x"}
    question = item_from_plain(
        {"type": "question", "key": "k1", "turn": None, "id": "q", "tool": None, "options": [],
         "status": "open", "actions": [action, {"type": "edit", "kind": "edit", "path": "/a"}]}
    )  # fmt: skip
    assert isinstance(question, Question)
    assert question.actions == (Other("teleport"), FileAccess("edit", "/a"))


def test_the_repr_of_an_item_shows_what_identifies_it() -> None:
    tool = ToolCall("k1", "k0", "t", "Edit", "edit", "completed", (Text("long"),), raw_input={"x": 1})
    assert repr(tool) == (
        "ToolCall(id='t', title='Edit', kind='edit', status='completed', locations=(), name=None, "
        "unprompted=False)"
    )
    assert hash(Notice("k1", None, "info", "Hi")) == hash(Notice("k1", None, "info", "Hi"))
