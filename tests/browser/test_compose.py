"""The composer in the page: earlier prompts, attachments and their sizes, images, and the empty panel."""

from __future__ import annotations

import base64
import re

import pytest
from playwright.sync_api import Locator, expect

from acp_notebook.agent.recordings import recording
from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage
from tests.browser.test_accessible import faults

CONNECT = "import acp_notebook as acp\nsession = acp.connect('demo', permissions='allow')\nsession"
TEXT_ONLY = CONNECT.replace("permissions", "env={'ACP_DEMO_PROMPT': 'text'}, permissions")
DATA = """
import os
frame = type("DataFrame", (), {"__module__": "pandas.core.frame"})()
figure = type("Figure", (), {"__module__": "matplotlib.figure"})()
numbers = [41, 42]
open("etl.py", "w").write("x = 1\\n");"""

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

PASTE = """(field, data) => {
    const bytes = Uint8Array.from(atob(data), it => it.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "a.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true });
    field.dispatchEvent(event);
}"""

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def field_of(notebook: NotebookPage, cell: int) -> Locator:
    field = notebook.panel(cell).get_by_role("textbox", name="Prompt for the agent")
    expect(field).to_be_enabled()
    return field


@each_host
def test_a_prompt_is_edited_and_sent_again_after_the_undo_of_its_changes(
    open_notebook: Open, host: str
) -> None:
    notebook = open_notebook([CONNECT], host=host)
    notebook.run(0)
    panel, field = notebook.panel(0), field_of(notebook, 0)
    notebook.prompt(0, "/edit notes.txt one")
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    field.fill("half a")
    panel.get_by_role("button", name="Edit the prompt of turn 1").press("Enter")
    expect(field).to_be_focused()
    expect(field).to_have_value("/edit notes.txt one")
    line = panel.get_by_role("group", name="Edited prompt")
    expect(line).to_contain_text("the agent still remembers that turn")
    line.get_by_role("button", name="Undo its changes").click()
    expect(line.get_by_role("button", name="Redo its changes")).to_be_visible()
    field.fill("/edit notes.txt two")
    field.press("Enter")
    turns = panel.locator("[data-acp-turn]")
    expect(turns).to_have_count(2)
    expect(turns.nth(1)).to_have_attribute("data-acp-status", "done")
    expect(turns.nth(1).get_by_role("group", name="Prompt", exact=True)).to_contain_text(
        "/edit notes.txt two"
    )
    expect(field).to_have_value("half a")
    expect(line).to_have_count(0)


