"""load_transcript() reads the conversations of a saved notebook, or says clearly why it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core import events as ev
from acp_notebook.core.origin import Origin
from acp_notebook.core.records import Text
from acp_notebook.core.snapshot import Message, TurnStart
from acp_notebook.core.transcript import Transcript
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME, Renderer


def output(text: str) -> dict[str, Any]:
    transcript = Transcript()
    for event in (ev.TurnStarted((Text("go"),)), ev.MessageChunk("agent", Text(text)), ev.TurnEnded("done")):
        transcript.apply(event)
    data = Renderer(Origin("demo", "demo-1"), cwd=None).part("t1", transcript.plain()["items"])
    return {"output_type": "display_data", "metadata": {}, "data": data}


def cell(*outputs: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": "", "metadata": {}, "execution_count": None, "outputs": [*outputs]}


def written(folder: Path, content: Any) -> Path:
    path = folder / "some.ipynb"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def notebook(*cells: Any) -> dict[str, Any]:
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*cells]}


def test_conversations_come_back_in_the_order_of_the_cells(tmp_path: Path) -> None:
    prose = {"cell_type": "markdown", "source": "# Title", "metadata": {}}
    stream = {"output_type": "stream", "name": "stdout", "text": "x"}
    path = written(
        tmp_path, notebook(prose, cell(stream, output("one"), output("two")), cell(output("three")))
    )
    snapshot = acp.load_transcript(path)
    assert [item.text for item in snapshot.items if isinstance(item, Message)] == ["one", "two", "three"]
    assert [item.text for item in snapshot.items if isinstance(item, TurnStart)] == ["go"] * 3
    assert len({item.key for item in snapshot.items}) == len(snapshot.items)


def test_a_path_may_be_text(tmp_path: Path) -> None:
    assert acp.load_transcript(str(written(tmp_path, notebook(cell(output("one")))))).items


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(acp.UsageError, match=r"missing.ipynb cannot be read: No such file"):
        acp.load_transcript(tmp_path / "missing.ipynb")


@pytest.mark.parametrize("content", ["", "print(1)", "[" * 100_000, "[]", "{}", '{"cells": 1}', "null"])
def test_a_file_that_is_not_a_notebook_is_reported(tmp_path: Path, content: str) -> None:
    with pytest.raises(acp.UsageError, match="is not a notebook"):
        acp.load_transcript(written(tmp_path, content))


def test_a_binary_file_is_not_a_notebook(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\xff")
    with pytest.raises(acp.UsageError, match="is not a notebook"):
        acp.load_transcript(path)


def test_an_old_notebook_format_has_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(acp.UsageError, match="old format"):
        acp.load_transcript(written(tmp_path, {"nbformat": 3, "worksheets": []}))


@pytest.mark.parametrize("cells", [[], [cell()], [1, {"outputs": 1}, cell(1, {"data": 1}, {"data": {}})]])
def test_a_notebook_without_conversations_is_reported(tmp_path: Path, cells: list[Any]) -> None:
    with pytest.raises(acp.UsageError, match="contains no conversation"):
        acp.load_transcript(written(tmp_path, notebook(*cells)))


def test_a_transcript_that_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    broken = {"output_type": "display_data", "data": {TRANSCRIPT_MIME: {"acp_transcript": 99}}}
    with pytest.raises(acp.UsageError, match=r"some\.ipynb: .*format 99"):
        acp.load_transcript(written(tmp_path, notebook(cell(broken))))
