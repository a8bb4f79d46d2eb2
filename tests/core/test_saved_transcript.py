"""A saved transcript is the same for the same conversation, short, and can be read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from acp_notebook.core import events as ev
from acp_notebook.core.loaded_transcript import loaded
from acp_notebook.core.origin import Origin
from acp_notebook.core.records import Diff, KernelRun, Location, Option, PlanEntry, Terminal, Text, TokenUsage
from acp_notebook.core.saved_transcript import Part, redacted, saved, split_turns
from acp_notebook.core.snapshot import Message, Notice, Question, ToolCall, TurnStart
from acp_notebook.core.transcript import Transcript
from tests.core.strategies import event_runs

CWD = "/home/someone/project"


def conversation(prefix: str, cwd: str = CWD) -> Transcript:
    """One conversation, by an agent whose ids begin with the prefix."""
    tool, question = f"{prefix}-tool", f"{prefix}-question"
    return transcript_of(
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
    )


def transcript_of(*events: ev.Event) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def parts(transcript: Transcript, cwd: str | None = CWD) -> list[Part]:
    """The parts of a conversation, as a file keeps them."""
    found = split_turns(transcript.plain()["items"])
    return [saved(items, name=name, cwd=cwd) for name, items in found.items()]


def lines(transcript: Transcript, cwd: str | None = CWD) -> list[str]:
    return [part.line() for part in parts(transcript, cwd)]


def test_the_agents_ids_do_not_affect_the_file() -> None:
    one, other = conversation("a"), conversation("zzz", "/srv/other")
    assert lines(one) == lines(other, "/srv/other")


def test_neither_ids_nor_folders_nor_private_notes_are_kept() -> None:
    [text] = lines(conversation("ghost"))
    assert "ghost" not in text
    assert CWD not in text
    assert "./a.py" in text


def test_the_time_of_a_run_is_not_kept() -> None:
    def run(seconds: float) -> list[str]:
        run = KernelRun("r", "x", "ok", seconds)
        return lines(transcript_of(ev.TurnStarted((Text("go"),)), ev.ToolChanged("c", content=(run,))))

    assert run(0.1) == run(7.5)


def test_a_part_is_one_line_with_its_origin_and_without_defaults() -> None:
    entries = (PlanEntry("one"), PlanEntry("two", status="completed"))
    transcript = transcript_of(ev.TurnStarted((Text("go\non"),), id="t1"), ev.PlanReplaced(entries))
    line = saved(transcript.plain()["items"], name="t1", origin=Origin("demo", "demo-1")).line()
    assert "\n" not in line
    assert json.loads(line) == {
        "acp_transcript": 2,
        "agent": "demo",
        "session": "demo-1",
        "name": "t1",
        "items": [
            {
                "type": "turn",
                "id": "t1",
                "number": 1,
                "status": "running",
                "prompt": [{"type": "text", "text": "go\non"}],
            },
            {"type": "plan", "entries": [{"content": "one"}, {"content": "two", "status": "completed"}]},
        ],
    }


def test_what_stands_between_turns_is_a_part_of_its_own() -> None:
    transcript = transcript_of(
        ev.NoticeGiven("info", "first", source="client"),
        ev.TurnStarted((Text("one"),), id="t1"),
        ev.TurnEnded("done"),
        ev.NoticeGiven("info", "between", source="client"),
        ev.NoticeGiven("info", "too", source="client"),
        ev.TurnStarted((Text("two"),), id="t2"),
    )
    assert [part.name for part in parts(transcript)] == ["+", "t1", "t1+", "t2"]
    notices = [it.title for it in loaded(lines(transcript)).items if isinstance(it, Notice)]
    assert notices == ["first", "between", "too"]
    assert [it.turn is None for it in loaded(lines(transcript)).items] == [True, False, True, True, False]


def test_a_saved_conversation_is_read_back() -> None:
    snapshot = loaded(lines(conversation("a")))
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


@given(event_runs)
def test_any_conversation_is_saved_and_read_back(run: list[ev.Event]) -> None:
    transcript = transcript_of(*run)
    snapshot = loaded(lines(transcript))
    found = split_turns(transcript.plain()["items"])
    order = [item["key"] for items in found.values() for item in items]
    by_key = {item.key: item for item in transcript.snapshot().items}
    before = [by_key[key] for key in order]
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
    assert lines(early) == lines(late)


@given(event_runs, st.sampled_from(["x-", "y-"]))
def test_the_agents_names_do_not_matter(run: list[ev.Event], prefix: str) -> None:
    assert lines(transcript_of(*run)) == lines(transcript_of(*(_renamed(event, prefix) for event in run)))


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
    items: list[dict[str, Any]] = transcript_of(*run).plain()["items"]
    changed = {
        name: [redacted(item, lambda _: "■") for item in part] for name, part in split_turns(items).items()
    }
    read = loaded([saved(part, name=name).line() for name, part in changed.items()]).items
    assert sorted(it.type for it in read) == sorted(it["type"] for it in items)


@pytest.mark.parametrize("name", ["agent", "session"])
def test_an_unknown_origin_is_left_out(name: str) -> None:
    assert name not in json.loads(saved([]).line())
