"""@-mentions in the panel's field are completed while typing and attached on send."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from acp_notebook.agent.recordings import recording
from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import LIMIT_S

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')\ns"
DATA = "class Frame(list): ...\nframe = Frame([41, 42])\nfrozen = 1"

IN_SIGHT = """list => {
    const { top, bottom } = list.getBoundingClientRect();
    const around = list.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
    return top >= around.top - 1 && bottom <= around.bottom + 1;
}"""

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


@each_host
def test_names_are_completed_by_keyboard_and_attached(open_notebook: Open, host: str) -> None:
    tape = f"tape-{host}.jsonl"
    connect = CONNECT.replace("permissions", f"record={tape!r}, permissions")
    notebook = open_notebook([DATA, connect], host=host)
    notebook.run(0, 1)
    field = notebook.panel(1).get_by_role("textbox")
    expect(field).to_be_enabled()
    notebook.select(0)  # what is not saved, and did not run, goes along with @cell
    notebook.page.keyboard.press("Control+End")
    notebook.page.keyboard.type("\nnot_saved = 3")
    field.click()
    field.press_sequentially("what is @fr")
    options = notebook.panel(1).locator("[data-acp-completion] li")
    expect(options).to_have_text(["@frameFrame", "@frozenint"])
    field.fill("")
    field.press_sequentially("/")  # a long list, in a panel with nothing above it
    assert notebook.panel(1).locator("[data-acp-completion]").evaluate(IN_SIGHT)
    field.fill("")
    field.press_sequentially("what is @fr")
    expect(options).to_have_text(["@frameFrame", "@frozenint"])
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"mentions-{host}.png")
    field.press("ArrowDown")
    field.press("ArrowUp")
    field.press("Tab")
    expect(field).to_have_value("what is @frame ")
    field.press_sequentially("in @cell:1")
    expect(options).to_have_text(["@cell:1class Frame(list): ..."])
    field.press("Enter")
    expect(notebook.panel(1).locator("[data-acp-turn]")).to_have_attribute(
        "data-acp-status", "done", timeout=LIMIT_S * 1000
    )
    messages = [it.message for it in recording.load(notebook.path.parent / tape)]
    sent = next(it["params"]["prompt"] for it in messages if it.get("method") == "session/prompt")
    assert sent[0]["text"] == "what is @frame in @cell:1"
    assert "41" in str(sent[1]) and "not_saved = 3" in str(sent[2])


@each_host
def test_an_unknown_name_is_returned_with_a_reason(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT], host=host)
    notebook.run(0)
    field = notebook.panel(0).get_by_role("textbox")
    expect(field).to_be_enabled()
    field.fill("what is @nothing_at_all?")
    field.press("Enter")
    expect(notebook.panel(0).get_by_role("alert")).to_contain_text("no such variable or file")
    expect(field).to_have_value("what is @nothing_at_all?")


@each_host
def test_names_are_offered_while_a_cell_waits_for_its_turn(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([DATA, CONNECT, "s.prompt('/slow 600');"], host=host)
    notebook.run(0, 1, 2)
    notebook.has_status(2, "running")
    field = notebook.panel(1).get_by_role("textbox")
    field.press_sequentially("@fra")
    expect(notebook.panel(1).locator("[data-acp-completion] li")).to_have_text(["@frameFrame"])
    field.press("Enter")
    expect(field).to_have_value("@frame ")
    notebook.press_interrupt()
    notebook.has_status(2, "done")
