"""The panel shows everything that an agent can send, in both hosts, and survives failures."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, WebSocket, expect

from tests.browser.conftest import Open
from tests.browser.pages import NotebookPage
from tests.browser.saved_files import data_of, saved_when_it_says, text_of
from tests.notebook.kernels import ROOT

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo'{})"
ALLOWING = CONNECT.format(", permissions='allow'")
CONNECT = CONNECT.format("")
RECORDED = ROOT / "tests" / "data" / "transcripts" / "claude-code-acp.jsonl"

RECORDED_TURNS = 6
"""Its first ones: a text, a file, a command, an edit, a plan, two calls at once."""

hosts = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
SLOW_HOSTS = [pytest.param(host, marks=pytest.mark.slow) for host in ("lab", "notebook")]
both_slow = pytest.mark.parametrize("host", SLOW_HOSTS)


def prompts(*texts: str) -> str:
    return "\n".join(f"s.prompt({text!r});" for text in texts)


# ---- what is shown


@hosts
def test_the_tour(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "s.prompt('/tour');"], host=host)
    notebook.run_all()
    notebook.asks(2)
    turn, panel = notebook.turn(2), notebook.panel(1)
    expect(turn.locator(".acp-status")).to_contain_text("Waiting for you")
    turn.locator(".acp-status").scroll_into_view_if_needed()  # out of view, the panel would have the button
    expect(turn.locator("[data-acp-stop]")).to_be_enabled()
    expect(notebook.page.locator("[data-acp-stop]:visible")).to_have_count(1)
    expect(turn.locator("[data-acp-tool]", has_text="Edit stats.py")).to_have_attribute(
        "data-status", "pending"
    )
    expect(turn.locator("[data-acp-action=write]")).to_contain_text("stats.py")  # it cannot be folded away
    notebook.answer(2)
    notebook.has_status(2, "done")
    shows_the_tour(turn)
    line = panel.locator("[data-acp-turn-line]")
    line.get_by_role("button", name="/tour").click()  # drawn below its cell, and here if the reader wants it
    shows_the_tour(panel)

    expect(panel.locator(".acp-header")).to_contain_text(re.compile("Demo agent.*A tour of the demo.*Ready"))
    expect(panel.get_by_role("meter", name="Context used")).to_have_attribute(
        "aria-valuetext", re.compile("6%")
    )
    expect(panel.locator(".acp-header")).to_contain_text("$0.04")
    header = panel.locator(".acp-header")
    header.get_by_role("combobox", name="Mode", exact=True).select_option("plan")  # the agent confirms it
    expect(header.locator("[data-acp-mode=plan]")).to_be_enabled()
    panel.get_by_role("button", name="Settings").click()
    settings = panel.get_by_role("group", name="Settings", exact=True)
    expect(settings.get_by_role("combobox", name="Mode", exact=True)).to_have_value("plan")
    verbose = settings.get_by_label("Verbose")
    verbose.click()
    expect(verbose).to_be_checked()
    expect(verbose).to_be_enabled()


def shows_the_tour(view: Locator) -> None:
    expect(view.locator(".acp-prompt")).to_have_text("/tour")
    expect(view.locator("details.acp-thought")).to_contain_text("A small story about a mean function")
    expect(view.locator(".acp-plan")).to_contain_text(re.compile("3 of 3.*Look at the data.*high"))
    for title, kind in (("Read stats.py", "read"), ("Search for", "search"), ("pytest -q", "execute")):
        card = view.locator("[data-acp-tool]", has_text=title)
        expect(card).to_have_attribute("data-kind", kind)
        expect(card).to_have_attribute("data-status", "completed")
    edit = view.locator("[data-acp-tool]", has_text="Edit stats.py")
    expect(edit.locator("[data-acp-question]")).to_contain_text("Allowed once by you")
    expect(edit.locator(".acp-counts")).to_contain_text("+2")
    expect(edit.locator(".acp-row[data-kind=new]")).to_have_count(2)
    expect(view.get_by_role("heading", name="What I found")).to_be_visible()
    expect(view.locator(".acp-message table td")).to_have_count(6)
    expect(view.locator(".acp-message .acp-codeblock .acp-hl-number").first).to_be_visible()
    expect(view.locator(".acp-message img")).to_be_visible()
    expect(view.locator(".acp-message", has_text="The Agent Client Protocol")).to_be_visible()
    expect(view.locator(".acp-message", has_text="An embedded resource carries")).to_be_visible()
    expect(view.locator(".acp-notice")).to_contain_text("The tour is over")
    expect(view.locator(".acp-status")).to_contain_text("Done")


@hosts
def test_items_that_the_tour_leaves_out(open_notebook: Open, host: str) -> None:
    run = r"/run printf '\033[31mred\033[0m plain\n 10%%\r100%%\n'; exit 3"
    texts = (
        run,
        "/parallel",
        "/fail",
        "/unfinished",
        "/unknown",
        "/audio",
        "/write note.txt hello",
        "/edit new.txt a",
    )
    notebook = open_notebook([ALLOWING, "s", prompts(*texts)], host=host)
    notebook.run_all()
    notebook.has_statuses(2, ["done"] * len(texts))
    turns = [notebook.turn(2).nth(at) for at in range(len(texts))]
    ran, parallel, failed, unfinished, unknown, audio, wrote, edited = turns

    terminal = ran.locator("[data-acp-terminal]")
    expect(terminal.locator(".acp-output pre")).to_have_text("red plain 100%")
    expect(terminal.locator(".acp-ansi-1")).to_have_text("red")
    expect(terminal).to_contain_text("exit code 3")
    expect(terminal.get_by_role("button", name="Copy output")).to_be_visible()
    expect(ran.locator("[data-acp-question]")).to_contain_text("by your rules")

    expect(parallel.locator("[data-acp-group='3']")).to_contain_text("Searched 3 times")
    expect(failed.locator("[data-acp-tool]")).to_have_attribute("data-status", "failed")
    expect(unfinished.locator("[data-acp-tool]")).to_have_attribute("data-status", "unfinished")
    expect(unknown).to_contain_text("an update of an unknown kind")
    expect(unknown.locator("pre", has_text='"hologram"')).to_be_visible()
    expect(audio.locator("audio[controls]")).to_be_visible()
    expect(wrote.locator("[data-acp-tool]")).to_contain_text("unprompted")
    expect(edited.locator("[data-acp-file]")).to_contain_text("created")

    edited.get_by_text("Side by side").click()  # for all diffs of the session
    expect(edited.locator("[data-acp-diff=split]")).to_have_count(1)
    notebook.unfold(1)
    expect(notebook.panel(1).locator("[data-acp-diff=split]")).not_to_have_count(0)
    expect(notebook.panel(1).locator("[data-acp-diff=unified]")).to_have_count(0)


@both_slow
def test_a_recorded_turn_of_a_real_agent(open_notebook: Open, host: str) -> None:
    lines = map(json.loads, RECORDED.read_text().splitlines())
    sent = (line["msg"] for line in lines if line["dir"] == "c2a")
    asked = [it["params"].get("prompt") for it in sent if it.get("method") == "session/prompt"]
    texts = [prompt[0]["text"] for prompt in asked[:RECORDED_TURNS]]
    # The recorded prompts name files of the folder that the recording was made in.
    cassette = f"acp.Cassette({str(RECORDED)!r}, match=lambda recorded, asked: True)"
    connect = f"import acp_notebook as acp\ns = acp.connect(cassette={cassette}, permissions='allow')"
    notebook = open_notebook([connect, prompts(*texts)], host=host)
    notebook.run_all()
    notebook.has_statuses(1, ["done"] * RECORDED_TURNS)
    everything = notebook.output(1)
    for kind in ("edit", "execute", "read"):
        expect(everything.locator(f"[data-acp-tool][data-kind={kind}]").first).to_be_visible()
    expect(everything.locator(".acp-plan")).to_be_visible()
    expect(everything.locator(".acp-diff").first).to_be_visible()
    expect(everything.locator("[data-acp-question][data-status=answered]").first).to_be_visible()
    expect(everything.locator(".acp-unknown")).to_have_count(0)


# ---- trouble


@hosts
def test_a_dead_agent_is_restarted(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s"], host=host)
    notebook.run_all()
    panel = notebook.panel(1)
    notebook.prompt(1, "/die 7")
    trouble = panel.locator("[data-acp-trouble=dead]")
    expect(trouble).to_contain_text("exited with code 7")
    expect(trouble).to_contain_text("demo: giving up")
    expect(panel.locator("[data-acp-tool]")).to_have_attribute(
        "data-status", re.compile("cancelled|unfinished")
    )
    expect(panel.locator(".acp-status").last).to_be_in_viewport()
    trouble.get_by_role("button", name="Restart").click()
    expect(trouble).to_have_count(0)
    notebook.prompt(1, "hello again")
    expect(panel).to_contain_text("You said: “hello again”.")


@both_slow
def test_the_transcript_stays_when_the_kernel_is_gone(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s", "s.start('/tour')"], host=host)
    notebook.run_all()
    notebook.asks(2)
    notebook.unfold(1)
    notebook.restart()
    panel = notebook.panel(1)
    expect(panel).to_have_attribute("data-acp-link", "gone")
    for view in (panel, notebook.output(2).locator(".acp")):
        expect(view).to_contain_text("A small story about a mean function")
        expect(view).to_contain_text("this session's kernel is gone")
        for control in view.locator("[data-acp-option], [data-acp-stop], select, textarea").all():
            expect(control).to_be_disabled()
    assert notebook.page.locator("[data-acp-option]").count() > 0


# ---- long ones


def is_at_end(area: Locator) -> bool:
    return bool(area.evaluate("it => it.scrollHeight - it.scrollTop - it.clientHeight < 24"))


@hosts
def test_a_reader_at_the_end_follows_the_stream(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s"], host=host, size=(700, 800))
    notebook.run_all()
    panel = notebook.panel(1)
    area = panel.locator("[data-acp-scroll]")
    notebook.prompt(1, "/markdown")
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    notebook.prompt(1, "/slow 600")
    expect(panel).to_contain_text("tick40 ")
    assert is_at_end(area)
    area.hover()
    notebook.page.mouse.wheel(0, -300)
    expect(panel.locator("[data-acp-newest]")).to_be_visible()
    top = area.evaluate("it => it.scrollTop")
    last_message = panel.locator(".acp-message").last.inner_text()
    number = int(last_message.split()[-1].removeprefix("tick"))
    expect(panel).to_contain_text(f"tick{number + 60} ")
    assert area.evaluate("it => it.scrollTop") == top  # the reader is left alone
    panel.locator("[data-acp-newest]").click()
    expect(panel.locator("[data-acp-newest]")).to_have_count(0)
    number += 60
    expect(panel).to_contain_text(f"tick{number + 60} ")
    assert is_at_end(area)
    panel.get_by_role("button", name="Stop this turn").click()
    expect(panel).to_contain_text("Stopped")


FIND = "text => { getSelection().removeAllRanges(); return window.find(text, true, false, true) }"


@both_slow
def test_earlier_turns_are_shown_on_demand(open_notebook: Open, host: str) -> None:
    notebook = open_notebook(
        [
            CONNECT,
            "for number in range(30): s.start(f'number {number}').wait()",
            "s",
            "s.prompt('/tools 150');",
        ],
        host=host,
    )
    notebook.run_all()
    notebook.has_status(3, "done")
    panel = notebook.panel(2)
    prompts = panel.locator(".acp-turnline-prompt")  # the turns themselves are below their cells
    third = prompts.filter(has_text=re.compile("^number 3$"))
    expect(prompts.filter(has_text="number 29")).to_have_count(1)
    expect(third).to_have_count(0)
    panel.locator("[data-acp-earlier]").first.click()
    expect(third).to_have_count(1)
    if notebook.page.evaluate(FIND, "number 29"):  # Chromium from npm has no search
        # The browser's own search finds what is out of sight, too.
        assert notebook.page.evaluate(FIND, "number 3")
    calls = notebook.turn(3).locator("[data-acp-group='150']")
    expect(calls).to_contain_text("Read 150 files")
    calls.locator("summary").first.click()
    expect(calls.locator("[data-acp-tool]").last).to_contain_text("Read part 150")


# ---- what the page gets


@pytest.mark.slow
def test_a_hundred_prompts_send_the_module_once(open_notebook: Open) -> None:
    cells = [
        "import acp_notebook as acp",
        "s = acp.connect('demo')",
        "for n in range(100): s.prompt('hello')",
        "print('over', len(s.turns))",
    ]
    notebook = open_notebook(cells)
    received: list[bytes] = []

    def opened(socket: WebSocket) -> None:
        socket.on(
            "framereceived",
            lambda frame: received.append(frame.encode() if isinstance(frame, str) else frame),
        )

    notebook.page.on("websocket", opened)
    notebook.reload()  # so that its socket is one that is listened to
    notebook.run_all()
    notebook.says(3, "over 100")
    module = (ROOT / "acp_notebook" / "static" / "session.js").read_bytes()
    part = json.dumps(module.decode(), ensure_ascii=False).encode()[1000:1200]
    assert sum(frame.count(part) for frame in received) == 1


# ---- small and calm


@hosts
def test_nothing_is_wider_than_a_narrow_page(open_notebook: Open, host: str) -> None:
    notebook = open_notebook(
        [CONNECT, "s", "s.prompt('/tour');", prompts("/markdown", "/help", "/unknown")], host=host
    )
    page = notebook.page
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 320, "height": 800})
    notebook.run_all()
    notebook.asks(2)
    assert too_wide(notebook) == []
    moving = page.evaluate(
        "() => document.getAnimations().filter((it) => it.effect?.target?.closest?.('.acp')).length"
    )
    assert moving == 0
    notebook.answer(2)
    notebook.has_statuses(3, ["done"] * 3)
    notebook.panel(1).get_by_role("textbox").fill("/")
    expect(notebook.panel(1).get_by_role("listbox")).to_be_visible()
    assert too_wide(notebook) == []


TOO_WIDE = """() => [...document.querySelectorAll(".acp")].flatMap((root) => {
    const right = root.getBoundingClientRect().right + 1;
    const scrolls = (it) =>
        it !== root && (getComputedStyle(it).overflowX !== "visible" || scrolls(it.parentElement));
    const out = [...root.querySelectorAll("*")].filter((it) =>
        it.getBoundingClientRect().right > right && !scrolls(it.parentElement));
    const wide = root.scrollWidth > root.clientWidth ? [root] : [];
    return [...wide, ...out].map((it) => it.outerHTML.slice(0, 150));
})"""


def too_wide(notebook: NotebookPage) -> list[str]:
    """What overflows our views, except inside something that scrolls."""
    found: list[str] = notebook.page.evaluate(TOO_WIDE)
    return found


# ---- the file

IN_FILE, IN_PAGE = "Allow once by you", "Allowed once by you"
"""How the question was answered: before the diff in the file, below it in the page."""


@both_slow
def test_the_file_has_the_order_of_the_page(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/tour');"], host=host)
    notebook.run_all()
    notebook.answer(1)
    notebook.has_status(1, "done")
    saved_when_it_says(notebook, 1, "That was the tour.")
    file: dict[str, Any] = json.loads(notebook.path.read_text())
    static = notebook.page.evaluate(
        "html => { const it = document.createElement('div'); it.innerHTML = html; return it.textContent; }",
        text_of(data_of(file, 1)["text/html"]),
    )
    marks = [
        "/tour", "The user wants to see everything", "Welcome!", "Plan", "Look at the data", "Write it down",
        "Read stats.py", "def mean(values)", "Search for", "report.py:12", "I have read the function",
        "Edit stats.py", IN_FILE, "no values", IN_PAGE, "pytest -q", "4 passed", "What I found",
        "ZeroDivisionError", "mean([1, 2])  # 1.5", "without values there is no mean", "A picture, a link",
        "Agent Client Protocol", "An embedded resource", "The tour is over", "That was the tour.",
    ]  # fmt: skip
    page = notebook.turn(1).evaluate("it => it.textContent")
    for text, elsewhere in ((str(static), IN_PAGE), (str(page), IN_FILE)):
        places, at = [], 0
        for mark in (it for it in marks if it is not elsewhere):
            at = text.find(mark, at)
            assert at >= 0, f"{mark!r} does not follow: {text}"
            places.append(at)
        assert places == sorted(places)
