"""With jupyter-collaboration: the document belongs to the server, and several people have it open."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source, sources, type_in, until
from tests.browser.pages import LIMIT_S, NOTEBOOK, NotebookPage
from tests.browser.saved_files import WIDGET_VIEW, assert_static, data_of, saved, text_of
from tests.browser.servers import Server, started
from tests.browser.test_kernel_tools import HOLD, counts, kernel, let_go, prompt, turn_in
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
ASKS = "import acp_notebook as acp\ns = acp.connect('demo')"

Join = Callable[[NotebookPage], NotebookPage]


@pytest.fixture
def join(browser: BrowserContext) -> Iterator[Join]:
    """Opens the same notebook in another browser, as another person does."""
    with ExitStack() as stack:

        def join(first: NotebookPage) -> NotebookPage:
            assert browser.browser is not None
            other = stack.enter_context(browser.browser.new_context())
            return NotebookPage(other, first.server, first.path, "perCommTarget", (1200, 1400))

        yield join


def call(page: NotebookPage, name: str) -> None:
    """Give the user of a page this name, before a session is there."""
    identity = f"{NOTEBOOK}.context._manager.user.identity"
    page.page.evaluate(f"name => {{ {identity}.display_name = name }}", name)


def written(notebook: NotebookPage, cell: int, *texts: str) -> dict[str, Any]:
    """The file, as soon as the server has written these texts into the output of a cell."""
    found: dict[str, Any] = {}

    def is_written() -> bool:
        with suppress(ValueError, IndexError):  # the server writes it in place, and a new cell a moment later
            found.update(json.loads(notebook.path.read_text()))
            outputs = str(found["cells"][cell].get("outputs"))
            return all(text in outputs for text in (*texts, TRANSCRIPT_MIME))
        return False

    wait_until(is_written, f"the file says {texts}", LIMIT_S)
    return found


hosts = pytest.mark.parametrize(
    "host", ["collaboration", pytest.param("collaboration-alone", marks=pytest.mark.slow)]
)


@hosts
def test_an_agent_edits_the_shared_document(open_notebook: Open, join: Join, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine", "old = 1", "gone"], host=host)
    name = notebook.path.name
    prompts = [f"/nb edit {name} cell-3 new = 2", f"/nb insert {name} cell-3 inserted = 3"]
    set_source(notebook, 1, "\n".join(f"print(s.prompt({it!r}).text)" for it in prompts))
    other = join(notebook)
    type_in(other, 2, " and theirs")
    notebook.wait_idle()
    notebook.run(0, 1)
    agent = sources(notebook)[1]
    expected = [CONNECT, agent, "mine and theirs", "new = 2", "inserted = 3", "gone"]
    until(notebook, expected)
    until(other, expected)
    wait_until(lambda: notebook.output(1).inner_text().count("Wrote `") == 2, "two turns", LIMIT_S)
    assert_static(written(notebook, 1, "inserted = 3"), 1, "Wrote")
    wait_until(lambda: WIDGET_VIEW not in notebook.path.read_text(), "the file is static", LIMIT_S)


WATCH = """() => {
    const {sharedModel} = window.jupyterapp.shell.currentWidget.context.model;
    window.widgetTypes = 0;
    sharedModel.ydoc.on("update", () => {
        window.widgetTypes += JSON.stringify(sharedModel.toJSON()).includes("widget-view") ? 1 : 0;
    });
}"""
"""Counts the states of the shared document that have a widget's type."""


def test_two_people_see_a_turn_and_the_first_answer_wins(open_notebook: Open, join: Join) -> None:
    notebook = open_notebook([ASKS, "s.prompt('/ask')"], host="collaboration")
    other = join(notebook)
    for page in (notebook, other):
        page.page.evaluate(WATCH)
    notebook.run(0, 1)
    for page in (notebook, other):
        page.asks(1)
    other.answer(1)
    for page in (notebook, other):
        page.has_status(1, "done")
        page.says(1, re.compile("Allowed once by “Anonymous"))
    content = written(notebook, 1, "by “Anonymous")
    assert_static(content, 1, "Allow once by")
    assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1]
    assert [page.page.evaluate("window.widgetTypes") for page in (notebook, other)] == [0, 0]


