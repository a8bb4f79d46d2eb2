"""The newest conversation of a cell is found, also in a hostile file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core import loaded_transcript
from acp_notebook.core.saved_transcript import Part
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.notebook.saved_conversations import MOST_OUTPUTS, Output, newest_conversation
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME


def output(cell: str, **fields: Any) -> Output:
    line = json.dumps({"acp_transcript": 2, "agent": "demo", "session": "demo-1", **fields})
    return cell, {TRANSCRIPT_MIME: line}


def turn(name: str) -> dict[str, Any]:
    prompt = [{"type": "text", "text": name}]
    return {"name": name, "items": [{"type": "turn", "number": 1, "status": "done", "prompt": prompt}]}


def found(*outputs: Output) -> list[str]:
    conversation = newest_conversation(outputs, "a")
    return [it.text for it in conversation.items if isinstance(it, TurnStart)] if conversation else []


def test_turns_come_from_other_cells() -> None:
    assert found(output("b", **turn("t1")), output("a", parts=["t1", "t2"]), output("b", **turn("t2"))) == [
        "t1",
        "t2",
    ]


def test_an_output_without_turns_leaves_an_older_one() -> None:
    whole = output("a", parts=["t1"])
    assert found(output("b", **turn("t1")), whole, output("a", parts=[]), ("a", {TRANSCRIPT_MIME: 7})) == [
        "t1"
    ]


def test_a_turn_alone_and_another_cell_are_no_conversation() -> None:
    assert found(output("a", **turn("t1")), output("b", parts=["t1"])) == []


def test_a_hostile_file_with_very_many_empty_conversations_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[str] = []
    read = loaded_transcript._part

    def counted(line: str) -> Part:
        reads.append(line)
        return read(line)

    monkeypatch.setattr(loaded_transcript, "_part", counted)
    count = 1_000
    assert found(*[output("a", parts=[])] * count) == []
    assert len(reads) <= 2 * (count + MOST_OUTPUTS)
