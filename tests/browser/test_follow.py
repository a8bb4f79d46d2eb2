"""Links in the panel open files at their line and scroll to cells of the open notebook."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from acp_notebook.core.ipynb import as_agent_sees
from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import LIMIT_S, NOTEBOOK, NotebookPage

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
LONG = "\n".join(f"x{number} = {number}" for number in range(1, 401))
OPENED = f"""() => {{
    const widget = {NOTEBOOK};
    return [widget.context?.path, widget.content.editor?.getCursorPosition().line];
}}"""

NOTE_REVEALED = """() => {
    window.revealed = new Set();
    new MutationObserver(() => {
        const cells = [...document.querySelectorAll(".jp-Notebook .jp-Cell")];
        cells.forEach((cell, at) => cell.classList.contains("acp-revealed") && window.revealed.add(at));
    }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] });
}"""
"""A cell is set off for a moment only: too short to be sure that a test looks just then."""

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def looking(open_notebook: Open, host: str, *looks: str, **where: Any) -> NotebookPage:
    """A notebook with long cells, whose second one let the agent look at these places."""
    filler = [f"# {number}\n" + "\n" * 20 for number in range(12)]
    prompts = "\n".join(f"turn = s.prompt({f'/look {it}'!r})" for it in looks)
    notebook = open_notebook([CONNECT, prompts, *filler], host=host, size=(1200, 900), **where)
    (notebook.path.parent / "long.py").write_text(LONG)
    notebook.run(0, 1)
    notebook.has_statuses(1, ["done"] * len(looks))
    return notebook


@each_host
def test_a_location_opens_the_file_at_its_line(open_notebook: Open, host: str) -> None:
    notebook = looking(open_notebook, host, "long.py 300", "gone.py", "/etc/hostname")
    page, turns = notebook.page, notebook.turn(1)
    link = turns.nth(0).locator("[data-acp-open='long.py']")
    expect(link).to_have_attribute("aria-label", "Open long.py:300")
    gone = turns.nth(1).locator("[data-acp-open='gone.py']")
    gone.click()
    expect(turns.nth(1).locator("[role=alert]")).to_contain_text("The server cannot find this file")
    outside = turns.nth(2)
    expect(outside.locator("[data-acp-open]")).to_have_count(0)
    expect(outside.get_by_title(re.compile("Outside the Jupyter server.s root"))).to_be_visible()
    outside.get_by_role("button", name="Copy path /etc/hostname").focus()
    page.screenshot(path=SHOTS / f"follow-places-{host}.png")
    if host == "notebook":
        with page.context.expect_page() as opened:
            link.click()
        expect(opened.value).to_have_url(re.compile(r"/edit/long\.py"))
        expect(opened.value.locator(".cm-content")).to_contain_text("x1 = 1", timeout=LIMIT_S * 1000)
        opened.value.close()
        return
    link.focus()
    page.keyboard.press("Enter")  # as a click does
    page.wait_for_function(f"() => JSON.stringify(({OPENED})()) === '[\"long.py\",299]'")
    expect(page.locator(".jp-FileEditor .cm-line").filter(has_text="x300 = 300")).to_be_in_viewport()
    page.screenshot(path=SHOTS / f"follow-line-{host}.png")


@each_host
def test_a_cell_of_the_open_notebook_is_scrolled_into_view(open_notebook: Open, host: str) -> None:
    filler = [f"# {number}\n" + "\n" * 20 for number in range(12)]
    cells = [CONNECT, *filler, "prompt"]  # last: its output would change the lines of those below
    notebook = open_notebook(cells, host=host, size=(1200, 900))
    name = notebook.path.name
    text = as_agent_sees(notebook.path.read_bytes()).text.split("\n")
    line = text.index('    "# 3\\n",') + 15  # well within the cell: the page adds some lines above it
    looks = f"s.prompt('/look {name} cell-9'); s.prompt('/look {name} {line}')"
    prompt = f"{looks}; s.prompt('/nb edit {name} cell-7 new = 1')"
    notebook.page.evaluate(
        f"text => {NOTEBOOK}.context.model.sharedModel.getCell(13).setSource(text)", prompt
    )
    notebook.run(0, 13)
    notebook.has_statuses(13, ["done"] * 3)
    looked, read, edited = (notebook.turn(13).nth(at) for at in range(3))
    expect(notebook.cell(9)).not_to_be_in_viewport()
    notebook.page.evaluate(NOTE_REVEALED)
    looked.locator("[data-acp-open]").click()
    expect(notebook.cell(9).locator(".cm-line").first).to_be_in_viewport()
    notebook.page.wait_for_function("() => window.revealed.has(9)")
    notebook.page.screenshot(path=SHOTS / f"follow-cell-{host}.png")
    expect(notebook.cell(9)).not_to_have_class(re.compile("acp-revealed"))
    read.locator("[data-acp-open]").click()
    notebook.page.wait_for_function("() => window.revealed.has(4)")  # the fourth of the long ones
    expect(notebook.cell(4)).not_to_have_class(re.compile("acp-revealed"))
    edited.locator(".acp-diff-head").get_by_title("Show in this notebook").click()
    notebook.page.wait_for_function("() => window.revealed.has(7)")
    expect(notebook.cell(7)).to_be_in_viewport()
    expect(notebook.cell(7)).to_contain_text("new = 1")
    assert notebook.page.evaluate(OPENED)[0] == name  # the notebook is still what is open
