"""A turn is drawn once in a page, with one question and one stop button: below its cell, or in the panel."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage, choose

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
ASK = "s.prompt('/ask');"
FILLER = [f"# {number}\n" + "\n" * 40 for number in range(3)]

hosts = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def asking(open_notebook: Open, cells: list[str], ask: int, **where: Any) -> NotebookPage:
    """A notebook whose cell `ask` waits for an answer, in view."""
    notebook = open_notebook(cells, **where)
    notebook.run_all()
    notebook.asks(ask)
    return notebook


def questions(notebook: NotebookPage) -> Locator:
    """What the user can answer, in the whole page."""
    return notebook.page.locator("[data-acp-option][data-kind=allow_once]:visible")


def stops(notebook: NotebookPage) -> Locator:
    return notebook.page.locator("[data-acp-stop]:visible")


def has_one_of_each(notebook: NotebookPage, place: Locator) -> None:
    """One question and one stop button in the page, and both are here."""
    for found, name in ((questions(notebook), "[data-acp-option]"), (stops(notebook), "[data-acp-stop]")):
        expect(place.locator(name).locator("visible=true").first).to_be_enabled()
        expect(found).to_have_count(1)


def line(notebook: NotebookPage, number: int) -> Locator:
    """The line of a turn in the panel below a cell."""
    return notebook.panel(number).locator("[data-acp-turn-line]")


def scroll_to(notebook: NotebookPage, number: int) -> None:
    notebook.cell(number).evaluate("it => it.scrollIntoView({block: 'start', behavior: 'instant'})")


@hosts
def test_a_turn_is_drawn_below_its_cell_and_is_a_line_in_the_panel(open_notebook: Open, host: str) -> None:
    notebook = asking(open_notebook, [CONNECT, "s", ASK], 2, host=host)
    has_one_of_each(notebook, notebook.turn(2))
    expect(notebook.panel(1).locator(".acp-turn")).to_have_count(0)
    expect(line(notebook, 1)).to_contain_text("/ask")
    expect(line(notebook, 1)).to_contain_text("Waiting for you")
    notebook.answer(2)
    notebook.has_status(2, "done")
    expect(line(notebook, 1)).to_contain_text("Done")
    assert notebook.output(2).inner_text().count("You answered allow_once.") == 1
    expect(notebook.panel(1)).not_to_contain_text("You answered")
    line(notebook, 1).get_by_role("button", name="/ask").click()  # unfolded by the reader
    expect(notebook.panel(1)).to_contain_text("You answered allow_once.")


@hosts
def test_the_question_follows_the_reader(open_notebook: Open, host: str) -> None:
    """Out of view below its cell, it is in the panel, and comes back; answered there, it is answered."""
    cells = [CONNECT, ASK, *FILLER, "s"]
    notebook = open_notebook(cells, host=host, size=(1200, 800))
    notebook.run(0, 5, 1)
    notebook.asks(1)
    has_one_of_each(notebook, notebook.turn(1))
    scroll_to(notebook, 5)
    panel = notebook.panel(5)
    has_one_of_each(notebook, panel)
    expect(panel.locator("[data-acp-question]")).to_have_count(1)
    line(notebook, 5).locator("[data-acp-show]").click()
    expect(notebook.turn(1).locator("[data-acp-question]")).to_be_in_viewport()
    has_one_of_each(notebook, notebook.turn(1))
    scroll_to(notebook, 5)
    choose(panel.locator("[data-acp-option][data-kind=reject_once]"))
    expect(line(notebook, 5)).to_contain_text("Done")
    scroll_to(notebook, 1)
    notebook.says(1, "You answered reject_once.")
    expect(questions(notebook)).to_have_count(0)


@hosts
def test_where_there_is_no_view_below_the_cell_the_panel_draws_the_turn(
    open_notebook: Open, host: str
) -> None:
    notebook = asking(open_notebook, [CONNECT, "s", ASK], 2, host=host)
    notebook.select(2)
    notebook.command("notebook:clear-cell-output")
    expect(notebook.panel(1).locator(".acp-turn")).to_have_count(1)
    has_one_of_each(notebook, notebook.panel(1))
    choose(notebook.panel(1).locator("[data-acp-option][data-kind=allow_once]"))
    expect(notebook.panel(1)).to_contain_text("You answered allow_once.")
    notebook.prompt(1, "/ask")  # a turn of the panel itself
    has_one_of_each(notebook, notebook.panel(1))
    expect(line(notebook, 1)).to_have_count(0)


@hosts
def test_a_collapsed_output_does_not_hide_the_turn(open_notebook: Open, host: str) -> None:
    notebook = asking(open_notebook, [CONNECT, "s", ASK], 2, host=host)
    notebook.select(2)
    notebook.command("notebook:hide-cell-outputs")
    has_one_of_each(notebook, notebook.panel(1))
    expect(notebook.panel(1).locator(".acp-turn")).to_have_count(1)
    notebook.command("notebook:show-cell-outputs")
    has_one_of_each(notebook, notebook.turn(2))
    expect(notebook.panel(1).locator(".acp-turn")).to_have_count(0)


@hosts
def test_two_panels_have_one_question_and_one_stop_button(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "s"], host=host)
    notebook.run(0, 1, 2)
    notebook.prompt(2, "/ask")
    expect(questions(notebook)).to_have_count(1)
    expect(stops(notebook)).to_have_count(1)
    here = notebook.page.locator("[data-acp-answer-here]")
    here.click()
    expect(questions(notebook)).to_have_count(1)
    expect(here).to_have_count(1)
    choose(questions(notebook))
    for panel in (notebook.panel(1), notebook.panel(2)):
        expect(panel).to_contain_text("You answered allow_once.")


@hosts
def test_a_half_filled_form_follows_the_reader(open_notebook: Open, host: str) -> None:
    cells = [CONNECT, "s.prompt('/form');", *FILLER, "s"]
    notebook = open_notebook(cells, host=host, size=(1200, 1000))
    notebook.run(0, 5, 1)
    form = notebook.page.locator("[data-acp-root=t1] [data-acp-elicitation]")
    form.scroll_into_view_if_needed()
    expect(form).to_have_attribute("data-status", "open")
    form.get_by_label("Name").fill("half")
    form.get_by_label("Name").blur()
    scroll_to(notebook, 5)
    name = notebook.page.locator("[data-acp-root=session] [data-acp-elicitation]").get_by_label("Name")
    expect(name).to_have_value("half")
    name.press_sequentially(" done")
    form.evaluate("it => it.scrollIntoView({block: 'start', behavior: 'instant'})")
    expect(name).to_be_attached()  # the user is typing in it
    expect(name).to_have_value("half done")
    name.blur()
    expect(form.get_by_label("Name")).to_have_value("half done")
    expect(notebook.page.locator("[data-acp-elicitation][data-status=open]")).to_have_count(1)


@hosts
def test_after_a_reload_each_page_decides_for_itself(open_notebook: Open, host: str) -> None:
    notebook = asking(open_notebook, [CONNECT, "s", ASK], 2, host=host)
    notebook.save()
    notebook.reload()
    notebook.asks(2)
    has_one_of_each(notebook, notebook.turn(2))
    expect(line(notebook, 1)).to_have_count(1)
    notebook.answer(2)
    notebook.has_status(2, "done")
    saved = str(notebook.save()["cells"])
    assert saved.count("You answered allow_once.") >= 2  # the file has all of it, in both outputs


DELEGATE = """
inner = acp.connect('demo')
s.tool(inner, name='reviewer', permission='read')
s.prompt('/delegate reviewer /edit asked.txt Hello');
"""


@hosts
def test_a_question_of_an_inner_agent_follows_the_reader(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, DELEGATE, *FILLER, "s"], host=host, size=(1200, 800))
    notebook.run(0, 5, 1)
    inner = notebook.turn(1).first.locator(".acp-asked")
    expect(inner.locator("[data-acp-question]")).to_be_attached()
    expect(notebook.turn(1).first.locator("> .acp-status")).to_contain_text("Waiting for you")
    inner.scroll_into_view_if_needed()
    expect(inner.locator("[data-acp-option][data-kind=allow_once]")).to_be_enabled()
    expect(questions(notebook)).to_have_count(1)
    scroll_to(notebook, 5)
    expect(line(notebook, 5)).to_contain_text("Waiting for you")
    answer = notebook.panel(5).locator("[data-acp-option][data-kind=allow_once]")
    expect(answer).to_be_enabled()
    expect(questions(notebook)).to_have_count(1)
    choose(answer)
    expect(line(notebook, 5)).to_contain_text("Done")
    assert (notebook.path.parent / "asked.txt").read_text().startswith("Hello")
