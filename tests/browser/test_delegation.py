"""One agent asks another in a real page: the other's turn and its questions are in the card of the call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.agents.mock_model import do, kernel, say, script
from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source
from tests.browser.pages import NotebookPage, choose
from tests.browser.test_real_agent import model, note_of  # noqa: F401
from tests.real.conftest import installed

CONNECT = """
import acp_notebook as acp
s = acp.connect('demo')
inner = acp.connect('demo')
s.tool(inner, name='reviewer', permission='read');
"""


def asked(notebook: NotebookPage, number: int) -> Locator:
    """The other session's turn in the card below a cell."""
    return notebook.output(number).locator(".acp-asked")


def open_question(notebook: NotebookPage, number: int) -> Locator:
    return asked(notebook, number).locator("[data-acp-question][data-status=open]")


def shoot(notebook: NotebookPage, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"{name}.png")


@pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
def test_a_question_of_the_inner_agent_is_answered_in_the_card_of_the_call(
    open_notebook: Open, host: str
) -> None:
    cells = [CONNECT, "s.prompt('/delegate reviewer /edit asked.txt Hello');", "inner"]
    notebook = open_notebook(cells, host=host)
    notebook.run(0, 1)
    question = open_question(notebook, 1)
    expect(question.locator(".acp-asks")).to_contain_text("demo (reviewer) asks, for demo: Allow this?")
    shoot(notebook, f"delegate-asked-{host}")
    choose(question.locator('[data-acp-option][data-kind="allow_once"]'))
    expect(notebook.turn(1).first).to_have_attribute("data-acp-status", "done")
    notebook.says(1, "reviewer answered")
    assert (notebook.path.parent / "asked.txt").read_text().startswith("Hello")
    expect(asked(notebook, 1)).not_to_have_attribute("open", "")
    notebook.run(2)  # the other session's own panel says who asked
    expect(notebook.panel(2).locator(".acp-prompt")).to_contain_text("Asked by demo, in its turn 1")
    saved = json.dumps(notebook.save())
    assert "Answered by" in saved and "demo, in its turn 1" in saved
    notebook.reload()
    asked(notebook, 1).locator("summary").first.click()
    expect(asked(notebook, 1).locator("[data-acp-tool]").first).to_be_visible()
    shoot(notebook, f"delegate-over-{host}")


def test_the_inner_turn_is_stopped_alone_and_with_the_outer_one(open_notebook: Open) -> None:
    cells = [
        CONNECT,
        "s.prompt('/delegate reviewer /slow 600');",
        "s.prompt('/delegate reviewer /slow 600');",
    ]
    notebook = open_notebook(cells)
    notebook.run(0, 1)
    expect(asked(notebook, 1)).to_contain_text("tick3")
    asked(notebook, 1).locator("[data-acp-stop]").click()
    notebook.says(1, "was stopped by the user")
    expect(notebook.turn(1).first).to_have_attribute("data-acp-status", "done")
    notebook.run(2)
    expect(asked(notebook, 2)).to_contain_text("tick3")
    notebook.press_interrupt()
    expect(notebook.turn(2).first).to_have_attribute("data-acp-status", "done")
    notebook.says(2, "stopped after")


REAL = """
import json, acp_notebook as acp
setup = json.load(open("NAME.json"))
def connect(name):
    agent = setup[name]
    return acp.connect(agent["command"], env=agent["env"], inherit_env=False)
s, other = connect("claude"), connect("kimi")
s.tool(other, name="reviewer", description="Reviews a file.", max_cost=1);
"""


@pytest.mark.slow
@pytest.mark.real_agent
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_claude_code_asks_kimi(
    open_notebook: Open,
    model: str,  # noqa: F811
    tmp_path: Path,
    theme: str,
) -> None:
    notebook = open_notebook(["connect", "s.prompt(setup['prompt']);"], theme=f"JupyterLab {theme}")
    set_source(notebook, 0, REAL.replace("NAME.json", note_of(notebook).name))
    target = notebook.path.parent / "review.md"
    inner = script(
        do("write", path=str(target), text="# Review\n\nThe loop is quadratic.\n"),
        say("The loop in `pairs()` is quadratic: use a dict. My notes are in review.md."),
    )
    call = kernel("call_function", name="reviewer", arguments={"prompt": f"Review this diff. {inner}"})
    setup: dict[str, object] = {
        "prompt": script(call, kernel("wait", run="run-1"), say("The reviewer says: use a dict."))
    }
    for name in ("claude", "kimi"):
        command, env = installed(name, model, tmp_path / name)
        setup[name] = {"command": command, "env": env}
    note_of(notebook).write_text(json.dumps(setup))
    notebook.run(0, 1)
    choose(notebook.turn(1).first.locator('[data-acp-option][data-kind="allow_once"]').first)
    question = open_question(notebook, 1)
    expect(question.locator(".acp-asks")).to_contain_text("(reviewer) asks, for")
    shoot(notebook, f"delegate-real-asks-{theme.lower()}")
    choose(question.locator('[data-acp-option][data-meaning="allow_once"]'))
    notebook.says(1, "The reviewer says: use a dict.")
    expect(notebook.turn(1).first).to_have_attribute("data-acp-status", "done")
    shoot(notebook, f"delegate-real-over-{theme.lower()}")
    assert "quadratic" in target.read_text()
