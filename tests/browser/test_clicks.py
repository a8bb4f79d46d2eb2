"""Clicks work while a cell waits for the agent: on every kernel, in both hosts, by every comm setting."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.pages import choose

CONNECT = "import asyncio, acp_notebook as acp\ns = acp.connect('demo')\nran = []"

FORMS = {
    "prompt": "turn = s.prompt({!r})",
    "await": "turn = await s.start({!r})",
    "start": "turn = s.start({!r})\nturn",
}


def cells_of(form: str) -> list[str]:
    """A question and a long turn, with cells queued behind each."""
    ask, slow = FORMS[form].format("/ask"), FORMS[form].format("/slow 600")
    return [
        CONNECT,
        ask,
        "ran.append('A')\nprint('ran', *ran)",
        "ran.append('B')\nprint('ran', *ran, turn.wait().text)",
        slow,
        "ran.append('C')\nprint('ran', *ran, turn.wait().stop_reason)",
    ]


def test_question_and_stop(open_notebook: Open, form_on: tuple[str, str, str, str]) -> None:
    form, kernel, comms, host = form_on
    notebook = open_notebook(cells_of(form), kernel=kernel, comms=comms, host=host)
    notebook.run_all()

    notebook.asks(1)
    if form == "start":  # it does not wait: the cell behind has run
        notebook.says(2, "ran A")
    notebook.answer(1)
    notebook.says(1, "You answered allow_once.")
    notebook.has_status(1, "done")
    notebook.says(2, "ran A")
    notebook.says(3, "ran A B You answered allow_once.")

    notebook.says(4, "tick3")
    notebook.press_stop(4)
    notebook.says(4, "Stopped")
    notebook.says(5, "ran A B C cancelled")


def test_two_sessions_at_once(open_notebook: Open) -> None:
    gather = "a, b = await asyncio.gather(s.start('/ask'), t.start('/ask'))"
    cells = [f"{CONNECT}\nt = acp.connect('demo')", gather, "print('both', a.text, b.text)"]
    notebook = open_notebook(cells, kernel="7.3", comms="disabled", host="notebook")
    notebook.run_all()
    options = notebook.option(1, "allow_once")
    rejects = notebook.option(1, "reject_once")
    expect(options).to_have_count(2)
    options.first.click()
    expect(notebook.turn(1).first).to_contain_text("You answered allow_once.")
    expect(options).to_have_count(1)  # the other's still waits
    rejects.first.click()
    notebook.says(2, "both You answered allow_once. You answered reject_once.")


def test_a_prompt_in_a_widgets_callback(open_notebook: Open, kernel_on: tuple[str, str, str]) -> None:
    kernel, comms, host = kernel_on
    button = """
import ipywidgets
out, button = ipywidgets.Output(), ipywidgets.Button(description="Ask")
@button.on_click
def clicked(_):
    with out:
        print("answer:", s.prompt("/ask").text)
display(button, out)
"""
    notebook = open_notebook([CONNECT, button, "print('after')"], kernel=kernel, comms=comms, host=host)
    notebook.run_all()
    notebook.says(2, "after")
    notebook.output(1).get_by_role("button", name="Ask").click()
    choose(notebook.page.locator('[data-acp-option][data-kind="allow_once"]').first)
    notebook.says(1, "answer: You answered allow_once.")
    notebook.run(2)
    notebook.says(2, "after")
