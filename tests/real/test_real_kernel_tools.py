"""Real agents use a real kernel: each call is asked about once, judged by its code, and shown by us.

The agent is started in the kernel, by its cells. No page has the notebook open, so the kernel's notebook is
the file that it was started for.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.notebook.kernel_tools.cells import NO_PAGE
from tests.agents.mock_model import kernel, say, script
from tests.notebook.kernels import Front, started
from tests.real.conftest import installed

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

NAMES = ["claude", "claude_agent", "kimi", "gemini", "codex", "codex_scripts", "opencode"]

SETUP = """
import json
import acp_notebook as acp
from acp_notebook.core.records import plain
from tests.real.user import User, allow, offer

numbers = [1, 2, 3]
def connect(**how):
    how |= dict(inherit_env=False, permissions="ask", tools=True)
    return acp.connect({command!r}, cwd={cwd!r}, env={env!r}, **how)
session = connect()
user = User(session, allow)

def cancel_when_begun(event, _):
    if isinstance(event, acp.events.ToolChanged) and "begun" in str(event.content):
        session.cancel()

def report(turn, of=session):
    "What a turn came to: its calls and runs, the questions that the user saw, and what the audit has of it."
    asked = [[action.type for action in it.actions] for it in turn.items if type(it).__name__ == "Question"]
    calls = [[it.kind, it.title, it.status] for it in turn.tool_calls if it.kind != "think"]
    acts = [it.target for it in of.audit if it.what == "act"]
    print("@" + json.dumps(dict(text=turn.text, stop=turn.stop_reason, calls=calls, asked=asked, acts=acts,
                                runs=plain(turn.runs))))
"""


def _cell(id: str, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    more = {"id": id, "metadata": {}, "source": source}
    return {"cell_type": "code", "execution_count": None, "outputs": list(outputs), **more}


NOTEBOOK = {
    "cells": [
        _cell("saved", "1", {"output_type": "stream", "name": "stdout", "text": "as saved\n"}),
        _cell("total", "total = 1 + 1\nprint(total)"),
        {"cell_type": "markdown", "id": "notes", "metadata": {}, "source": "Notes"},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}

LIMIT_S = 300.0
"""For a turn, and for the start of an agent."""

ONE_RUN = [["mcp", "run_code"]]
"""The questions of a turn that runs code: one, about the tool and its code."""

REMEMBER = script(say("I remember."))
DRAWS = "import matplotlib.pyplot as plt\nplt.plot(numbers)\nplt.show()"
SLEEPS = "import time\nprint('be' + 'gun')\ntime.sleep(50)\nended = True"


class Notebook:
    """A kernel with an agent in it, driven by cells."""

    def __init__(self, name: str, front: Front, path: Path) -> None:
        self.name = name
        self.front = front
        self.path = path

    def run(self, cell: str) -> str:
        result = self.front.run(cell)
        assert result.content["status"] == "ok", result.content
        return result.text

    def run_script(self, *steps: dict[str, Any]) -> dict[str, Any]:
        """Have the model do these; gives what came of the turn."""
        return self.reported(f"report(session.prompt({script(*steps)!r}))")

    def check_tools(self, session: str) -> None:
        """The agent of that session runs code, after one question."""
        code = script(kernel("run_code", code=f"print('in {session}')"), say("{result}"))
        turn = self.reported(f"report({session}.prompt({code!r}), {session})")
        assert f"in {session}" in turn["text"] and turn["asked"] == ONE_RUN

    def reported(self, cell: str) -> dict[str, Any]:
        (line,) = [it for it in self.run(cell).splitlines() if it.startswith("@")]
        report: dict[str, Any] = json.loads(line[1:])
        return report


@contextmanager
def opened(name: str, model: str, folder: Path) -> Iterator[Notebook]:
    """A kernel whose notebook has two cells; the session is the agent's."""
    command, env = installed(name, model, folder)
    project = folder / "repository"
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    path = project / "work.ipynb"
    path.write_text(json.dumps(NOTEBOOK))
    (folder / "kernel").mkdir()
    own = {"JPY_SESSION_NAME": str(path), "ACP_NOTEBOOK_CONFIG": str(folder / "config")}
    with started(Path(sys.executable), folder / "kernel", watch_fds=True, env=own) as front:
        front.limit_s = LIMIT_S
        notebook = Notebook(name, front, path)
        notebook.run(SETUP.format(command=command, cwd=str(project), env=env))
        yield notebook
        if not front.lost:
            notebook.run("session.agent.close()")