@each_host
def test_chips_show_what_will_be_sent_and_remove_it(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([DATA, CONNECT], host=host)
    notebook.run(0, 1)
    panel, field = notebook.panel(1), field_of(notebook, 1)
    field.fill("see @numbers in @etl.py, @cell:1 and @nothing")
    field.press("Escape")
    chips = panel.locator("[data-acp-chip]")
    expect(chips).to_have_text(
        [
            re.compile(r"@numbers\s*list of 2 · 18 B"),
            re.compile(r"@etl\.py\s*file · 6 B"),
            re.compile(r"@cell:1\s*cell · \d+ B"),
            re.compile(r"@nothing\s*not found"),
        ]
    )
    panel.get_by_role("button", name="Remove @nothing").press("Enter")
    expect(field).to_have_value("see @numbers in @etl.py, @cell:1 and")
    expect(field).to_be_focused()
    expect(chips).to_have_count(3)


def test_while_a_cell_runs_chips_say_that_the_size_is_unknown(open_notebook: Open) -> None:
    notebook = open_notebook([DATA, CONNECT, "import time; time.sleep(600)"])
    notebook.run(0, 1)
    panel, field = notebook.panel(1), field_of(notebook, 1)
    notebook.run(2)
    expect(notebook.prompt_of(2)).to_have_text("[*]:")
    field.fill("see @numbers")
    field.press("Escape")
    chip = panel.locator("[data-acp-chip]")
    expect(chip).to_contain_text("size unknown while a cell runs")
    notebook.press_interrupt()
    expect(chip).to_contain_text("18 B")


@each_host
def test_names_are_offered_in_the_order_of_their_use(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([DATA, CONNECT], host=host)
    notebook.run(0, 1)
    panel, field = notebook.panel(1), field_of(notebook, 1)
    field.click()
    panel.get_by_role("button", name="Attach").press("Enter")
    expect(panel.get_by_role("button", name="Variable, file or cell")).to_be_focused()
    panel.get_by_role("button", name="Variable, file or cell").press("Enter")
    expect(field).to_be_focused()
    names = panel.locator("[data-acp-completion] .acp-command-name")
    expect(names.nth(2)).to_have_text("@numbers")
    offered = names.all_inner_texts()
    assert offered[:2] == ["@frame", "@figure"]
    assert offered[-3:] == ["@os", "@acp", "@session"]
    assert offered.index("@cell:1") < offered.index("@etl.py") < offered.index("@os")
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("@figure ")


@each_host
def test_images_are_attached_only_if_the_agent_takes_them(open_notebook: Open, host: str) -> None:
    tape = f"tape-{host}.jsonl"
    notebook = open_notebook([CONNECT.replace("permissions", f"record={tape!r}, permissions")], host=host)
    notebook.run(0)
    panel, field = notebook.panel(0), field_of(notebook, 0)
    field.evaluate(PASTE, base64.b64encode(PNG).decode())
    expect(panel.locator(".acp-thumbs img")).to_have_count(1)
    panel.get_by_role("button", name="Attach").click()
    with notebook.page.expect_file_chooser() as chosen:
        panel.get_by_role("button", name="Image from this computer…").click()
    chosen.value.set_files({"name": "b.png", "mimeType": "image/png", "buffer": PNG})
    expect(panel.locator(".acp-thumbs img")).to_have_count(2)
    field.fill("what is this?")
    field.press("Enter")
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    messages = [it.message for it in recording.load(notebook.path.parent / tape)]
    sent = next(it["params"]["prompt"] for it in messages if it.get("method") == "session/prompt")
    assert [it["type"] for it in sent] == ["text", "image", "image"]


def test_an_agent_without_images_gets_no_control_for_them(open_notebook: Open) -> None:
    notebook = open_notebook([TEXT_ONLY])
    notebook.run(0)
    panel, field = notebook.panel(0), field_of(notebook, 0)
    field.evaluate(PASTE, base64.b64encode(PNG).decode())
    expect(panel.locator(".acp-composer-note")).to_have_text("This agent does not accept images.")
    expect(panel.locator(".acp-thumbs")).to_have_count(0)
    panel.get_by_role("button", name="Attach").click()
    expect(panel.get_by_role("button", name="Image from this computer…")).to_have_count(0)
    expect(panel.get_by_role("group", name="Attach")).to_contain_text("This agent does not accept images.")


@each_host
def test_an_empty_panel_offers_examples_that_fit(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([DATA, CONNECT], host=host)
    notebook.run(0, 1)
    panel, field = notebook.panel(1), field_of(notebook, 1)
    examples = panel.get_by_role("group", name="Example prompts").get_by_role("button")
    expect(examples).to_have_text(
        ["What stands out in @frame?", "How can I make @figure clearer?", "Explain @etl.py"]
    )
    expect(panel.locator("[data-acp-empty]")).to_contain_text("attaches a variable")
    examples.nth(2).press("Enter")
    expect(field).to_have_value("Explain @etl.py")
    expect(field).to_be_focused()
    expect(panel.locator("[data-acp-turn]")).to_have_count(0)
    field.press("Enter")
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    expect(panel.locator("[data-acp-empty]")).to_have_count(0)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_in_the_composer(open_notebook: Open, theme: str) -> None:
    notebook = open_notebook([DATA, CONNECT], theme=theme)
    notebook.run(0, 1)
    panel, field = notebook.panel(1), field_of(notebook, 1)
    expect(panel.locator("[data-acp-example]")).to_have_count(3)
    assert faults(notebook) == []
    field.fill("see @numbers and @nothing")
    expect(panel.locator("[data-acp-chip]")).to_have_count(2)
    panel.get_by_role("button", name="Attach").click()
    assert faults(notebook) == []
    notebook.prompt(1, f"/edit {theme.split()[-1]}.txt one")
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    panel.get_by_role("button", name="Edit the prompt of turn 1").click()
    expect(panel.get_by_role("button", name="Undo its changes")).to_be_visible()
    assert faults(notebook) == []
