"""An agent uses the kernel: below a cell that waits, from the panel, and while the user's own code runs.

Code that is to be seen in the middle waits for a file that the test makes.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Open
from tests.browser.live_pages import sources, until
from tests.browser.pages import KERNEL, LIMIT_S, NOTEBOOK, NotebookPage, choose
from tests.browser.saved_files import saved_when_it_says
from tests.browser.test_restarts import agents_of
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"

hosts = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
both_slow = pytest.mark.parametrize(
    "host", [pytest.param(host, marks=pytest.mark.slow) for host in ("lab", "notebook")]
)

BUSY = KERNEL.replace("WHAT", 'kernel.status === "busy"')

HOLD = """import os, time
print("begun", flush=True)
while not os.path.exists({name!r}):
    time.sleep(0.02)
"""
"""Prints, and goes on when there is a file of this name."""


def kernel(tool: str, **arguments: object) -> str:
    return f"/kernel wait {tool} {json.dumps(arguments)}"


def run_code(code: str, purpose: str = "") -> str:
    return kernel("run_code", code=code, purpose=purpose)


def prompt(text: str) -> str:
    return f"s.prompt({text!r});"


def let_go(notebook: NotebookPage, name: str) -> None:
    (notebook.path.parent / name).touch()


def png(width: int, height: int) -> str:
    """A grey picture, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")).decode()


def run_in(turn: Locator) -> Locator:
    return turn.locator(".acp-run")


def turn_in(notebook: NotebookPage, panel: int, number: int) -> Locator:
    return notebook.panel(panel).locator('[data-acp-turn]:not([data-acp-turn=""])').nth(number)


def allow(turn: Locator) -> None:
    choose(turn.locator("[data-acp-question][data-status=open] [data-acp-option][data-kind=allow_once]"))


def counts(notebook: NotebookPage, *cells: int) -> list[str]:
    return [notebook.prompt_of(cell).inner_text() for cell in cells]


TABLE = "<table><tr><th>a</th></tr><tr><td><b>12</b></td></tr></table>"

FIGURE = f"""
from IPython.display import display
display({{"image/png": {png(60, 30)!r}, "text/plain": "<Figure>"}}, raw=True)
display({{"text/html": "{TABLE}", "text/plain": "a"}}, raw=True)
made = 6 * 7
made"""


@hosts
def test_code_below_a_cell_that_waits_is_asked_about_shown_and_kept(open_notebook: Open, host: str) -> None:
    go = f"go-shown-{host}"
    code = HOLD.format(name=go) + FIGURE
    notebook = open_notebook([CONNECT, prompt(run_code(code, "Draw it")), "print(made)"], host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.page.wait_for_function(BUSY)  # although the page's messages were handled meanwhile
    turn = notebook.turn(1)
    card = turn.locator("[data-acp-tool]")
    expect(card.locator(".acp-title").first).to_have_text("Draw it")
    question = card.locator("[data-acp-question]")
    expect(question.locator("[data-acp-action=run_code] .acp-exact-line")).to_have_text(
        [*code.splitlines()], use_inner_text=False
    )
    expect(question.locator("[data-acp-action]")).to_have_count(1)
    notebook.answer(1)

    run = run_in(turn)
    expect(run.locator(".acp-ansi")).to_contain_text("begun")  # live, while the code waits
    expect(run).to_have_attribute("data-status", "running")
    let_go(notebook, go)
    notebook.has_status(1, "done")
    expect(run).to_have_attribute("data-status", "ok")
    expect(run.locator(".acp-run-end")).to_have_text(re.compile(r"^ran in .* s$"))
    expect(run.locator("td")).to_have_text("12")
    expect(run.locator(".acp-run-text")).to_have_text("42")
    figure = run.locator("img")
    expect(figure).to_be_visible()
    size = figure.bounding_box()
    assert size is not None and (size["width"], size["height"]) == (60, 30)  # neither stretched nor cut

    run.get_by_role("button", name="Insert as cell below").click()
    until(notebook, [CONNECT, prompt(run_code(code, "Draw it")), code, "print(made)"])
    notebook.says(2, "begun")
    expect(notebook.output(2).locator("img")).to_be_visible()
    expect(notebook.output(2).locator("td")).to_have_text("12")
    notebook.run(3)
    notebook.says(3, "42")
    assert counts(notebook, 0, 1, 3) == ["[1]:", "[2]:", "[3]:"]  # the code took no number


@hosts
def test_an_error_and_a_stop_from_the_panel(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "print('free')"], host=host)
    notebook.run(0, 1)
    notebook.panel(1).wait_for()
    notebook.prompt(1, run_code("def mean(of):\n    return sum(of) / len(of)\n\nmean([])"))
    failed = turn_in(notebook, 1, 0)
    allow(failed)
    expect(run_in(failed)).to_have_attribute("data-status", "error")
    expect(run_in(failed).locator("[data-stream=error]")).to_contain_text(
        "ZeroDivisionError: division by zero"
    )
    expect(failed.locator("[data-acp-tool]")).to_have_attribute("data-status", "failed")

    notebook.prompt(1, run_code(HOLD.format(name=f"never-{host}")))
    stopped = turn_in(notebook, 1, 1)
    allow(stopped)
    expect(run_in(stopped)).to_contain_text("begun")
    notebook.page.wait_for_function(BUSY)
    notebook.panel(1).get_by_role("button", name="Stop this turn").click()
    expect(run_in(stopped)).to_have_attribute("data-status", "interrupted")
    expect(run_in(stopped)).to_contain_text("stopped after")
    expect(stopped).to_have_attribute("data-acp-status", "done")
    notebook.run(2)
    notebook.says(2, "free")


