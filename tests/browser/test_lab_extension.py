"""The JupyterLab extension: side panel, commands, menus, buttons and status bar."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.live_pages import sources
from tests.browser.pages import NotebookPage, choose
from tests.browser.saved_files import saved_when_it_says
from tests.browser.side_panel import SidePanel

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])

PLUGIN = "acp-notebook/plugin"

FAILING = ["total = 41\nrate = 2.5", "print(totl * rate)"]


def failed(notebook: NotebookPage) -> None:
    """Run the cells of FAILING."""
    notebook.run(0, 1)
    notebook.says(1, "NameError")


def allow_by_command(side: SidePanel) -> None:
    """Once the question has been in view for long enough; before that, the command answers nothing."""
    side.keys("a", until=lambda: expect(side.question).to_have_count(0, timeout=1000))


@each_host
def test_from_an_error_to_the_mended_cell(open_notebook: Open, host: str) -> None:
    notebook = open_notebook(FAILING, host=host)
    failed(notebook)
    side = SidePanel(notebook)
    # No agent yet: the button offers them, and the question is sent when one was chosen.
    notebook.cell(1).locator("[data-acp-lab=ask-error]").click()
    side.choose_agent("demo")
    expect(side.panel).to_contain_text("NameError: name 'totl' is not defined")
    expect(side.panel).to_contain_text("Variables in it: @rate")
    expect(side.question).to_be_visible()
    notebook.select(0)
    allow_by_command(side)
    expect(side.panel.locator(".acp-card-change")).to_contain_text("print(total * rate)")
    assert sources(notebook)[1] == "print(total * rate)"
    expect(notebook.cell(1).locator("[data-acp-lab=ask-error]")).to_have_count(0)
    expect(side.panel).to_contain_text("I have corrected the cell")
    source = notebook.cell(1).locator(".cm-content")  # not all of the cell: the traceback has it, too
    side.keys("u", until=lambda: expect(source).to_have_text("print(totl * rate)", timeout=3000))
    # The conversation is in the file, below the cell that starts the agent again.
    saved_when_it_says(notebook, 2, "I have corrected the cell")
    assert sources(notebook)[2] == "%load_ext acp_notebook\n%acp_agent demo"


def test_a_panel_moves_between_its_cell_and_the_side_with_its_draft(open_notebook: Open) -> None:
    notebook = open_notebook(["%load_ext acp_notebook\n%acp_agent demo"])
    notebook.run(0)
    notebook.prompt(0, "/stream 3")
    notebook.panel(0).get_by_role("textbox", name="Prompt for the agent").fill("a draft")
    side = SidePanel(notebook)
    side.open()
    side.button("to-side").click()
    expect(side.field).to_have_value("a draft")
    expect(notebook.cell(0)).to_contain_text("This conversation is in the side panel")
    expect(notebook.panel(0)).to_have_count(0)
    height = side.panel.locator(".acp-panel").evaluate("el => el.offsetHeight / innerHeight")
    assert height > 0.75  # all of the side bar
    side.field.fill("another draft")
    side.button("to-cell").click()
    field = notebook.panel(0).get_by_role("textbox", name="Prompt for the agent")
    expect(field).to_have_value("another draft")
    expect(side.panel).to_have_count(0)


@each_host
def test_a_reloaded_page_and_a_second_window_show_the_session_and_can_answer(
    open_notebook: Open, host: str
) -> None:
    notebook = open_notebook(["1"], host=host)
    side = SidePanel(notebook)
    side.start("demo")
    notebook.save()
    side.prompt("/edit made.txt text")
    expect(side.question).to_be_visible()
    notebook.reload()
    side = SidePanel(notebook)
    side.open()
    expect(side.question).to_be_visible()
    second = NotebookPage(notebook.page.context, notebook.server, notebook.path, "perCommTarget", (1200, 900))
    other = SidePanel(second)
    other.open()
    choose(other.question.locator("[data-kind=allow_once]"))
    expect(other.panel).to_contain_text("Wrote made.txt")
    expect(side.panel).to_contain_text("Wrote made.txt")
    made = notebook.path.with_name("made.txt")
    assert made.read_text() == "text\n"
    notebook.page.bring_to_front()
    notebook.select(0)
    side.keys("u", until=lambda: expect(side.panel).to_contain_text("undone", timeout=3000))
    second.close()


def test_every_command_and_entry(open_notebook: Open) -> None:
    notebook = open_notebook(["total = 41", "print(total)"])
    notebook.server.set(PLUGIN, entries=[{"label": "Write tests", "prompt": "Write tests for it."}])
    notebook.reload()
    notebook.wait_idle()
    notebook.run(0, 1)
    side = SidePanel(notebook)
    side.start("demo")
    page = notebook.page
    notebook.select(1)
    side.keys("c", until=lambda: expect(side.panel).to_contain_text("What do you notice?", timeout=3000))
    # The menu of the cell.
    notebook.cell(1).locator(".cm-content").click(button="right")
    page.locator(".lm-Menu").get_by_text("Write tests").click()
    expect(side.panel).to_contain_text("Write tests for it.")
    notebook.cell(1).locator(".cm-content").click(button="right")
    page.locator(".lm-Menu").get_by_text("Let the Agent Explain This").click()
    expect(side.panel).to_contain_text("Explain what this code does")
    notebook.cell(1).locator(".cm-content").click(button="right")
    page.locator(".lm-Menu").get_by_text("Ask the Agent About This Cell").click()
    expect(side.field).to_have_value(re.compile(r"print\(total\)"))
    side.field.fill("")
    # A selection.
    notebook.select(1)
    page.keyboard.press("Control+a")
    notebook.command("acp-notebook:ask-selection")
    expect(side.field).to_have_value(re.compile("The selected part of cell"))
    side.field.fill("")
    # Stop, reject, next change, focus.
    side.prompt("/slow 60")
    expect(side.status_bar).to_contain_text("Working")
    notebook.select(0)
    side.keys("s", until=lambda: expect(side.panel).to_contain_text("Stopped", timeout=3000))
    side.prompt("/edit other.txt text")
    expect(side.question).to_be_visible()
    expect(side.status_bar).to_contain_text("asks you")
    notebook.select(0)
    side.keys("r", until=lambda: expect(side.question).to_have_count(0, timeout=1000))
    expect(side.panel).to_contain_text("other.txt is unchanged: rejected")
    side.prompt("/edit third.txt text")
    expect(side.question).to_be_visible()
    notebook.select(0)
    allow_by_command(side)
    expect(side.panel.locator("[data-acp-operation=keep]").first).to_be_visible()
    side.keys("n", until=lambda: expect(side.panel.locator("[data-acp-operation]:focus")).to_have_count(1))
    notebook.select(0)
    side.keys("f", until=lambda: expect(side.field).to_be_focused(timeout=3000))


def test_the_status_bar_tells_agent_state_and_cost(open_notebook: Open) -> None:
    notebook = open_notebook(["1"])
    side = SidePanel(notebook)
    side.start("demo")
    expect(side.status_bar).to_have_text(re.compile("^Demo agent · Ready"))
    side.prompt("/usage")
    expect(side.status_bar).to_contain_text("$")


def test_the_tile_of_the_launcher_makes_a_notebook_and_offers_agents(open_notebook: Open) -> None:
    page = open_notebook(["1"]).page
    server_url = page.url.split("/doc/")[0]
    page.goto(f"{server_url}/lab")
    page.locator(".jp-LauncherCard").get_by_text("Agent", exact=True).click()
    expect(page.locator(".acp-lab-side [data-acp-agent=demo]")).to_be_visible()


# ---- attacks


def look_at(notebook: NotebookPage) -> None:
    """Wait until a question that is in view could be answered."""
    since = notebook.page.evaluate("() => performance.now()")
    notebook.page.wait_for_function("since => performance.now() - since > 700", arg=since)


def test_a_command_answers_no_question_that_is_not_seen(open_notebook: Open) -> None:
    notebook = open_notebook(["1"])
    side = SidePanel(notebook)
    side.start("demo")
    side.prompt("/edit secret.txt text")
    expect(side.question).to_be_visible()
    # The side panel is closed: the first command only shows the question.
    notebook.select(0)
    notebook.command("application:toggle-right-area")
    expect(side.node).to_be_hidden()
    side.press("a")
    expect(side.question).to_be_visible()
    # Behind a dialog.
    notebook.command("help:about")
    expect(notebook.page.locator(".jp-Dialog")).to_be_visible()
    look_at(notebook)  # time alone must not be enough
    side.press("a")
    expect(notebook.page.get_by_text("The question is not in view")).not_to_have_count(0)
    notebook.page.locator(".jp-Dialog button").first.click()
    expect(side.question).to_be_visible()
    # A script that a document's click runs.
    click = """() => {
        const link = document.createElement("a");
        link.textContent = "documentation";
        link.dataset.commandlinkerCommand = "acp-notebook:allow-once";
        link.id = "trap";
        link.onclick = () => window.jupyterapp.commands.execute("acp-notebook:allow-once");
        document.querySelector(".jp-Notebook .jp-Cell").prepend(link);
    }"""
    notebook.page.evaluate(click)
    look_at(notebook)
    notebook.page.locator("#trap").click()
    expect(notebook.page.get_by_text("Not done: this command works by its keys")).to_be_visible()
    expect(side.question).to_be_visible()
    assert not notebook.path.with_name("secret.txt").exists()


TRAPS = """
<button class="lm-Menu" data-commandlinker-command="acp-notebook:allow-once">one</button>
<div class="jp-ModalCommandPalette"><div class="lm-CommandPalette jp-Toolbar">
<button data-commandlinker-command="acp-notebook:allow-once">two</button></div></div>
<button data-commandlinker-command="apputils:run-all-enabled"
 data-commandlinker-args='{"commands": ["help:about", "acp-notebook:allow-once"], "args": [{}, {}]}'
