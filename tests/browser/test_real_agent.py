"""claude-code-acp with a mock model edits the open notebook in a real page, end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.agents import mock_model
from tests.agents.mock_model import say, script, use
from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source, sources, type_in, until, valid
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.browser.saved_files import saved
from tests.browser.side_panel import SidePanel
from tests.browser.test_accessible import THEMES
from tests.real.conftest import COMMAND_LIMIT_MS, claude_code
from tests.real.test_real_fan_out import agents, writes

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

CONNECT = """
import json, acp_notebook as acp
setup = json.load(open("NAME.json"))
s = acp.connect(setup["command"], env=setup["env"], inherit_env=False, permissions="allow")
"""
ASK = "for prompt in setup['prompts']:\n    s.prompt(prompt)"
BEGIN = "while [ -e claude-begin ]; do sleep 0.05; done"
WAIT = "while [ -e claude-wait ]; do sleep 0.05; done"

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with mock_model.serving() as url:
        yield url


def plain_cell(source: str, id: str | None = None) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    named = {} if id is None else {"id": id}
    return {**cell, **named, "source": source.splitlines(keepends=True)}


def written(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def run(command: str) -> dict[str, Any]:
    return use("Bash", {"command": command, "description": "Run it", "timeout": COMMAND_LIMIT_MS})


def note_of(notebook: NotebookPage) -> Path:
    """The file with the notebook's set-up. It is not in a cell, because the agent edits the cells."""
    return notebook.path.with_suffix(".json")


def set_up(notebook: NotebookPage, model: str, folder: Path, *prompts: str) -> None:
    command, env = claude_code(model, folder)
    note_of(notebook).write_text(json.dumps({"command": command, "env": env, "prompts": prompts}))


@each_host
def test_claude_code_edits_inserts_and_deletes_while_the_user_writes(
    open_notebook: Open, model: str, tmp_path: Path, host: str
) -> None:
    notebook = open_notebook(["connect", ASK, "print('kept')", "mine", "old = 1", "gone"], host=host)
    set_source(notebook, 0, CONNECT.replace("NAME.json", note_of(notebook).name))
    path = str(notebook.path)
    cells = [plain_cell(source, f"cell-{at}") for at, source in enumerate(sources(notebook))]
    whole = written(*cells[:4], plain_cell("new = 2", "cell-4"), plain_cell("inserted = 3"))
    write = script(
        use("Read", {"file_path": path}),
        run(WAIT),
        use("Write", {"file_path": path, "content": whole}),  # from what it read: the user has written on
        say("written"),
    )
    edit = script(
        use("Edit", {"file_path": path, "old_string": '"new = 2"', "new_string": '"new = 22"'}),
        say("edited"),
    )
    set_up(notebook, model, tmp_path, write, edit)
    saved(notebook)
    wait = notebook.path.parent / "claude-wait"
    wait.touch()
    try:
        notebook.run(0, 2)
        notebook.says(2, "kept")
        notebook.run(1)
        notebook.has_status(1, "running")
        notebook.turn(1).locator("[data-acp-terminal]").first.wait_for()
        type_in(notebook, 3, " and not saved")
    finally:
        wait.unlink()
    kept = [*sources(notebook)[:3], "mine and not saved"]
    until(notebook, [*kept, "new = 22", "inserted = 3"])
    notebook.has_statuses(1, ["done", "done"])
    assert "not saved" not in notebook.path.read_text()
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"claude-{host}.png")
    saved(notebook)
    file = valid(notebook.path)
    assert [cell["source"] for cell in file.cells] == [*kept, "new = 22", "inserted = 3"]
    assert file.cells[2]["outputs"][0]["text"] == "kept\n"
    assert len({cell["id"] for cell in file.cells}) == 6
    # Ctrl-Z in the cell undoes the edit, and in the notebook the insertion and the deletion.
    notebook.select(4)
    notebook.page.keyboard.press("Control+z")
    until(notebook, [*kept, "new = 2", "inserted = 3"])
    notebook.page.keyboard.press("Escape")
    notebook.command("notebook:undo-cell-action")
    until(notebook, [*kept, "old = 1", "gone"])