@pytest.fixture(scope="module", params=NAMES)
def notebook(
    request: pytest.FixtureRequest, model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    with opened(request.param, model, tmp_path_factory.mktemp(request.param)) as notebook:
        yield notebook


def test_variables_and_outputs_are_read_without_a_question(notebook: Notebook) -> None:
    listed = notebook.run_script(kernel("list_variables", pattern="numb*"), say("{result}"))
    assert "numbers: list, 3 items" in listed["text"]
    looked = notebook.run_script(kernel("inspect_variable", name="numbers"), say("{result}"))
    assert "[1, 2, 3]" in looked["text"]
    outlined = notebook.run_script(kernel("read_notebook"), say("{result}"))
    assert "notes · markdown" in outlined["text"]
    output = notebook.run_script(kernel("read_output", cell="saved"), say("{result}"))
    assert "as saved" in output["text"]
    assert [it["asked"] for it in (listed, looked, outlined, output)] == [[], [], [], []]
    assert [it["acts"][-1] for it in (listed, outlined)] == ["kernel/list_variables", "kernel/read_notebook"]


def test_code_prints_draws_and_fails_with_one_question_each(notebook: Notebook) -> None:
    code = "print('hello'); answer = 6 * 7"
    turn = notebook.run_script(kernel("run_code", code=code, purpose="Greet"), say("{result}"))
    assert "hello" in turn["text"] and turn["asked"] == ONE_RUN and turn["acts"][-1] == code
    assert turn["calls"] == [["execute", "Greet", "completed"]]
    (run,) = turn["runs"]
    assert (run["code"], run["status"], run["purpose"]) == (code, "ok", "Greet")
    assert run["outputs"] == [{"type": "stream", "name": "stdout", "text": "hello\n"}]
    assert notebook.run("print(answer)") == "42\n"

    turn = notebook.run_script(kernel("run_code", code=DRAWS), say("pictures: {pictures}"))
    assert turn["text"] == "pictures: 1" and turn["asked"] == ONE_RUN
    (shown,) = turn["runs"][0]["outputs"]
    assert shown["image"]["mime_type"] == "image/png"

    turn = notebook.run_script(kernel("run_code", code="1/0"), say("{result}"))
    assert "ZeroDivisionError: division by zero" in turn["text"] and turn["asked"] == ONE_RUN
    assert turn["calls"] == [["execute", "1/0", "failed"]]
    assert [it["status"] for it in turn["runs"]] == ["error"]


def test_a_cell_is_edited_and_run_without_a_page_and_the_result_says_so(notebook: Notebook) -> None:
    edit = {"op": "edit", "cell": "total", "old": "1 + 1", "new": "40 + 2"}
    edited = notebook.run_script(kernel("edit_notebook", edits=[edit]), say("{result}"))
    assert "changed total" in edited["text"] and [it[-1] for it in edited["asked"]] == ["notebook"]
    (source,) = [it["source"] for it in json.loads(notebook.path.read_text())["cells"] if it["id"] == "total"]
    assert source == "total = 40 + 2\nprint(total)"
    ran = notebook.run_script(kernel("run_cells", cells=["total"]), say("{result}"))
    assert NO_PAGE in ran["text"] and ran["asked"] == [["mcp", "run_cells"]]
    assert ran["calls"] == [["execute", "Run 1 cell", "completed"]]
    ((cell,),) = [it["cells"] for it in ran["runs"]]
    assert cell["outputs"] == [{"type": "stream", "name": "stdout", "text": "42\n"}]


def test_a_cancel_in_mid_run_ends_the_code_and_the_session_goes_on(notebook: Notebook) -> None:
    notebook.run("listeners = session._conversation.state.listeners")
    notebook.run("session._conversation.state.listeners = (*listeners, cancel_when_begun)")
    turn = notebook.run_script(kernel("run_code", code=SLEEPS), say("not reached"))
    notebook.run("session._conversation.state.listeners = listeners")
    assert (turn["stop"], turn["asked"]) == ("cancelled", ONE_RUN)
    assert [it["status"] for it in turn["runs"]] == ["interrupted"]
    assert notebook.run("print('ended' in globals())") == "False\n"
    again = notebook.run_script(kernel("run_code", code="print('again')"), say("{result}"))
    assert "again" in again["text"] and again["asked"] == ONE_RUN


def test_forks_and_loaded_sessions_have_the_tools(notebook: Notebook) -> None:
    notebook.run(f"first = connect(); first_user = User(first, allow); first.prompt({REMEMBER!r})")
    if notebook.run("print(first.agent.capabilities.fork)") == "True\n":
        notebook.run("fork = first.fork(); fork_user = User(fork, allow)")
        notebook.check_tools("fork")
        notebook.check_tools("first")
        notebook.run("fork.close()")
        notebook.check_tools("first")
    notebook.run("first.agent.close()")
    if notebook.name == "gemini":
        return  # it forgets a session that is loaded in the minute in which it was opened: see below
    notebook.run("again = connect(load=first.id); its_user = User(again, allow)")
    notebook.check_tools("again")
    notebook.run("again.agent.close()")


@pytest.mark.slow
@pytest.mark.parametrize("name", [it for it in NAMES if it != "codex"])
def test_code_of_70_seconds_is_waited_for_and_the_session_can_be_loaded(
    name: str, model: str, tmp_path: Path
) -> None:
    code = "import time\nprint('be' + 'gun')\ntime.sleep(70)\nprint('ended')"
    with opened(name, model, tmp_path) as notebook:
        turn = notebook.run_script(
            kernel("run_code", code=code), kernel("wait", run="run-1"), say("{result}")
        )
        assert "ended" in turn["text"] and "begun" not in turn["text"], "wait gives what is new"
        assert turn["asked"] == ONE_RUN
        (shown,) = turn["runs"]
        assert shown["status"] == "ok" and shown["seconds"] >= 70
        notebook.run("session.agent.close(); session = connect(load=session.id); user = User(session, allow)")
        notebook.run("user.choose = offer('session')")
        notebook.check_tools("session")
        notebook.run("user.choose = lambda question: None")  # all code is allowed: nobody is waited for
        notebook.check_tools("session")