>three</button>
"""

ADD_MARKDOWN = """source => {
    const notebook = window.jupyterapp.shell.currentWidget;
    notebook.model.sharedModel.insertCell(0, {cell_type: "markdown", source, metadata: {}});
    notebook.content.widgets[0].rendered = true;
}"""


COUNT_RUNS = """() => {
    window.runs = 0;
    window.jupyterapp.commands.commandExecuted.connect((_, { id }) => {
        if (id === "acp-notebook:allow-once") window.runs++;
    });
}"""


def runs_if_the_user_agrees(page: Page, times: int) -> None:
    """The command has run, so often in all. JupyterLab 4.6.6 asks first, in a document without trust."""
    page.wait_for_function(f"() => window.runs === {times} || document.querySelector('.jp-Dialog')")
    if (run_once := page.get_by_role("button", name="Run Once")).is_visible():
        run_once.click()
    page.wait_for_function("times => window.runs === times", arg=times)


def test_a_click_in_a_rendered_document_answers_nothing(open_notebook: Open) -> None:
    notebook = open_notebook(["1"])
    side = SidePanel(notebook)
    side.start("demo")
    side.prompt("/edit secret.txt text")
    expect(side.question).to_be_visible()
    page = notebook.page
    page.evaluate(ADD_MARKDOWN, TRAPS)
    page.evaluate(COUNT_RUNS)
    look_at(notebook)
    for number, trap in enumerate(("one", "two"), 1):
        page.get_by_role("button", name=trap, exact=True).click()
        runs_if_the_user_agrees(page, number)
    page.get_by_role("button", name="two", exact=True).press("Enter")
    runs_if_the_user_agrees(page, 3)
    expect(page.get_by_text("Not done: this command works by its keys").first).to_be_visible()
    page.get_by_role("button", name="three", exact=True).click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_be_visible()
    if (run_once := page.get_by_role("button", name="Run Once")).is_visible():
        run_once.click()
    expect(dialog).to_contain_text("Project Jupyter Contributors")
    page.keyboard.press("Escape")  # not the keys of the command, which runs now
    expect(dialog).to_have_count(0)
    page.wait_for_function("() => window.runs === 4")
    expect(side.question).to_be_visible()
    assert not notebook.path.with_name("secret.txt").exists()
    # The palette is the user's.
    notebook.select(1)
    page.keyboard.press("Control+Shift+C")
    page.keyboard.type("Allow Once What")
    page.locator(".lm-CommandPalette-item.lm-mod-active").get_by_text("Allow Once").wait_for()
    look_at(notebook)
    page.keyboard.press("Enter")
    expect(side.panel).to_contain_text("Wrote secret.txt")


# ---- kernels elsewhere


def test_a_kernel_without_the_package_says_what_to_install(open_notebook: Open) -> None:
    notebook = open_notebook(["import sys\nsys.modules['acp_notebook'] = None"])
    notebook.run(0)
    notebook.wait_idle()
    side = SidePanel(notebook)
    side.open()
    side.button("start").click()
    expect(side.node).to_contain_text('The kernel "ipykernel-newest" has no acp_notebook')
    expect(side.node).to_contain_text("%pip install acp-notebook")


def test_a_kernel_with_an_old_version_says_which(open_notebook: Open) -> None:
    old = "import sys, types\nsys.modules['acp_notebook'] = types.ModuleType('acp_notebook')"
    notebook = open_notebook([f"{old}\nsys.modules['acp_notebook'].__version__ = '0.0.1'"])
    notebook.run(0)
    notebook.wait_idle()
    side = SidePanel(notebook)
    side.open()
    side.button("start").click()
    expect(side.node).to_contain_text("The kernel has acp_notebook 0.0.1")


def test_a_restarted_kernel_is_told_and_the_cell_goes_on(open_notebook: Open) -> None:
    notebook = open_notebook(["1"])
    side = SidePanel(notebook)
    side.start("demo")
    side.prompt("before the restart")
    expect(side.panel).to_contain_text("before the restart")
    notebook.restart()
    expect(side.node).to_contain_text("The kernel that ran this agent is gone")
    notebook.wait_idle()
    notebook.run(1)
    expect(side.field).to_be_enabled()  # the new session is where the old one was
    expect(notebook.cell(1)).to_contain_text("This conversation is in the side panel")


def test_the_extension_is_what_is_built(open_notebook: Open) -> None:
    notebook = open_notebook(["1"])
    built = Path(__file__).parents[2] / "js" / "lab" / "labextension" / "package.json"
    described = json.loads(built.read_text())
    config = notebook.page.locator("#jupyter-config-data").text_content() or ""
    extensions = {it["name"]: it for it in json.loads(config)["federated_extensions"]}
    assert extensions["acp-notebook"]["load"] == described["jupyterlab"]["_build"]["load"]
