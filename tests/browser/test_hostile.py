"""Hostile texts wherever the panel shows text: none executes, none breaks out, none reaches the page."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import Any

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Dialog, Locator, Request, expect

from tests.agents import painting
from tests.browser.conftest import Open
from tests.browser.pages import QUESTION, NotebookPage, choose
from tests.notebook.kernels import ROOT

TEXTS = ROOT / "tests" / "data" / "hostile.json"
AGENT = ROOT / "tests" / "agents" / "hostile.py"
COUNT = len(json.loads(TEXTS.read_text()))

SLOW_S = 400.0
"""The timeout for all texts at once, on a busy machine."""

CONNECT = f"import acp_notebook as acp\ns = acp.connect([{sys.executable!r}, {str(AGENT)!r}, {str(TEXTS)!r}])"

DRESSED = """() => document.body.dataset.jpThemeName && !document.getElementById("jupyterlab-splash")"""
"""Wait until the host has applied its theme and removed its splash screen."""

WATCH = """() => {
    for (const name of ["alert", "confirm", "prompt", "open"])
        window[name] = () => { window.__hit = name; };
    window.__style = () => JSON.stringify([document.documentElement, document.body].map((it) => {
        const style = getComputedStyle(it);
        return [...style].map((name) => style.getPropertyValue(name));
    }));
    window.__before = window.__style();
    window.__heads = document.head.childElementCount;
    window.__bodies = document.body.childElementCount;
}"""

FOUND = """() => {
    const inside = [...document.querySelectorAll(".acp *")];
    const tags = "script style link meta base iframe frame object embed applet form[action] portal template "
        + "math foreignObject animate set noscript title video source svg:not(.acp-icon)";
    const own = (id) => /^acp-[0-9a-z]{8,}(-\\d+)?$/.test(id);
    const bad = (it) => [...it.attributes].filter(({ name, value }) =>
        name.startsWith("on") || name.startsWith("data-commandlinker") || name.startsWith("data-trust")
        || name === "srcdoc" || name === "formaction" || name === "ping"
        || (name === "href" && !/^(https?:|mailto:)/i.test(value) )
        || (name === "src" && !/^(data:(image|audio)|blob:)/.test(value))
        || (name === "style" && (it.closest("mjx-container")
            ? /url\\(|expression|position:\\s*(fixed|sticky|absolute)/
            : /url|expression|position/).test(value))
        || (name === "target" && value !== "_blank"));
    return {
        count: inside.length,
        tags: tags.split(" ").flatMap((tag) => [...document.querySelectorAll(`.acp ${tag}`)])
            .filter((it) => it.localName !== "math" || !it.closest("mjx-container"))
            .map((it) => it.outerHTML.slice(0, 200)),
        attributes: inside.filter((it) => bad(it).length > 0).map((it) => it.outerHTML.slice(0, 200)),
        ours: [...document.querySelectorAll("[class*=acp-]:not([class*=acp-lab-])")] // not the extension
            .filter((it) => !it.closest(".acp")).length,
        named: inside.filter((it) => it.id && it.id in window && window[it.id] === it && !own(it.id))
            .map((it) => it.id),
        hit: window.__hit ?? null,
        style: window.__style() === window.__before,
        head: document.head.childElementCount - window.__heads,
        body: document.body.childElementCount - window.__bodies,
    };
}"""
"""Everything that no text may bring into our part of the page, or change outside of it; what the host's
typesetter makes of formulas is looked at, too."""


def assert_harmless(notebook: NotebookPage, least: int) -> None:
    found: dict[str, Any] = notebook.page.evaluate(FOUND)
    assert found.pop("count") > least
    assert found.pop("head") <= 2, "styles of the widget's own"  # anywidget puts our CSS there
    assert found == {
        "tags": [],
        "attributes": [],
        "ours": 0,
        "named": [],
        "hit": None,
        "style": True,
        "body": 0,
    }


@pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
def test_hostile_text_stays_text(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "turn = s.prompt('go');"], host=host)
    page, errors, foreign = notebook.page, list[str](), list[str]()

    def requested(request: Request) -> None:
        if not request.url.startswith((notebook.server.url, "data:", "blob:")):
            foreign.append(request.url)

    def dismissed(dialog: Dialog) -> None:
        errors.append(dialog.message)
        dialog.dismiss()

    page.on("request", requested)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", dismissed)
    page.on("popup", lambda popup: errors.append(f"popup {popup.url}"))
    page.wait_for_function(DRESSED)
    page.evaluate(WATCH)
    notebook.run(0, 1, 2)
    turn = notebook.turn(2)
    question = turn.locator(QUESTION)
    expect(question).to_have_count(1, timeout=SLOW_S * 1000)
    question.scroll_into_view_if_needed()  # out of view, the panel would have it
    # The texts, "Go on", and the "Reject" that every question has.
    expect(turn.locator("[data-acp-option]")).to_have_count(COUNT + 2)
    notebook.unfold(1)  # in both places
    for view in (turn, notebook.panel(1)):
        while (more := view.locator("[data-acp-earlier]")).count():
            more.first.click()
    expect(turn.locator("[data-acp-tool]")).to_have_count(COUNT + 1)
    for menu in turn.locator(".acp-menu-button").all()[:20]:
        menu.dispatch_event("click")  # a real click would scroll to each of them first
        turn.get_by_role("button", name="Raw input and output").dispatch_event("click")
    assert_harmless(notebook, COUNT * 40)

    notebook.panel(1).get_by_role("textbox").fill("/")
    expect(notebook.panel(1).get_by_role("listbox")).to_be_visible()
    assert_harmless(notebook, COUNT * 40)

    question.scroll_into_view_if_needed()
    choose(notebook.option(2, "allow_once"))
    notebook.says(2, "after")
    assert_harmless(notebook, COUNT * 40)
    assert errors == []
    assert foreign == []


PAINTING = ROOT / "tests" / "agents" / "painting.py"

COVERED = """selector => {
    let covered = 0, points = 0;
    for (const it of document.querySelectorAll(selector)) {
        if (!it.checkVisibility({ visibilityProperty: true })) continue; // the room of a question elsewhere
        it.scrollIntoView({ block: "center" });
        const { left, top, right, bottom } = it.getBoundingClientRect();
        for (let x = left + 2; x < right - 1; x += 6)
            for (let y = Math.max(top + 2, 0); y < Math.min(bottom - 1, innerHeight); y += 4) {
                const hit = document.elementFromPoint(x, y);
                points++;
                const ours = hit?.closest(".acp-newest, .acp-status, .acp-menu"); // they are above others
                if (!ours && !it.contains(hit) && !hit?.contains(it)) covered++;
            }
    }
    return { covered, points };
}"""
"""How many points of these elements belong to something else."""

OTHERS_HIDDEN = """
    .acp-message:not([data-honest]), .acp-tool-body { visibility: hidden !important; }
"""

TYPESET = (
    """() => [...document.querySelectorAll(".acp-math")].every((it) => it.querySelector("mjx-container"))"""
)

HONEST = """() => {
    for (const it of document.querySelectorAll(".acp-message"))
        if (it.textContent.startsWith("An honest message")) it.dataset.honest = "";
}"""

WHOLE = (
    ".acp-question",
    ".acp-question button",
    "[data-honest]",
    ".acp-tool > .acp-fold > summary",
    ".acp-status",
    ".acp-composer",
    ".acp-header",
)
"""The elements that must not be covered."""


STEADY_S = 30.0
"""How long the layout may take to settle, on a busy machine."""

EDGE, SHADE = 3, 48
"""Corners and letters are smoothed, and not always in the same way: so much may differ."""


def differs(one: bytes, other: bytes) -> tuple[int, int, int, int] | None:
    """The area in which two screenshots differ, or None."""
    first, second = (Image.open(io.BytesIO(it)).convert("L") for it in (one, other))
    if first.size != second.size:
        return (0, 0, *first.size)
    inner = (EDGE, EDGE, first.width - EDGE, first.height - EDGE)
    difference = ImageChops.difference(first.crop(inner), second.crop(inner))
    return difference.point(lambda value: 255 if value > SHADE else 0).getbbox()


def assert_untouched(part: Locator, number: int) -> None:
    """Hiding everything else changes no pixel of this part.

    Nearby items may still be taking their height, which moves the part by a fraction of a pixel: the
    pictures are taken again until they agree. Paint that covers the part stays, and they never do.
    """
    limit = time.monotonic() + STEADY_S
    while True:
        part.scroll_into_view_if_needed()
        among_others = part.screenshot(animations="disabled")
        style = part.page.add_style_tag(content=OTHERS_HIDDEN)
        alone = part.screenshot(animations="disabled")
        style.evaluate("it => it.remove()")
        if (where := differs(among_others, alone)) is None:
            return
        assert time.monotonic() < limit, f"turn {number}: painted over at {where}"


def bring_question(view: Locator) -> Locator:
    """The open question, drawn in this view: it is in one place of the page at a time."""
    view.locator(QUESTION).scroll_into_view_if_needed()
    here, question = (
        view.locator("[data-acp-answer-here]"),
        view.locator("[data-acp-question][data-status=open]"),
    )
    expect(here.or_(question)).to_be_visible()
    if here.is_visible():
        here.click()
    expect(question).to_be_visible()
    return question


@pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
def test_nothing_is_painted_over_a_question(open_notebook: Open, host: str) -> None:
    connect = f"import acp_notebook as acp\ns = acp.connect([{sys.executable!r}, {str(PAINTING)!r}])"
    turns = -(-len(painting.TEXTS) // painting.EACH)
    notebook = open_notebook([connect, "s", f"for it in range({turns}): s.prompt(str(it))"], host=host)
    notebook.run(0, 1, 2)
    page = notebook.page
    page.add_style_tag(content=".acp-elapsed { visibility: hidden !important; }")  # its timer keeps counting
    for number in range(turns):
        turn = notebook.turn(2).nth(number)
        expect(turn).to_contain_text("All said.")
        expect(notebook.panel(1).locator("[data-acp-turn-line]")).to_have_count(number + 1)
        notebook.unfold(1)
        page.wait_for_function(TYPESET)
        page.evaluate(HONEST)
        for what in WHOLE:
            found = page.evaluate(COVERED, what)
            assert found["points"] > 0, what
            assert found["covered"] == 0, (number, what, found)
        # What is painted is not always what is hit: without the others, every pixel is the same.
        for view in (turn, notebook.panel(1)):
            question = bring_question(view)
            for part in (question, view.locator("[data-honest]").last):
                assert_untouched(part, number)
        choose(bring_question(notebook.panel(1)).locator("[data-meaning=allow_once]"))
        expect(turn).to_have_attribute("data-acp-status", "done")
