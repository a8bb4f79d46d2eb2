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
        pytest.param("2", "reject_once", marks=pytest.mark.slow),
        ("Enter", "allow_once"),
    ],
)
def test_answer_a_question(open_notebook: Open, host: str, key: str, kind: str) -> None:
    notebook, question = asked(open_notebook, host)
    press_until_settled(notebook, question, key)
    notebook.says(1, f"You answered {kind}.")
    expect(question).to_contain_text("by you")
    notebook.has_status(1, "done")


@hosts
def test_escape_in_a_question_stops_the_turn(open_notebook: Open, host: str) -> None:
    notebook, question = asked(open_notebook, host)

    def stopped() -> bool:
        notebook.page.keyboard.press("Escape")
        return question.get_attribute("data-status") != "open"

    wait_until(stopped, "Escape stops the turn", LIMIT_S)
    notebook.has_status(1, "done")
    notebook.says(1, "Stopped")


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
    keyboard.press("?")
    expect(panel.locator(".acp-keys-list")).to_contain_text("stop the turn")
    keyboard.press("Escape")  # closes the list only
    expect(panel.locator(".acp-keys-list")).to_have_count(0)
    keyboard.type("later")
    keyboard.press("Escape")
    expect(panel).to_contain_text("Press Esc again to stop the turn.")
    expect(panel.locator("[data-acp-turn]").last).to_have_attribute("data-acp-status", "running")
    keyboard.press("Escape")
    expect(panel).to_contain_text("Stopped")
    expect(field).to_have_value("later")
    expect(field).to_be_focused()

    keyboard.press("Control+a")
    keyboard.type("/thin")
    expect(listed.first).to_have_attribute("aria-selected", "true")
    keyboard.press("Enter")  # takes the command, and sends nothing yet
    expect(field).to_have_value("/think ")
    keyboard.press("Enter")
    expect(panel).to_contain_text("I have thought about it.")
    expect(prompts).to_have_count(3)


LATER = "then => performance.now() - then > 1500"
"""Longer than keys in the composer are taken for text after a question appeared."""


@hosts
def test_answer_from_the_composer(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s"], host=host)
    notebook.run(0, 1)
    panel, keyboard = notebook.panel(1), notebook.page.keyboard
    field = panel.get_by_role("textbox", name="Prompt for the agent")
    answers = (["1"], "allow_once"), (["2"], "reject_once"), (["4", "4"], "allow_always")
    for number, (keys, kind) in enumerate(answers, 1):
        if number == 1:
            notebook.page.evaluate(STOP_TIME)
        notebook.prompt(1, "/ask")
        question = panel.locator("[data-acp-question][data-status=open]")
        expect(question).to_be_in_viewport()
        expect(field).to_be_focused()  # the user may be about to type
        if number == 1:
            keyboard.press("1")  # in its first moment: this was meant for the field
            expect(field).to_have_value("1")
            keyboard.press("Backspace")
            notebook.page.evaluate(GO_ON)
        notebook.page.wait_for_function(LATER, arg=notebook.page.evaluate("performance.now()"))
        for press, key in enumerate(keys, 1):
            note = "" if press == 1 else re.compile("again")
            expect(question.locator(".acp-ignored")).to_have_text(note)
            keyboard.press(key)
        expect(panel.locator("[data-acp-turn]")).to_have_count(number)
        expect(panel.locator("[data-acp-turn]").last).to_contain_text(f"You answered {kind}.")
        expect(field).to_have_value("")
        expect(field).to_be_focused()


ASKS_LATER = """import pathlib, threading, time
def ask():
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    s.start("/ask")
threading.Thread(target=ask, daemon=True).start()
s"""


@pytest.mark.slow
@hosts
def test_a_question_does_not_move_the_page_of_somebody_who_types(open_notebook: Open, host: str) -> None:
    filler = [f"# {number}\n" + "\n" * 20 for number in range(6)]
    notebook = open_notebook([CONNECT, ASKS_LATER, *filler, ""], host=host, size=(1200, 800))
    notebook.run(0, 1)
    last = len(filler) + 2
    field = notebook.panel(1).get_by_role("textbox")
    expect(field).to_be_enabled()
    notebook.select(last)
    notebook.page.keyboard.type("x = ")
    editor = notebook.cell(last).locator(".cm-content")
    before = editor.bounding_box()
    (notebook.path.parent / "go").touch()
    expect(notebook.panel(1).locator("[data-acp-question]")).to_have_count(1)
    expect(notebook.panel(1).locator("[aria-live=assertive]").last).to_contain_text("asks for permission")
    notebook.page.wait_for_function(LATER, arg=notebook.page.evaluate("performance.now()"))
    notebook.page.keyboard.type("1")
    expect(editor).to_have_text("x = 1")
    assert editor.bounding_box() == before
    expect(notebook.panel(1).locator("[data-acp-question]")).to_have_attribute("data-status", "open")