@hosts
def test_cells_are_added_and_run_where_they_are(open_notebook: Open, host: str) -> None:
    go = f"go-cells-{host}"
    first = HOLD.format(name=go) + "print('ended')"
    ran = kernel("run_cells", cells=["cell-2", "cell-3", "cell-4"])
    notebook = open_notebook([CONNECT, prompt(ran), first, "6 * 7", "1 / 0", prompt("/cells")], host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    expect(notebook.turn(1).locator("[data-acp-question]")).to_contain_text("print('ended')")
    notebook.answer(1)
    notebook.says(2, "begun")  # live, below the cell itself
    expect(notebook.prompt_of(2)).to_have_text("[*]:")
    let_go(notebook, go)
    notebook.has_status(1, "done")
    notebook.says(2, re.compile(r"begun\s+ended"))
    notebook.says(3, "42")
    notebook.says(4, "ZeroDivisionError")
    notebook.says(4, "In[5]")
    wait_until(
        lambda: counts(notebook, 1, 2, 3, 4) == ["[2]:", "[3]:", "[4]:", "[5]:"], "the counts", LIMIT_S
    )

    before = sources(notebook)
    notebook.run(5)
    notebook.asks(5)
    expect(notebook.turn(5).locator("[data-acp-action=notebook]")).to_contain_text("sum(range(10))")
    notebook.answer(5)
    until(notebook, [*before, "# Added by the demo agent\nsum(range(10))"])
    expect(notebook.turn(5).locator("[data-acp-action=run_cells]").first).to_be_visible()
    allow(notebook.turn(5))
    notebook.has_status(5, "done")
    notebook.says(6, "45")
    notebook.cell(5).locator(".jp-InputPrompt").click()
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("z")
    until(notebook, before)  # one step back


@hosts
def test_while_a_cell_of_the_user_s_runs_code_is_told_so_and_reads_work(
    open_notebook: Open, host: str
) -> None:
    go = f"go-busy-{host}"
    notebook = open_notebook([CONNECT, "s", HOLD.format(name=go) + "print('mine')"], host=host)
    notebook.run(0, 1)
    notebook.panel(1).wait_for()
    notebook.run(2)
    notebook.says(2, "begun")
    notebook.prompt(1, run_code("1 + 1", "Add"))
    busy = turn_in(notebook, 1, 0)
    allow(busy)
    expect(run_in(busy)).to_have_attribute("data-status", "busy")
    expect(run_in(busy)).to_contain_text("the user's cell [3]")
    expect(busy.locator(".acp-state").first).to_contain_text("not run")
    notebook.prompt(1, "/data")
    read = turn_in(notebook, 1, 1)
    expect(read).to_contain_text("s: acp_notebook.api.session.Session")
    expect(read.locator("[data-acp-tool] .acp-title")).to_have_text("List variables")
    expect(notebook.prompt_of(2)).to_have_text("[*]:")
    let_go(notebook, go)
    notebook.says(2, "mine")


@hosts
def test_the_switch_takes_the_tools_away_and_gives_them_back(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "answer = 42"], host=host)
    notebook.run(0, 1, 2)
    panel = notebook.panel(1)
    panel.get_by_role("button", name="Settings").click()
    switch = panel.get_by_label("Kernel tools")
    expect(switch).to_be_checked()
    notebook.prompt(1, "/data")
    expect(turn_in(notebook, 1, 0)).to_contain_text("answer: int = 42")
    switch.click()
    expect(switch).to_be_enabled()
    expect(switch).not_to_be_checked()
    expect(panel).to_contain_text("demo can no longer use the kernel")
    notebook.prompt(1, run_code("answer = 0"))
    refused = turn_in(notebook, 1, 1)
    expect(refused).to_contain_text("the user has switched the kernel's tools off")
    expect(refused).to_have_attribute("data-acp-status", "done")
    expect(refused.locator("[data-acp-question]")).to_have_count(0)
    switch.click()
    expect(switch).to_be_checked()
    notebook.prompt(1, "/data")
    expect(turn_in(notebook, 1, 2)).to_contain_text("answer: int = 42")


