"""Agents that are not installed, and the agent picker: chosen with a click, while the kernel stays free."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from acp_notebook.agent.permissions.consent_store import ConsentStore
from tests.agent.known_agents.test_catalog import program
from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.browser.saved_files import saved_when_it_says
from tests.browser.test_accessible import THEMES, faults
from tests.notebook.kernels import ROOT

DEMO = shlex.join([sys.executable, "-P", "-m", "acp_notebook.demo"])
PACKAGE = "@google/gemini-cli"


@pytest.fixture
def setup_cell(tmp_path: Path) -> str:
    """A cell after which an npx that fetches the built-in agent is on the PATH, and hardly anything else."""
    bin = tmp_path / "bin"
    bin.mkdir()
    program(bin, "node")
    said = f'printf "%s\\n" "$@" >> {tmp_path / "log"}'
    fetched = f"PATH={tmp_path / 'fetched'}:$PATH"
    program(bin, "npx", f'#!/bin/sh\n{said}\nshift 4\n{fetched} exec "$@"\n')
    program(tmp_path / "fetched", "gemini", f"#!/bin/sh\nexec {DEMO}\n")
    names = {"PATH": f"{bin}:/usr/bin:/bin", "ACP_NOTEBOOK_CONFIG": str(tmp_path / "config")}
    names |= {"PYTHONPATH": str(ROOT)}
    return f"import os\nos.environ.update({names!r})\n%load_ext acp_notebook"


def fetched(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def button(place: Locator, name: str) -> Locator:
    return place.get_by_role("button", name=name, exact=True)


def opened(open_notebook: Open, cells: list[str], host: str = "lab", theme: str = "light") -> NotebookPage:
    notebook = open_notebook(cells, host=host, theme=THEMES[theme])
    for number in range(len(cells)):
        notebook.run(number)
    return notebook


@pytest.mark.parametrize(("host", "theme"), [("lab", "light"), ("notebook", "dark")])
def test_a_missing_agent_offers_buttons_and_starts_in_the_same_output(
    open_notebook: Open, setup_cell: str, tmp_path: Path, host: str, theme: str
) -> None:
    cells = [setup_cell, "%acp_agent gemini", "print('the kernel is', 'free')", "print(session.agent.name)"]
    notebook = opened(open_notebook, cells[:3], host, theme)
    notebook.says(2, "the kernel is free")  # the question holds nothing
    output = notebook.output(1)
    expect(output).to_contain_text("Gemini CLI is not installed.", timeout=LIMIT_S * 1000)
    expect(output.locator("pre")).to_have_text(f"npx --yes --package {PACKAGE} -- gemini --acp")
    assert notebook.page.locator(".jp-Stdin").count() == 0
    assert faults(notebook) == []
    notebook.page.screenshot(path=str(tmp_path / "missing.png"))
    assert fetched(tmp_path) == [], "nothing runs before the click"
    button(output, "Cancel").click()
    expect(output).to_contain_text("gemini was not started.")
    assert "UsageError" not in output.inner_text()
    button(output, "Show again").click()
    button(output, "Run with npx").click()
    notebook.prompt(1, "hello")
    expect(notebook.panel(1)).to_contain_text("You said: “hello”.", timeout=LIMIT_S * 1000)
    assert fetched(tmp_path)[:3] == ["--yes", "--package", PACKAGE]
    assert ConsentStore(tmp_path / "config").packages() == [], "allowed this time only"
    saved_when_it_says(notebook, 1, "You said: “hello”.")


def test_the_file_of_a_question_that_nobody_answered_says_what_is_missing(
    open_notebook: Open, setup_cell: str
) -> None:
    notebook = opened(open_notebook, [setup_cell, "%acp_agent gemini"])
    expect(button(notebook.output(1), "Cancel")).to_be_visible(timeout=LIMIT_S * 1000)
    (output,) = notebook.save()["cells"][1]["outputs"]
    assert "npm install -g @google/gemini-cli" in "".join(output["data"]["text/plain"])
    assert list(output["data"]) == ["text/plain"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_agent_is_picked_in_the_panel_and_takes_its_place(
    open_notebook: Open, setup_cell: str, tmp_path: Path, theme: str
) -> None:
    notebook = opened(open_notebook, [setup_cell, "%acp_agent demo"], theme=theme)
    panel = notebook.panel(1)
    panel.locator("[data-acp-more]").click()
    panel.get_by_role("menuitem", name="Agents…").click()
    picker = panel.locator("[data-acp-agent-picker]")
    expect(button(picker, "Start demo")).to_be_enabled(timeout=LIMIT_S * 1000)
    assert faults(notebook) == []
    notebook.page.screenshot(path=str(tmp_path / "picker.png"))
    button(picker, "Get gemini").click()
    expect(picker.locator("pre")).to_have_text(f"npx --yes --package {PACKAGE} -- gemini --acp")
    picker.get_by_label("Always run this package without asking").check()
    assert faults(notebook) == []
    button(picker, "Run with npx").click()
    other = panel.locator("[data-acp-other-session]")
    expect(other).to_contain_text("In Python, this session is gemini.", timeout=LIMIT_S * 1000)
    assert ConsentStore(tmp_path / "config").packages() == [f"npx {PACKAGE}"]
    button(panel, "Back to the previous session").click()
    expect(panel.locator(".acp-panel").first).to_be_visible()


def test_without_a_name_the_magic_offers_all_agents(open_notebook: Open, setup_cell: str) -> None:
    notebook = opened(open_notebook, [setup_cell, "%acp_agent"])
    button(notebook.output(1), "Start demo").click()
    notebook.prompt(1, "hello")
    expect(notebook.panel(1)).to_contain_text("You said: “hello”.", timeout=LIMIT_S * 1000)
    notebook.save()
    notebook.reload()
    expect(notebook.panel(1)).to_contain_text("You said: “hello”.", timeout=LIMIT_S * 1000)