def undone_by_key(page: NotebookPage, cell: int, key: str = "Control+z") -> None:
    page.select(cell)
    page.page.keyboard.press(key)


def outputs_once(notebook: NotebookPage, cell: int, text: str) -> None:
    """The file has this text in exactly one output of a cell."""

    def is_there_once() -> bool:
        with suppress(ValueError, IndexError):  # the server writes it in place, and a new cell a moment later
            outputs = json.loads(notebook.path.read_text())["cells"][cell]["outputs"]
            return len(outputs) == 1 and str(outputs).count(text) == 1
        return False

    wait_until(is_there_once, f"the file has {text!r} once", LIMIT_S)


def changed_file(page: NotebookPage, panel: int, turn: int) -> Locator:
    return turn_in(page, panel, turn).locator("[data-acp-file]")


def test_cells_are_edited_run_inserted_and_undone_for_both_people(open_notebook: Open, join: Join) -> None:
    notebook = open_notebook([CONNECT, "s", "old = 1", "print('ran', 6 * 7)"], host="collaboration")
    other = join(notebook)
    call(notebook, "Ada")
    call(other, "Grace")
    both = (notebook, other)
    for page in both:
        page.page.evaluate(WATCH)
    notebook.run(0, 1)
    for page in both:
        page.panel(1).wait_for()

    def have(cell: int, source: str) -> None:
        for page in both:
            wait_until(lambda page=page: sources(page)[cell : cell + 1] == [source], source, LIMIT_S)  # type: ignore[misc]

    notebook.prompt(1, f"/nb edit {notebook.path.name} cell-2 new = 2")
    have(2, "new = 2")
    for page in both:
        expect(changed_file(page, 1, 0)).to_have_attribute("data-state", "applied")
    undone_by_key(notebook, 2)
    have(2, "old = 1")
    undone_by_key(notebook, 2, "Control+Shift+z")
    have(2, "new = 2")
    changed_file(other, 1, 0).locator("> .acp-diff-head [data-acp-operation=undo]").click()
    have(2, "old = 1")
    for page in both:
        expect(changed_file(page, 1, 0)).to_have_attribute("data-state", "undone")
        expect(changed_file(page, 1, 0)).to_contain_text("ndone by “Grace”")

    notebook.prompt(1, kernel("run_cells", cells=["cell-3"]))
    notebook.prompt(1, "/cells")
    have(4, "# Added by the demo agent\nsum(range(10))")
    for page in both:
        expect(turn_in(page, 1, 2)).to_have_attribute("data-acp-status", "done")
        page.says(3, "ran 42")
        page.says(4, "45")
    assert counts(notebook, 3, 4) == counts(other, 3, 4)
    outputs_once(notebook, 3, "ran 42")
    outputs_once(notebook, 4, "45")

    notebook.prompt(1, "/slow 600")
    expect(turn_in(other, 1, 3)).to_contain_text("tick3")
    other.panel(1).get_by_role("button", name="Stop this turn").click()
    for page in both:
        expect(turn_in(page, 1, 3)).to_have_attribute("data-acp-status", "done")
        expect(turn_in(page, 1, 3)).to_contain_text("Stopped by “Grace”")
        expect(turn_in(page, 1, 3)).to_contain_text("Prompt by “Ada”")
    content = written(notebook, 1, "/slow 600", "stopped by “Grace”")
    assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1, 0, 1, 1]
    assert [page.page.evaluate("window.widgetTypes") for page in both] == [0, 0]
    assert WIDGET_VIEW not in notebook.path.read_text()