# ---- what is slower


@both_slow
def test_the_stop_button_of_the_notebook_ends_the_code_and_the_turn(open_notebook: Open, host: str) -> None:
    held = run_code(HOLD.format(name=f"never-{host}"))
    notebook = open_notebook([CONNECT, prompt(held), "s", "print('free')"], host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.answer(1)
    expect(run_in(notebook.turn(1))).to_contain_text("begun")
    notebook.press_interrupt()
    expect(run_in(notebook.turn(1))).to_have_attribute("data-status", "interrupted")
    notebook.says(1, "KeyboardInterrupt")
    notebook.run_after_an_error(1, 2)
    notebook.prompt(2, held)
    idle = turn_in(notebook, 2, 0)  # the first turn is below its cell
    allow(idle)
    expect(run_in(idle)).to_contain_text("begun")
    notebook.press_interrupt()
    expect(run_in(idle)).to_have_attribute("data-status", "interrupted")
    expect(idle).to_have_attribute("data-acp-status", "done")
    notebook.run(3)
    notebook.says(3, "free")


@pytest.mark.parametrize("version", ["6.29", "7.3"])
def test_each_situation_and_its_stop_button_on_older_kernels(open_notebook: Open, version: str) -> None:
    held = run_code(HOLD.format(name="never"))
    busy = f"turn = t.start({run_code('1 + 1')!r})\n" + HOLD.format(name="never")
    cells = [
        CONNECT,
        prompt(held),
        "s",
        "t = acp.connect('demo', permissions='allow')\nt",
        busy,
        "print('free')",
    ]
    notebook = open_notebook(cells, kernel=version)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.page.wait_for_function(BUSY)
    notebook.answer(1)
    waiting = run_in(notebook.turn(1))
    expect(waiting).to_contain_text("begun")
    expect(waiting).to_have_attribute("data-status", "running")
    notebook.press_interrupt()
    expect(waiting).to_have_attribute("data-status", "interrupted")
    notebook.says(1, "KeyboardInterrupt")

    notebook.run_after_an_error(1, 2)
    notebook.prompt(2, held)
    idle = turn_in(notebook, 2, 0)  # the first turn is below its cell
    allow(idle)
    expect(run_in(idle)).to_contain_text("begun")
    notebook.page.wait_for_function(BUSY)
    notebook.press_interrupt()
    expect(run_in(idle)).to_have_attribute("data-status", "interrupted")
    expect(idle).to_have_attribute("data-acp-status", "done")

    notebook.run(3)
    notebook.panel(3).wait_for()
    notebook.run(4)
    behind = turn_in(notebook, 3, 0)
    expect(run_in(behind)).to_have_attribute("data-status", "busy")
    expect(run_in(behind)).to_contain_text("the user's cell [5]")
    expect(behind).to_have_attribute("data-acp-status", "done")
    notebook.press_interrupt()
    notebook.says(4, "KeyboardInterrupt")
    notebook.run_after_an_error(4, 5)
    notebook.says(5, "free")
    expect(notebook.prompt_of(5)).to_have_text("[6]:")  # the code took no number


@pytest.mark.parametrize(
    ("host", "version", "comms"),
    [
        ("lab", "newest", "default"),
        ("lab", "newest", "disabled"),
        ("lab", "7.3", "default"),
        ("notebook", "newest", "default"),
    ],
)
def test_a_page_that_is_reloaded_in_mid_run_is_live_at_once(
    open_notebook: Open, host: str, version: str, comms: str
) -> None:
    name = f"go-reload-{host}-{version}-{comms}"
    code = HOLD.format(name=name) + "print('ended')"
    cells = [CONNECT, prompt(run_code(code)), "s", "print('free')"]
    notebook = open_notebook(cells, host=host, kernel=version, comms=comms)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.answer(1)
    expect(run_in(notebook.turn(1))).to_contain_text("begun")
    saved_when_it_says(notebook, 1, "Still running.")
    notebook.reload()
    expect(run_in(notebook.turn(1))).to_contain_text("begun")
    expect(run_in(notebook.turn(1))).to_have_attribute("data-status", "running")
    let_go(notebook, name)
    expect(run_in(notebook.turn(1))).to_contain_text("ended")
    notebook.has_status(1, "done")

    notebook.run(2)
    notebook.panel(2).wait_for()
    notebook.prompt(2, run_code(HOLD.format(name="never")))
    idle = turn_in(notebook, 2, 0)  # the first turn is below its cell
    allow(idle)
    expect(run_in(idle)).to_contain_text("begun")
    saved_when_it_says(notebook, 2, "Still running.")
    notebook.reload()
    expect(run_in(idle)).to_have_attribute("data-status", "running")
    notebook.panel(2).get_by_role("button", name="Stop this turn").click()
    expect(run_in(idle)).to_have_attribute("data-status", "interrupted")
    notebook.run(3)
    notebook.says(3, "free")


@both_slow
def test_on_ipykernel_6_a_page_reloaded_in_mid_run_is_live_when_the_code_ends(
    open_notebook: Open, host: str
) -> None:
    """Its main thread runs the code and reads the page's messages: until then, the output is static."""
    go = f"go-reload-{host}"
    code = HOLD.format(name=go) + "print('ended')"
    notebook = open_notebook([CONNECT, prompt(run_code(code))], host=host, kernel="6.29")
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.answer(1)
    expect(run_in(notebook.turn(1))).to_contain_text("begun")
    saved_when_it_says(notebook, 1, "Still running.")
    notebook.reload()
    notebook.says(1, "Still running.")
    let_go(notebook, go)
    expect(run_in(notebook.turn(1))).to_contain_text("ended")
    notebook.has_status(1, "done")


@both_slow
def test_a_kernel_that_is_restarted_in_mid_run_leaves_nothing_running(open_notebook: Open, host: str) -> None:
    held = run_code(HOLD.format(name=f"never-{host}"))
    notebook = open_notebook([CONNECT, prompt(held), "s", "print('free')"], host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.answer(1)
    assert_ends_with_the_kernel(notebook, 1)
    notebook.run(3)
    notebook.says(3, "free")

    notebook.run(0, 2)
    notebook.panel(2).wait_for()
    notebook.prompt(2, held)
    allow(turn_in(notebook, 2, 0))
    assert_ends_with_the_kernel(notebook, 2)
    notebook.run(0, 1)
    notebook.asks(1)


def assert_ends_with_the_kernel(notebook: NotebookPage, cell: int) -> None:
    """Restart the kernel while code runs below this cell: the view says so, and no process is left."""
    view = notebook.output(cell).locator(".acp").first
    expect(view.locator(".acp-run")).to_contain_text("begun")
    assert agents_of(notebook.server.folder)
    notebook.restart()
    expect(view.locator(".acp-run-end")).to_have_text("not finished: the kernel is gone")
    expect(view).to_have_attribute("data-acp-link", "gone")
    expect(view.locator(".acp-spinner")).to_have_count(0)
    wait_until(lambda: not agents_of(notebook.server.folder), "no agent is left", LIMIT_S)
    notebook.wait_idle()


@both_slow
def test_cells_from_the_panel_are_run_by_the_page(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "print('one')", "2 * 21"], host=host)
    notebook.run(0, 1)
    notebook.panel(1).wait_for()
    notebook.prompt(1, kernel("run_cells", cells=["cell-2", "cell-3"]))
    turn = turn_in(notebook, 1, 0)
    allow(turn)
    expect(turn).to_have_attribute("data-acp-status", "done")
    notebook.says(2, "one")
    notebook.says(3, "42")
    assert counts(notebook, 2, 3) == ["[3]:", "[4]:"]
    expect(turn.locator(".acp-run-cell-head")).to_have_text(
        [re.compile(r"Cell \[3\]"), re.compile(r"Cell \[4\]")]
    )
    turn.get_by_role("button", name="Cell [4]").click()
    expect(notebook.cell(3)).to_have_class(re.compile("acp-revealed"))
    assert notebook.page.evaluate(f"() => {NOTEBOOK}.context.model.cells.length") == 4
