"""Files and notebooks in other tabs, with unsaved changes: the agent reads and writes them there."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')\ns"

TAB = """async (path) => {
    const app = window.jupyterapp;
    const tab = await app.commands.execute("docmanager:open", {path, options: {mode: "tab-after"}});
    await tab.context.ready;
    await tab.revealed;
    window.tab = tab;
}"""
"""Opens a document in a tab."""

TEXT = """() => {
    const {sharedModel} = window.tab.context.model;
    return sharedModel.cells ? sharedModel.cells[0].getSource() : sharedModel.getSource();
}"""

UNDO = "() => window.tab.context.model.sharedModel.undo()"
DIRTY = "() => window.tab.context.model.dirty"


def type_in_a_tab(notebook: NotebookPage, path: Path, text: str) -> None:
    """Open a document in a tab, and type at its end without saving."""
    notebook.page.evaluate(TAB, path.name)
    notebook.page.locator(".jp-Document:visible .cm-content").first.click()
    notebook.page.keyboard.press("Control+End")
    notebook.page.keyboard.type(text)
    notebook.page.wait_for_function(DIRTY, timeout=20_000)
    notebook.command("docmanager:open", path=notebook.path.name)  # back to the notebook
    notebook.wait_idle()


def test_a_file_with_unsaved_text_is_read_and_written_in_its_tab(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT])
    file = notebook.path.with_name("unsaved.py")
    file.write_text("saved = 1\n")
    notebook.run(0)
    type_in_a_tab(notebook, file, "unsaved = 2\n")
    notebook.prompt(0, f"/read {file.name}")
    notebook.says(0, "unsaved = 2")
    notebook.prompt(0, f"/edit {file.name} written = 3")
    wait_until(lambda: notebook.page.evaluate(TEXT) == "written = 3\n", "the tab has the text", LIMIT_S)
    notebook.says(0, "unsaved.py was changed in its tab")
    assert file.read_text() == "saved = 1\n"
    notebook.page.evaluate(UNDO)
    assert notebook.page.evaluate(TEXT) == "saved = 1\nunsaved = 2\n"


def test_the_panel_undoes_a_change_in_a_tab_and_a_prompt_has_its_text(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT])
    file = notebook.path.with_name("unsaved-too.py")
    file.write_text("saved = 1\n")
    notebook.run(0)
    type_in_a_tab(notebook, file, "unsaved = 2\n")
    unsaved = "saved = 1\nunsaved = 2\n"
    notebook.prompt(0, f"What is in @{file.name}?")
    notebook.says(0, f"{file.name}, text of {len(unsaved)} characters")
    notebook.prompt(0, f"/edit {file.name} written = 3")
    wait_until(lambda: notebook.page.evaluate(TEXT) == "written = 3\n", "the tab has the text", LIMIT_S)
    panel = notebook.panel(0)
    panel.locator("[data-acp-operation=undo]").first.click()
    wait_until(lambda: notebook.page.evaluate(TEXT) == unsaved, "the tab has its text again", LIMIT_S)
    expect(panel).to_contain_text("undone")
    assert file.read_text() == "saved = 1\n"
    notebook.page.evaluate(UNDO)  # the undo is a step of the editor, too
    assert notebook.page.evaluate(TEXT) == "written = 3\n"


def test_a_notebook_with_unsaved_text_is_read_and_edited_in_its_tab(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT])
    other = notebook.server.add_notebook("unsaved-other", "newest", ["saved = 1"])
    before = json.loads(other.read_text())["cells"][0]["source"]
    notebook.run(0)
    type_in_a_tab(notebook, other, "; unsaved = 2")
    notebook.prompt(0, f"/nb read {other.name}")
    notebook.says(0, "unsaved = 2")
    notebook.prompt(0, f"/nb edit {other.name} cell-0 written = 3")
    wait_until(lambda: notebook.page.evaluate(TEXT) == "written = 3", "the tab has the text", LIMIT_S)
    assert json.loads(other.read_text())["cells"][0]["source"] == before
