"""Views are closed and reopened: the session goes on, and its views come back in place."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage

HOSTS = ("lab", "notebook")
CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
ASK = "turn = s.prompt('/ask')"
AFTER = "print('after', turn.text)"


def asking(open_notebook: Open, **where: Any) -> NotebookPage:
    """A notebook in which a cell waits for an answer, and another one for its turn."""
    notebook = open_notebook([CONNECT, ASK, AFTER], **where)
    notebook.run_all()
    notebook.asks(1)
    return notebook


def finish(notebook: NotebookPage, ask: int = 1) -> None:
    notebook.answer(ask)
    notebook.says(ask, "You answered allow_once.")
    notebook.has_status(ask, "done")


def test_a_page_is_reloaded(open_notebook: Open, return_on: tuple[str, str, str, str]) -> None:
    """The cells queued behind are the page's business, and go with it: so it is run again afterwards."""
    how, kernel, comms, host = return_on
    notebook = asking(open_notebook, kernel=kernel, comms=comms, host=host)
    notebook.save()
    getattr(notebook, how)()
    notebook.asks(1)
    finish(notebook)
    notebook.wait_idle()
    notebook.run(2)
    notebook.says(2, "after You answered allow_once.")


@pytest.mark.parametrize("host", HOSTS)
def test_cell_moved(open_notebook: Open, host: str) -> None:
    notebook = asking(open_notebook, host=host)
    notebook.select(1)
    notebook.command("notebook:move-cell-up")
    notebook.asks(0)
    finish(notebook, ask=0)
    notebook.says(2, "after You answered allow_once.")


@pytest.mark.parametrize("host", HOSTS)
def test_output_collapsed_and_shown(open_notebook: Open, host: str) -> None:
    notebook = asking(open_notebook, host=host)
    notebook.select(1)
    notebook.command("notebook:hide-cell-outputs")
    expect(notebook.turn(1)).not_to_be_visible()
    notebook.command("notebook:show-cell-outputs")
    notebook.asks(1)
    finish(notebook)
    notebook.says(2, "after You answered allow_once.")


def test_new_view_for_output(open_notebook: Open) -> None:
    """Both views are in step; the question is in one of them, and can be answered in the other."""
    notebook = asking(open_notebook)
    notebook.select(1)
    notebook.command("notebook:create-output-view")
    other = notebook.page.locator(".jp-LinkedOutputView .acp-turn")
    other.locator("[data-acp-answer-here]").click()
    other.locator('[data-kind="reject_once"]').click()
    expect(other).to_contain_text("You answered reject_once.")
    notebook.says(1, "You answered reject_once.")
    notebook.says(2, "after You answered reject_once.")


@pytest.mark.parametrize("host", HOSTS)
def test_output_cleared(open_notebook: Open, host: str) -> None:
    """The question's place is gone: the stop button ends the turn, and the session goes on."""
    notebook = asking(open_notebook, host=host)
    notebook.select(1)
    notebook.command("notebook:clear-cell-output")
    expect(notebook.turn(1)).to_have_count(0)
    notebook.press_interrupt()
    notebook.says(1, "KeyboardInterrupt")
    notebook.wait_idle()
    notebook.run(1)
    notebook.asks(1)
    finish(notebook)
    notebook.run(2)
    notebook.says(2, "after You answered allow_once.")


def test_scrolled_away_and_back(open_notebook: Open) -> None:
    filler = [f"# {number}\n" + "\n" * 30 for number in range(12)]
    notebook = open_notebook([CONNECT, ASK, AFTER, *filler], size=(1200, 700))
    notebook.run(0, 1, 2)
    notebook.asks(1)
    notebook.command("notebook:move-cursor-to-bottom")
    panel = notebook.page.locator(".jp-Notebook .jp-WindowedPanel-outer")
    panel.evaluate("it => it.scrollTop = it.scrollHeight")
    expect(notebook.page.locator(".acp-turn")).not_to_be_in_viewport()
    panel.evaluate("it => it.scrollTop = 0")
    notebook.asks(1)
    finish(notebook)
    notebook.says(2, "after You answered allow_once.")
