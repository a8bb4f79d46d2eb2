"""Cells of the open notebook are undone and redone in the page: by card, by script, one by one."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source, sources, type_in, until, valid
from tests.browser.pages import NotebookPage
from tests.browser.saved_files import saved
from tests.browser.test_accessible import AXE, faults

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
SCRIPT = "turn = s.turns[-1]\nturn.revert()\nprint([it.state for it in turn.changes])"

OLD = ["print('old')", "print('between')", "print('gone')"]
NEW = ["new = 2", "inserted", "print('between')"]
MINE = "mine and not saved"

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def mixed(open_notebook: Open, **where: Any) -> tuple[NotebookPage, Locator]:
    """A turn that edited a cell, put one in and took one out, while the user wrote in another."""
    cells = [CONNECT, "agent", SCRIPT, "print('kept')", "mine", *OLD]
    notebook = open_notebook(cells, **where)
    set_source(notebook, 1, f"s.prompt('/nb mix {notebook.path.name} cell-5 new = 2');")
    notebook.run(0, 3, 5, 6, 7)
    notebook.says(7, "gone")
    type_in(notebook, 4, " and not saved")
    notebook.run(1)
    notebook.has_status(1, "done")
    holds(notebook, NEW)
    file = notebook.turn(1).locator("[data-acp-file]")
    expect(file).to_have_count(1)
    return notebook, file


def holds(notebook: NotebookPage, cells: list[str]) -> None:
    """The cells in the page, soon; the user's text and the outputs of what nobody changed are still there."""
    until(notebook, [*sources(notebook)[:3], "print('kept')", MINE, *cells])
    notebook.says(3, "kept")
    for text in ("old", "between", "gone"):  # what comes back has its output again
        if f"print('{text}')" in cells:
            notebook.says(5 + cells.index(f"print('{text}')"), text)


def press(within: Locator, operation: str) -> None:
    within.locator(f"[data-acp-operation={operation}]").last.click()


@each_host
def test_cells_of_the_open_notebook_are_undone_and_redone(open_notebook: Open, host: str) -> None:
    notebook, file = mixed(open_notebook, host=host)
    head = file.locator("> .acp-diff-head")
    hunks = file.locator("[data-acp-hunk]")
    expect(hunks).to_have_count(3)
    # As a whole, and again.
    press(head, "undo")
    expect(file).to_have_attribute("data-state", "undone")
    holds(notebook, OLD)
    press(head, "redo")
    expect(file).to_have_attribute("data-state", "applied")
    holds(notebook, NEW)
    # One cell at a time.
    for number, cells in ((1, ["new = 2", *NEW[2:]]), (0, [OLD[0], *NEW[2:]]), (2, OLD)):
        press(hunks.nth(number), "undo")
        expect(hunks.nth(number)).to_have_attribute("data-undone", "true")
        holds(notebook, cells)
    expect(file).to_have_attribute("data-state", "undone")
    press(hunks.nth(2), "redo")
    holds(notebook, OLD[:2])
    press(head, "redo")
    holds(notebook, NEW)
    # By a script, from a cell of the same notebook.
    notebook.run(2)
    notebook.says(2, "['undone']")
    expect(file).to_have_attribute("data-state", "undone")
    holds(notebook, OLD)
    saved(notebook)
    content = valid(notebook.path)
    assert [cell["source"] for cell in content.cells] == sources(notebook)
    assert len({cell["id"] for cell in content.cells}) == 8
    assert content.cells[3]["outputs"][0]["text"] == "kept\n"
    texts = [cell["outputs"][0]["text"] for cell in content.cells[5:]]
    assert texts == ["old\n", "between\n", "gone\n"]
    assert all(isinstance(cell["execution_count"], int) for cell in content.cells[5:])


@pytest.mark.slow
@each_host
def test_a_cell_changed_later_by_the_user_is_not_overwritten(open_notebook: Open, host: str) -> None:
    notebook, file = mixed(open_notebook, host=host)
    type_in(notebook, 5, " + mine")
    press(file.locator("> .acp-diff-head"), "undo")
    expect(file).to_have_attribute("data-state", "conflict")
    expect(file.locator(".acp-changed-why")).to_contain_text("changed")
    holds(notebook, ["new = 2 + mine", *NEW[1:]])
    set_source(notebook, 5, "new = 2")
    press(file.locator("> .acp-diff-head"), "undo")
    expect(file).to_have_attribute("data-state", "undone")
    holds(notebook, OLD)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("size", [(1200, 1500), (520, 1700)], ids=["wide", "narrow"])
def test_changed_cells_look_right(open_notebook: Open, theme: str, size: tuple[int, int]) -> None:
    notebook, file = mixed(open_notebook, theme=theme, size=size)
    hunks = file.locator("[data-acp-hunk]")
    press(hunks.nth(0), "undo")
    expect(hunks.nth(0)).to_have_attribute("data-undone", "true")
    SHOTS.mkdir(parents=True, exist_ok=True)
    file.scroll_into_view_if_needed()
    notebook.page.screenshot(path=SHOTS / f"cells-{theme.split()[-1].lower()}-{size[0]}.png")
    if AXE.exists():
        assert faults(notebook) == []
