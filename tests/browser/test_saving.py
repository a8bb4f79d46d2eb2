"""Live in the page, static in the file: a saved file never needs a kernel to be read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

import acp_notebook as acp
from acp_notebook.core.snapshot import Message, Question, TurnStart
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S, NOTEBOOK, TRUE_WHEN_CLEAN, NotebookPage
from tests.browser.saved_files import (
    ADDRESS,
    LOOKS,
    assert_no_widget,
    assert_static,
    data_of,
    saved,
    saved_when_it_says,
    text_of,
)
from tests.browser.servers import Server
from tests.waiting import wait_until

HOSTS = ("lab", "notebook")
CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
ASK = "turn = s.prompt('/ask')"
SLOW = "s.prompt('/slow 600')"

AUTOSAVE = "@jupyterlab/docmanager-extension/plugin"

each_host = pytest.mark.parametrize("host", HOSTS)


def is_clean(notebook: NotebookPage) -> bool:
    return bool(notebook.page.evaluate(TRUE_WHEN_CLEAN))


def mark(notebook: NotebookPage, cell: int) -> None:
    """Mark the view's node, to see whether it is the same one later."""
    notebook.output(cell).locator(".acp").evaluate("node => { node.dataset.mark = 'mine' }")


def is_marked(notebook: NotebookPage, cell: int) -> bool:
    return notebook.output(cell).locator(".acp[data-mark=mine]").count() == 1


def with_new_kernel(notebook: NotebookPage, *, trusted: bool) -> None:
    """Close the page, end its kernel, and reopen the notebook as on another day, or as another user."""
    notebook.close()
    notebook.server.end_kernels()
    if not trusted:
        content = json.loads(notebook.path.read_text())
        content["metadata"]["changed_by"] = "somebody else"  # so that the signature does not fit
        notebook.path.write_text(json.dumps(content))
    notebook.page = notebook._opened()
    trust = f"{NOTEBOOK}.content.widgets.every((cell) => cell.model.type !== 'code' || cell.model.trusted)"
    assert notebook.page.evaluate(f"() => {trust}") is trusted


def shows_only_text(notebook: NotebookPage, cell: int, *texts: str) -> None:
    for text in texts:
        notebook.says(cell, text)
    everything = notebook.page.locator(".jp-Notebook").inner_text()
    assert "model not found" not in everything.lower()
    assert "Error displaying widget" not in everything
    assert not ADDRESS.search(everything)
    expect(notebook.turn(cell)).to_have_count(0)
    assert is_clean(notebook)


@each_host
@pytest.mark.parametrize(
    "trusted", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["trusted", "untrusted"]
)
def test_saved_in_mid_turn_and_at_its_end(open_notebook: Open, host: str, trusted: bool) -> None:
    notebook = open_notebook([CONNECT, ASK, "print('after')"], host=host)
    notebook.run_all()
    notebook.asks(1)
    mark(notebook, 1)
    saved_when_it_says(notebook, 1, "/ask", "Do something")
    assert is_clean(notebook)
    assert is_marked(notebook, 1)  # the view was not touched
    notebook.answer(1)
    notebook.has_status(1, "done")
    notebook.says(2, "after")
    saved_when_it_says(notebook, 1, "You answered allow_once.")
    assert is_marked(notebook, 1)
    snapshot = acp.load_transcript(notebook.path)
    assert [item.by for item in snapshot.items if isinstance(item, Question)] == ["user"]
    with_new_kernel(notebook, trusted=trusted)
    shows_only_text(notebook, 1, "/ask", "You answered allow_once.")


@each_host
def test_a_file_saved_in_mid_turn_is_readable_without_its_kernel(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, SLOW], host=host)
    notebook.run_all()
    notebook.says(1, "tick2")
    saved_when_it_says(notebook, 1, "/slow 600", "tick1")
    with_new_kernel(notebook, trusted=True)
    shows_only_text(notebook, 1, "/slow 600", "tick1")


@each_host
def test_autosave_writes_a_turn_that_only_streams(
    open_notebook: Open, servers: Callable[[str], Server], host: str
) -> None:
    servers(host).set(AUTOSAVE, autosaveInterval=1)
    try:
        notebook = open_notebook([CONNECT, SLOW], host=host)
        notebook.run_all()
        notebook.says(1, "tick2")
        wait_until(lambda: "tick40 " in notebook.path.read_text(), "autosave has written", LIMIT_S)
        assert_static(json.loads(notebook.path.read_text()), 1, "tick1", "tick40")
        assert_no_widget(notebook.path)
    finally:
        servers(host).set(AUTOSAVE)


