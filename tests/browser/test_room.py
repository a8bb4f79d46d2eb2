"""The panel fits the place it is in: header, question and composer are in sight, whatever its size."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import NotebookPage

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"
DARK = "JupyterLab Dark"
FIT_S = 30.0

ZOOMED = (600, 475)
"""What a window of 1200 by 950 has at 200 %: zoom makes the page's pixels larger, and so fewer."""

PLACES: list[Any] = [
    ("lab", "cell", (1200, 950)),
    ("lab", "cell", (1200, 600)),
    ("lab", "cell", (500, 950)),
    ("lab", "cell", (500, 600)),
    ("lab", "cell", ZOOMED),
    ("lab", "view", (1200, 950)),
    ("lab", "view", (1200, 700)),
    ("lab", "right", (1600, 1200)),
    ("lab", "right", (1200, 600)),
    ("notebook", "cell", (1200, 950)),
    ("notebook", "cell", (500, 600)),
    ("notebook", "cell", ZOOMED),
]
"""Host, place, and size of the window."""

PARTS = {
    "header": ".acp-header",
    "question": "[data-acp-question][data-status=open] .acp-asks",
    "allow": "[data-acp-question][data-status=open] [data-kind=allow_once]",
    "reject": "[data-acp-question][data-status=open] [data-kind=reject_once]",
    "field": ".acp-field",
    "stop": ".acp-field [data-acp-stop]",
}

OUTSIDE = """(root, parts) => Object.entries(parts).flatMap(([name, query]) => {
    const el = root.querySelector(query);
    if (!el) return [`${name} is missing`];
    const rect = el.getBoundingClientRect();
    const box = { top: 0, bottom: innerHeight, left: 0, right: innerWidth };
    for (let at = el.parentElement; at !== document.body; at = at.parentElement) {
        if (getComputedStyle(at).overflowY === "visible") continue;
        const around = at.getBoundingClientRect();
        box.top = Math.max(box.top, around.top);
        box.bottom = Math.min(box.bottom, around.bottom);
        box.left = Math.max(box.left, around.left);
        box.right = Math.min(box.right, around.right);
    }
    const inside = rect.height > 0 && rect.top >= box.top - 1 && rect.bottom <= box.bottom + 1
        && rect.left >= box.left - 1 && rect.right <= box.right + 1;
    const [x, y] = [(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2];
    const covered = !el.contains(document.elementFromPoint(x, y));
    return inside && !covered ? [] : [`${name}: ${JSON.stringify([rect, box, covered])}`];
})"""
"""The parts that are cut off or covered."""

SPLIT_RIGHT = """() => {
    const shell = window.jupyterapp.shell;
    const widgets = [...shell.widgets("main")];
    const view = widgets.find((it) => it.node.querySelector(".jp-LinkedOutputView"));
    const notebook = widgets.find((it) => it !== view);
    shell.add(view, "main", { mode: "split-right", ref: notebook.id });
}"""
SEVERAL = "() => { window.jupyterapp.shell.mode = 'multiple-document'; }"


def asked(notebook: NotebookPage, place: str) -> str:
    """Ask in the panel in that place; returns where it is."""
    notebook.run(0, 1)
    expect(notebook.panel(1).get_by_role("textbox")).to_be_enabled()
    if place == "cell":
        where = ".jp-Notebook [data-acp-root=session]"
    else:
        notebook.page.evaluate(SEVERAL)
        notebook.command("notebook:create-output-view")
        where = ".jp-LinkedOutputView [data-acp-root=session]"
        expect(notebook.page.locator(where)).to_be_visible()
        if place == "right":
            notebook.page.evaluate(SPLIT_RIGHT)
    field = notebook.page.locator(where).get_by_role("textbox")
    field.fill("/tour")
    field.press("Escape")
    field.press("Enter")
    expect(notebook.page.locator(where).locator("[data-kind=allow_once]")).to_be_visible()
    return where


