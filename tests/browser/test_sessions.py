"""Sign in, pick a session and change settings by hand in a real page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.pages import NotebookPage

SIGNING = "import acp_notebook as acp\ns = acp.connect('demo', env={'ACP_DEMO_AUTH': 'trouble'})\nprint('in')"
DARK = "JupyterLab Dark"
NARROW = (560, 1400)

hosts = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def keeping(home: Path, sessions: int = 0) -> str:
    return f"""import acp_notebook as acp
s = acp.connect('demo', env={{'ACP_DEMO_HOME': {str(home)!r}, 'ACP_DEMO_AUTH': '1'}}, auth='demo-login')
for number in range({sessions}):
    other = s.agent.new_session()
    other.start(f'The story of {{number}}, <b>in short</b>').wait()
    other.close()
"""


def shot(notebook: NotebookPage, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"{name}.png")


def signin(notebook: NotebookPage, number: int) -> Locator:
    return notebook.output(number).locator("[data-acp-root=sign-in]")


# ---- signing in


@hosts
def test_signing_in_below_the_waiting_cell(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([SIGNING, "s.prompt('hello');"], host=host)
    notebook.run_all()
    card = signin(notebook, 0)
    expect(card).to_contain_text("requires you to sign in")
    shot(notebook, "signin")
    card.get_by_role("button", name="Refused login").click()
    expect(card.get_by_role("alert")).to_contain_text("the password is wrong")
    card.get_by_role("button", name="Slow login").click()
    expect(card.get_by_role("button", name="Demo login", exact=True)).to_be_disabled()
    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_role("button", name="Demo login", exact=True)).to_be_enabled()
    card.get_by_role("button", name="Demo login", exact=True).click()
    expect(card).to_have_text("Demo agent: signed in.")
    expect(notebook.output(0)).to_contain_text("in")
    notebook.has_status(1, "done")


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_signing_in_in_a_terminal(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([SIGNING], host=host)
    notebook.run_all()
    card = signin(notebook, 0)
    open_terminal = card.get_by_role("button", name="Open a terminal")
    if host == "lab":
        open_terminal.click()
        screen = notebook.page.locator(".jp-Terminal .xterm")
        run = notebook.page.locator(".jp-Dialog").get_by_role("button", name="Run")
        expect(screen.or_(run).first).to_be_visible()
        if run.is_visible():  # a notebook that is not trusted
            run.click()
    else:
        with notebook.page.context.expect_page() as opened:
            open_terminal.click()
        screen = opened.value.locator(".jp-Terminal .xterm")
    expect(screen).to_be_visible()
    shot(notebook, f"signin-terminal-{host}")
    screen.click()
    signed = card.get_by_text("signed in.")
    for _ in range(30):  # its text is drawn, not written: when the command waits cannot be read
        screen.page.keyboard.press("Enter")
        screen.page.wait_for_timeout(500)
        if signed.is_visible():
            break
    expect(card).to_have_text("Demo agent: signed in.")


@hosts
def test_a_prompt_waits_for_the_sign_in_after_logging_out(
    open_notebook: Open, host: str, tmp_path: Path
) -> None:
    notebook = open_notebook([keeping(tmp_path / "kept"), "s", "s.prompt('again');"], host=host)
    notebook.run(0, 1)
    panel = notebook.panel(1)
    panel.get_by_role("button", name="Sessions").click()
    panel.get_by_role("button", name="Sign out").click()
    expect(panel.locator(".acp-notice")).to_contain_text("Signed out")
    panel.get_by_role("button", name="Close the list").click()
    notebook.run(2)
    expect(panel.locator("[data-acp-signin]")).to_be_visible()
    hint = notebook.output(2).locator("[data-acp-in-panel]")
    expect(hint).to_contain_text("requires you to sign in")
    expect(notebook.page.locator("[data-acp-signin]")).to_have_count(1)
    shot(notebook, "signin-turn")
    hint.get_by_role("button", name="Show").click()
    expect(panel.locator("[data-acp-signin]")).to_be_focused()
    command = panel.locator(".acp-signin-command code")
    expect(command).to_contain_text(re.compile(r"^sh .*sign-in-1\.sh$"))
    panel.get_by_role("button", name="Try again").click()
    expect(panel.locator("[data-acp-signin-error]")).to_contain_text("still requires a sign-in")
    panel.get_by_role("button", name="Demo login", exact=True).click()
    notebook.has_status(2, "done")
    expect(panel.locator("[data-acp-signin]")).to_have_count(0)


@pytest.mark.parametrize(
    ("theme", "size"), [(DARK, (1200, 1400)), (DARK, NARROW), ("JupyterLab Light", NARROW)]
)
def test_it_looks_right(open_notebook: Open, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    name = f"{'dark' if theme == DARK else 'light'}-{size[0]}"
    cells = [SIGNING, keeping(tmp_path / "kept", 3).replace("s =", "t =").replace("s.agent", "t.agent"), "t"]
    notebook = open_notebook(cells, theme=theme, size=size)
    notebook.run(0)
    expect(signin(notebook, 0)).to_contain_text("requires you to sign in")
    shot(notebook, f"signin-{name}")
    signin(notebook, 0).get_by_role("button", name="Demo login", exact=True).click()
    notebook.run(1, 2)
    panel = notebook.panel(2)
    panel.get_by_role("button", name="Sessions").click()
    expect(panel.locator("[data-acp-session]")).to_have_count(4)
    shot(notebook, f"picker-{name}")


# ---- sessions


@hosts
def test_picking_a_session(open_notebook: Open, host: str, tmp_path: Path) -> None:
    cells = [keeping(tmp_path / "kept", 12), "s", "print(len(s.agent.open_sessions), 'are open')"]
    notebook = open_notebook(cells, host=host)
    notebook.run(0, 1)
    panel = notebook.panel(1).first
    panel.get_by_role("button", name="Sessions").click()
    rows = panel.locator("[data-acp-session]")
    expect(rows).to_have_count(10)
    panel.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(13)
    shot(notebook, "picker")
    search = panel.get_by_label("Search sessions")
    search.fill("story 7,")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("The story of 7, <b>in short</b>")
    search.press("Enter")
    other = panel.locator("[data-acp-other-session]")
    expect(other).to_contain_text("You said: “The story of 7")
    field = other.get_by_role("textbox").last
    field.fill("and now?")
    field.press("Enter")
    expect(other).to_contain_text("You said: “and now?”")
    shot(notebook, "picker-other-session")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("2 are open")
    panel.locator("[data-acp-back]").first.click()
    expect(panel.locator("[data-acp-other-session]")).to_have_count(0)

    panel.get_by_role("button", name="Sessions").click()
    search.fill("story 3,")
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="Delete").click()
    rows.get_by_role("button", name="Delete", exact=True).click()
    expect(rows).to_have_count(0)
    search.fill("")
    expect(panel.locator("[data-acp-picker]")).to_contain_text("9 sessions")


# ---- settings


@hosts
def test_options_are_set_while_a_turn_runs(open_notebook: Open, host: str) -> None:
    notebook = open_notebook(
        ["import acp_notebook as acp\ns = acp.connect('demo')", "s", "s.prompt('/slow 60');"], host=host
    )
    notebook.run_all()
    notebook.has_status(2, "running")
    panel = notebook.panel(1)
    panel.get_by_role("combobox", name="Model", exact=True).select_option("demo-max")
    panel.get_by_role("combobox", name="Mode", exact=True).select_option("plan")
    expect(panel.locator("[data-acp-config=model]")).to_be_enabled()
    expect(panel.locator("[data-acp-mode=plan]")).to_be_enabled()
    expect(panel.get_by_role("combobox", name="Model", exact=True)).to_have_value("demo-max")
    notebook.has_status(2, "running")
    notebook.press_stop(2)
    notebook.has_status(2, "done")


@hosts
def test_the_models_of_an_older_agent_are_set_in_the_panel(open_notebook: Open, host: str) -> None:
    connect = "import acp_notebook as acp\ns = acp.connect('demo', env={'ACP_DEMO_CONFIG': 'models'})"
    notebook = open_notebook([connect, "s", "print(s.config)"], host=host)
    notebook.run(0, 1)
    model = notebook.panel(1).get_by_role("combobox", name="Model", exact=True)
    model.select_option("demo-max")
    expect(notebook.panel(1).locator("[data-acp-config=model]")).to_be_enabled()
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("{'model': 'demo-max'}")
