"""With jupyter-collaboration: the document belongs to the server, and several people have it open."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.browser.conftest import Open
from tests.browser.live_pages import set_source, sources, type_in, until
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.browser.saved_files import WIDGET_VIEW, assert_static, data_of, text_of
from tests.browser.servers import Server, started
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
ASKS = "import acp_notebook as acp\ns = acp.connect('demo')"

Join = Callable[[NotebookPage], NotebookPage]


@pytest.fixture
def join(browser: BrowserContext) -> Iterator[Join]:
    """Opens the same notebook in another browser, as another person does."""
    with ExitStack() as stack:

        def join(first: NotebookPage) -> NotebookPage:
            assert browser.browser is not None
            other = stack.enter_context(browser.browser.new_context())
            return NotebookPage(other, first.server, first.path, "perCommTarget", (1200, 1400))

        yield join


def written(notebook: NotebookPage, cell: int, *texts: str) -> dict[str, Any]:
    """The file, as soon as the server has written these texts into the output of a cell."""
    found: dict[str, Any] = {}

    def is_written() -> bool:
        with suppress(ValueError):  # the server writes it in place
            found.update(json.loads(notebook.path.read_text()))
            outputs = str(found["cells"][cell].get("outputs"))
            return all(text in outputs for text in (*texts, TRANSCRIPT_MIME))
        return False

    wait_until(is_written, f"the file says {texts}", LIMIT_S)
    return found


hosts = pytest.mark.parametrize(
    "host", ["collaboration", pytest.param("collaboration-alone", marks=pytest.mark.slow)]
)


@hosts
def test_an_agent_edits_the_shared_document(open_notebook: Open, join: Join, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine", "old = 1", "gone"], host=host)
    name = notebook.path.name
    prompts = [f"/nb edit {name} cell-3 new = 2", f"/nb insert {name} cell-3 inserted = 3"]
    set_source(notebook, 1, "\n".join(f"print(s.prompt({it!r}).text)" for it in prompts))
    other = join(notebook)
    type_in(other, 2, " and theirs")
    notebook.wait_idle()
    notebook.run(0, 1)
    agent = sources(notebook)[1]
    expected = [CONNECT, agent, "mine and theirs", "new = 2", "inserted = 3", "gone"]
    until(notebook, expected)
    until(other, expected)
    wait_until(lambda: notebook.output(1).inner_text().count("Wrote `") == 2, "two turns", LIMIT_S)
    assert_static(written(notebook, 1, "inserted = 3"), 1, "Wrote")
    wait_until(lambda: WIDGET_VIEW not in notebook.path.read_text(), "the file is static", LIMIT_S)


WATCH = """() => {
    const {sharedModel} = window.jupyterapp.shell.currentWidget.context.model;
    window.widgetTypes = 0;
    sharedModel.ydoc.on("update", () => {
        window.widgetTypes += JSON.stringify(sharedModel.toJSON()).includes("widget-view") ? 1 : 0;
    });
}"""
"""Counts the states of the shared document that have a widget's type."""


def test_two_people_see_a_turn_and_the_first_answer_wins(open_notebook: Open, join: Join) -> None:
    notebook = open_notebook([ASKS, "s.prompt('/ask')"], host="collaboration")
    other = join(notebook)
    for page in (notebook, other):
        page.page.evaluate(WATCH)
    notebook.run(0, 1)
    for page in (notebook, other):
        page.asks(1)
    other.answer(1)
    for page in (notebook, other):
        page.has_status(1, "done")
        page.says(1, re.compile("Allowed once by “Anonymous"))
    content = written(notebook, 1, "by “Anonymous")
    assert_static(content, 1, "Allow once by")
    assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1]
    assert [page.page.evaluate("window.widgetTypes") for page in (notebook, other)] == [0, 0]


def test_a_panel_survives_reload_kernel_and_server(
    browser: BrowserContext, chromium: str, tmp_path: Path
) -> None:
    def opened(server: Server, path: Path) -> NotebookPage:
        return NotebookPage(browser, server, path, "perCommTarget", (1200, 1400))

    def has_both_turns(notebook: NotebookPage) -> None:
        """Nothing is lost, nothing is there twice."""
        content = written(notebook, 1, "hello", "/think")
        assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1]
        html = text_of(data_of(content, 1)["text/html"])
        assert (html.count("/think"), html.count("<p>hello</p>")) == (1, 1)
        assert_static(content, 1)
        assert WIDGET_VIEW not in notebook.path.read_text()
        expect(notebook.output(1)).not_to_contain_text("model not found")

    with started("collaboration", tmp_path) as server:
        path = server.add_notebook("panel", "newest", [ASKS, "s"])
        notebook = opened(server, path)
        notebook.run(0, 1)
        notebook.prompt(1, "hello")
        expect(notebook.panel(1).locator(".acp-turn[data-acp-status=done]")).to_have_count(1)
        notebook.reload()
        notebook.prompt(1, "/think")
        expect(notebook.panel(1).locator(".acp-turn[data-acp-status=done]")).to_have_count(2)
        has_both_turns(notebook)
        notebook.restart()
        expect(notebook.panel(1)).to_contain_text("Run this cell")
        notebook.reopen()
        has_both_turns(notebook)
        notebook.close()
    with started("collaboration", tmp_path) as server:
        notebook = opened(server, path)
        expect(notebook.output(1)).to_contain_text("/think")
        has_both_turns(notebook)
        notebook.close()


def test_a_turn_whose_kernel_died_says_where_it_stopped(open_notebook: Open, join: Join) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/slow 600')"], host="collaboration")
    notebook.run(0, 1)
    notebook.says(1, "tick3")
    written(notebook, 1, "slow")
    notebook.server.end_kernels()
    notebook.close()
    other = join(notebook)
    expect(other.output(1)).to_contain_text("/slow 600")
    expect(other.output(1)).to_contain_text("has this turn up to here")