def fits(notebook: NotebookPage, where: str) -> None:
    """Soon: hosts arrange their own parts after ours."""
    inside = f"([where, parts]) => ({OUTSIDE})(document.querySelector(where), parts).length === 0"
    with suppress(TimeoutError):
        notebook.page.wait_for_function(inside, arg=[where, PARTS], timeout=FIT_S * 1000)
    assert notebook.page.locator(where).evaluate(OUTSIDE, PARTS) == []


def sized(place: Any, at: int) -> Any:
    host, where, size = place
    name = f"{host}-{where}-{size[0]}x{size[1]}"
    return pytest.param(place, id=name, marks=() if at in (3, 6) else pytest.mark.slow)


@pytest.mark.parametrize("place", [sized(it, at) for at, it in enumerate(PLACES)])
def test_question_and_composer_are_in_sight(open_notebook: Open, place: Any) -> None:
    host, where, size = place
    theme = DARK if PLACES.index(place) % 3 == 0 else "JupyterLab Light"
    notebook = open_notebook([CONNECT, "s", "1 + 1"], host=host, size=size, theme=theme)
    root = asked(notebook, where)
    fits(notebook, root)
    notebook.page.screenshot(path=SHOTS / f"room-{host}-{where}-{size[0]}x{size[1]}.png")


# ---- calm

WATCH_SHIFTS = """(within) => {
    window.shifts = [];
    const isWithin = ({ node }) => (node?.closest ? node : node?.parentElement)?.closest(within);
    new PerformanceObserver((list) => {
        const own = list.getEntries().filter((it) => !it.hadRecentInput && it.sources.some(isWithin));
        window.shifts.push(...own.map((it) => [it.startTime, it.value]));
    }).observe({ type: "layout-shift", buffered: false });
}"""

LARGEST_SHIFT = """() => {
    let [largest, sum, from, last] = [0, 0, 0, -Infinity];
    for (const [time, value] of window.shifts) {
        if (time - last > 1000 || time - from > 5000) [sum, from] = [0, time];
        [sum, last] = [sum + value, time];
        largest = Math.max(largest, sum);
    }
    return largest;
}"""
"""The score that browsers report (CLS): the largest sum of shifts within 5 s."""

MOST_SHIFT = 0.1


@pytest.mark.parametrize("where", ["cell", "panel"])
def test_a_streamed_tour_moves_hardly_anything(open_notebook: Open, where: str) -> None:
    """Below a cell, the next cells make room, as for any output: only what moves in our views counts."""
    cells = [f"{CONNECT[:-1]}, permissions='allow')", "s", "s.prompt('/tour');", *["1 + 1"] * 8]
    notebook = open_notebook(cells, size=(1200, 950))
    notebook.run(0, 1)
    panel = notebook.panel(1)
    expect(panel.get_by_role("textbox")).to_be_enabled()
    notebook.page.evaluate(WATCH_SHIFTS, ".acp" if where == "cell" else "body")
    if where == "panel":
        notebook.prompt(1, "/tour")
        expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    else:
        notebook.run(2)
        notebook.has_status(2, "done")
    assert notebook.page.evaluate(LARGEST_SHIFT) < MOST_SHIFT


def test_nothing_is_animated_for_those_who_do_not_want_it(open_notebook: Open) -> None:
    notebook = open_notebook([CONNECT, "s"], size=(1200, 800))
    notebook.page.emulate_media(reduced_motion="reduce")
    notebook.run(0, 1)
    expect(notebook.panel(1).get_by_role("textbox")).to_be_enabled()
    notebook.prompt(1, "/slow 600")
    expect(notebook.panel(1)).to_contain_text("tick9 ")
    assert notebook.page.evaluate(ANIMATED) == []
    notebook.panel(1).get_by_role("textbox").press("Escape")
    expect(notebook.panel(1)).to_contain_text("Stopped")


ANIMATED = """() => document.getAnimations()
    .filter((it) => it.effect?.target?.closest?.(".acp"))
    .map((it) => it.effect.target.className)"""
