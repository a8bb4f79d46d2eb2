"""A stored answer is reused for the same prompt only, and nothing of a hostile file is shown as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core import events as ev
from acp_notebook.core.loaded_transcript import loaded
from acp_notebook.core.origin import Origin
from acp_notebook.core.prompt_digest import prompt_digest
from acp_notebook.core.records import Content, Image, Resource, Text, plain
from acp_notebook.core.snapshot import Message
from acp_notebook.core.transcript import Transcript
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME, Renderer
from acp_notebook.notebook.stored_answers import STORED, stored_answer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def digest(*content: Content, agent: str = "demo", cwd: str = "/work") -> str:
    return prompt_digest(agent, plain(content), cwd)


def output(*content: Content, stop: str = "end_turn", redact: Any = None) -> dict[str, Any]:
    transcript = Transcript()
    transcript.apply(ev.TurnStarted(content, id="t1"))
    transcript.apply(ev.MessageChunk("agent", Text("It is <b>7</b>")))
    transcript.apply(ev.MessageChunk("agent", Image(PNG, "image/png")))
    transcript.apply(ev.TurnEnded("done", stop))
    renderer = Renderer(Origin("demo", "demo-1"), cwd="/work", redact=redact)
    return renderer.part("t1", transcript.plain()["items"])


def test_the_answer_to_the_same_prompt_is_shown_again_and_says_so() -> None:
    data = output(Text("Which number?"))
    answer = stored_answer(data, digest(Text("Which number?")))
    assert answer is not None
    assert answer["text/html"] == STORED + data["text/html"]
    assert answer["text/plain"] == data["text/plain"]
    assert answer[TRANSCRIPT_MIME] == data[TRANSCRIPT_MIME]


def test_an_answer_that_was_reused_is_reused_again_with_the_same_output() -> None:
    wanted = digest(Text("Which number?"))
    once = stored_answer(output(Text("Which number?")), wanted)
    assert once is not None
    assert PNG in once["text/html"]
    assert stored_answer(once, wanted) == once
    items = loaded([once[TRANSCRIPT_MIME]], [once["text/html"]]).items
    (said,) = (it for it in items if isinstance(it, Message))
    assert said.content[1:] == (Image(PNG, "image/png"),)


@pytest.mark.parametrize(
    "content",
    [
        (Text("Which number ?"),),
        (Text("Which number?"), Text("more")),
        (Text("Which number?"), Resource("file:///work/a.py", text="x = 1")),
    ],
)
def test_anything_that_changed_in_the_prompt_counts(content: tuple[Content, ...]) -> None:
    assert stored_answer(output(Text("Which number?")), digest(*content)) is None


def test_a_changed_attachment_and_another_agent_count_and_another_folder_does_not() -> None:
    one = Resource("file:///work/a.py", text="x = 1")
    data = output(Text("Explain"), one)
    assert stored_answer(data, digest(Text("Explain"), one)) is not None
    assert stored_answer(data, digest(Text("Explain"), Resource(one.uri, text="x = 2"))) is None
    assert stored_answer(data, digest(Text("Explain"), one, agent="kimi")) is None
    moved = Resource("file:///home/me/a.py", text="x = 1")
    assert stored_answer(data, digest(Text("Explain"), moved, cwd="/home/me")) is not None


def test_a_turn_that_did_not_end_well_is_not_reused() -> None:
    data = output(Text("Which number?"), stop="cancelled")
    assert stored_answer(data, digest(Text("Which number?"))) is None


def test_the_file_has_no_digest_of_a_redacted_prompt() -> None:
    data = output(Text("The key is hunter2"), redact=lambda text: text.replace("hunter2", "…"))
    assert "digest" not in data[TRANSCRIPT_MIME]


def test_the_html_of_a_file_is_never_shown() -> None:
    data = output(Text("Which number?")) | {"text/html": "<script>alert(1)</script>"}
    fields = json.loads(data[TRANSCRIPT_MIME]) | {"command": ["rm", "-rf"], "env": {"A": "b"}}
    answer = stored_answer({**data, TRANSCRIPT_MIME: json.dumps(fields)}, digest(Text("Which number?")))
    assert answer is not None
    assert "<script" not in answer["text/html"]
    assert "rm" not in json.loads(answer[TRANSCRIPT_MIME])


@pytest.mark.parametrize("value", [None, 7, "{", "[]", ["{}", "{}"], {"acp_transcript": 1, "items": []}])
def test_a_malformed_transcript_is_no_answer(value: Any) -> None:
    assert stored_answer({TRANSCRIPT_MIME: value}, digest(Text("Which number?"))) is None


def test_a_malformed_item_is_no_answer() -> None:
    data = output(Text("Which number?"))
    fields = json.loads(data[TRANSCRIPT_MIME])
    fields["items"][0]["status"] = {"a": "dict"}
    changed = {**data, TRANSCRIPT_MIME: json.dumps(fields)}
    assert stored_answer(changed, digest(Text("Which number?"))) is None
