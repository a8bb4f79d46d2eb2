"""A notebook that plays a cassette, run by `jupyter nbconvert --execute`: no agent, static outputs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from tests.notebook.test_headless import LIMIT_S, STATIC, environment, the_static_one
from tests.patience import be_patient
from tests.session.test_cassette_changes import states

__all__ = ["environment"]

pytestmark = pytest.mark.timeout(LIMIT_S)

PROMPTS = ("/sh mkdir out; seq 3 > out/rows.csv; rm old.csv", "/write notes.txt done", "/ask")

CELLS = (
    'import os, acp_notebook as acp\nsession = acp.connect(cassette="tape.jsonl", permissions="allow")',
    *(f"session.prompt({prompt!r});" for prompt in PROMPTS),
    'os.chdir(session.cwd)\nprint(open("out/rows.csv").read(), open("notes.txt").read(), os.listdir("out"))',
    "session.turns[0].also_changed",
    "print(session.agent.pid)\nsession.close()",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a recording that was made elsewhere, and a notebook that plays it."""
    be_patient()
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    (there / "old.csv").write_text("1\n")
    with acp.connect("demo", cwd=there, permissions="allow", record=here / "tape.jsonl") as session:
        for prompt in PROMPTS:
            session.prompt(prompt, timeout=LIMIT_S)
        (here / "made.json").write_text(json.dumps([turn.to_html() for turn in session.turns]))
    assert {*states(there)} == {"out/rows.csv", "notes.txt"}
    shutil.rmtree(there)
    _write(here, *CELLS)
    return here


def _write(folder: Path, *cells: str) -> None:
    blank: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    made = [{**blank, "id": f"c{at}", "source": source} for at, source in enumerate(cells)]
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}
    (folder / "plays.ipynb").write_text(json.dumps(notebook))


def nbconvert(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbconvert", "--execute", *options, "plays.ipynb"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)


def outputs(notebook: Path) -> list[list[dict[str, Any]]]:
    return [cell["outputs"] for cell in json.loads(notebook.read_text())["cells"]]


def test_nbconvert_to_notebook_leaves_recorded_turns_as_static_outputs(folder: Path) -> None:
    before = {*folder.iterdir()}
    done = nbconvert(folder, "--to", "notebook", "--output", "done")
    assert done.returncode == 0, done.stderr
    assert {*folder.iterdir()} == {*before, folder / "done.ipynb"}
    _, *turns, files, changes, last = outputs(folder / "done.ipynb")
    made = json.loads((folder / "made.json").read_text())
    assert ["".join(the_static_one(it)["text/html"]) for it in turns] == made
    assert all({*it[0]["data"]} == STATIC for it in turns)
    assert "".join(files[0]["text"]) == "1\n2\n3\n done\n ['rows.csv']\n"
    assert "out/rows.csv" in "".join(changes[0]["data"]["text/plain"])
    assert "".join(last[0]["text"]) == "None\n"


def test_nbconvert_to_html_shows_recorded_turns(folder: Path) -> None:
    done = nbconvert(folder, "--to", "html")
    assert done.returncode == 0, done.stderr
    html = (folder / "plays.html").read_text().partition("<body")[2]
    assert "rows.csv" in html and "Wrote" in html
    assert "widget-view" not in html and "acp-cassette-" not in html


@pytest.mark.slow
def test_nbconvert_fails_with_a_diff_if_a_prompt_was_changed(folder: Path) -> None:
    _write(folder, CELLS[0], "session.prompt('/sh rm -r out')")
    done = nbconvert(folder, "--to", "notebook", "--output", "done")
    assert done.returncode != 0
    assert "CassetteMismatch" in done.stderr
    assert "-/sh mkdir out" in done.stderr and "+/sh rm -r out" in done.stderr
