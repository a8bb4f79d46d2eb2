"""A page exports a conversation: part by part, without secrets, or with the reason why not."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.export.file import ExportedFile
from acp_notebook.core.intents import Export, ExportForm
from acp_notebook.core.page_messages import ExportAnswer
from acp_notebook.frontend.panel import exports
from acp_notebook.frontend.panel.exports import Exporter

LIMIT_S = 60.0


class Page:
    """Asks an exporter for a file, as a page does."""

    def __init__(self, make: exports.MakeFile) -> None:
        self.answers: list[ExportAnswer] = []
        self.exporter = Exporter(make, self.answers.append)

    def ask(self, part: int = 0, rid: str = "r", form: ExportForm = "markdown") -> ExportAnswer:
        asyncio.run(self.exporter.handle(Export(rid, form, part, "v")))
        answer = self.answers[-1]
        assert (answer.view, answer.rid) == ("v", rid)
        return answer

    def fetch(self) -> str:
        first = self.ask()
        return first.text + "".join(self.ask(part).text for part in range(1, first.of))


def file_of(text: str) -> exports.MakeFile:
    return lambda form: ExportedFile(f"a.{form}", "text/plain", text)


@pytest.mark.parametrize("length", [0, 1, 9, 10, 11, 35])
def test_a_file_arrives_whole_in_parts(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PART_CHARS", 10)
    text = "".join(chr(65 + index) for index in range(length))
    page = Page(file_of(text))
    assert page.fetch() == text
    assert (page.answers[0].name, page.answers[0].mime_type) == ("a.markdown", "text/plain")
    assert page.exporter._kept is None


def test_only_the_newest_file_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PART_CHARS", 2)
    page = Page(file_of("text"))
    page.ask(rid="one")
    page.ask(rid="two")
    assert "replaced by a newer one" in (page.ask(1, rid="one").error or "")
    assert page.ask(7, rid="two").error == "this export has no part 7"
    assert page.ask(1, rid="two").text == "xt"


def test_a_file_that_is_too_large_or_too_slow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "MAX_CHARS", 3)
    assert Page(file_of("text")).ask(form="html").error == (
        "the export is too large to send to the page: call session.to_html() in a cell"
    )

    def slow(_: ExportForm) -> ExportedFile:
        time.sleep(0.2)
        return ExportedFile("", "", "")

    timeouts.replace(export=0.01)
    assert "took longer than 0.01 s" in (Page(slow).ask().error or "")


@pytest.fixture
def session() -> Iterator[acp.Session]:
    made = acp.connect("demo")
    made.prompt("hello <b>there</b>", timeout=LIMIT_S)
    yield made
    made.agent.close()


def test_each_form_is_a_file_of_the_conversation(session: acp.Session) -> None:
    markdown, html, notebook = (session._export(form) for form in ("markdown", "html", "notebook"))
    assert [it.name for it in (markdown, html, notebook)] == [
        "demo-conversation.md",
        "demo-conversation.html",
        "demo-conversation.ipynb",
    ]
    assert markdown.text.startswith("# Conversation with demo\n")
    assert html.text.startswith("<!DOCTYPE html>") and "<title>Conversation with demo</title>" in html.text
    assert "<b>there" not in html.text and "default-src 'none'" in html.text
    assert json.loads(notebook.text)["nbformat"] == 4


def test_an_export_is_redacted(session: acp.Session) -> None:
    session.redact = lambda text: text.replace("there", "[gone]")
    for form in ("markdown", "html", "notebook"):
        assert "there" not in session._export(form).text
    session.redact = lambda text: 1 / 0  # type: ignore[assignment, return-value]
    with pytest.raises(acp.UsageError, match="nothing was exported, because the function `redact` failed"):
        session._export("html")
