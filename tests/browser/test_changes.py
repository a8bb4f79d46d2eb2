"""The changes of a turn are shown, undone in part or whole, and redone; the files on disk agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.browser.test_accessible import AXE, faults
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
LISTED = ".acp-changes [data-acp-file]"
LINES = [f"line {number}" for number in range(1, 21)]

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def text(*reworked: int) -> str:
    """The file, with these lines reworked."""
    return "".join(f"{'reworked ' if at in reworked else ''}{it}\n" for at, it in enumerate(LINES))


def holds(file: Path, expected: str | None) -> None:
    """On disk, soon; None: it is not there."""
    wait_until(
        lambda: (file.read_text() if file.exists() else None) == expected, f"{file.name} is right", LIMIT_S
    )


def reworking(open_notebook: Open, **where: Any) -> tuple[NotebookPage, Path]:
    """A turn that changed two files, and made a third; below it the panel."""
    cells = [CONNECT, "s.prompt('/rework a.txt b.txt');", "s.prompt('/edit sub/new.txt fresh');", "s"]
    notebook = open_notebook(cells, **where)
    folder = notebook.path.parent
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(text())
    (folder / "sub" / "new.txt").unlink(missing_ok=True)
    notebook.run(0, 1, 2, 3)
    notebook.has_status(2, "done")
    expect(notebook.panel(3).locator(".acp-turnline-files")).to_have_text(
        ["2 files changed", "1 file changed"]
    )
    notebook.unfold(3)
    expect(notebook.panel(3).locator("[data-acp-changes]")).to_have_count(1)  # the other one is a card
    expect(notebook.panel(3).locator(".acp-tool [data-acp-file]")).to_have_count(3)
    return notebook, folder


def press(within: Locator, operation: str) -> None:
    """Click the button once the operation before it is over: until then it only says why it waits."""
    button = within.locator(f"[data-acp-operation={operation}]").last
    expect(button).to_have_attribute("aria-disabled", "false")
    button.click()


@each_host
def test_undo_a_hunk_a_file_a_turn_and_redo(open_notebook: Open, host: str) -> None:
    notebook, folder = reworking(open_notebook, host=host)
    a, b, new = folder / "a.txt", folder / "b.txt", folder / "sub" / "new.txt"
    turn = notebook.turn(1)
    head, first = turn.locator(".acp-changes-head"), turn.locator(LISTED).first
    expect(head).to_contain_text("2 files changed")
    expect(first).to_contain_text("allowed by your rules")
    first.locator(".acp-expand").click()
    hunks = first.locator("[data-acp-hunk]")
    expect(hunks).to_have_count(2)
    press(hunks.nth(0), "undo")
    expect(first).to_have_attribute("data-state", "partly")
    expect(hunks.nth(0)).to_have_attribute("data-undone", "true")
    holds(a, text(19))
    press(first.locator(".acp-changed-head"), "undo")
    expect(first).to_have_attribute("data-state", "undone")
    holds(a, text())
    press(first.locator(".acp-changed-head"), "redo")
    expect(first).to_have_attribute("data-state", "applied")
    holds(a, text(0, 19))
    # By keyboard: the button keeps the focus, and becomes the other one.
    undo = head.locator("[data-acp-operation=undo]")
    undo.focus()
    notebook.page.keyboard.press("Enter")
    expect(head.locator("[data-acp-operation=redo]")).to_be_focused()
    holds(a, text())
    holds(b, text())
    # Both views are in step, and the whole session goes at once.
    panel = notebook.panel(3)
    expect(panel.locator(LISTED).first).to_have_attribute("data-state", "undone")
    bar = panel.locator("[data-acp-session-changes]")
    expect(bar).to_contain_text("3 files changed in 2 turns")
    press(bar, "undo")
    expect(bar).to_contain_text("Undo everything in 1 file?")
    assert new.exists()
    press(bar, "undo")
    holds(new, None)
    press(bar, "redo")
    holds(new, "fresh\n")
    holds(b, text(0, 19))
    press(bar, "keep")
    expect(bar).to_have_count(0)


@each_host
def test_later_changes_by_the_user_are_not_overwritten(open_notebook: Open, host: str) -> None:
    notebook, folder = reworking(open_notebook, host=host)
    a = folder / "a.txt"
    mine = text(0, 19).replace("reworked line 1\n", "mine\n")
    a.write_text(mine)
    first = notebook.turn(1).locator(LISTED).first
    press(first, "undo")
    expect(first).to_have_attribute("data-state", "conflict")
    expect(first.locator(".acp-changed-why")).to_contain_text("nothing was overwritten")
    assert a.read_text() == mine
    a.write_text(text(0, 19))
    press(first, "undo")
    expect(first).to_have_attribute("data-state", "undone")
    holds(a, text())


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("size", [(1200, 1500), (520, 1700)], ids=["wide", "narrow"])
@each_host
def test_it_looks_right(open_notebook: Open, host: str, theme: str, size: tuple[int, int]) -> None:
    notebook, folder = reworking(open_notebook, host=host, theme=theme, size=size)
    (folder / "b.txt").write_text(text(0, 19).replace("reworked line 1\n", "mine\n"))
    turn = notebook.turn(1)
    first, second = turn.locator(LISTED).nth(0), turn.locator(LISTED).nth(1)
    first.locator(".acp-expand").click()
    press(first.locator("[data-acp-hunk]").nth(0), "undo")
    press(second, "undo")
    expect(second).to_have_attribute("data-state", "conflict")
    SHOTS.mkdir(parents=True, exist_ok=True)
    name = f"changes-{host}-{theme.split()[-1].lower()}-{size[0]}"
    turn.locator("[data-acp-changes]").scroll_into_view_if_needed()
    notebook.page.screenshot(path=SHOTS / f"{name}.png")
    notebook.panel(3).scroll_into_view_if_needed()
    notebook.panel(3).locator("[data-acp-session-changes] [data-acp-operation=undo]").click()
    notebook.page.screenshot(path=SHOTS / f"{name}-panel.png")
    if AXE.exists():
        assert faults(notebook) == []
    assert notebook.page.evaluate(
        "() => [...document.querySelectorAll('.acp')].every((it) => it.scrollWidth <= it.clientWidth + 1)"
    )
