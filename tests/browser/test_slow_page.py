"""A widget's module may load later than anywidget waits for it."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.conftest import Open
from tests.browser.test_clicks import CONNECT

IMPATIENT = """
const timeout = AbortSignal.timeout;
AbortSignal.timeout = ms => timeout.call(AbortSignal, ms === 2000 ? 0 : ms);
"""
"""What 2 s are on a slow machine: over before the module is there."""


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_a_slow_page_still_receives_the_kernels_messages(
    open_notebook: Open, browser: BrowserContext, host: str
) -> None:
    browser.add_init_script(IMPATIENT)
    cells = [CONNECT, "turn = s.prompt('/ask')", "print('after', turn.text)"]
    notebook = open_notebook(cells, host=host)
    notebook.run_all()
    notebook.asks(1)
    notebook.answer(1)
    notebook.says(2, "after You answered allow_once.")
