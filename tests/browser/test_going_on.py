"""A conversation goes on after a restart of the kernel, and after the notebook was opened again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.agents import mock_model
from tests.agents.mock_model import say, script
from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source
from tests.browser.pages import NOTEBOOK, NotebookPage
from tests.browser.saved_files import data_of, saved, saved_when_it_says
from tests.real.conftest import installed

CONNECT = """
import acp_notebook as acp
session = acp.connect('demo', env={'ACP_DEMO_HOME': 'STORE'})
session
"""

REAL = """
import json, acp_notebook as acp
setup = json.load(open("NAME.json"))
options = {"inherit_env": False, "permissions": "allow"}
session = acp.connect(setup["command"], env=setup["env"], cwd=setup["cwd"], **options)
session
"""

REMEMBERED = f"""text => {NOTEBOOK}.context.model.toJSON().cells[0].outputs.some(
    ({{ data }}) => ["acp_transcript", text].every((it) => JSON.stringify(data).includes(it))
)"""
"""Whether the kernel has sent what the file would have; it does so within a second."""

SAID = "print([item.text for item in session.transcript.items if getattr(item, 'role', '') == 'agent'])"

EXPORT = "print([item.text for item in session.transcript.items if type(item).__name__ == 'TurnStart'])"


def ways(notebook: NotebookPage) -> list[str]:
    """The ways that the panel below the first cell offers."""
    buttons = notebook.panel(0).locator("[data-acp-go-on]")
    expect(buttons.first).to_be_visible()
    return [str(it.get_attribute("data-acp-go-on")) for it in buttons.all()]


def go_on(notebook: NotebookPage, how: str) -> None:
    notebook.panel(0).locator(f"[data-acp-go-on={how}]").click()


def reopen_with_new_kernel(notebook: NotebookPage) -> None:
    notebook.close()
    notebook.server.end_kernels()
    notebook.page = notebook._opened()


def converse(notebook: NotebookPage, prompt: str, answer: str) -> None:
    notebook.run(0)
    expect(notebook.panel(0)).to_be_visible()
    notebook.prompt(0, prompt)
    notebook.says(0, answer)
    expect(notebook.panel(0).locator("[data-acp-turn]").last).to_have_attribute("data-acp-status", "done")


def photograph(notebook: NotebookPage, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"going-on-{name}.png")


@pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
def test_a_reopened_notebook_resumes_its_conversation(open_notebook: Open, tmp_path: Path, host: str) -> None:
    notebook = open_notebook([CONNECT.replace("STORE", str(tmp_path)), EXPORT], host=host)
    converse(notebook, "The number is 7", "The number is 7")
    saved_when_it_says(notebook, 0, "The number is 7", "Run this cell to continue.")
    reopen_with_new_kernel(notebook)
    notebook.says(0, "Run this cell to continue.")
    photograph(notebook, "static")
    notebook.run(0)
    assert ways(notebook) == ["resume", "context", "fresh"]
    photograph(notebook, "offer")
    go_on(notebook, "resume")
    notebook.says(0, "The number is 7")
    expect(notebook.panel(0).locator("[data-acp-go-on]")).to_have_count(0)
    notebook.prompt(0, "And on")
    notebook.says(0, "And on")
    notebook.run(1)
    notebook.says(1, "['The number is 7', 'And on']")


def test_after_a_restart_the_panel_says_what_to_do_and_the_page_remembers(
    open_notebook: Open, tmp_path: Path
) -> None:
    notebook = open_notebook([CONNECT.replace("STORE", str(tmp_path)), EXPORT])
    converse(notebook, "The number is 7", "The number is 7")
    notebook.page.wait_for_function(REMEMBERED, arg="The number is 7")  # and never saved
    notebook.restart()
    notebook.says(0, "Run this cell to reconnect.")
    notebook.wait_idle()
    notebook.run(0)
    assert "resume" in ways(notebook)
    go_on(notebook, "resume")
    notebook.says(0, "The number is 7")
    notebook.run(1)
    notebook.says(1, "['The number is 7']")


def test_a_notebook_from_another_machine_goes_on_as_context(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook([CONNECT.replace("STORE", str(tmp_path / "there")), "import os", EXPORT])
    converse(notebook, "The number is 7", "The number is 7")
    saved_when_it_says(notebook, 0, "The number is 7")
    notebook.close()
    notebook.server.end_kernels()
    moved = notebook.path.read_text().replace(str(tmp_path / "there"), str(tmp_path / "here"))
    notebook.path.write_text(moved)
    notebook.page = notebook._opened()
    notebook.run(0)
    assert ways(notebook) == ["resume", "context", "fresh"]
    go_on(notebook, "resume")
    notebook.says(0, "It cannot be resumed: session 'demo-1' is open already.")  # the new one has this id
    assert ways(notebook) == ["context", "fresh"]
    photograph(notebook, "gone")
    go_on(notebook, "context")
    notebook.says(0, "Your next prompt includes the conversation")
    notebook.panel(0).locator("[data-acp-going-on] summary").click()
    notebook.says(0, "> ")
    photograph(notebook, "context")
    notebook.prompt(0, "Which number?")
    notebook.says(0, "Which number?")
    expect(notebook.panel(0).locator("[data-acp-going-on]")).to_have_count(0)


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with mock_model.serving() as url:
        yield url


def made_earlier(home: Path) -> None:
    """Let gemini's conversations have begun in another minute than this one.

    It names their files by the minute, and overwrites one that it loads in the same minute. Seen in 0.61.0.
    """
    for path in home.glob(".gemini/tmp/*/chats/session-*"):
        path.rename(path.with_name(re.sub(r"^session-\d+", "session-2020", path.name)))


@pytest.mark.real_agent
@pytest.mark.parametrize("agent", ["claude", "kimi", "gemini"])
def test_a_real_agents_conversation_is_resumed(
    open_notebook: Open, model: str, tmp_path: Path, agent: str
) -> None:
    notebook = open_notebook(["connect", SAID])
    note = notebook.path.with_suffix(".json")
    command, env = installed(agent, model, tmp_path)
    (tmp_path / "work").mkdir()
    note.write_text(json.dumps({"command": command, "env": env, "cwd": str(tmp_path / "work")}))
    set_source(notebook, 0, REAL.replace("NAME.json", note.name))
    converse(notebook, script(say("I keep the seven")), "I keep the seven")
    saved_when_it_says(notebook, 0, "I keep the seven")
    reopen_with_new_kernel(notebook)
    made_earlier(tmp_path / "home")
    notebook.run(0)
    assert ways(notebook) == ["resume", "context", "fresh"]
    go_on(notebook, "resume")
    expect(notebook.panel(0).locator("[data-acp-go-on]")).to_have_count(0)
    notebook.says(0, "I keep the seven")
    notebook.prompt(0, script(say("and the eight")))
    expect(notebook.panel(0).locator("[data-acp-turn]")).to_have_count(2)
    expect(notebook.panel(0).locator("[data-acp-turn]").last).to_have_attribute("data-acp-status", "done")
    photograph(notebook, agent)
    notebook.run(1)
    notebook.says(1, "['I keep the seven', 'and the eight']")


START = """
import os
os.environ['ACP_DEMO_HOME'] = 'STORE'
%load_ext acp_notebook
%acp_agent demo
"""


def test_run_all_reuses_stored_answers_and_says_what_is_sent_again(
    open_notebook: Open, tmp_path: Path
) -> None:
    asked, cached = "%%acp\nThe number is 7", "%%acp --cached\nThe number is 8"
    notebook = open_notebook(
        [START.replace("STORE", str(tmp_path)), asked, cached, "print(len(session.turns))"]
    )
    notebook.run_all()
    notebook.says(3, "2")
    for cell, number in ((1, "7"), (2, "8")):
        saved_when_it_says(notebook, cell, f"The number is {number}")
    first = saved(notebook)
    reopen_with_new_kernel(notebook)
    notebook.run_all()
    notebook.says(2, "Stored answer")
    notebook.says(3, "1")
    notebook.says(0, "%%acp --cached reuses the answers to unchanged prompts")
    photograph(notebook, "cached")
    go_on(notebook, "noted")
    expect(notebook.panel(0).locator("[data-acp-going-on]")).to_have_count(0)
    saved_when_it_says(notebook, 2, "The number is 8", "Stored answer")
    again = saved(notebook)
    assert data_of(again, 2)[TRANSCRIPT_MIME] == data_of(first, 2)[TRANSCRIPT_MIME]
