"""acp.doctor() in a page: readable in both themes, folded, problems first."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SHOTS, Open

CELLS = [
    "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')\ns.prompt('/sh date > x');",
    "acp.doctor()",
]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_report_is_readable_in_both_themes(open_notebook: Open, theme: str) -> None:
    notebook = open_notebook(CELLS, theme=theme)
    notebook.run_all()
    report = notebook.output(1)
    expect(report).to_contain_text("acp_notebook ")
    sections = report.locator("details")
    expect(sections).to_have_count(9)
    for section in sections.all():
        section.locator("summary").click()
    expect(report.get_by_text("Node", exact=True).first).to_be_visible()
    expect(report.get_by_text("checkpoint").first).to_be_visible()
    colours = report.locator("td, summary, p").evaluate_all(
        "all => [...new Set(all.map((it) => getComputedStyle(it).color))]"
    )
    back = report.evaluate("it => getComputedStyle(it.closest('.jp-Notebook')).backgroundColor")
    assert back not in colours
    SHOTS.mkdir(parents=True, exist_ok=True)
    report.screenshot(path=SHOTS / f"doctor-{theme.split()[1].lower()}.png")
