"""Calls of the user's functions: the question with the arguments, progress while it runs, and the result."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.test_described import DARK, LIGHT
from tests.browser.test_kernel_tools import hosts, let_go, run_in

DEFINED = """import acp_notebook as acp, os, time
s = acp.connect('demo')

class Table:
    "As a data frame shows itself."
    def __init__(self, rows):
        self.rows = rows
    def _repr_html_(self):
        cells = ''.join(f'<tr><th>{n}</th><td>Oslo</td><td>7.5</td></tr>' for n in range(self.rows))
        head = '<tr><th></th><th>city</th><th>degrees</th></tr>'
        return f'<table><thead>{head}</thead><tbody>{cells}</tbody></table>'

@s.tool
def forecast(city: str, days: int = 3, *, notes: list[str] = (), report) -> Table:
    "Forecast the weather of a city."
    for step, done in enumerate((0.0, 0.4)):
        report(done, f'asking station {step + 1} of 2')
    while not os.path.exists('GO'):
        time.sleep(0.02)
    print('2 stations answered')
    return Table(days)

@s.tool(permission='read', thread=True)
def stations() -> str:
    return 'Oslo, Bergen'
"""

LONG = "a note that is as long as people write them " * 12
CALL = f'/call forecast {{"city": "Oslo", "days": 2, "notes": ["{LONG}"]}}'


@hosts
def test_a_call_is_asked_about_shows_progress_and_its_result(open_notebook: Open, host: str) -> None:
    go = f"go-function-{host}"
    cells = [DEFINED.replace("GO", go), f"s.prompt({CALL!r});", "s.prompt('/call stations');", "s.tools"]
    notebook = open_notebook(cells, host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    turn = notebook.turn(1)
    card = turn.locator("[data-acp-tool]")
    expect(card.locator(".acp-title").first).to_have_text("Call forecast")
    question = card.locator("[data-acp-question]")
    expect(question.locator("[data-acp-action]")).to_have_count(1)
    expect(question.locator("[data-acp-action=call_function] .acp-what")).to_have_text("forecast")
    expect(question.locator(".acp-arguments th")).to_have_text(["city", "days", "notes"])
    expect(question.locator(".acp-arguments td").first).to_have_text('"Oslo"')
    expect(question.locator(".acp-arguments td").last).to_contain_text(LONG.strip())
    expect(question.locator("[data-acp-option]")).to_have_text(
        [re.compile("Allow once"), re.compile("Reject"), re.compile("Allow forecast in this session")]
    )
    notebook.answer(1)

    run = run_in(turn)
    bar = run.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", "40")
    expect(run.locator(".acp-progress")).to_contain_text("asking station 2 of 2")
    let_go(notebook, go)
    notebook.has_status(1, "done")
    expect(run).to_have_attribute("data-status", "ok")
    expect(bar).to_have_count(0)
    expect(run.locator(".acp-run-table tbody tr")).to_have_count(2)
    expect(run.locator(".acp-ansi")).to_contain_text("2 stations answered")
    expect(run.locator(".acp-run-end")).to_have_text(re.compile(r"^ran in .* s$"))
    long = run.locator(".acp-arguments details")
    expect(long.locator("code")).not_to_be_visible()
    long.locator("summary").click()
    expect(long.locator("code")).to_contain_text(LONG.strip())

    notebook.run(2, 3)
    notebook.has_status(2, "done")
    expect(run_in(notebook.turn(2)).locator(".acp-run-text")).to_have_text("Oslo, Bergen")
    expect(notebook.turn(2).locator("[data-acp-question]")).to_have_count(0)
    expect(notebook.output(3).locator("tbody tr")).to_have_count(2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(500, 900), (1200, 900)], ids=["500", "1200"])
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_a_call_is_readable_in_each_width_and_theme(
    open_notebook: Open, theme: str, size: tuple[int, int]
) -> None:
    name = f"function-{'dark' if theme == DARK else 'light'}-{size[0]}"
    cells = [DEFINED.replace("GO", name), f"s.prompt({CALL!r});"]
    notebook = open_notebook(cells, theme=theme, size=size)
    notebook.run(0, 1)
    notebook.asks(1)
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.turn(1).screenshot(path=SHOTS / f"{name}-asked.png")
    table = notebook.turn(1).locator("[data-acp-question] .acp-arguments").bounding_box()
    box = notebook.turn(1).bounding_box()
    assert table is not None and box is not None and table["x"] + table["width"] <= box["x"] + box["width"]
    notebook.answer(1)
    expect(run_in(notebook.turn(1)).get_by_role("progressbar")).to_be_visible()
    notebook.turn(1).screenshot(path=SHOTS / f"{name}-running.png")
    let_go(notebook, name)
    notebook.has_status(1, "done")
    notebook.turn(1).screenshot(path=SHOTS / f"{name}-done.png")
