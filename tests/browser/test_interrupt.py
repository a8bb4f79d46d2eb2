"""The notebook's stop button ends the turn and leaves the kernel and the session usable."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from acp_notebook import timeouts
from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S

FORMS = {"prompt": "s.prompt({!r})", "await": "await s.start({!r})"}
ERRORS = {"prompt": "KeyboardInterrupt", "await": "CancelledError"}
CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
AFTER = "print('after', s.turns[-1].stop_reason)\nprint(s.prompt('/pid').status)"


def test_interrupt(open_notebook: Open, wait_on: tuple[str, str, str, str]) -> None:
    form, kernel, comms, host = wait_on
    cells = [CONNECT, FORMS[form].format("/slow 600"), AFTER, FORMS[form].format("/ask"), AFTER]
    notebook = open_notebook(cells, kernel=kernel, comms=comms, host=host)
    notebook.run(0, 1)
    notebook.says(1, "tick3")
    notebook.press_interrupt()
    notebook.says(1, "Stopped")
    notebook.says(1, ERRORS[form])
    notebook.run_after_an_error(1, 2)
    notebook.says(2, "after cancelled")
    notebook.says(2, "done")

    notebook.run(3)
    notebook.asks(3)
    notebook.press_interrupt()  # the question goes with the turn
    notebook.says(3, "Stopped")
    notebook.says(3, ERRORS[form])
    notebook.run_after_an_error(3, 4)
    notebook.says(4, "after cancelled")
    notebook.says(4, "done")


PANEL = "import acp_notebook as acp\ns = acp.connect('demo')\ns"
OWN = "print('mine')\nimport time\ntime.sleep(600)"


def test_interrupt_of_an_idle_kernel_stops_the_turn_of_the_panel(
    open_notebook: Open, kernel_on: tuple[str, str, str]
) -> None:
    kernel, comms, host = kernel_on
    notebook = open_notebook([PANEL, OWN, "print('free')"], kernel=kernel, comms=comms, host=host)
    notebook.run(0)
    notebook.prompt(0, "/slow 600")
    notebook.says(0, "tick3")
    notebook.run(1)
    notebook.says(1, "mine")
    notebook.press_interrupt()  # stops the user's own cell, and nothing else
    notebook.says(1, "KeyboardInterrupt")
    notebook.run_after_an_error(1, 2)
    notebook.says(2, "free")
    expect(notebook.panel(0).locator("[data-acp-status=running]")).to_have_count(1)
    expect(notebook.panel(0)).not_to_contain_text("Stopped")
    notebook.page.wait_for_timeout(timeouts.get().cell_interrupt * 1000)
    notebook.wait_idle()
    notebook.press_interrupt()
    notebook.says(0, "Stopped")
    notebook.prompt(0, "hello")
    notebook.says(0, "You said: “hello”.")


def test_an_interrupted_magic_shows_no_traceback(open_notebook: Open) -> None:
    cells = ["%load_ext acp_notebook\n%acp_agent demo", "%%acp\n/slow 600", "print('not run')"]
    notebook = open_notebook(cells)
    notebook.run(0)
    notebook.wait_idle()
    notebook.run(1, 2)
    notebook.says(1, "tick3")
    expect(notebook.panel(0)).not_to_contain_text("tick3")  # the panel has a line for it
    notebook.press_interrupt()
    error = notebook.output(1).locator("[data-mime-type='application/vnd.jupyter.stderr'], .jp-RenderedText")
    expect(error.last).to_have_text("Stopped.", timeout=LIMIT_S * 1000)
    expect(notebook.output(1)).not_to_contain_text("Traceback")
    expect(notebook.output(2)).not_to_contain_text("not run")


@pytest.mark.parametrize(
    "form", [pytest.param(it, marks=pytest.mark.slow if it == "await" else ()) for it in FORMS]
)
def test_interrupt_of_an_agent_that_ignores_it(open_notebook: Open, form: str) -> None:
    cells = [CONNECT, FORMS[form].format("/hang"), "print('still here', s.turns[-1].done)"]
    notebook = open_notebook(cells)
    notebook.run(0, 1)
    notebook.says(1, "I hang.")
    notebook.press_interrupt()
    notebook.says(1, ERRORS[form])  # /hang itself never ends
    notebook.run_after_an_error(1, 2)
    notebook.says(2, "still here")