def test_a_cell_that_waits_has_its_cells_edited_and_run_for_both_people(
    open_notebook: Open, join: Join
) -> None:
    ran = kernel("run_cells", cells=["cell-2", "cell-3"])
    cells = [CONNECT, prompt(ran), HOLD.format(name="go-shared") + "print('ended')", "6 * 7", "edit", "old"]
    notebook = open_notebook(cells, host="collaboration")
    set_source(notebook, 4, prompt(f"/nb edit {notebook.path.name} cell-5 new"))
    notebook.run(0)
    other = join(notebook)
    both = (notebook, other)
    notebook.run(1)
    for page in both:
        page.says(2, "begun")  # live, below the cell itself
    let_go(notebook, "go-shared")
    for page in both:
        page.has_status(1, "done")
        page.says(2, re.compile(r"begun\s+ended"))
        page.says(3, "42")
        wait_until(lambda page=page: counts(page, 1, 2, 3) == ["[2]:", "[3]:", "[4]:"], "counts", LIMIT_S)  # type: ignore[misc]
    outputs_once(notebook, 2, "ended")
    outputs_once(notebook, 3, "42")
    notebook.run(4)
    for page in both:
        page.has_status(4, "done")
        wait_until(lambda page=page: sources(page)[5] == "new", "the cell is edited", LIMIT_S)  # type: ignore[misc]
    undone_by_key(notebook, 5)  # the page that ran the cell, although the other one is newer
    for page in both:
        wait_until(lambda page=page: sources(page)[5] == "old", "the edit is undone", LIMIT_S)  # type: ignore[misc]


def test_both_answer_at_the_same_moment(open_notebook: Open, join: Join) -> None:
    audit = "print([(it.outcome, it.detail['person']) for it in s.audit.where(what='decision', by='user')])"
    cells = [f"{ASKS}\nimport os; print(os.getpid())", "s.prompt('/ask')", audit]
    notebook = open_notebook(cells, host="collaboration")
    other = join(notebook)
    both = {"Ada": notebook, "Grace": other}
    for name, page in both.items():
        call(page, name)
    notebook.run(0, 1)
    for page in both.values():
        page.asks(1)
    pid = int(notebook.output(0).inner_text())
    os.kill(pid, signal.SIGSTOP)  # so that neither page hears of the other's answer
    try:
        notebook.answer(1, "allow_once")
        other.answer(1, "reject_once")
    finally:
        os.kill(pid, signal.SIGCONT)
    for page in both.values():
        page.has_status(1, "done")
    said = notebook.turn(1).locator("[data-acp-question]").inner_text()
    name, outcome = ("Ada", "allowed") if "“Ada”" in said else ("Grace", "rejected")
    for page in both.values():
        page.says(1, f"by “{name}”")
        expect(page.turn(1)).not_to_contain_text({"Ada": "“Grace”", "Grace": "“Ada”"}[name])
    notebook.run(2)
    notebook.says(2, f"[('{outcome}', '{name}')]")
    assert_static(written(notebook, 1, f"by “{name}”"), 1)


def test_a_panel_survives_save_reload_kernel_and_server_in_two_browsers(
    browser: BrowserContext, join: Join, tmp_path: Path
) -> None:
    def opened(server: Server, path: Path) -> NotebookPage:
        return NotebookPage(browser, server, path, "perCommTarget", (1200, 1400))

    def have_turns(count: int, *pages: NotebookPage) -> None:
        for page in pages:
            expect(page.panel(1).locator(".acp-turn[data-acp-status=done]")).to_have_count(count)

    def has_both_turns(notebook: NotebookPage, other: NotebookPage) -> None:
        """Nothing is lost, nothing is there twice."""
        content = written(notebook, 1, "hello", "/think")
        assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1]
        html = text_of(data_of(content, 1)["text/html"])
        assert (html.count("/think"), html.count("<p>hello</p>")) == (1, 1)
        assert_static(content, 1)
        assert WIDGET_VIEW not in notebook.path.read_text()
        for page in (notebook, other):
            expect(page.output(1)).not_to_contain_text("model not found")
            text = page.output(1).inner_text()
            assert (text.count("/think"), text.count("You said: “hello”")) == (1, 1), text

    with started("collaboration", tmp_path) as server:
        path = server.add_notebook("panel", "newest", [ASKS, "s"])
        notebook = opened(server, path)
        notebook.run(0, 1)
        notebook.prompt(1, "hello")
        other = join(notebook)
        have_turns(1, notebook, other)
        notebook.reload()
        notebook.prompt(1, "/think")
        have_turns(2, notebook, other)
        has_both_turns(notebook, other)
        saved(other)
        has_both_turns(notebook, other)
        notebook.restart()
        for page in (notebook, other):
            expect(page.panel(1)).to_contain_text("Run this cell")
        notebook.reopen()
        has_both_turns(notebook, other)
        notebook.close()
        other.close()
    with started("collaboration", tmp_path) as server:
        notebook = opened(server, path)
        other = join(notebook)
        for page in (notebook, other):
            expect(page.output(1)).to_contain_text("/think")
        has_both_turns(notebook, other)
        notebook.close()


