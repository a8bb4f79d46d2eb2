"""The settings in the panel, a sign-in with a key, and what the header says, in a real page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import NotebookPage, choose

OPENED = "import acp_notebook as acp\ns = acp.connect('demo', cwd={cwd!r}, mcp_servers={servers!r})\ns"
SERVERS = [{"name": "files", "url": "https://example.com/x?key=very-secret-4711"}]
BY_KEY = "import acp_notebook as acp\ns = acp.connect('demo', env={'ACP_DEMO_AUTH': 'key'})\nprint('in')"
KEY = "sk-typed/4711+very=secret"
DARK = "JupyterLab Dark"

LOOKS = [
    pytest.param(theme, size, marks=() if size[0] == 1200 else pytest.mark.slow)
    for theme in ("JupyterLab Light", DARK)
    for size in ((1200, 1000), (660, 1000))
]
"""The narrow one leaves the panel 500 pixels."""


def shot(notebook: NotebookPage, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"{name}.png")


def opened(open_notebook: Open, folder: Path, **look: object) -> tuple[NotebookPage, Locator]:
    notebook = open_notebook([OPENED.format(cwd=str(folder), servers=SERVERS)], **look)
    notebook.run(0)
    panel = notebook.panel(0)
    expect(panel.locator("[data-acp-permissions=ask]")).to_be_visible()
    return notebook, panel


def test_permissions_are_in_sight_changed_and_obeyed(open_notebook: Open, tmp_path: Path) -> None:
    notebook, panel = opened(open_notebook, tmp_path)
    panel.get_by_role("button", name="Settings").click()
    settings = panel.get_by_role("group", name="Settings", exact=True)
    settings.get_by_role("radio", name="Reject everything").click()
    expect(panel.locator("[data-acp-permissions=reject]")).to_contain_text("Reject everything")
    notebook.prompt(0, "/edit a.txt text")
    notebook.has_statuses(0, ["done"])
    assert not (tmp_path / "a.txt").exists()
    settings.get_by_role("radio", name="Allow everything").click()
    expect(panel.locator("[data-acp-permissions=reject]")).to_be_visible()
    settings.get_by_role("button", name="Allow everything").click()
    expect(panel.locator("[data-acp-permissions=allow]")).to_be_visible()
    notebook.prompt(0, "/edit a.txt text")
    notebook.has_statuses(0, ["done", "done"])
    assert (tmp_path / "a.txt").exists()
    expect(settings).to_contain_text("files http example.com, from mcp_servers=")
    assert "very-secret-4711" not in panel.inner_html()


def test_a_grant_is_listed_and_revoked(open_notebook: Open, tmp_path: Path) -> None:
    notebook, panel = opened(open_notebook, tmp_path)
    notebook.prompt(0, "/edit a.txt text")
    expect(panel.locator(".acp-header")).to_contain_text("Waiting for you")
    expect(panel.locator(".acp-status")).to_contain_text("Waiting for you")
    shot(notebook, "settings-question")
    choose(panel.locator("[data-acp-option='acp:session']"))
    notebook.has_statuses(0, ["done"])
    expect(panel.locator("[data-acp-permissions=edits]")).to_contain_text("Allow edits")
    panel.locator("[data-acp-permissions]").click()
    grant = panel.locator("[data-acp-grant]")
    expect(grant).to_contain_text(re.compile("Edit files in the folders of the session.*since"))
    grant.get_by_role("button", name="Revoke").click()
    expect(grant).to_have_count(0)
    expect(panel.locator("[data-acp-permissions=ask]")).to_be_visible()
    notebook.prompt(0, "/edit a.txt other")
    expect(panel.locator("[data-acp-question][data-status=open]")).to_be_visible()


def test_a_key_is_typed_and_is_in_no_file(open_notebook: Open) -> None:
    notebook = open_notebook([BY_KEY, "s"])
    notebook.run_all()
    card = notebook.output(0).locator("[data-acp-root=sign-in]")
    field = card.get_by_label("ACP_DEMO_API_KEY")
    expect(card).to_contain_text("Run demo /login in a terminal")
    card.get_by_role("button", name="Login in another program").click()
    expect(card.get_by_role("alert")).to_contain_text("cannot sign in from here")
    field.fill(f"wrong-{KEY}")
    card.get_by_role("button", name="Use this key").click()
    expect(card.get_by_role("alert")).to_contain_text("still requires a sign-in")
    shot(notebook, "signin-key")
    field.fill(KEY)
    field.press("Enter")
    expect(card).to_have_text("Demo agent: signed in.")
    notebook.says(0, "in")
    notebook.prompt(1, "hello")
    notebook.has_statuses(1, ["done"])
    assert KEY not in json.dumps(notebook.save())
    assert KEY not in notebook.page.content()


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_it_looks_right(open_notebook: Open, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    name = f"{'dark' if theme == DARK else 'light'}-{size[0]}"
    notebook, panel = opened(open_notebook, tmp_path, theme=theme, size=size)
    notebook.prompt(0, "/usage")
    notebook.has_statuses(0, ["done"])
    rows = panel.locator(".acp-header").evaluate(
        """header => new Set([...header.querySelectorAll("button, select, .acp-title, .acp-state")]
            .filter(it => it.checkVisibility()).map(it => {
                const box = it.getBoundingClientRect();
                return Math.round((box.top + box.bottom) / 2 / 12);
            })).size"""
    )
    assert rows <= (1 if size[0] == 1200 else 2)
    notebook.prompt(0, "/edit a.txt text")
    expect(panel.locator("[data-acp-question][data-status=open]")).to_be_visible()
    shot(notebook, f"header-{name}")
    panel.get_by_role("button", name="Settings").click()
    expect(panel.locator("[data-acp-settings-open]")).to_be_visible()
    panel.get_by_role("radio", name="Allow everything").click()
    shot(notebook, f"settings-{name}")
