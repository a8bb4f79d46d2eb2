"""What a panel offers for its conversation: search, export, notifications, copies, another try, following."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Download, Locator, expect

from tests.browser.conftest import Open
from tests.browser.pages import LIMIT_S, NotebookPage
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"

both = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])

MARKED = """() => [...(CSS.highlights.get("acp-find-one") ?? [])].map((it) => {
    const { top, bottom } = it.getBoundingClientRect();
    const box = it.startContainer.parentElement.closest("[data-acp-scroll]").getBoundingClientRect();
    return { text: it.toString(), inside: top >= box.top && bottom <= box.bottom && bottom > top };
})"""
"""The hit that is shown, and whether it is in sight."""

HIDE = """() => {
    Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
    window.notified = [];
    window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, options) { window.notified.push([title, options.body]); window.newest = this; }
        close() {}
    };
}"""
"""Makes the page look hidden, and keeps what it would notify the user of."""

JUMP = """async (scroll) => {
    const box = scroll.getBoundingClientRect();
    const painted = () => new Promise((done) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = done;
        port2.postMessage(null);
    }));
    let blank = 0;
    for (let at = 0; at <= 20; at++) {
        scroll.scrollTop = ((at * 7) % 20) / 20 * scroll.scrollHeight;
        await painted();
        for (const prompt of scroll.querySelectorAll(".acp-turn > .acp-prompt")) {
            const { top, bottom } = prompt.parentElement.getBoundingClientRect();
            const isSeen = Math.min(bottom, box.bottom) - Math.max(top, box.top) > 20;
            if (isSeen && !prompt.checkVisibility({ contentVisibilityAuto: true })) blank++;
        }
    }
    return blank;
}"""
"""Jumps through the conversation; returns how many turns were in sight and not drawn in the next frame."""


def menu(panel: Locator, entry: str) -> None:
    panel.locator("[data-acp-more]").click()
    panel.locator(f"[data-acp-{entry}]").click()


def shown(open_notebook: Open, host: str = "lab", *cells: str) -> tuple[NotebookPage, Locator]:
    """A notebook with a panel below its second cell."""
    notebook = open_notebook([CONNECT, "s", *cells], host=host)
    notebook.run(0, 1)
    panel = notebook.panel(1)
    expect(panel.get_by_role("textbox", name="Prompt for the agent")).to_be_enabled()
    return notebook, panel


def marked(notebook: NotebookPage, text: str) -> None:
    wait_until(
        lambda: notebook.page.evaluate(MARKED) == [{"text": text, "inside": True}],
        f"{text!r} is marked and in sight",
        LIMIT_S,
    )


@both
def test_the_search_finds_what_is_not_drawn(open_notebook: Open, host: str) -> None:
    notebook, panel = shown(open_notebook, host, "for n in range(30): s.start(f'needle {n}').wait()")
    notebook.run(2)
    expect(panel.locator("[data-acp-turn-line]", has_text="needle 29")).to_have_count(1)
    panel.locator("[data-acp-scroll]").focus()
    notebook.page.keyboard.press("Control+f")
    field = panel.locator("[data-acp-find]")
    expect(field).to_be_focused()
    notebook.page.keyboard.type("NEEDLE 3")
    expect(panel.locator("[data-acp-hits]")).to_have_attribute("data-acp-hits", "2")  # and the echo
    marked(notebook, "needle 3")
    notebook.page.keyboard.press("Shift+Enter")
    expect(panel.locator("[data-acp-hits]")).to_have_text("1 of 2")
    marked(notebook, "needle 3")
    expect(panel.locator(".acp-prompt", has_text="needle 3").first).to_be_visible()
    notebook.page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(panel.locator("[data-acp-scroll]")).to_be_focused()
    assert notebook.page.evaluate("() => CSS.highlights.size") == 0


def test_the_search_opens_folded_parts(open_notebook: Open) -> None:
    notebook, panel = shown(
        open_notebook, "lab", "s.prompt('/tools 150'); s.prompt('/run echo hay$((20+3))');"
    )
    notebook.run(2)
    expect(panel.locator("[data-acp-turn-line]")).to_have_count(2)
    notebook.wait_idle()
    menu(panel, "search")
    field = panel.locator("[data-acp-find]")
    field.fill("Read part 77")
    marked(notebook, "Read part 77")
    field.fill("hay23")  # only in the terminal
    marked(notebook, "hay23")
    field.fill("nothing like it")
    expect(panel.locator("[data-acp-hits]")).to_have_text("Not found")


@both
@pytest.mark.parametrize(
    ("form", "name", "begins"),
    [
        ("markdown", "demo-conversation.md", "# Conversation with demo"),
        pytest.param("html", "demo-conversation.html", "<!DOCTYPE html>", marks=pytest.mark.slow),
        pytest.param("notebook", "demo-conversation.ipynb", "{", marks=pytest.mark.slow),
    ],
)
def test_a_conversation_is_exported_as_a_file(
    open_notebook: Open, host: str, form: str, name: str, begins: str
) -> None:
    notebook, panel = shown(open_notebook, host)
    notebook.prompt(1, "/markdown")
    expect(panel.locator("[data-acp-turn][data-acp-status=done]")).to_have_count(1)
    with notebook.page.expect_download() as coming:
        menu(panel, f"export-{form}")
    download: Download = coming.value
    assert download.suggested_filename == name
    text = Path(download.path()).read_text(encoding="utf-8")
    assert text.startswith(begins) and "/markdown" in text
    if form == "notebook":
        assert json.loads(text)["nbformat"] == 4
    expect(panel.locator("[data-acp-export-note]")).to_have_count(0)


def test_a_long_conversation_is_exported_in_parts(open_notebook: Open) -> None:
    notebook, panel = shown(open_notebook, "lab", "s.prompt('/stream 40 100000');")
    notebook.run(2)
    expect(panel.locator("[data-acp-turn-line][data-status=done]")).to_have_count(1)
    with notebook.page.expect_download() as coming:
        menu(panel, "export-markdown")
    assert Path(coming.value.path()).stat().st_size > 4_000_000


def test_the_user_is_notified_of_questions_while_the_tab_is_hidden(open_notebook: Open) -> None:
    notebook = open_notebook(["import acp_notebook as acp\ns = acp.connect('demo')", "s"])
    notebook.run(0, 1)
    panel = notebook.panel(1)
    panel.locator("[data-acp-more]").click()
    switch = panel.locator("[data-acp-notify]")
    expect(switch).to_have_attribute("aria-checked", "false")
    notebook.page.keyboard.press("Escape")
    notebook.page.evaluate(HIDE)
    notebook.prompt(1, "/ask")
    expect(panel.locator("[data-acp-question][data-status=open]")).to_have_count(1)
    assert notebook.page.evaluate("() => window.notified") == []  # off by default
    notebook.answer(1, "reject_once")
    expect(panel.locator(".acp-turn").first).to_have_attribute("data-acp-status", "done")
    menu(panel, "notify")
    panel.locator("[data-acp-more]").click()
    expect(switch).to_have_attribute("aria-checked", "true")
    notebook.page.keyboard.press("Escape")
    notebook.prompt(1, "/ask")
    question = panel.locator("[data-acp-question][data-status=open]")
    expect(question).to_have_count(1)
    wait_until(
        lambda: (
            notebook.page.evaluate("() => window.notified.map((it) => it[1])")
            == ["Waiting for your permission"]
        ),
        "one notification",
        LIMIT_S,
    )
    panel.locator("[data-acp-header]").click()
    notebook.page.evaluate("() => window.newest.onclick()")
    expect(question).to_be_focused()
    notebook.page.evaluate("() => localStorage.removeItem('acp_notebook.notify')")


ASKING = """() => {
    window.asked = 0;
    window.Notification = class {
        static permission = "default";
        static async requestPermission() { window.asked++; return (this.permission = "granted"); }
    };
}"""


def test_the_browser_is_asked_for_permission_on_the_click_only(open_notebook: Open) -> None:
    notebook, panel = shown(open_notebook)
    notebook.page.evaluate(ASKING)
    remembered = "() => [window.asked, localStorage.getItem('acp_notebook.notify')]"
    notebook.prompt(1, "hello")
    expect(panel.locator(".acp-turn[data-acp-status=done]")).to_have_count(1)
    assert notebook.page.evaluate(remembered) == [0, None]
    menu(panel, "notify")
    panel.locator("[data-acp-more]").click()
    expect(panel.locator("[data-acp-notify]")).to_have_attribute("aria-checked", "true")
    assert notebook.page.evaluate(remembered) == [1, "on"]
    panel.locator("[data-acp-notify]").click()
    assert notebook.page.evaluate(remembered) == [1, "off"]


@both
def test_a_message_and_a_prompt_are_copied_as_markdown(open_notebook: Open, host: str) -> None:
    notebook, panel = shown(open_notebook, host)
    notebook.page.evaluate(
        "() => Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => void (window.copied = text) }, configurable: true })"
    )
    notebook.prompt(1, "/markdown")
    message = panel.locator(".acp-message").first
    copy = message.get_by_role("button", name="Copy message")
    message.hover()
    expect(panel.locator(".acp-status[data-status=done]")).to_be_attached()
    copy.click()
    expect(copy).to_have_text("Copied")
    assert notebook.page.evaluate("() => window.copied").count("```") >= 2
    prompt = panel.locator(".acp-prompt").get_by_role("button", name="Copy prompt")
    prompt.focus()
    notebook.page.keyboard.press("Enter")
    expect(prompt).to_have_text("Copied")
    assert notebook.page.evaluate("() => window.copied") == "/markdown"


def test_a_page_without_a_clipboard_copies_a_selection(open_notebook: Open) -> None:
    notebook, panel = shown(open_notebook)
    notebook.page.evaluate(
        "() => { Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });"
        " document.execCommand = () => { window.copied = getSelection().toString() ||"
        " document.activeElement.value; return true; }; }"
    )
    notebook.prompt(1, "hello")
    copy = panel.locator(".acp-prompt").get_by_role("button", name="Copy prompt")
    copy.focus()
    notebook.page.keyboard.press("Enter")
    expect(copy).to_have_text("Copied")
    assert notebook.page.evaluate("() => window.copied") == "hello"
    expect(copy).to_be_focused()


@both
def test_a_failed_prompt_is_sent_again_once(open_notebook: Open, host: str) -> None:
    notebook, panel = shown(open_notebook, host)
    notebook.prompt(1, "/die 3")
    again = panel.locator("[data-acp-again]")
    expect(again).to_have_count(1)
    again.dblclick()
    expect(panel.locator(".acp-turn[data-acp-status=failed]")).to_have_count(2)  # the agent was restarted
    expect(again).to_have_count(1)
    expect(panel.locator(".acp-prompt")).to_have_text(["/die 3", "/die 3"])
    expect(panel.locator(".acp-queue")).to_have_count(0)


def test_the_end_of_a_turn_says_what_it_took_and_a_reload_says_the_same(open_notebook: Open) -> None:
    notebook, panel = shown(open_notebook)
    facts = panel.locator("[data-acp-facts]")
    notebook.prompt(1, "/usage")
    expect(facts).to_contain_text("$0.04")
    notebook.prompt(1, "/slow 1.2")
    expect(facts.nth(1)).to_contain_text(" s")
    texts = facts.all_inner_texts()
    notebook.save()
    notebook.reload()
    expect(panel.locator("[data-acp-facts]")).to_have_text(texts)


def test_the_page_follows_the_agent_if_it_is_switched_on(open_notebook: Open) -> None:
    notebook, panel = shown(open_notebook, "lab", *["1"] * 30)
    (notebook.path.parent / "followed.py").write_text("a\n" * 50)
    tabs = notebook.page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="followed.py")
    cells = [cell["id"] for cell in json.loads(notebook.path.read_text())["cells"]]
    notebook.prompt(1, f"/look {notebook.path.name} {cells[-2]}")
    expect(panel.locator(".acp-turn[data-acp-status=done]")).to_have_count(1)
    expect(notebook.page.locator(".acp-revealed")).to_have_count(0)  # off by default
    menu(panel, "follow")
    notebook.prompt(1, f"/look {notebook.path.name} {cells[-1]}")
    expect(notebook.page.locator(".jp-Cell.acp-revealed")).to_have_count(1)
    notebook.cell(1).scroll_into_view_if_needed()
    field = panel.get_by_role("textbox", name="Prompt for the agent")
    notebook.prompt(1, "/look followed.py 40")
    expect(field).to_be_focused()
    expect(tabs).to_have_count(1)


def test_a_jump_shows_no_blank_turn(open_notebook: Open) -> None:
    turns = "for n in range(20):\n    s.start(['/markdown', '/plan', 'hello'][n % 3]).wait()"
    notebook = open_notebook([CONNECT, turns, "s"])
    notebook.run_all()
    notebook.says(2, "Ready")
    notebook.select(1)
    notebook.command("notebook:clear-cell-output")  # the panel draws them
    panel = notebook.panel(2)
    expect(panel.locator(".acp-turn")).to_have_count(20)
    assert panel.locator("[data-acp-scroll]").evaluate(JUMP) == 0
