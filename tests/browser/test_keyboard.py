"""Everything works without a mouse: questions, diffs, folds, prompts, stop.

Cells are run first; from then on nothing is clicked.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
TABS = 40
"""More than there are stops in what these tests show."""

hosts = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def asked(open_notebook: Open, host: str) -> tuple[NotebookPage, Locator]:
    notebook = open_notebook([CONNECT, "s.prompt('/ask');"], host=host)
    notebook.run(0, 1)
    question = notebook.turn(1).locator("[data-acp-question]")
    expect(question).to_be_focused()  # nobody types, so it takes the keyboard
    return notebook, question


def press_until_settled(notebook: NotebookPage, question: Locator, key: str) -> None:
    """Keys do not count in a question's first moment."""

    def settled() -> bool:
        if question.get_attribute("data-status") == "open":
            notebook.page.keyboard.press(key)
        return question.get_attribute("data-status") == "answered"

    wait_until(settled, f"{key} answers the question", LIMIT_S)


def tab_to(notebook: NotebookPage, target: Locator, key: str = "Tab") -> None:
    for _ in range(TABS):
        if target.evaluate("it => it === document.activeElement"):
            return
        notebook.page.keyboard.press(key)
    raise AssertionError(f"not reached by {key}: {target}")


@hosts
@pytest.mark.parametrize(
    ("key", "kind"),
    [
        pytest.param("4", "reject_once", marks=pytest.mark.slow),
        ("Enter", "allow_once"),
        pytest.param("Escape", "reject_once", marks=pytest.mark.slow),
    ],
)
def test_answer_a_question(open_notebook: Open, host: str, key: str, kind: str) -> None:
    notebook, question = asked(open_notebook, host)
    press_until_settled(notebook, question, key)
    notebook.says(1, f"You answered {kind}.")
    expect(question).to_contain_text("by you")
    notebook.has_status(1, "done")


STOP_TIME = "() => { const now = performance.now(); performance.now = () => now; }"
GO_ON = "() => { delete performance.now; }"


@hosts
def test_a_key_pressed_as_the_question_appears_is_visibly_ignored(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/ask');"], host=host)
    notebook.run(0)
    notebook.wait_idle()
    notebook.page.evaluate(STOP_TIME)
    notebook.run(1)
    question = notebook.turn(1).locator("[data-acp-question]")
    expect(question).to_be_focused()
    for key in ("Enter", "1", "Escape"):
        notebook.page.keyboard.press(key)
        expect(question.locator(".acp-ignored")).to_have_text(re.compile("^Key ignored"))
    expect(question).to_have_attribute("data-status", "open")
    expect(notebook.turn(1).locator(".acp-spinner")).to_have_count(0)
    notebook.page.evaluate(GO_ON)
    press_until_settled(notebook, question, "Enter")
    notebook.says(1, "You answered allow_once.")


@pytest.mark.slow
@hosts
def test_a_key_typed_into_a_cell_answers_no_question(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "turn = s.start('/ask')\nturn", ""], host=host)
    notebook.run(0, 1)
    notebook.select(2)
    notebook.asks(1)
    notebook.page.keyboard.type("1 + 1")
    expect(notebook.cell(2).locator(".cm-content")).to_have_text("1 + 1")
    expect(notebook.turn(1).locator("[data-acp-question]")).to_have_attribute("data-status", "open")


@hosts
def test_open_a_fold_and_a_diff_side_by_side(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/tour');"], host=host)
    notebook.run(0, 1)
    turn = notebook.turn(1)
    question = turn.locator("[data-acp-question]")
    expect(question).to_be_focused()
    press_until_settled(notebook, question, "1")
    notebook.has_status(1, "done")
    read, split = turn.locator("summary", has_text="Read stats.py"), turn.get_by_text("Side by side")
    tab_to(notebook, read)
    notebook.page.keyboard.press("Enter")
    expect(turn.locator("details[open]", has_text="Read stats.py")).to_contain_text("def mean(values):")
    tab_to(notebook, split)
    notebook.page.keyboard.press("Space")
    expect(turn.locator("[data-acp-diff]")).to_have_attribute("data-acp-diff", "split")
    edit = turn.locator("summary", has_text="Edit stats.py")
    tab_to(notebook, edit, "Shift+Tab")
    notebook.page.keyboard.press("Enter")
    expect(turn.locator("[data-acp-diff]")).not_to_be_visible()
    notebook.page.keyboard.press("Enter")
    expect(turn.locator("[data-acp-diff]")).to_be_visible()


@hosts
def test_write_send_and_stop(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s"], host=host)
    notebook.run(0, 1)
    panel, keyboard = notebook.panel(1), notebook.page.keyboard
    field, prompts = panel.get_by_role("textbox"), panel.locator(".acp-prompt")
    listed = panel.get_by_role("listbox").get_by_role("option")
    expect(field).to_be_enabled()
    tab_to(notebook, field)

    keyboard.type("one")
    keyboard.press("Shift+Enter")
    keyboard.type("two")
    expect(field).to_have_value("one\ntwo")
    keyboard.press("Enter")
    expect(prompts).to_have_text(["one\ntwo"])
    expect(field).to_have_value("")
    expect(field).to_be_focused()

    keyboard.press("ArrowUp")  # what was said before
    expect(field).to_have_value("one\ntwo")
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    expect(field).to_have_value("")

    keyboard.type("/slo")
    expect(listed).to_have_text(re.compile("/slow"))
    keyboard.press("Tab")
    expect(field).to_have_value("/slow ")
    keyboard.type("600")
    keyboard.press("Enter")
    expect(panel).to_contain_text("tick3")
    tab_to(notebook, panel.get_by_role("button", name="Stop this turn"))
    keyboard.press("Enter")
    expect(panel).to_contain_text("Stopped")

    tab_to(notebook, field, "Shift+Tab")
    keyboard.type("/thin")
    expect(listed.first).to_have_attribute("aria-selected", "true")
    keyboard.press("Enter")  # takes the command, and sends nothing yet
    expect(field).to_have_value("/think ")
    keyboard.press("Enter")
    expect(panel).to_contain_text("I have thought about it.")
    expect(prompts).to_have_count(3)
