"""axe-core finds no fault in our views, in both hosts and themes."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
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

KEEPING = (
    "import acp_notebook as acp\n"
    "s = acp.connect('demo', env={{'ACP_DEMO_HOME': {home!r}, 'ACP_DEMO_AUTH': '1'}}, auth='demo-login')"
)


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
    panel.locator(".acp-menu-button").first.click()
    assert faults(notebook) == []  # a menu
    panel.get_by_role("button", name="Raw input and output").click()
    assert faults(notebook) == []  # everything that a turn can show
    panel.get_by_role("textbox").fill("/")
    expect(panel.get_by_role("listbox")).to_be_visible()
    assert faults(notebook) == []
    notebook.prompt(2, "/die")
    expect(panel.locator("[data-acp-restart]")).to_be_enabled()
    assert faults(notebook) == []


@pytest.mark.slow
@pytest.mark.parametrize(("host", "theme"), list(product(("lab", "notebook"), THEMES)))
def test_no_violation_in_questions_and_the_queue(
    open_notebook: Open, tmp_path: Path, host: str, theme: str
) -> None:
    """A form, its faults, prompts that wait, kept sessions, a rate limit, a sign-in."""
    connect = KEEPING.format(home=str(tmp_path / "kept"))
    notebook = open_notebook([connect, "s"], host=host, theme=THEMES[theme])
    notebook.run(0, 1)
    panel = notebook.panel(1)
    notebook.prompt(1, "/form")
    form = panel.locator("[data-acp-elicitation][data-status=open]")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_role("alert").first).to_be_visible()
    for text in ("one", "two"):
        notebook.prompt(1, text)
    waiting = panel.locator("[data-acp-queued]")
    expect(waiting).to_have_count(2)
    waiting.nth(1).get_by_role("button", name="Edit").click()
    assert faults(notebook) == []
    form.get_by_role("button", name="Decline").click()
    expect(panel.locator("[data-acp-status=done]")).to_have_count(3)
    notebook.prompt(1, "/ratelimit 300")
    expect(panel.get_by_role("button", name="Try again")).to_be_visible()
    panel.get_by_role("button", name="Sessions").click()
    expect(panel.locator("[data-acp-session]")).to_have_count(1)
    assert faults(notebook) == []
    panel.get_by_role("button", name="Sign out").click()
    expect(panel.locator(".acp-notice")).to_contain_text("Signed out")
    notebook.prompt(1, "again")
    expect(panel.locator("[data-acp-signin]")).to_be_visible()
    assert faults(notebook) == []
