"""axe-core finds no fault in our views, in both hosts and themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage, choose
from tests.browser.saved_files import saved_when_it_says
from tests.notebook.kernels import ROOT
from tests.waiting import wait_until

States = Iterator[tuple[NotebookPage, str]]
OpenCells = Callable[[list[str]], NotebookPage]
Walk = Callable[[OpenCells, Path], States]

AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
CHECK = """async () => {
    const { violations } = await axe.run(
        { include: [".acp"] },
        { resultTypes: ["violations"], rules: { region: { enabled: false } } },
    );
    return violations.map(({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, any }) =>
            `${html} ${any.map((check) => check.message).join("; ")}`).join(" | ")}`);
}"""
"""Landmarks are the host's: an output is not the place for one."""

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
LOOKS = [
    pytest.param(host, theme, marks=() if (host, theme) == ("lab", "dark") else pytest.mark.slow)
    for host, theme in product(("lab", "notebook"), THEMES)
]

SETTLE_S = 20.0
"""What is fading in or out has colours of its own for a moment; a fault stays."""

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo'{})"
SERVERS = [{"name": "files", "url": "https://example.com/files"}]


def faults(notebook: NotebookPage) -> list[str]:
    """Those that stay."""
    assert notebook.page.locator(".acp").count() > 0, "nothing to look at"
    if not notebook.page.evaluate("() => 'axe' in window"):
        notebook.page.evaluate(AXE.read_text() + ";void 0")
    found: list[Any] = []

    def none() -> bool:
        found[:] = notebook.page.evaluate(CHECK)
        return not found

    with suppress(AssertionError):
        wait_until(none, "there is no fault", SETTLE_S)
    return found


# ---- what is looked at: each yields the name of a state while the page shows it


def composing(open_cells: OpenCells, _: Path) -> States:
    notebook = open_cells(["numbers = [41, 42]", CONNECT.format(""), "s"])
    notebook.run_all()
    panel = notebook.panel(2)
    expect(panel.locator("[data-acp-example]")).to_have_count(3)
    yield notebook, "empty panel"
    panel.locator("[data-acp-keys]").click()
    expect(panel.locator(".acp-keys-list")).to_be_visible()
    yield notebook, "keys"
    field = panel.get_by_role("textbox", name="Prompt for the agent")
    field.fill("/")
    expect(panel.get_by_role("listbox")).to_be_visible()
    yield notebook, "completion list"
    field.fill("see @numbers and @nothing")
    expect(panel.locator("[data-acp-chip]")).to_have_count(2)
    panel.get_by_role("button", name="Attach").click()
    expect(panel.get_by_role("group", name="Attach")).to_be_visible()
    yield notebook, "chips and attach menu"
    (notebook.path.parent / "notes.txt").unlink(missing_ok=True)  # of a test before, in the same folder
    notebook.prompt(2, "/edit notes.txt one")
    choose(panel.locator("[data-acp-option='acp:session']"))
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    panel.get_by_role("button", name="Edit the prompt of turn 1").click()
    expect(panel.get_by_role("button", name="Undo its changes")).to_be_visible()
    yield notebook, "editing a prompt"


def touring(open_cells: OpenCells, _: Path) -> States:
    notebook = open_cells([CONNECT.format(""), "s", "s.prompt('/tour');"])
    notebook.run_all()
    notebook.asks(2)
    turn, panel = notebook.turn(2), notebook.panel(1)
    yield notebook, "question"
    notebook.answer(2)
    notebook.has_status(2, "done")
    expect(turn).to_contain_text("That was the tour.")
    expect(panel.locator("[data-acp-turn-line]")).to_contain_text("Done")
    yield notebook, "line of a turn below its cell"
    turn.locator("summary", has_text="Read stats.py").click()
    turn.locator(".acp-menu-button").first.click()
    yield notebook, "finished tour with an open card and its menu"
    turn.get_by_role("button", name="Raw input and output").click()
    yield notebook, "raw input and output"
    panel.locator("[data-acp-turn-line]").get_by_role("button", name="/tour").click()
    expect(panel).to_contain_text("That was the tour.")
    panel.locator("[data-acp-more]").click()
    expect(panel.get_by_role("menu")).to_be_visible()
    yield notebook, "menu of the panel"
    panel.locator("[data-acp-search]").click()
    panel.locator("[data-acp-find]").fill("mean")
    expect(panel.locator("[data-acp-hits]")).to_contain_text(" of ")
    yield notebook, "search"
    panel.locator("[data-acp-find-close]").click()
    notebook.prompt(1, "/die")
    expect(panel.locator("[data-acp-restart]")).to_be_enabled()
    expect(panel.locator("[data-acp-again]")).to_be_visible()
    yield notebook, "dead agent and failed turn"


def setting(open_cells: OpenCells, folder: Path) -> States:
    kept = {"ACP_DEMO_HOME": str(folder / "kept"), "ACP_DEMO_AUTH": "1"}
    options = f", cwd={str(folder)!r}, env={kept!r}, auth='demo-login', mcp_servers={SERVERS!r}"
    notebook = open_cells([CONNECT.format(options), "s"])
    notebook.run_all()
    panel = notebook.panel(1)
    panel.get_by_role("button", name="Settings").click()
    settings = panel.locator("[data-acp-settings-open]")
    expect(settings.locator("[data-acp-server=files]")).to_be_visible()
    settings.get_by_role("radio", name="Allow everything").click()
    expect(settings.locator("[data-acp-permission-confirm]")).to_be_visible()
    yield notebook, "settings"
    settings.get_by_role("button", name="Close the settings").click()
    notebook.prompt(1, "/edit notes.txt one")
    choose(panel.locator("[data-acp-option='acp:session']"))
    expect(panel.locator("[data-acp-status=done]")).to_have_count(1)
    panel.locator("[data-acp-permissions]").click()
    expect(panel.locator("[data-acp-grant]")).to_have_count(1)
    yield notebook, "grants"
    settings.get_by_role("button", name="Close the settings").click()
    panel.locator("[data-acp-more]").click()
    panel.get_by_role("menuitem", name="Agents…").click()
    expect(panel.get_by_role("button", name="Start demo", exact=True)).to_be_enabled()
    yield notebook, "agent picker"
    panel.get_by_role("button", name="Close the list").click()
    panel.get_by_role("button", name="Sessions").click()
    expect(panel.locator("[data-acp-session]")).to_have_count(1)
    yield notebook, "sessions"
    panel.get_by_role("button", name="Sign out").click()
    expect(panel.locator(".acp-notice")).to_contain_text("Signed out")
    notebook.prompt(1, "again")
    expect(panel.locator("[data-acp-signin]")).to_be_visible()
    yield notebook, "sign-in in a turn"


def waiting(open_cells: OpenCells, _: Path) -> States:
    signing = CONNECT.format(", env={'ACP_DEMO_AUTH': 'key'}").replace("s =", "t =")
    notebook = open_cells([CONNECT.format(""), "s", signing])
    notebook.run(0, 1)
    panel = notebook.panel(1)
    notebook.prompt(1, "/form")
    form = panel.locator("[data-acp-elicitation][data-status=open]")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_role("alert").first).to_be_visible()
    yield notebook, "form with faults"
    for text in ("one", "two"):
        notebook.prompt(1, text)
    queued = panel.locator("[data-acp-queued]")
    expect(queued).to_have_count(2)
    queued.nth(1).get_by_role("button", name="Edit").click()
    yield notebook, "queue"
    form.get_by_role("button", name="Decline").click()
    expect(panel.locator("[data-acp-status=done]")).to_have_count(3)
    notebook.prompt(1, "/ratelimit 300")
    expect(panel.locator("[data-acp-countdown]")).to_be_visible()
    yield notebook, "rate limit"
    notebook.run(2)
    card = notebook.output(2).locator("[data-acp-root=sign-in]")
    card.get_by_role("button", name="Login in another program").click()
    expect(card.get_by_role("alert")).to_contain_text("cannot sign in from here")
    expect(card.get_by_label("ACP_DEMO_API_KEY")).to_be_visible()
    yield notebook, "sign-in with a field for the key"


def going_on(open_cells: OpenCells, folder: Path) -> States:
    keep = f", env={{'ACP_DEMO_HOME': {str(folder / 'kept')!r}}}"
    notebook = open_cells([f"{CONNECT.format(keep)}\ns"])
    notebook.run(0)
    notebook.prompt(0, "The number is 7")
    expect(notebook.panel(0).locator("[data-acp-status=done]")).to_have_count(1)
    saved_when_it_says(notebook, 0, "The number is 7")
    notebook.restart()
    notebook.says(0, "Run this cell to reconnect.")
    yield notebook, "disconnected"
    notebook.wait_idle()
    notebook.run(0)
    offer = notebook.panel(0).locator("[data-acp-going-on]")
    expect(offer).to_be_visible()
    yield notebook, "offer to go on"
    notebook.page.set_viewport_size({"width": 500, "height": 900})
    offer.locator("summary").click()
    expect(offer.locator("pre")).to_be_visible()
    yield notebook, "offer in a narrow page, with what would be sent"
    offer.locator("summary").press("Tab")
    expect(offer.locator("pre")).to_be_focused()
    notebook.page.keyboard.press("Tab")
    expect(offer.locator("[data-acp-go-on=resume]")).to_be_focused()
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("Enter")
    expect(offer).to_contain_text("Your next prompt includes the conversation")
    yield notebook, "the conversation as context"


WALKS: dict[Walk, list[str]] = {
    composing: ["empty panel", "keys", "completion list", "chips and attach menu", "editing a prompt"],
    touring: [
        "question",
        "line of a turn below its cell",
        "finished tour with an open card and its menu",
        "raw input and output",
        "menu of the panel",
        "search",
        "dead agent and failed turn",
    ],
    setting: ["settings", "grants", "agent picker", "sessions", "sign-in in a turn"],
    waiting: ["form with faults", "queue", "rate limit", "sign-in with a field for the key"],
    going_on: [
        "disconnected",
        "offer to go on",
        "offer in a narrow page, with what would be sent",
        "the conversation as context",
    ],
}


@pytest.mark.parametrize(("host", "theme"), LOOKS)
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.__name__)
def test_no_violation(open_notebook: Open, tmp_path: Path, walk: Walk, host: str, theme: str) -> None:
    if not AXE.exists():
        pytest.fail("axe-core is not installed: npm ci in js/", pytrace=False)
    found: dict[str, list[str]] = {}
    for notebook, state in walk(partial(open_notebook, host=host, theme=THEMES[theme]), tmp_path):
        found[state] = faults(notebook)
    assert found == {state: [] for state in WALKS[walk]}
