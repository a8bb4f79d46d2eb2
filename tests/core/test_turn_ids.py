"""Ids of turns are numbered, and never repeat those that a file may have."""

from __future__ import annotations

from acp_notebook.core.snapshot import TurnStart
from acp_notebook.core.turn_ids import TurnIds


def turns(*ids: str) -> list[TurnStart]:
    return [TurnStart(key=id, turn=id, number=1, status="done", prompt=(), id=id) for id in ids]


def test_turns_are_numbered() -> None:
    ids = TurnIds()
    assert [ids.next(), ids.next()] == ["t1", "t2"]


def test_a_session_of_an_earlier_kernel_uses_no_id_again() -> None:
    ids = TurnIds()
    ids.continues(turns("h1", "h2"))
    ids.continues(turns("t1", "r7", "t3"))
    assert [ids.next(), ids.next()] == ["r8", "r9"]


def test_without_a_history_ids_differ_from_those_of_a_new_session() -> None:
    ids = TurnIds()
    ids.continues([])
    assert ids.next() == "r1"


def test_ids_of_a_hostile_file_are_ignored() -> None:
    ids = TurnIds()
    ids.continues(turns("t" + "9" * 5000, "t-1", "", "../x", "t\u0663"))
    assert ids.next() == "r1"
