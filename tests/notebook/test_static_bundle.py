"""The static output of a turn: every form, bounded, and redacted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core import events as ev
from acp_notebook.core.records import Diff, Json, Location, Option, PlanEntry, Resource, Text
from acp_notebook.core.saved_transcript import loaded
from acp_notebook.core.transcript import Transcript
from acp_notebook.notebook.static_bundle import NOTHING_YET, TRANSCRIPT_MIME, bundle

LOOKS = ["text/html", "text/markdown", "text/plain"]
CWD = "/home/someone/project"
SECRET = "hunter2"


def items(*some: ev.Event) -> list[dict[str, Json]]:
    transcript = Transcript()
    for event in some:
        transcript.apply(event)
    plain: list[dict[str, Json]] = transcript.plain()["items"]
    return plain


def turn(text: str) -> list[dict[str, Json]]:
    return items(
        ev.TurnStarted((Text("tell me"),)),
        ev.MessageChunk("agent", Text(text)),
        ev.TurnEnded("done", "end_turn"),
    )


def secrets_everywhere() -> list[dict[str, Json]]:
    """The secret in every text that an agent can send."""
    return items(
        ev.TurnStarted((Text(f"use {SECRET}"), Resource(f"file:///{SECRET}", SECRET))),
        ev.MessageChunk("thought", Text(f"hm, {SECRET}")),
        ev.MessageChunk("agent", Text(f"it is {SECRET}")),
        ev.PlanReplaced((PlanEntry(f"type {SECRET}", "high", "pending"),)),
        ev.ToolChanged(
            id="c",
            title=f"login {SECRET}",
            kind="edit",
            status="completed",
            name=SECRET,
            content=(Diff(f"{CWD}/{SECRET}", f"new {SECRET}", f"old {SECRET}"), Text(SECRET)),
            locations=(Location(f"{CWD}/{SECRET}", 1),),
            raw_input={SECRET: [{"deep": SECRET}]},
            raw_output={"type": SECRET},
        ),
        ev.QuestionAsked("q", "c", (Option(SECRET, f"Yes, {SECRET}", "allow_once"),)),
        ev.QuestionSettled("q", SECRET, "policy", f"because {SECRET}"),
        ev.NoticeGiven("info", SECRET, f"noted {SECRET}"),
        ev.UnknownReceived("dream", {SECRET: SECRET, "type": SECRET}),
        ev.CompactionChanged("z", "completed", (Text(SECRET),)),
        ev.TurnEnded("failed", None, f"failed at {SECRET}"),
    )


def test_a_turn_is_rendered_in_every_form() -> None:
    forms = bundle(turn("the <answer>"), cwd=CWD)
    assert list(forms) == [*LOOKS, TRANSCRIPT_MIME]
    assert "the &lt;answer&gt;" in forms["text/html"]
    assert all("tell me" in forms[form] for form in LOOKS)
    assert json.loads(json.dumps(forms)) == forms
    assert len(loaded([forms[TRANSCRIPT_MIME]]).items) == 2


def test_a_turn_that_has_not_started_says_so() -> None:
    forms = bundle([], cwd=CWD)
    assert [NOTHING_YET in forms[form] for form in LOOKS] == [True] * 3


def test_the_working_directory_is_in_no_form() -> None:
    assert CWD not in json.dumps(bundle(secrets_everywhere(), cwd=CWD))


@pytest.mark.parametrize("letter", ["x", "é", "🙂"])
def test_every_form_is_capped_in_bytes_and_says_so(letter: str) -> None:
    whole = items(
        ev.TurnStarted((Text("tell me"),)),
        *[ev.NoticeGiven("info", f"part {number}", letter * 300) for number in range(100)],
        ev.TurnEnded("done", "end_turn"),
    )
    forms = bundle(whole, cwd=CWD, max_bytes=10_000)
    assert list(forms) == LOOKS
    for form in LOOKS:
        assert len(forms[form].encode()) < 10_500
        assert "left out" in forms[form]
        assert "part 99" in forms[form]


def test_a_form_that_fits_exactly_is_not_cut() -> None:
    forms = bundle(turn("é" * 500), cwd=CWD)
    size = len(forms["text/markdown"].encode())
    assert bundle(turn("é" * 500), cwd=CWD, max_bytes=size)["text/markdown"] == forms["text/markdown"]


def test_redaction_reaches_every_form() -> None:
    forms = bundle(secrets_everywhere(), cwd=CWD, redact=lambda text: text.replace(SECRET, "•••"))
    assert list(forms) == [*LOOKS, TRANSCRIPT_MIME]
    text = json.dumps(forms, ensure_ascii=False)
    assert SECRET not in text
    assert "•••" in text


def test_redaction_sees_the_agents_full_text_not_only_the_shown_part() -> None:
    """A function that knows a path by its full name finds it."""
    forms = bundle(turn(f"in {CWD}/secret.txt"), cwd=CWD, redact=lambda text: text.replace("secret", "•••"))
    assert "secret" not in json.dumps(forms)


@pytest.mark.parametrize("answer", ["", "x"])
def test_a_function_that_removes_everything_leaves_readable_output(answer: str) -> None:
    forms = bundle(secrets_everywhere(), cwd=CWD, redact=lambda _: answer)
    assert SECRET not in json.dumps(forms)
    assert len(loaded([forms[TRANSCRIPT_MIME]]).items) == len(secrets_everywhere())


def test_a_failing_function_leaves_a_note_and_no_text() -> None:
    def fails(_: str) -> Any:
        raise RuntimeError("out of order")

    forms = bundle(secrets_everywhere(), cwd=CWD, redact=fails)
    assert SECRET not in json.dumps(forms)
    assert all("out of order" in forms[form] for form in LOOKS)
    assert TRANSCRIPT_MIME not in forms


def test_a_function_that_returns_no_text_counts_as_failing() -> None:
    def forgets(_: str) -> Any:
        return None

    forms = bundle(secrets_everywhere(), cwd=CWD, redact=forgets)
    assert all("redact" in forms[form] for form in LOOKS)
    assert SECRET not in json.dumps(forms)
