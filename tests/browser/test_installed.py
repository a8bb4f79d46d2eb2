"""The wheel in an environment of its own, with JupyterLab 4.2 and the newest, and with Notebook 7."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.agents import mock_model
from tests.browser.conftest import missing
from tests.browser.installed import installed_python
from tests.browser.live_pages import sources
from tests.browser.pages import NotebookPage
from tests.browser.saved_files import saved_when_it_says
from tests.browser.servers import OWN, started
from tests.browser.side_panel import SidePanel
from tests.browser.test_real_agent import MISSPELT, mend_with_claude_code
from tests.notebook.kernels import CannotMake

pytestmark = pytest.mark.slow

Opens = Callable[[list[str]], NotebookPage]


@pytest.fixture(params=["newest-lab", "newest-notebook", "4.2-lab", "4.2-notebook"])
def opened(browser: BrowserContext, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Opens]:
    """Opens a notebook with these cells in a server with the wheel; its kernel is in the same environment."""
    version, host = request.param.split("-")
    try:
        python = installed_python(version)
    except CannotMake as error:
        missing(f"no environment to test with: {error}")
    folder = tmp_path / "server"
    folder.mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(started(host, folder, python))
        stack.callback(server.end_kernels)

        def open(cells: list[str]) -> NotebookPage:
            path = server.add_notebook("analysis", OWN, cells)
            notebook = NotebookPage(browser, server, path)
            stack.callback(notebook.close)
            return notebook

        yield open


def test_from_a_click_to_the_mended_cell_and_back(opened: Opens) -> None:
    """Open the side panel, start the demo agent, ask, answer by keyboard, see the difference, undo."""
    notebook = opened(["total = 41\nrate = 2.5", "print(totl * rate)"])
    notebook.run(0, 1)
    notebook.says(1, "NameError")
    side = SidePanel(notebook)
    side.start("demo")
    notebook.cell(1).locator("[data-acp-lab=ask-error]").click()
    expect(side.question).to_be_visible()
    notebook.select(0)
    side.keys("a", until=lambda: expect(side.question).to_have_count(0, timeout=1000))
    expect(side.panel.locator(".acp-card-change")).to_contain_text("print(total * rate)")
    assert sources(notebook)[1] == "print(total * rate)"
    expect(side.panel).to_contain_text("I have corrected the cell")
    source = notebook.cell(1).locator(".cm-content")  # not all of the cell: the traceback has it, too
    side.keys("u", until=lambda: expect(source).to_have_text("print(totl * rate)", timeout=3000))
    saved_when_it_says(notebook, 2, "I have corrected the cell")


@pytest.mark.real_agent
def test_claude_code_mends_a_failed_cell(opened: Opens, tmp_path: Path) -> None:
    with mock_model.serving() as model:
        mend_with_claude_code(opened(MISSPELT), model, tmp_path)


def test_every_command_works_from_the_palette(opened: Opens) -> None:
    notebook = opened(["total = 41", "print(total)"])
    side = SidePanel(notebook)
    choose(notebook, "Show the Agents Panel")
    expect(side.node).to_be_visible()
    choose(notebook, "Start an Agent")
    side.choose_agent("demo")
    notebook.select(1)
    choose(notebook, "Focus the Agent")
    expect(side.field).to_be_focused()
    notebook.select(1)
    choose(notebook, "Send the Cell or the Selection to the Agent")
    expect(side.panel).to_contain_text("What do you notice?")
    notebook.select(1)
    choose(notebook, "Let the Agent Explain This")
    expect(side.panel).to_contain_text("Explain what this code does")
    notebook.select(1)
    choose(notebook, "Ask the Agent About This Cell")
    expect(side.field).to_have_value(re.compile(r"print\(total\)"))
    side.field.fill("")
    notebook.select(1)
    notebook.page.keyboard.press("Control+a")
    choose(notebook, "Ask the Agent About This Selection")
    expect(side.field).to_have_value(re.compile("The selected part of cell"))
    side.field.fill("")
    side.prompt("/slow 600")
    expect(side.panel).to_contain_text("tick2")
    choose(notebook, "Stop the Agent")
    expect(side.panel).to_contain_text("Stopped")
    side.prompt("/edit other.txt text")
    expect(side.question).to_be_visible()
    until_answered(notebook, side, "Reject What the Agent Asks")
    expect(side.panel).to_contain_text("other.txt is unchanged: rejected")
    side.prompt("/edit third.txt text")
    expect(side.question).to_be_visible()
    until_answered(notebook, side, "Allow Once What the Agent Asks")
    third = notebook.path.with_name("third.txt")
    expect(side.panel).to_contain_text("Wrote third.txt")
    assert third.read_text() == "text\n"
    choose(notebook, "Next Change of the Agent")
    expect(side.panel.locator("[data-acp-operation]:focus")).to_have_count(1)
    choose(notebook, "Undo the Agent's Last Turn")
    expect(side.panel).to_contain_text("undone")
    assert not third.exists()


def choose(notebook: NotebookPage, label: str) -> None:
    """Run a command by the palette and the keyboard."""
    page = notebook.page
    notebook.command("apputils:activate-command-palette")
    field = page.locator(".lm-CommandPalette-input:visible")
    field.fill(label)
    expect(page.locator(".lm-CommandPalette-item.lm-mod-active")).to_contain_text(label)
    field.press("Enter")
    expect(page.locator(".jp-ModalCommandPalette:visible")).to_have_count(0)


def until_answered(notebook: NotebookPage, side: SidePanel, label: str) -> None:
    """A command answers a question only once it has been in view for a moment, uncovered by the palette."""
    for _ in range(20):
        choose(notebook, label)
        try:
            expect(side.question).to_have_count(0, timeout=1500)
        except AssertionError:
            continue
        return
    expect(side.question).to_have_count(0)
