"""Edits of cells are made all together, or not at all."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from acp_notebook.agent.kernel_tools.catalog import Edit
from acp_notebook.core.kernel_tools.edits import edited

NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [
        {"cell_type": "markdown", "id": "aaaa1111", "metadata": {}, "source": "# Title"},
        {
            "cell_type": "code",
            "id": "bbbb2222",
            "metadata": {"tags": ["x"]},
            "source": ["x = 1\n", "y = x"],
            "execution_count": 3,
            "outputs": [],
        },
    ],
}


def made(*edits: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    numbers = count(1)
    text, report = edited(json.dumps(NOTEBOOK), [Edit(**it) for it in edits], lambda: f"new{next(numbers)}")
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    return cells, report


def ids(cells: list[dict[str, Any]]) -> list[str]:
    return [it["id"] for it in cells]


def test_cells_are_inserted_where_they_are_wanted() -> None:
    cells, report = made(
        {"op": "insert", "source": "a", "after": "top"},
        {"op": "insert", "source": "b", "type": "markdown"},
        {"op": "insert", "source": "c", "after": "aaaa"},
    )
    assert ids(cells) == ["new1", "aaaa1111", "new3", "bbbb2222", "new2"]
    assert cells[0] == {
        "cell_type": "code",
        "id": "new1",
        "metadata": {},
        "source": "a",
        "execution_count": None,
        "outputs": [],
    }
    assert cells[-1]["cell_type"] == "markdown" and "outputs" not in cells[-1]
    assert report == ["inserted code cell new1", "inserted markdown cell new2", "inserted code cell new3"]


def test_a_cell_that_was_just_inserted_can_be_named() -> None:
    cells, _ = made({"op": "insert", "source": "a"}, {"op": "edit", "cell": "new1", "old": "a", "new": "b"})
    assert cells[-1]["source"] == "b"


def test_sources_are_replaced_and_edited() -> None:
    cells, _ = made({"op": "replace", "cell": "aaaa1111", "source": "# New"})
    assert cells[0]["source"] == "# New"
    cells, _ = made({"op": "edit", "cell": "[3]", "old": "y = x", "new": "y = 2"})
    assert cells[1]["source"] == "x = 1\ny = 2" and cells[1]["metadata"] == {"tags": ["x"]}


def test_cells_are_moved_and_deleted() -> None:
    assert ids(made({"op": "move", "cell": "aaaa1111", "after": "bottom"})[0]) == ["bbbb2222", "aaaa1111"]
    assert ids(made({"op": "move", "cell": "bbbb2222", "after": "top"})[0]) == ["bbbb2222", "aaaa1111"]
    assert ids(made({"op": "delete", "cell": "aaaa1111"})[0]) == ["bbbb2222"]


@pytest.mark.parametrize(
    "edit, why",
    [
        ({"op": "delete", "cell": "zzzz"}, "no cell 'zzzz'"),
        ({"op": "delete"}, "needs a cell"),
        ({"op": "edit", "cell": "bbbb", "old": "x", "new": "z"}, "old is 2 times in bbbb2222"),
        ({"op": "edit", "cell": "bbbb", "old": "", "new": "z"}, "old is 0 times"),
        ({"op": "move", "cell": "aaaa1111", "after": "aaaa1111"}, "behind itself"),
    ],
)
def test_one_edit_that_cannot_be_made_leaves_all_undone(edit: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=f"Nothing was changed. Edit 2 .*{why}"):
        made({"op": "insert", "source": "a"}, edit)