@each_host
@pytest.mark.parametrize(
    "end", ["killed", *(pytest.param(it, marks=pytest.mark.slow) for it in ("restarted", "shut down"))]
)
def test_saved_after_the_kernel_is_gone(open_notebook: Open, host: str, end: str) -> None:
    notebook = open_notebook(["import os; print(os.getpid())", CONNECT, SLOW], host=host)
    notebook.run_all()
    notebook.says(2, "tick2")
    saved_when_it_says(notebook, 2, "tick1")
    if end == "killed":
        os.kill(int(notebook.output(0).inner_text()), signal.SIGKILL)
    elif end == "restarted":
        notebook.restart()
    else:
        notebook.server.end_kernels()
    expect(notebook.output(2).locator(".acp")).to_have_attribute(
        "data-acp-link", "gone", timeout=LIMIT_S * 1000
    )
    assert_static(saved(notebook), 2, "/slow 600", "tick1")
    assert_no_widget(notebook.path)
    notebook.reopen()  # the kernel there is another one
    shows_only_text(notebook, 2, "/slow 600", "tick1")


@each_host
@pytest.mark.parametrize("how", ["reload", pytest.param("reopen", marks=pytest.mark.slow)])
def test_a_reloaded_page_is_live_and_clean(open_notebook: Open, host: str, how: str) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('hello');", "turn = s.start('/ask')\nturn"], host=host)
    notebook.run_all()
    notebook.asks(2)
    saved_when_it_says(notebook, 2, "/ask")
    getattr(notebook, how)()
    notebook.asks(2)
    notebook.has_status(1, "done")
    notebook.says(1, "You said: “hello”.")
    assert is_clean(notebook)
    assert_no_widget(notebook.path)
    notebook.answer(2)
    notebook.has_status(2, "done")
    saved_when_it_says(notebook, 2, "You answered allow_once.")
    assert_static(saved(notebook), 1, "You said: “hello”.")


@each_host
def test_a_turn_that_ended_while_the_page_was_closed_is_complete(open_notebook: Open, host: str) -> None:
    cells = [CONNECT, "turn = s.start('/slow 3')\nturn", "print(turn.wait().stop_reason)"]
    notebook = open_notebook(cells, host=host)
    notebook.wait_idle()
    notebook.run(0, 1)
    notebook.says(1, "tick2")
    saved_when_it_says(notebook, 1, "tick1")
    notebook.reopen()
    notebook.has_status(1, "done")
    notebook.says(1, "tick60")
    saved_when_it_says(notebook, 1, "tick1 ", "tick60")


HIDE_DOCUMENT = """() => {
    const [{ manager }] = globalThis[Symbol.for("acp_notebook.shell.1")].sessions.values();
    const hidden = Object.create(manager.context, { model: { value: {} } });
    Object.defineProperty(manager, "context", { value: hidden });
}"""
"""The widgets of this page that are created from now on cannot reach the notebook."""


@each_host
def test_without_document_access_the_kernel_inserts_the_static_output(open_notebook: Open, host: str) -> None:
    """As in VS Code and Colab. (With collaboration, test_collaboration.py.)"""
    notebook = open_notebook([f"{CONNECT}\ns", CONNECT, ASK], host=host)
    notebook.run(0)
    expect(notebook.panel(0)).to_be_visible()
    notebook.page.evaluate(HIDE_DOCUMENT)
    notebook.run(1, 2)
    notebook.asks(2)
    notebook.answer(2)
    expect(notebook.turn(2)).to_have_count(0)
    notebook.says(2, "You answered allow_once.")
    assert_static(saved(notebook), 2, "/ask", "You answered allow_once.")
    assert_no_widget(notebook.path)


@each_host
def test_freeze(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('hello');", "s", "s.freeze()"], host=host)
    notebook.wait_idle()
    notebook.run(0, 1, 2)
    notebook.has_status(1, "done")
    expect(notebook.output(2).locator("[data-acp-root=session]")).to_be_visible()
    notebook.run(3)
    for cell in (1, 2):
        expect(notebook.output(cell).locator(".acp")).to_have_count(0)
        notebook.says(cell, "You said: “hello”.")
        assert_static(saved(notebook), cell, "You said: “hello”.")


@each_host
def test_a_shown_session_is_saved_as_its_transcript(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "turn = s.start('hello')"], host=host)
    notebook.run_all()
    notebook.says(1, "You said: “hello”.")
    saved_when_it_says(notebook, 1, "You said: “hello”.")
    with_new_kernel(notebook, trusted=True)
    shows_only_text(notebook, 1, "You said: “hello”.")


PANEL = ["s", "s.prompt('/think');", "turn = s.start('hello')"]


def prompts_in(notebook: NotebookPage) -> list[str]:
    items = acp.load_transcript(notebook.path).items
    return [item.text for item in items if isinstance(item, TurnStart)]


def holds_once(notebook: NotebookPage, text: str) -> bool:
    """Whether exactly one output of the saved file has this in its transcript."""
    cells = saved(notebook)["cells"]
    found = [data_of({"cells": [cell]}, 0).get(TRANSCRIPT_MIME, "") for cell in cells if cell["outputs"]]
    return sum(text in str(it) for it in found) == 1