def test_a_turn_whose_kernel_died_says_where_it_stopped(open_notebook: Open, join: Join) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/slow 600')"], host="collaboration")
    notebook.run(0, 1)
    notebook.says(1, "tick3")
    written(notebook, 1, "slow")
    notebook.server.end_kernels()
    notebook.close()
    other = join(notebook)
    expect(other.output(1)).to_contain_text("/slow 600")
    expect(other.output(1)).to_contain_text("has this turn up to here")


def test_the_next_page_completes_a_turn_that_ended_without_one(open_notebook: Open, join: Join) -> None:
    notebook = open_notebook([CONNECT, "turn = s.start('/slow 3')\nturn"], host="collaboration")
    notebook.run(0, 1)
    notebook.says(1, "tick2")
    written(notebook, 1, "slow")
    notebook.close()
    other = join(notebook)
    other.has_status(1, "done")
    other.says(1, "tick60")
    content = written(notebook, 1, "tick60")
    assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1]
    assert text_of(data_of(content, 1)["text/html"]).count("tick60") == 1


def test_without_the_extension_a_turn_is_live_until_it_ends_and_static_afterwards(
    open_notebook: Open, join: Join
) -> None:
    notebook = open_notebook([ASKS, "s.prompt('/ask')"], host="collaboration-alone")
    other = join(notebook)
    notebook.run(0, 1)
    notebook.asks(1)  # live in the page that ran the cell
    notebook.answer(1)
    for page in (notebook, other):
        expect(page.turn(1)).to_have_count(0)
        page.says(1, "You answered allow_once.")
    content = written(notebook, 1, "You answered allow_once.")
    assert_static(content, 1, "Allow once by")
    assert [len(cell["outputs"]) for cell in content["cells"]] == [0, 1]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [900, 1400])
def test_two_people_look_right(open_notebook: Open, join: Join, theme: str, width: int) -> None:
    cells = [ASKS, "s", "s.prompt('/ask')"]
    notebook = open_notebook(cells, host="collaboration", theme=theme, size=(width, 1500))
    other = join(notebook)
    other.page.set_viewport_size({"width": width, "height": 1500})
    people = {"Ada Lovelace": notebook, "Grace <b>Hopper</b>, of a name that is longer than most": other}
    for name, page in people.items():
        call(page, name)
    SHOTS.mkdir(parents=True, exist_ok=True)
    shot = f"people-{theme.split()[-1].lower()}-{width}"
    notebook.run(0, 1)
    notebook.prompt(1, "/slow 600")
    expect(turn_in(other, 1, 0)).to_contain_text("tick3")
    other.panel(1).get_by_role("button", name="Stop this turn").click()
    expect(turn_in(notebook, 1, 0)).to_contain_text("Stopped by “Grace")
    notebook.run(2)
    for page in people.values():
        page.asks(2)
    other.page.screenshot(path=SHOTS / f"{shot}-asked.png")
    other.answer(2)
    notebook.has_status(2, "done")
    notebook.says(2, re.compile("by “Grace <b>Hopper</b>"))
    notebook.page.screenshot(path=SHOTS / f"{shot}-answered.png")
