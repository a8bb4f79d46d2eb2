"""Terminals in the transcript: output grows, is cut visibly, and stays after the release."""

from __future__ import annotations

import pytest

from acp_notebook.core import events as ev
from acp_notebook.core import records as rec
from acp_notebook.core import terminal_buffers
from acp_notebook.core.export import to_html, to_markdown, to_text
from acp_notebook.core.loaded_transcript import loaded
from acp_notebook.core.patches import Append, State
from acp_notebook.core.saved_bounds import OUTPUT_CHARS, bounded_items
from acp_notebook.core.saved_transcript import saved
from acp_notebook.core.snapshot import TerminalRun
from acp_notebook.core.transcript import Transcript

START = ev.TurnStarted((rec.Text("go"),))


def transcript_of(*events: ev.Event) -> Transcript:
    transcript = Transcript()
    transcript.apply_all([START, ev.TerminalChanged("x", command="make", status="running"), *events])
    return transcript


def screen(transcript: Transcript) -> TerminalRun:
    (item,) = [item for item in transcript.snapshot().items if isinstance(item, TerminalRun)]
    return item


def test_output_stays_after_exit_and_release() -> None:
    item = screen(
        transcript_of(
            ev.TerminalOutput("x", "one\n"),
            ev.TerminalOutput("x", "two\n"),
            ev.TerminalChanged("x", status="exited", exit_code=0),
            ev.TerminalChanged("x", released=True),
        )
    )
    assert (item.command, item.output, item.status, item.exit_code) == ("make", "one\ntwo\n", "exited", 0)
    assert item.released and item.dropped == 0


def test_the_whole_output_replaces_earlier_output() -> None:
    part = ev.TerminalOutput("x", "late", dropped=3)
    transcript = transcript_of(ev.TerminalOutput("x", "2"), part, ev.TerminalOutput("x", "all", whole=True))
    assert (screen(transcript).output, screen(transcript).dropped) == ("all", 0)
    transcript.apply(ev.TerminalOutput("x", " more"))
    assert screen(transcript).output == "all more"


def test_dropped_characters_are_counted() -> None:
    item = screen(transcript_of(ev.TerminalOutput("x", "begin"), ev.TerminalOutput("x", "end", dropped=100)))
    assert (item.output, item.dropped) == ("end", 105)


def test_output_of_an_unknown_terminal_changes_nothing() -> None:
    assert transcript_of().apply(ev.TerminalOutput("y", "text")) == []


def test_long_output_is_cut_at_the_start_and_patches_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal_buffers, "KEPT_CHARS", 100)
    monkeypatch.setattr(terminal_buffers, "SLACK_CHARS", 50)
    transcript, mirror = transcript_of(), State.from_plain(transcript_of().plain())
    appended = 0
    for number in range(1000):
        patches = transcript.apply(ev.TerminalOutput("x", f"line {number}\n"))
        appended += any(isinstance(patch, Append) for patch in patches)
        for patch in patches:
            mirror.apply(patch)
    item, whole = screen(transcript), "".join(f"line {number}\n" for number in range(1000))
    assert whole.endswith(item.output) and item.output.startswith("line ")
    assert 90 <= len(item.output) <= 150 and len(item.output) + item.dropped == len(whole)
    assert mirror.plain() == transcript.plain()
    assert appended > 700, "most output is appended, not sent again"


def test_an_endless_line_is_cut_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_buffers, "KEPT_CHARS", 100)
    monkeypatch.setattr(terminal_buffers, "SLACK_CHARS", 0)
    item = screen(transcript_of(ev.TerminalOutput("x", "a" * 300)))
    assert (item.output, item.dropped) == ("a" * 100, 200)


def test_documents_show_the_terminal_in_its_tool_call_once() -> None:
    events = (
        ev.ToolChanged("c", title="Build", kind="execute", content=(rec.Terminal("x"),), created=True),
        ev.TerminalOutput("x", "\x1b[31m10%\r50%\rdone\x1b[0m\nnext\n"),
        ev.TerminalChanged("x", status="exited", exit_code=3),
    )
    items = transcript_of(*events).snapshot().items
    for write in (to_text, to_markdown, to_html):
        document = write(items)
        assert document.count("make") == 1 and document.count("exit code 3") == 1
        assert "done" in document and "next" in document and "50%" not in document and "\x1b" not in document


def test_a_terminal_without_a_tool_call_is_shown_where_it_was_started() -> None:
    document = to_text(transcript_of(ev.TerminalOutput("x", "out\n")).snapshot().items)
    assert "make" in document and "out" in document and "still running" in document


def test_an_end_by_a_signal_and_long_output_are_shown() -> None:
    lines = "".join(f"{number}\n" for number in range(1000))
    ended = ev.TerminalChanged("x", status="killed", signal="SIGKILL")
    document = to_text(transcript_of(ev.TerminalOutput("x", lines), ended).snapshot().items)
    assert "ended by SIGKILL" in document and "earlier output left out" in document
    assert "\n999" in document.replace("  ", "") and "\n5\n" not in document


def test_unprompted_calls_are_marked() -> None:
    tool = ev.ToolChanged("c", title="Write a.py", kind="edit", status="completed", unprompted=True)
    assert "unprompted" in to_text(transcript_of(tool).snapshot().items)


def test_a_file_keeps_the_end_of_long_output_and_its_tool_call_still_finds_it() -> None:
    tool = ev.ToolChanged("c", title="Build", content=(rec.Terminal("x"),), created=True)
    transcript = transcript_of(tool, ev.TerminalOutput("x", "b" * OUTPUT_CHARS + "end"))
    snapshot = loaded([saved(bounded_items(transcript.plain()["items"])).line()])
    (item,) = [item for item in snapshot.items if isinstance(item, TerminalRun)]
    assert len(item.output) == OUTPUT_CHARS and item.output.endswith("end") and item.dropped == 3
    assert "still running" in to_text(snapshot.items)
    assert to_text(snapshot.items).count("make") == 1
