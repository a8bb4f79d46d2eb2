"""The static output of a turn: every form, bounded, and redacted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core import events as ev
from acp_notebook.core.loaded_transcript import loaded
from acp_notebook.core.origin import Origin
from acp_notebook.core.records import Diff, Image, Json, Location, Option, PlanEntry, Resource, Text
from acp_notebook.core.saved_bounds import OUTPUT_CHARS
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.core.transcript import Transcript
from acp_notebook.notebook.static_bundle import (
    NOTHING_YET,
    TRANSCRIPT_MIME,
    Bundle,
    Redact,
    Renderer,
    composed,
)

LOOKS = ["text/html", "text/plain"]
CWD = "/home/someone/project"
SECRET = "hunter2"


def items(*some: ev.Event) -> list[dict[str, Json]]:
    transcript = Transcript()
    for event in some:
        transcript.apply(event)
    plain: list[dict[str, Json]] = transcript.plain()["items"]
    return plain


def bundle(
    some: list[dict[str, Json]], *, cwd: str, redact: Redact | None = None, max_bytes: int = 1_000_000
) -> Bundle:
    """The static output of one turn."""
    return Renderer(Origin("demo", "demo-1"), cwd=cwd, redact=redact).part("t1", some, max_bytes)


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
    assert [NOTHING_YET in forms[form] for form in LOOKS] == [True] * 2


def test_the_working_directory_is_in_no_form() -> None:
    assert CWD not in json.dumps(bundle(secrets_everywhere(), cwd=CWD))


@pytest.mark.parametrize("letter", ["x", "é", "🙂"])
def test_every_form_is_capped_in_bytes_and_says_so(letter: str) -> None:
    whole = items(
        ev.TurnStarted((Text("tell me"),)),
        *[ev.NoticeGiven("info", f"part {number}", letter * 300) for number in range(200)],
        ev.TurnEnded("done", "end_turn"),
    )
    forms = bundle(whole, cwd=CWD, max_bytes=10_000)
    assert list(forms) == LOOKS
    for form in LOOKS:
        assert len(forms[form].encode()) < 10_500
        assert "left out" in forms[form]
        assert "part 199" in forms[form]


def test_a_form_that_fits_exactly_is_not_cut() -> None:
    forms = bundle(turn("é" * 500), cwd=CWD)
    size = len(forms["text/html"].encode())
    assert bundle(turn("é" * 500), cwd=CWD, max_bytes=size)["text/html"] == forms["text/html"]


def test_the_text_is_one_line_for_each_message_and_call() -> None:
    some = items(
        ev.TurnStarted((Text("fix it\nsoon"),)),
        ev.MessageChunk("thought", Text("hm")),
        ev.MessageChunk("agent", Text("First.\n\nThen more.")),
        ev.ToolChanged("c", title="Read a.py", kind="read", status="failed", content=(Text("out\nput"),)),
        ev.PlanReplaced((PlanEntry("one", "high", "completed"), PlanEntry("two", "low", "pending"))),
        ev.TurnEnded("done", "end_turn"),
    )
    assert bundle(some, cwd=CWD)["text/plain"].split("\n") == [
        "> fix it …",
        "First. …",
        "✕ Read a.py — failed",
        "Plan",
        "1 of 2 steps done",
    ]


def test_what_agents_repeat_is_bounded_and_every_form_says_so() -> None:
    long = "".join(f"{number} {'x' * 50}\n" for number in range(2000))
    some = items(
        ev.TurnStarted((Text("go"), Resource("file:///a", long))),
        ev.ToolChanged("c", title="Read a.py", status="completed", content=(Text(long),), raw_output=long),
        ev.MessageChunk("agent", Text(long)),
    )
    forms = bundle(some, cwd=CWD)
    assert forms["text/html"].count("more characters left out of the notebook") == 2
    assert forms[TRANSCRIPT_MIME].count("more characters left out of the notebook") == 2
    assert len(forms[TRANSCRIPT_MIME]) < len(long) * 1.1 + 3 * OUTPUT_CHARS  # the message is complete
    assert loaded([forms[TRANSCRIPT_MIME]]).items[-1].text == long  # type: ignore[union-attr]


IMAGE = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def test_an_image_is_kept_once_and_read_from_the_html() -> None:
    some = items(ev.TurnStarted((Text("see"), Image(IMAGE, "image/png"))))
    forms = bundle(some, cwd=CWD)
    assert json.dumps(forms).count(IMAGE) == 1
    [start] = loaded([forms[TRANSCRIPT_MIME]], [forms["text/html"]]).items
    assert isinstance(start, TurnStart) and start.prompt[1] == Image(IMAGE, "image/png")
    [bare] = loaded([forms[TRANSCRIPT_MIME]]).items
    assert isinstance(bare, TurnStart) and bare.prompt[1] == Image("", "image/png")


def test_an_image_that_the_html_does_not_show_stays_in_the_transcript() -> None:
    some = items(ev.TurnStarted((Text("see"), Image(IMAGE, "image/x-unknown"))))
    assert IMAGE in bundle(some, cwd=CWD)[TRANSCRIPT_MIME]


def test_a_whole_conversation_keeps_each_turn_once() -> None:
    some = items(
        ev.TurnStarted((Text("one"),), id="t1"), ev.TurnEnded("done"), ev.TurnStarted((Text("two"),), id="t2")
    )
    forms = Renderer(Origin("demo", "demo-1"), cwd=CWD).whole(some)
    head, *lines = forms[TRANSCRIPT_MIME]
    assert json.loads(head)["parts"] == ["t1", "t2"] and len(lines) == 2
    assert forms["text/plain"].startswith("> one\n\n> two")
    prompts = [it.text for it in loaded([forms[TRANSCRIPT_MIME]]).items if isinstance(it, TurnStart)]
    assert prompts == ["one", "two"]


def test_a_whole_conversation_that_is_too_long_leaves_out_the_oldest_turns() -> None:
    parts = {f"t{number}": {"text/html": f"<p>{number}</p>", "text/plain": "x" * 100} for number in range(9)}
    forms = composed("{}", parts, max_bytes=350)
    assert "6 earlier turns left out" in forms["text/html"] and "<p>8</p>" in forms["text/html"]


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
