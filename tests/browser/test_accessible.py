"""axe-core finds no fault in our views, in both hosts and both themes; the hosts' own are not ours."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage
from tests.notebook.kernels import ROOT
from tests.waiting import wait_until

AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
CHECK = """async () => {
    const { violations } = await axe.run(
        { include: [".acp"] },
        { resultTypes: ["violations"], rules: { region: { enabled: false } } },
    );
    return violations.map(({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, any }) =>
            `${html} ${any.map((check) => check.message).join("; ")}`).join(" | ")}`);
}"""
"""Landmarks are the host's: an output is not the place for one."""

CELLS = ["import acp_notebook as acp\ns = acp.connect('demo')", "s.prompt('/tour');", "s"]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
DEFAULT = {("lab", "dark")}


SETTLE_S = 20.0
"""What is fading in or out has colours of its own for a moment; a fault stays."""


def faults(notebook: NotebookPage) -> list[str]:
    """Those that stay."""
    assert notebook.page.locator(".acp").count() > 0, "nothing to look at"
    if not notebook.page.evaluate("() => 'axe' in window"):
        notebook.page.evaluate(AXE.read_text() + ";void 0")
    found: list[Any] = []

    def none() -> bool:
        found[:] = notebook.page.evaluate(CHECK)
        return not found

    with suppress(AssertionError):
        wait_until(none, "there is no fault", SETTLE_S)
    return found


@pytest.mark.parametrize(
    ("host", "theme"),
    [
        pytest.param(host, theme, marks=() if (host, theme) in DEFAULT else pytest.mark.slow)
        for host, theme in product(("lab", "notebook"), THEMES)
    ],
)
def test_no_violation(open_notebook: Open, host: str, theme: str) -> None:
    if not AXE.exists():
        pytest.fail("axe-core is not installed: npm ci in js/", pytrace=False)
    notebook = open_notebook(CELLS, host=host, theme=THEMES[theme])
    notebook.run_all()
    notebook.asks(1)
    assert faults(notebook) == []  # a question
    notebook.answer(1)
    notebook.has_status(1, "done")
    panel = notebook.panel(2)
    expect(panel).to_contain_text("That was the tour.")
    panel.locator("summary", has_text="Read stats.py").click()
    panel.locator("summary", has_text="Raw input and output").first.click()
    assert faults(notebook) == []  # everything that a turn can show
    panel.get_by_role("textbox").fill("/")
    expect(panel.get_by_role("listbox")).to_be_visible()
    assert faults(notebook) == []
    notebook.prompt(2, "/die")
    expect(panel.locator("[data-acp-restart]")).to_be_enabled()
    assert faults(notebook) == []