@each_host
def test_a_panel_refers_to_the_turns_that_the_file_has_and_holds_the_others(
    open_notebook: Open, host: str
) -> None:
    notebook = open_notebook([CONNECT, *PANEL], host=host)
    notebook.run_all()
    saved_when_it_says(notebook, 1, "You said: “hello”.")
    wait_until(lambda: holds_once(notebook, "/think"), "the turn below its cell is stored once", LIMIT_S)
    assert "In its own cell: /think" in "".join(data_of(saved(notebook), 1)["text/html"])
    assert holds_once(notebook, "You said")
    assert prompts_in(notebook) == ["/think", "hello"]
    notebook.select(2)
    notebook.command("notebook:delete-cell")
    wait_until(lambda: len(saved(notebook)["cells"]) == 3, "the cell is gone", LIMIT_S)
    assert "In its own cell" not in notebook.path.read_text()
    assert prompts_in(notebook) == ["/think", "hello"]


def test_a_panel_follows_cells_that_are_pasted_moved_cleared_and_run_again(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT, *PANEL])
    notebook.run_all()
    saved_when_it_says(notebook, 1, "You said: “hello”.")
    wait_until(lambda: holds_once(notebook, "/think"), "the turn below its cell is stored once", LIMIT_S)

    def after(cell: int, *commands: str, refers: bool) -> list[str]:
        """The prompts in the file after these commands on a cell; the panel refers to its turn, or has it."""
        notebook.select(cell)
        for command in commands:
            notebook.command(command)

        def is_so() -> bool:
            return ("In its own cell" in panel_html(notebook)) is refers and holds_once(notebook, "/think")

        wait_until(is_so, f"the turn is stored once after {commands}", LIMIT_S)
        return prompts_in(notebook)

    both = ["/think", "hello"]
    assert after(2, "notebook:cut-cell", refers=False) == both
    assert after(2, "notebook:paste-cell-below", refers=True) == both
    assert after(3, "notebook:move-cell-up", refers=True) == both
    assert after(2, "notebook:clear-cell-output", refers=False) == both
    notebook.run(2)
    notebook.has_status(2, "done")
    wait_until(lambda: prompts_in_saved(notebook) == [*both, "/think"], "the new turn", LIMIT_S)
    assert panel_html(notebook).count("In its own cell") == 1


def panel_html(notebook: NotebookPage) -> str:
    return text_of(data_of(saved(notebook), 1)["text/html"])


def prompts_in_saved(notebook: NotebookPage) -> list[str]:
    saved(notebook)
    return prompts_in(notebook)


def test_two_equal_runs_give_equal_files(open_notebook: Open) -> None:
    def run() -> str:
        notebook = open_notebook([CONNECT, *PANEL, "turn.wait();", "s.prompt('/tour');"])
        notebook.run_all()
        notebook.asks(5)
        notebook.answer(5)
        notebook.has_status(5, "done")
        saved_when_it_says(notebook, 5, "That was the tour")
        for prompt in ("/think", "You said", "/tour"):
            wait_until(lambda prompt=prompt: holds_once(notebook, prompt), prompt, LIMIT_S)  # type: ignore[misc]
        text = notebook.path.read_text()
        notebook.close()
        return text

    assert run() == run()


def test_the_file_contains_nothing_redacted(open_notebook: Open) -> None:
    connect = CONNECT[:-1] + ", redact=lambda text: text.replace('sword' + 'fish', '•••'))"
    prompt = "turn = s.start(' '.join(['my', 'word', 'is', 'sword' + 'fish']))\nturn"
    notebook = open_notebook([connect, "s", prompt])
    notebook.run_all()
    notebook.says(2, "swordfish")
    saved_when_it_says(notebook, 2, "my word is •••")
    saved_when_it_says(notebook, 1, "my word is •••")
    assert "swordfish" not in notebook.path.read_text()


def test_a_copy_of_the_file_is_complete_in_python_and_as_html(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/tour');", "s.prompt('hello');"])
    notebook.wait_idle()
    notebook.run(0, 1)
    notebook.answer(1)
    notebook.has_status(1, "done")
    notebook.run(2)
    notebook.has_status(2, "done")
    saved_when_it_says(notebook, 2, "You said: “hello”.")
    snapshot = acp.load_transcript(notebook.path)
    assert [item.text for item in snapshot.items if isinstance(item, TurnStart)] == ["/tour", "hello"]
    assert any("I found" in item.text for item in snapshot.items if isinstance(item, Message))
    command = [sys.executable, "-m", "nbconvert", "--to", "html", notebook.path.name]
    subprocess.run(command, cwd=notebook.path.parent, check=True, capture_output=True, timeout=LIMIT_S)
    html = notebook.path.with_suffix(".html").read_text().partition("<body")[2]
    assert "A small story about a mean function" in html
    assert "You said: “hello”." in html
    assert "model not found" not in html
    assert not ADDRESS.search(html)
    assert set(data_of(json.loads(notebook.path.read_text()), 1)) == {*LOOKS, TRANSCRIPT_MIME}
