"""claude-code-acp with a mock model edits the open notebook in a real page, end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import mock_model
from tests.agents.mock_model import say, script, use
from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source, sources, type_in, until, valid
from tests.browser.pages import NotebookPage
from tests.browser.saved_files import saved
from tests.real.conftest import COMMAND_LIMIT_MS, claude_code

pytestmark = pytest.mark.real_agent

CONNECT = """
import json, acp_notebook as acp
setup = json.load(open("NAME.json"))
s = acp.connect(setup["command"], env=setup["env"], inherit_env=False, permissions="allow")
"""
ASK = "for prompt in setup['prompts']:\n    s.prompt(prompt)"
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
    set_up(notebook, model, tmp_path, script(say("hello")), script(edits[by], run(WAIT), say("done")))
    saved(notebook)
    wait = notebook.path.parent / "claude-wait"
    wait.touch()
    try:
        notebook.run(0, 1)
        type_in(notebook, 3, " and not saved")
        # While the turn is still on: it is noticed when the call ends.
        until(notebook, [*sources(notebook)[:2], "from disk", "mine and not saved"])
    finally:
        wait.unlink()
    notebook.has_statuses(1, ["done", "done"])
    saved(notebook)
    assert [cell["source"] for cell in valid(notebook.path).cells][2:] == ["from disk", "mine and not saved"]
