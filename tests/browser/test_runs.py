"""The table of a fan-out in a page: live, sortable, opened by keyboard, stopped, saved, and never markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from acp_notebook.core.fan_out.table import RUNS_MIME
from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.browser.test_accessible import THEMES, faults
from tests.waiting import wait_until

EVIL = '<img src=x onerror="window.__hit=1"><script>window.__hit=1</script>'

START = (
    "import acp_notebook as acp\n"
    "runs = acp.fan_out({}, agents=['demo', {{'agent': 'demo', 'label': {!r}}}]{})\n"
)

OVERFLOWS = """it => it.scrollWidth > it.clientWidth + 1"""


def table(notebook: NotebookPage, cell: int = 0) -> Locator:
    return notebook.output(cell).locator("[data-acp-root=runs]")


def run(notebook: NotebookPage, number: int, cell: int = 0) -> Locator:
    return table(notebook, cell).locator(f"[data-acp-run='{number}']")


def states(notebook: NotebookPage, expected: list[str], cell: int = 0) -> None:
    for number, state in enumerate(expected):
        expect(run(notebook, number, cell)).to_have_attribute("data-state", state, timeout=LIMIT_S * 1000)


def outputs(notebook: NotebookPage, cell: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = notebook.save()["cells"][cell]["outputs"]
    return found


def test_a_fan_out_is_a_live_table_that_can_be_opened_stopped_and_saved(open_notebook: Open) -> None:
    prompts = ["/slow 600", "say **hello**", f"/error 5 {EVIL}"]
    notebook = open_notebook([START.format(prompts, "other", ", at_once=6") + "runs.wait();", "runs"])
    notebook.run(0)
    states(notebook, ["running", "running", "done", "done", "failed", "failed"])
    expect(table(notebook)).to_contain_text("4 of 6 · 2 running · 2 failed")
    slow = run(notebook, 0).get_by_role("button")
    slow.press("Enter")  # while the cell waits
    expect(slow).to_have_attribute("aria-expanded", "true")
    notebook.says(0, re.compile("tick3.*tick5", re.DOTALL))
    run(notebook, 3).click()
    expect(table(notebook).locator(".acp-runs-html p strong", has_text="hello").last).to_be_visible()
    head = table(notebook).locator("th[data-column=state]")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(table(notebook).locator("[data-acp-run]").nth(2)).to_have_attribute("data-state", "failed")

    table(notebook).locator("[data-acp-stop]").click()
    states(notebook, ["cancelled", "cancelled", "done", "done", "failed", "failed"])
    expect(table(notebook)).to_contain_text("6 runs: 2 done, 2 failed, 2 cancelled")
    expect(table(notebook).locator("[data-acp-stop]")).to_have_count(0)
    assert notebook.page.evaluate("() => window.__hit") is None
    notebook.run(1)
    states(notebook, ["cancelled"] * 2, cell=1)
    (saved,) = outputs(notebook)
    assert "6 runs: 2 done, 2 failed, 2 cancelled" in "".join(saved["data"]["text/plain"])
    assert "<script" not in "".join(saved["data"]["text/html"])
    assert len(json.loads(saved["data"][RUNS_MIME])["runs"]) == 6
    assert saved["metadata"] == {}, "no random ids: equal runs make equal files"


def test_the_table_is_live_again_after_a_reload(open_notebook: Open) -> None:
    notebook = open_notebook([START.format(["/slow 600"], "other", "") + "runs"])
    notebook.run(0)
    states(notebook, ["running", "running"])
    notebook.save()
    notebook.reload()
    states(notebook, ["running", "running"])
    table(notebook).locator("[data-acp-stop]").click()
    states(notebook, ["cancelled", "cancelled"])
    assert "2 cancelled" in "".join(outputs(notebook)[0]["data"]["text/plain"])


def test_interrupting_the_cell_cancels_the_runs(open_notebook: Open) -> None:
    cells = [
        "%load_ext acp_notebook",
        "%%acp --agents demo,demo\n/slow 600",
        "print([it.state for it in runs])",
    ]
    notebook = open_notebook(cells)
    notebook.run(0, 1)
    states(notebook, ["running", "running"], cell=1)
    notebook.press_interrupt()
    notebook.says(1, "Stopped.")
    states(notebook, ["cancelled", "cancelled"], cell=1)
    notebook.run_after_an_error(1, 2)
    notebook.says(2, "['cancelled', 'cancelled']")


def test_a_kernel_that_is_gone_leaves_the_table_in_the_file(open_notebook: Open) -> None:
    notebook = open_notebook([START.format(["/slow 600", "hello"], "other", "") + "runs"])
    notebook.run(0)
    states(notebook, ["running", "running", "done", "done"])
    wait_until(lambda: "2 running, 2 done" in str(outputs(notebook)), "the file has the table")
    notebook.restart()
    notebook.says(0, "The kernel is gone, and these runs with it.")
    assert "2 running" in "".join(outputs(notebook)[0]["data"]["text/plain"])


@pytest.mark.parametrize(("theme", "width"), [("light", 1200), ("dark", 500)])
def test_it_is_accessible_and_fits(open_notebook: Open, theme: str, width: int, tmp_path: Path) -> None:
    prompts = ["hello", EVIL, "/edit a.py " + "x" * 300, "/error 5 oops"]
    cells = [START.format(prompts, EVIL, ", attempts=2") + "runs.wait();", "runs.compare(0, 5)"]
    notebook = open_notebook(cells, theme=THEMES[theme], size=(width, 1200))
    notebook.run(0)
    expect(table(notebook)).to_contain_text("16 runs:")
    for number in (2, 4, 6):
        run(notebook, number).get_by_role("button").click()
    expect(table(notebook).locator(".acp-runs-html > *").first).to_be_visible()
    assert faults(notebook) == []
    assert not table(notebook).evaluate(OVERFLOWS)
    notebook.page.screenshot(path=str(tmp_path / "table.png"))
    notebook.run(1)
    columns = notebook.output(1).locator(".acp-comparison > div").first.locator("> div")
    left, right = (columns.nth(number).bounding_box() for number in range(2))
    assert left and right
    assert (left["y"] == right["y"]) == (width == 1200), "side by side, or one below the other"
    notebook.page.screenshot(path=str(tmp_path / "comparison.png"))
    assert notebook.page.evaluate("() => window.__hit") is None


def test_a_run_is_applied_reviewed_and_undone_in_the_table(open_notebook: Open) -> None:
    lines = "".join(f"{number}\\n" for number in range(20))
    cells = [
        f"from pathlib import Path\nPath('work').mkdir()\nPath('work/a.txt').write_text('{lines}');",
        "import acp_notebook as acp\n"
        "prompt = \"/run sed -i 's/^1$/one/; s/^18$/more/' a.txt; echo new > b.txt\"\n"
        "runs = acp.fan_out(prompt, cwd='work', score='test -f a.txt')\nruns.wait();",
        "print(Path('work/a.txt').read_text().split(), Path('work/b.txt').exists())",
    ]
    notebook = open_notebook(cells)
    notebook.run(0, 1)
    states(notebook, ["done"], cell=1)
    run(notebook, 0, cell=1).get_by_role("button").click()
    shown = table(notebook, 1)
    shown.locator("[data-acp-apply]").click()
    files = shown.locator("[data-acp-file]")
    expect(files).to_have_count(2)
    files.nth(0).get_by_role("button", name="Show what changed in a.txt").click()
    hunk = files.nth(0).locator("[data-acp-hunk]").nth(1)
    hunk.locator("[data-acp-operation=undo]").click()
    expect(files.nth(0)).to_have_attribute("data-state", "partly")
    files.nth(1).locator("[data-acp-operation=keep]").click()
    expect(files.nth(1)).to_have_attribute("data-state", "kept")
    assert faults(notebook) == []
    notebook.run(2)
    notebook.says(2, re.compile(r"'one', .*'18', .* True"))
    shown.locator(".acp-changes-head [data-acp-operation=undo]").click()
    expect(files.nth(0)).to_have_attribute("data-state", "undone")
    expect(files.nth(1)).to_have_attribute("data-state", "undone")
    notebook.run(2)
    notebook.says(2, re.compile(r"'0', '1', .* False"))


def test_ten_thousand_runs_are_one_page_at_a_time(open_notebook: Open) -> None:
    many = "[f'task {it}' for it in range(10_000)]"
    code = f"import acp_notebook as acp\nruns = acp.fan_out({many}, at_once=1)\nruns.cancel()\nruns"
    notebook = open_notebook([code])
    notebook.run(0)
    expect(table(notebook)).to_contain_text(re.compile("1.50 of 10,000"), timeout=LIMIT_S * 1000)
    expect(table(notebook).locator("[data-acp-run]")).to_have_count(50)
    table(notebook).get_by_role("button", name="Last").click()
    expect(run(notebook, 9_999)).to_be_visible()
    table(notebook).locator("th[data-column=prompt] button").click()
    expect(table(notebook)).to_contain_text("10,000 runs: 10,000 cancelled")
    (saved,) = outputs(notebook)
    assert len(json.dumps(saved)) < 2_000_000
