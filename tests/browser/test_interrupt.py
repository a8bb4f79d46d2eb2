"""The notebook's stop button ends the turn and leaves the kernel and the session usable."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open

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


@pytest.mark.parametrize("form", FORMS)
def test_interrupt_of_an_agent_that_ignores_it(open_notebook: Open, form: str) -> None:
    cells = [CONNECT, FORMS[form].format("/hang"), "print('still here', s.turns[-1].done)"]
    notebook = open_notebook(cells)
    notebook.run(0, 1)
    notebook.says(1, "I hang.")
    notebook.press_interrupt()
    notebook.says(1, ERRORS[form])  # /hang itself never ends
    notebook.run_after_an_error(1, 2)
    notebook.says(2, "still here")
