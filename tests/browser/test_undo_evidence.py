"""Undo leaves alone what the user saves and creates while a turn runs a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import type_in
from tests.browser.pages import LIMIT_S, NUMBERED, TRUE_WHEN_CLEAN, NotebookPage
from tests.browser.servers import Server
from tests.browser.test_accessible import AXE, faults
from tests.browser.test_changes import holds, press, text
from tests.browser.test_saving import AUTOSAVE
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
COMMAND = "touch begun; while [ ! -e go ]; do sleep 0.1; done; rm begun go; echo made > made.txt"
TURN = f"turn = s.prompt('/sh {COMMAND}');"
NAMES = "[it.path.rsplit('/')[-1] for it in turn.{}]"
LISTED = f"print({NAMES.format('changes')}, sorted({NAMES.format('also_changed')}))"


def opened(open_notebook: Open, theme: str) -> tuple[NotebookPage, NotebookPage, Path]:
    """The session's notebook, another one, and the folder of both, without what an earlier run left."""
    other = open_notebook(["print('an output')"], theme=theme)
    edits = "s.prompt('/rework a.txt');\ns.prompt('/rework b.txt');"
    cells = [CONNECT, edits, TURN, "by_hand = 1", LISTED, "s"]
    notebook = open_notebook(cells, theme=theme, size=(1200, 1700))
    folder = notebook.path.parent
    for name in ("begun", "go", "made.txt", "mine.txt"):
        (folder / name).unlink(missing_ok=True)
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(text())
    return notebook, other, folder


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


@pytest.fixture
def autosave(servers: Callable[[str], Server]) -> Iterator[None]:
    """Every second, so that a checkpoint often meets a save that is under way. The test does not save itself:
    JupyterLab takes two saves at once for a change on disk, and asks."""
    servers("lab").set(AUTOSAVE, autosaveInterval=1)
    yield
    servers("lab").set(AUTOSAVE)


@pytest.mark.usefixtures("autosave")
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_users_changes_during_a_turn_are_not_undone_with_it(open_notebook: Open, theme: str) -> None:
    notebook, other, folder = opened(open_notebook, theme)
    notebook.page.bring_to_front()
    notebook.run(0, 1)
    notebook.has_statuses(1, ["done", "done"])
    notebook.run(2)
    wait_until((folder / "begun").exists, "the command runs", LIMIT_S)
    # The user: a cell of this notebook, the output of another one, and a file.
    type_in(notebook, 3, "  # mine")
    wait_until(lambda: "by_hand = 1  # mine" in notebook.path.read_text(), "it is autosaved", LIMIT_S)
    other.page.bring_to_front()
    other.run(0)
    expect(other.prompt_of(0)).to_have_text(NUMBERED)
    other.wait_idle()
    other.page.wait_for_function(TRUE_WHEN_CLEAN)  # it was autosaved, with all that ran
    saved = other.path.read_bytes()
    assert b"an output" in saved
    (folder / "mine.txt").write_text("mine\n")
    (folder / "go").touch()
    notebook.page.bring_to_front()
    notebook.has_status(2, "done")
    notebook.run(4, 5)
    notebook.says(4, "[] ['made.txt', 'mine.txt']")
    group = notebook.turn(2).locator("[data-acp-also]")
    expect(group).to_have_count(1)
    expect(group).to_contain_text("2 files changed while touch begun;")
    expect(notebook.turn(2).locator(".acp-changes")).not_to_contain_text("allowed")
    shot(notebook, theme, "folded")
    # "Undo all" of the session is about the agent's own changes.
    bar = notebook.panel(5).locator("[data-acp-session-changes]")
    expect(bar).to_contain_text("2 files changed")
    for _ in range(2):
        press(bar, "undo")
    holds(folder / "a.txt", text())
    assert other.path.read_bytes() == saved
    assert (folder / "mine.txt").exists() and (folder / "made.txt").exists()
    assert "by_hand = 1  # mine" in sources(notebook.path)
    # One more click lists what changed while the command ran; the user takes their own file out.
    group.scroll_into_view_if_needed()
    press(group.locator(".acp-also-head > .acp-operations"), "undo")
    choice = group.locator(".acp-also-choice")
    expect(choice.locator("li")).to_have_text(["made.txt created", "mine.txt created"])
    assert (folder / "made.txt").exists()
    shot(notebook, theme, "choice")
    if AXE.exists():
        assert faults(notebook) == []
    choice.locator("li", has_text="mine.txt").locator("input").uncheck()
    choice.get_by_role("button", name="Undo 1 file").click()
    holds(folder / "made.txt", None)
    assert (folder / "mine.txt").read_text() == "mine\n"
    assert other.path.read_bytes() == saved and "by_hand = 1  # mine" in sources(notebook.path)
    group.locator("summary").first.click()
    expect(group.locator("[data-acp-file]").first).to_have_attribute("data-state", "undone")
    # Nobody but the pages themselves wrote their notebooks.
    expect(notebook.panel(5).get_by_text("was changed on disk")).to_have_count(0)
    shot(notebook, theme, "undone")


def shot(notebook: NotebookPage, theme: str, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"undo-evidence-{theme.split()[-1].lower()}-{name}.png")
