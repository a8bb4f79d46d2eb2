"""A card shows an edit, a command, an image and an output once, with all that can be done with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import NotebookPage
from tests.browser.test_accessible import AXE, faults
from tests.browser.test_changes import holds, press

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
OLD, NEW = "def mean(v):\n    return sum(v)\n", "def mean(v): return sum(v) / len(v)\n"
EDIT = f"s.prompt('/edit lib/stats.py {NEW.strip()}');"
RUN = 's.prompt("/run printf \'it is \\\\033[32m%s\\\\033[0m\\\\n\' \\"$TERM\\"");'

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def edited(open_notebook: Open, **where: Any) -> tuple[NotebookPage, Path, Locator]:
    """A turn with one edit, which the user allowed; below it the panel."""
    notebook = open_notebook([CONNECT, EDIT, "s"], **where)
    file = notebook.path.parent / "lib" / "stats.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(OLD)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.answer(1)
    notebook.has_status(1, "done")
    notebook.run(2)
    expect(notebook.panel(2).locator("[data-acp-turn-line]")).to_contain_text("1 file changed")
    return notebook, file, notebook.turn(1).locator("[data-acp-tool]")


@each_host
def test_an_edit_is_one_card_with_its_own_keep_and_undo(open_notebook: Open, host: str) -> None:
    notebook, file, card = edited(open_notebook, host=host)
    expect(card.locator("summary .acp-title").first).to_have_text("Edit lib/stats.py")
    text = card.inner_text()
    assert text.count("stats.py") == 1 and text.lower().count("allowed") == 1
    expect(card.locator(".acp-hl-keyword").first).to_be_visible()
    expect(notebook.turn(1).locator("[data-acp-changes]")).to_have_count(0)
    panel = notebook.panel(2)
    notebook.unfold(2)
    expect(panel.locator("[data-acp-file]")).to_have_count(1)
    expect(panel.locator("[data-acp-changes], [data-acp-session-changes]")).to_have_count(0)
    change = card.locator("[data-acp-file]")
    press(change, "undo")
    holds(file, OLD)
    expect(panel.locator("[data-acp-file]")).to_have_attribute("data-state", "undone")
    # By keyboard: the button keeps the focus, and becomes the other one.
    redo = change.locator("[data-acp-operation=redo]")
    expect(redo).to_be_focused()
    notebook.page.keyboard.press("Enter")
    holds(file, NEW)
    expect(change.locator("[data-acp-operation=undo]")).to_be_focused()
    press(change, "keep")
    expect(change).to_have_attribute("data-state", "kept")


def test_the_menu_of_a_card_works_by_keyboard(open_notebook: Open) -> None:
    notebook, _, card = edited(open_notebook)
    expect(card.locator(".acp-raw")).to_have_count(0)
    menu = card.get_by_role("button", name="More about Edit lib/stats.py")
    menu.focus()
    notebook.page.keyboard.press("Enter")
    expect(card.locator(".acp-menu-entries")).to_be_visible()
    notebook.page.keyboard.press("Escape")
    expect(card.locator(".acp-menu-entries")).to_have_count(0)
    expect(menu).to_be_focused()
    notebook.page.keyboard.press("Enter")
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("Enter")
    expect(card.locator(".acp-raw")).to_contain_text('"path": "lib/stats.py"')
    if AXE.exists():
        assert faults(notebook) == []


@each_host
def test_a_command_appears_once_and_may_use_colours(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, RUN], host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    card = notebook.turn(1).locator("[data-acp-tool]")
    expect(card.locator(".acp-title").first).to_have_text("Run a command")
    assert card.inner_text().count("printf") == 1
    notebook.answer(1)
    notebook.has_status(1, "done")
    expect(card.locator(".acp-output pre")).to_have_text("it is xterm-256color")
    assert card.locator("> .acp-fold").inner_text().count("printf") == 1
    assert "/bin/sh" not in card.inner_text()
    card.locator(".acp-menu-button").click()
    card.get_by_role("button", name="Raw input and output").click()
    expect(card.locator(".acp-raw")).to_contain_text("/bin/sh -c 'printf")


def test_an_image_is_small_until_it_is_enlarged(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/image');"])
    notebook.run(0, 1)
    notebook.has_status(1, "done")
    button = notebook.turn(1).locator(".acp-thumbnail")
    image = button.locator("img")
    expect(image).to_be_visible()
    image.evaluate("it => it.decode()")
    small = image.bounding_box()
    button.focus()
    notebook.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    large = image.bounding_box()
    assert small is not None and large is not None
    assert small["height"] <= 240 and large["height"] >= small["height"]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("size", [(1200, 1200), (500, 1200)], ids=["wide", "narrow"])
def test_a_card_looks_right(open_notebook: Open, theme: str, size: tuple[int, int]) -> None:
    notebook, _, card = edited(open_notebook, theme=theme, size=size)
    card.locator(".acp-menu-button").click()
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"card-{theme.split()[-1].lower()}-{size[0]}.png")
    if AXE.exists():
        assert faults(notebook) == []
    assert notebook.page.evaluate(
        "() => [...document.querySelectorAll('.acp')].every((it) => it.scrollWidth <= it.clientWidth + 1)"
    )
