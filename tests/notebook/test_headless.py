"""Headless runs (nbclient, nbconvert, nbval) get one static output a prompt, and end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question, TurnStart
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.headless import CELLS, FILE, executed
from tests.patience import patient_kernels

CONNECT = 'import acp_notebook as acp\nsession = acp.connect("demo")'
STATIC = {"text/html", "text/plain", TRANSCRIPT_MIME}
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
LIMIT_S = 240.0

pytestmark = [
    pytest.mark.timeout(LIMIT_S),
    pytest.mark.filterwarnings("default"),  # those of nbclient and its libraries are not ours
]

Outputs = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel of this environment, without the user's settings."""
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("IPYTHONDIR", str(patient_kernels(tmp_path / "ipython")))
    monkeypatch.delenv("ACP_NOTEBOOK_HEADLESS", raising=False)


def outputs_of(*cells: str, folder: Path) -> list[Outputs]:
    """What each cell left, after a cell that connects; the last one closes the session."""
    notebook = executed([CONNECT, *cells, "session.agent.close()"], folder)
    return [cell.outputs for cell in notebook.cells[1:-1]]


def run(*command: object, cwd: Path, check: bool = True) -> str:
    words = [sys.executable, "-m", *map(str, command)]
    done = subprocess.run(
        words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0 or not check, done.stdout[-4000:]
    return done.stdout


def the_static_one(outputs: Outputs) -> dict[str, str]:
    [output] = outputs
    assert output["output_type"] == "display_data"
    assert set(output["data"]) == STATIC
    data: dict[str, str] = output["data"]
    return data


def test_a_prompt_leaves_one_static_output_however_the_cell_ends(tmp_path: Path) -> None:
    every = outputs_of(
        'session.prompt("hello")',
        'turn = session.prompt("hello")\nturn',
        'turn = session.prompt("hello");',
        'turn = session.start("hello")\nturn.wait()',
        'turn = session.start("hello")\nawait turn\nturn',
        "turn",
        folder=tmp_path,
    )
    for outputs in every:
        assert "You said: “hello”." in the_static_one(outputs)["text/plain"]


def test_an_awaited_turn_is_shown_however_fast_it_was(tmp_path: Path) -> None:
    end = "assert turn._run.done.result(60) is None"
    every = outputs_of(
        'turn = session.start("hello").wait()',
        f'turn = session.start("hello")\n{end}\nturn.wait();',
        f'turn = session.start("hello")\n{end}\nawait turn;',
        folder=tmp_path,
    )
    for outputs in every:
        the_static_one(outputs)


def test_a_turn_neither_awaited_nor_displayed_shows_nothing(tmp_path: Path) -> None:
    every = outputs_of(
        'turn = session.start("hello")\nassert turn._run.done.result(60) is None',
        'for event in session.stream("hello"):\n    pass',
        'for event in session.stream("/slow 60"):\n    break',
        folder=tmp_path,
    )
    assert every == [[], [], []]


def test_a_question_does_not_wait_and_the_reason_is_shown(tmp_path: Path) -> None:
    [outputs] = outputs_of('session.prompt("/ask")', folder=tmp_path)
    data = the_static_one(outputs)
    for form in ("text/html", "text/plain"):
        assert "nobody can be asked here" in data[form]


def test_two_equal_runs_give_equal_outputs(tmp_path: Path) -> None:
    cells = ('session.prompt("/tour")', 'session.prompt("/run echo out; exit 3")', "session")
    folders = [tmp_path / name for name in ("one", "another")]
    for folder in folders:
        folder.mkdir()
    one, other = (outputs_of(*cells, folder=folder) for folder in folders)
    assert json.dumps(one) == json.dumps(other)


def test_a_failed_prompt_leaves_its_output_too(tmp_path: Path) -> None:
    failing = 'try:\n    session.prompt("/die")\nexcept acp.AgentDied:\n    pass'
    [outputs] = outputs_of(failing, folder=tmp_path)
    assert "The turn failed" in the_static_one(outputs)["text/plain"]


def test_a_session_as_a_value_is_its_transcript_without_a_path(tmp_path: Path) -> None:
    before, _, after = outputs_of("session", 'session.prompt("hello");', "session", folder=tmp_path)
    [nothing] = before
    assert "nothing to show yet" in nothing["data"]["text/html"]
    data = the_static_one(after)
    assert "You said: “hello”." in data["text/html"]
    assert str(tmp_path) not in json.dumps([before, after])


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A notebook with questions, run by `jupyter nbconvert --execute`, and its HTML."""
    folder = tmp_path_factory.mktemp("nbconvert")
    cells = [CONNECT, 'session.prompt("/ask")', 'session.prompt("/tour")', "session", "session.close()"]
    blank: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    made = [{**blank, "id": f"c{at}", "source": source} for at, source in enumerate(cells)]
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}
    (folder / "asks.ipynb").write_text(json.dumps(content))
    run("nbconvert", "--to", "notebook", "--execute", "--inplace", "asks.ipynb", cwd=folder)
    run("nbconvert", "--to", "html", "asks.ipynb", cwd=folder)
    yield folder / "asks.ipynb", (folder / "asks.html").read_text()


def test_nbconvert_finishes_with_the_policys_answers(converted: tuple[Path, str]) -> None:
    snapshot = acp.load_transcript(converted[0])
    questions = [item for item in snapshot.items if isinstance(item, Question)]
    assert len(questions) > 1
    assert {question.by for question in questions} == {"policy"}
    prompts = [item.text for item in snapshot.items if isinstance(item, TurnStart)]
    assert prompts == ["/ask", "/tour"], "each turn once, though the session below has them, too"


def test_the_html_of_nbconvert_shows_the_conversation(converted: tuple[Path, str]) -> None:
    html = converted[1].partition("<body")[2]
    assert html.count("You answered reject_once.") >= 2
    assert "A small story about a mean function" in html
    assert "widget-view" not in html
    assert "model not found" not in html
    assert not ADDRESS.search(html)
    assert str(converted[0].parent) not in html


def test_the_notebook_in_the_repository_matches_these_cells() -> None:
    notebook = json.loads(FILE.read_text())
    assert ["".join(cell["source"]) for cell in notebook["cells"]] == CELLS, "run python -m tests.headless"
    text = json.dumps(notebook["cells"])
    assert "hunter2" not in json.dumps([cell["outputs"] for cell in notebook["cells"]])
    assert "widget-view" not in text
    assert not ADDRESS.search(text)
    assert str(Path.home()) not in text


@pytest.mark.slow
def test_nbval_finds_the_same_twice_in_a_row() -> None:
    for _ in range(2):
        options = ["-p", "no:xdist", "-p", "no:cacheprovider", "-o", "filterwarnings=default", "-q"]
        root = FILE.parents[2]
        run("pytest", *options, "--nbval", "--nbval-current-env", FILE.relative_to(root), cwd=root)


def test_a_setting_makes_any_run_headless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_HEADLESS", "1")
    assert os.environ["ACP_NOTEBOOK_HEADLESS"] == "1"
    [outputs] = outputs_of('session.prompt("/ask")', folder=tmp_path)
    the_static_one(outputs)
