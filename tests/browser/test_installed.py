"""The wheel in an environment of its own, with JupyterLab 4.2 and the newest, and with Notebook 7."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import missing
from tests.browser.installed import installed_python
from tests.browser.live_pages import sources
from tests.browser.pages import NotebookPage
from tests.browser.servers import OWN, started
from tests.browser.side_panel import SidePanel
from tests.notebook.kernels import CannotMake


@pytest.mark.slow
@pytest.mark.parametrize("host", ["lab", "notebook"])
@pytest.mark.parametrize("version", ["4.2", "newest"])
def test_from_a_click_to_the_mended_cell_and_back(
    browser: BrowserContext, tmp_path: Path, version: str, host: str
) -> None:
    """Open the side panel, start the demo agent, ask, answer by keyboard, see the difference, undo."""
    try:
        python = installed_python(version)
    except CannotMake as error:
        missing(f"no environment to test with: {error}")
    with started(host, tmp_path, python) as server:
        path = server.add_notebook("analysis", OWN, ["total = 41\nrate = 2.5", "print(totl * rate)"])
        notebook = NotebookPage(browser, server, path, "perCommTarget", (1200, 900))
        try:
            notebook.run(0, 1)
            notebook.says(1, "NameError")
            side = SidePanel(notebook)
            side.start("demo")
            notebook.cell(1).locator("[data-acp-lab=ask-error]").click()
            expect(side.question).to_be_visible()
            notebook.select(0)
            side.keys("a", until=lambda: expect(side.question).to_have_count(0, timeout=1000))
            expect(side.panel.locator(".acp-card-change")).to_contain_text("print(total * rate)")
            assert sources(notebook)[1] == "print(total * rate)"
            side.keys(
                "u",
                until=lambda: expect(notebook.cell(1)).to_contain_text("print(totl * rate)", timeout=3000),
            )
            assert "I have corrected the cell" in str(notebook.save()["cells"][2]["outputs"])
        finally:
            notebook.close()
            server.end_kernels()
