"""A saved transcript is the same for the same conversation, and can be read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from acp_notebook.core import events as ev
from acp_notebook.core.records import Diff, Location, Option, Terminal, Text, TokenUsage
from acp_notebook.core.saved_transcript import FORMAT, loaded, redacted, saved
from acp_notebook.core.snapshot import Message, Question, ToolCall, TurnStart
from acp_notebook.core.transcript import Transcript
from tests.core.strategies import event_runs

CWD = "/home/someone/project"


def conversation(prefix: str, cwd: str = CWD) -> Transcript:
    """One conversation, by an agent whose ids begin with the prefix."""
    transcript = Transcript()
    tool, question = f"{prefix}-tool", f"{prefix}-question"
    run: list[ev.Event] = [
        ev.TurnStarted((Text(f"look into {cwd}/a.py"),), id="t1"),
        ev.MessageChunk("agent", Text("I look.", None), f"{prefix}-message", {"secret": prefix}),
        ev.ToolChanged(
            id=tool,
            title=f"Read {cwd}/a.py",
            kind="read",
            status="completed",
            content=(Diff(f"{cwd}/a.py", "new", "old"), Terminal(f"{prefix}-terminal")),
            locations=(Location(f"{cwd}/a.py", 1),),
            raw_input={"changes": {f"{cwd}/a.py": {"path": f"{cwd}/a.py"}}},
            meta={"private": prefix},
        ),
        ev.QuestionAsked(question, tool, (Option("yes", "Yes", "allow_once"),)),
        ev.QuestionSettled(question, "yes", "user", None),
        ev.CompactionChanged(f"{prefix}-compaction", "completed", (Text("short"),)),
        ev.TurnEnded("done", "end_turn", None, TokenUsage(7)),
    ]
    for event in run:
        transcript.apply(event)
    return transcript


def kept(transcript: Transcript, cwd: str | None = CWD) -> dict[str, Any]:
    value = saved(transcript.plain()["items"], cwd=cwd)
    assert json.loads(json.dumps(value)) == value
    return value


def test_the_agents_ids_do_not_affect_the_file() -> None:
    one, other = conversation("a"), conversation("zzz", "/srv/other")
    assert kept(one) == kept(other, "/srv/other")


def test_neither_ids_nor_folders_nor_private_notes_are_kept() -> None:
    text = json.dumps(kept(conversation("ghost")))
    assert "ghost" not in text
    assert CWD not in text
    assert "./a.py" in text


def test_a_saved_conversation_is_read_back() -> None:
    snapshot = loaded([kept(conversation("a"))])
    turn, message, tool, question, _ = snapshot.items
    assert snapshot.status == "closed"
    assert isinstance(turn, TurnStart)
    assert (turn.text, turn.status, turn.stop_reason) == ("look into ./a.py", "done", "end_turn")
    assert turn.usage == TokenUsage(7)
    assert isinstance(message, Message)
    assert (message.text, message.turn) == ("I look.", turn.key)
    assert isinstance(tool, ToolCall)
    assert tool.diffs == (Diff("./a.py", "new", "old"),)
    assert tool.locations == (Location("./a.py", 1),)
    assert isinstance(question, Question)
    assert (question.tool, question.answer, question.by) == (tool.key, "yes", "user")


def test_keys_of_different_parts_do_not_collide() -> None:
    part = kept(conversation("a"))
    keys = [item.key for item in loaded([part, part]).items]
    assert len(set(keys)) == len(keys) == 2 * len(part["items"])


@given(event_runs)
def test_any_conversation_is_saved_and_read_back(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        transcript.apply(event)
    value = kept(transcript)
    snapshot = loaded([value])
    before = transcript.snapshot().items
    assert [type(item) for item in snapshot.items] == [type(item) for item in before]
    assert [getattr(item, "text", None) for item in snapshot.items] == [
        getattr(item, "text", None) for item in before
    ]


def test_the_time_of_a_terminal_release_does_not_affect_the_file() -> None:
    early, late = Transcript(), Transcript()
    for transcript, before in ((early, True), (late, False)):
        transcript.apply(ev.TurnStarted((Text("run"),)))
        transcript.apply(ev.TerminalChanged("x", status="exited"))
        if before:
            transcript.apply(ev.TerminalChanged("x", released=True))
        transcript.apply(ev.TurnEnded("done", "end_turn"))
    assert kept(early) == kept(late)


@given(event_runs, st.sampled_from(["x-", "y-"]))
def test_the_agents_names_do_not_matter(run: list[ev.Event], prefix: str) -> None:
    plain, renamed = Transcript(), Transcript()
    for event in run:
        plain.apply(event)
        renamed.apply(_renamed(event, prefix))
    assert kept(plain) == kept(renamed)


def _renamed(event: ev.Event, prefix: str) -> ev.Event:
    """With other ids of tools, questions and forms."""
    match event:
        case ev.ToolChanged(id=id):
            return replace(event, id=prefix + id)
        case ev.QuestionAsked(id=id, tool_id=tool):
            return replace(event, id=prefix + id, tool_id=prefix + tool)
        case ev.ElicitationOpened(id=id, tool_id=tool):
            return replace(event, id=prefix + id, tool_id=None if tool is None else prefix + tool)
        case ev.QuestionSettled(id=id) | ev.ElicitationSettled(id=id) | ev.ElicitationCompleted(id=id):
            return replace(event, id=prefix + id)
    return event


@given(event_runs)
def test_no_redaction_function_can_break_an_item(run: list[ev.Event]) -> None:
    transcript = Transcript()
    for event in run:
        transcript.apply(event)
    value = kept(transcript)
    value["items"] = [redacted(item, lambda _: "■") for item in value["items"]]
    read = loaded([value]).items
    assert [type(item) for item in read] == [type(item) for item in transcript.snapshot().items]


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (None, "not a saved transcript"),
        ({"items": []}, "not a saved transcript"),
        ({"acp_transcript": FORMAT + 1, "items": []}, f"format {FORMAT + 1}"),
        ({"acp_transcript": FORMAT, "items": [1]}, "cannot be read"),
        ({"acp_transcript": FORMAT, "items": [{"type": "message"}]}, "cannot be read"),
        ({"acp_transcript": FORMAT, "items": [{"type": "dream", "key": "k1"}]}, "cannot be read"),
    ],
)
def test_an_invalid_saved_transcript_is_refused(part: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        loaded([part])
