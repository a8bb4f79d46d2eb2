"""A user fills in forms, opens addresses and manages waiting prompts in a real page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage
from tests.browser.test_keyboard import tab_to
from tests.notebook.kernels import ROOT

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo'{})"
SHOTS = ROOT / ".cache" / "screenshots"

hosts = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
LOOKS = [
    ("JupyterLab Light", (1200, 1400)),
    ("JupyterLab Dark", (1200, 1400)),
    ("JupyterLab Light", (520, 1400)),
]


def form_below(notebook: NotebookPage, number: int) -> Locator:
    form = notebook.turn(number).locator("[data-acp-elicitation]")
    expect(form).to_have_attribute("data-status", "open")
    return form


@hosts
def test_fill_in_a_form_by_keyboard(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT.format(""), "s.prompt('/form');"], host=host)
    notebook.run(0, 1)
    form, keyboard = form_below(notebook, 1), notebook.page.keyboard
    expect(form).to_be_focused()  # nobody types, so it takes the keyboard
    name = form.get_by_label("Name")
    tab_to(notebook, name)
    keyboard.type("X")
    keyboard.press("Enter")
    field = form.locator("[data-acp-field=name]")
    expect(field.get_by_role("alert")).to_have_text("at least 3 characters")
    expect(form.locator("[data-acp-field=model]").get_by_role("alert")).to_have_text("this field is required")
    keyboard.press("Control+A")
    keyboard.type("first-try")
    email = form.get_by_label("E-mail")
    tab_to(notebook, email)
    keyboard.type("nobody")
    tab_to(notebook, form.get_by_label("Learning rate"))
    keyboard.type("0.5")
    tab_to(notebook, form.get_by_role("radio").first)
    keyboard.press("ArrowDown")
    tab_to(notebook, form.get_by_label("MAE"))
    keyboard.press("Space")
    tab_to(notebook, form.get_by_role("button", name="Submit"))
    keyboard.press("Enter")
    wrong = form.locator("[data-acp-field=email]").get_by_role("alert")
    expect(wrong).to_contain_text("@")  # this the kernel knows
    tab_to(notebook, email, "Shift+Tab")
    keyboard.press("Control+A")
    keyboard.type("me@example.org")
    keyboard.press("Enter")
    notebook.has_status(1, "done")
    notebook.says(1, '"name":"first-try"')
    notebook.says(1, '"model":"forest"')
    notebook.says(1, '"metrics":["rmse","mae"]')
    settled = notebook.turn(1).locator("[data-acp-elicitation]")
    expect(settled).to_contain_text("Answered by you")
    expect(settled).to_contain_text("Random forest")


@hosts
def test_an_address_opens_only_on_a_click(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT.format(""), "s", "s.prompt('/open ADDRESS');"], host=host)
    address = notebook.page.url.split("/lab")[0].split("/notebooks")[0] + "/api"
    cell = notebook.cell(2).locator(".cm-content")
    cell.click()
    notebook.page.keyboard.press("Control+A")
    notebook.page.keyboard.type(f"s.prompt('/open {address}')")
    notebook.run(0, 1, 2)
    form = form_below(notebook, 2)
    expect(form.locator(".acp-address")).to_have_text(address)
    pages = len(notebook.page.context.pages)
    with notebook.page.context.expect_page() as opened:
        form.locator("[data-acp-open]").click()
    opened.value.close()
    assert len(notebook.page.context.pages) == pages
    notebook.has_status(2, "done")
    notebook.panel(1).locator("[data-acp-turn-line]").get_by_role("button", name="/open").click()
    for view in (notebook.turn(2), notebook.panel(1)):  # every view sees it settled, and done
        expect(view.locator("[data-acp-elicitation]")).to_contain_text("Opened by you")
        expect(view.locator("[data-acp-elicitation]")).to_contain_text("done")


@hosts
def test_queued_prompts_are_edited_removed_and_sent_now(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT.format(""), "s"], host=host)
    notebook.run(0, 1)
    panel = notebook.panel(1)
    notebook.prompt(1, "/slow 600")
    expect(panel).to_contain_text("tick3")
    for text in ("first", "second", "third"):
        notebook.prompt(1, text)
    rows = panel.locator("[data-acp-queued]")
    texts = panel.locator(".acp-queued-text")
    expect(texts).to_have_text(["first", "second", "third"])
    rows.nth(0).get_by_role("button", name="Edit").click()
    editor = panel.get_by_label("Queued prompt", exact=True)
    editor.fill("other words")
    editor.press("Enter")
    rows.nth(1).get_by_role("button", name="Remove").click()
    expect(texts).to_have_text(["other words", "third"])
    notebook.save()
    notebook.reload()
    panel = notebook.panel(1)
    rows, texts = panel.locator("[data-acp-queued]"), panel.locator(".acp-queued-text")
    expect(texts).to_have_text(["other words", "third"])  # it is the kernel's
    rows.nth(1).get_by_role("button", name="Send now").click()
    expect(panel.locator(".acp-prompt")).to_have_text(["/slow 600", "third", "other words"])
    expect(panel.locator("[data-acp-status=done]")).to_have_count(3)
    expect(panel).not_to_contain_text("second")


@hosts
def test_limits_and_rate_limits(open_notebook: Open, host: str) -> None:
    limited = CONNECT.format(", permissions='allow', max_tool_calls=5")
    notebook = open_notebook([limited, "s"], host=host)
    notebook.run(0, 1)
    panel = notebook.panel(1)
    notebook.prompt(1, "/tools 6 wait")
    expect(panel.locator(".acp-status")).to_contain_text("Stopped: more than 5 tool calls")
    notebook.prompt(1, "/ratelimit 30")
    failed = panel.locator("[data-acp-status=failed]")
    expect(failed).to_contain_text("rate limit exceeded")
    expect(failed.locator("[data-acp-countdown]")).to_be_visible()
    failed.get_by_role("button", name="Try again").click()
    expect(panel).to_contain_text("It went through.")


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_it_looks_right(open_notebook: Open, theme: str, size: tuple[int, int]) -> None:
    """Pictures to look at, of what an agent asks for and of what waits."""
    notebook = open_notebook([CONNECT.format(""), "s"], theme=theme, size=size)
    notebook.run(0, 1)
    panel = notebook.panel(1)
    name = f"{theme.split()[1].lower()}-{size[0]}"
    SHOTS.mkdir(parents=True, exist_ok=True)

    def picture(what: str) -> None:
        notebook.page.screenshot(path=SHOTS / f"asked-{what}-{name}.png")

    notebook.prompt(1, "/form")
    form = panel.locator("[data-acp-elicitation][data-status=open]")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_role("alert").first).to_be_visible()
    picture("form")
    form.get_by_label("Name").fill("first-try")
    form.get_by_label("Linear").check()
    form.get_by_role("button", name="Submit").click()
    expect(panel.locator("[data-acp-status=done]")).to_have_count(1)
    notebook.prompt(1, "/open https://accounts.example.org@evil.example:8443/sign-in?next=/home")
    expect(form.locator("[data-acp-open]")).to_be_visible()
    for text in ("Then do the second thing, which takes a bit longer to say than the first", "And a third"):
        notebook.prompt(1, text)
    expect(panel.locator("[data-acp-queued]")).to_have_count(2)
    panel.locator("[data-acp-queued]").nth(1).get_by_role("button", name="Edit").click()
    picture("address-and-queue")
    panel.get_by_label("Queued prompt", exact=True).press("Escape")
    form.get_by_role("button", name="Decline").click()
    expect(panel.locator("[data-acp-status=done]")).to_have_count(4)
    notebook.prompt(1, "/form hostile")
    expect(form).to_be_visible()
    picture("hostile")
    form.get_by_role("button", name="Cancel").click()
    expect(panel.locator("[data-acp-status=done]")).to_have_count(5)
    notebook.prompt(1, "/ratelimit 30")
    expect(panel.get_by_role("button", name="Try again")).to_be_visible()
    picture("rate-limit")