@each_host
@pytest.mark.parametrize("by", ["command", "tool"])
def test_claude_codes_own_file_edits_appear_in_the_tab(
    open_notebook: Open, model: str, tmp_path: Path, host: str, by: str
) -> None:
    """By a command, or by a tool of its own that does not go through us."""
    notebook = open_notebook(["connect", ASK, "theirs", "mine"], host=host)
    set_source(notebook, 0, CONNECT.replace("NAME.json", note_of(notebook).name))
    path = str(notebook.path)
    edits = {
        "command": run(f"sed -i 's/theirs/from disk/' {path}"),
        "tool": use("NotebookEdit", {"notebook_path": path, "cell_id": "cell-2", "new_source": "from disk"}),
    }
    steps = run(BEGIN), edits[by], run(WAIT), say("done")
    set_up(notebook, model, tmp_path, script(say("hello")), script(*steps))
    saved(notebook)
    begin, wait = (notebook.path.parent / name for name in ("claude-begin", "claude-wait"))
    begin.touch()
    wait.touch()
    try:
        notebook.run(0, 1)
        type_in(notebook, 3, " and not saved")
        # The page is there: an edit before that is a change of a file that the tab has never compared.
        notebook.turn(1).nth(1).locator("[data-acp-terminal]").first.wait_for()
        begin.unlink()
        # While the turn is still on: it is noticed when the call ends.
        until(notebook, [*sources(notebook)[:2], "from disk", "mine and not saved"])
    finally:
        begin.unlink(missing_ok=True)
        wait.unlink()
    notebook.has_statuses(1, ["done", "done"])
    saved(notebook)
    assert [cell["source"] for cell in valid(notebook.path).cells][2:] == ["from disk", "mine and not saved"]


ASKING = """
import json, acp_notebook as acp
setup = json.load(open("NAME.json"))
session = acp.connect(setup["command"], env=setup["env"], inherit_env=False)
plan, total = setup["prompts"][0], 42
session
"""


MISSPELT = ["connect", "print(totl, plan)"]


def test_claude_code_mends_a_failed_cell_that_its_button_has_sent(
    open_notebook: Open, model: str, tmp_path: Path
) -> None:
    mend_with_claude_code(open_notebook(MISSPELT), model, tmp_path)


def mend_with_claude_code(notebook: NotebookPage, model: str, tmp_path: Path) -> None:
    """From the error in a notebook with the cells of MISSPELT to the mended cell, and back."""
    set_source(notebook, 0, ASKING.replace("NAME.json", note_of(notebook).name))
    path = str(notebook.path)
    edit = {"file_path": path, "old_string": '"print(totl, plan)"', "new_string": '"print(total, plan)"'}
    plan = script(use("Read", {"file_path": path}), use("Edit", edit), say("It was misspelt."))
    set_up(notebook, model, tmp_path, plan)  # the model finds the plan in the variable that the cell uses
    saved(notebook)
    notebook.run(0, 1)
    notebook.says(1, "NameError")
    notebook.cell(1).locator("[data-acp-lab=ask-error]").click()
    panel = notebook.panel(0)
    expect(panel).to_contain_text("Variables in it: @plan")
    question = panel.locator("[data-acp-question][data-status=open]")
    expect(question).to_be_visible()
    notebook.select(1)
    side = SidePanel(notebook)
    side.keys("a", until=lambda: expect(question).to_have_count(0, timeout=1000))
    source = notebook.cell(1).locator(".cm-content")  # not all of the cell: the traceback has it, too
    expect(source).to_have_text("print(total, plan)")
    expect(panel.locator(".acp-card-change")).to_contain_text("print(total, plan)")
    expect(panel).to_contain_text("It was misspelt.")
    notebook.select(1)
    side.keys("u", until=lambda: expect(source).to_have_text("print(totl, plan)", timeout=3000))


FAN_OUT = """
import json, acp_notebook as acp
setup = json.load(open("NAME.json"))
score = lambda run: (run.folder / "vat.py").read_text() == "rate = 0.25\\n"
runs = acp.fan_out(**setup, score=score, permissions="allow")
runs.wait();
"""


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_two_agents_in_one_table_are_compared_and_the_best_is_applied_and_undone(
    open_notebook: Open, model: str, tmp_path: Path, theme: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = project / "vat.py"
    file.write_text("rate = 0.19\n")
    prompts = {"right": writes("rate = 0.25", "It is **25 %** now."), "wrong": writes("rate = 25", "Done.")}
    setup = {"agents": agents(model, tmp_path, "claude", "kimi"), "prompts": prompts, "cwd": str(project)}
    notebook = open_notebook(["fan out", "runs.compare(0, 3)"], theme=THEMES[theme])
    set_source(notebook, 0, FAN_OUT.replace("NAME.json", note_of(notebook).name))
    note_of(notebook).write_text(json.dumps(setup))
    notebook.run(0)
    table = notebook.output(0).locator("[data-acp-root=runs]")
    expect(table).to_contain_text("4 runs: 4 done", timeout=LIMIT_S * 1000)
    table.locator("th[data-column=score] button").click()
    best = table.locator("[data-acp-run]").first
    expect(best.locator("[data-column=score]")).to_have_text("1")
    best.get_by_role("button").click()
    table.locator("[data-acp-apply]").click()
    undo = table.locator("[data-acp-operation=undo]").first
    expect(undo).to_be_enabled()
    assert file.read_text() == "rate = 0.25\n"
    notebook.run(1)
    notebook.says(1, "3 · kimi")
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"real-fan-out-{theme}.png")
    undo.click()
    expect(table.locator("[data-acp-file]")).to_have_attribute("data-state", "undone")
    assert file.read_text() == "rate = 0.19\n"
