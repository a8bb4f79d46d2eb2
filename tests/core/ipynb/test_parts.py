"""What an agent knows that reads a notebook in parts."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.ipynb import as_agent_sees, merge
from acp_notebook.core.ipynb.partial_reads import cell_lines, known, lines_of

SOURCES = st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=6)


def book(*sources: str, names: str = "abcdefghij") -> dict[str, Any]:
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": id,
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for id, source in zip(names, sources, strict=False)
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@given(SOURCES)
def test_every_line_belongs_to_the_cell_that_it_stands_in(sources: list[str]) -> None:
    view = as_agent_sees(book(*sources))
    lines, inside = cell_lines(view), None
    cells = iter(view.cells)
    for number, line in enumerate(view.text.split("\n")[:-1], 1):
        inside = next(cells).name if line == "  {" else inside
        assert lines.cell_at(number) == inside
    assert next(cells, None) is None


@given(SOURCES, st.integers(1, 9))
def test_parts_joined_are_the_whole(sources: list[str], size: int) -> None:
    view = as_agent_sees(book(*sources))
    count = view.text.count("\n")
    parts = [lines_of(view.text, line, size) for line in range(1, count + 1, size)]
    assert "".join(parts) == view.text
    assert lines_of(view.text, count + 1, None) == ""
    assert lines_of(view.text, 0, None) == lines_of(view.text, None, None) == view.text


@given(SOURCES, st.integers(1, 9))
def test_whoever_has_read_every_part_knows_every_cell(sources: list[str], size: int) -> None:
    view = as_agent_sees(book(*sources))
    base = None
    for line in range(1, view.text.count("\n") + 1, size):
        base = known(base, view, line, size)
    assert base is not None
    assert (base.cells, base.metadata) == (view.cells, view.metadata)


def lines_with(text: str, word: str) -> int:
    return next(at for at, line in enumerate(text.split("\n"), 1) if word in line)


def test_a_cell_that_was_not_read_is_not_deleted_by_leaving_it_out() -> None:
    notebook = book("first", "second", "third")
    view = as_agent_sees(notebook)
    base = known(None, view, 1, lines_with(view.text, "first"))
    assert [cell.source for cell in base.cells] == ["first"]
    written = json.dumps(book("FIRST"))
    after = json.loads(merge(base, written, notebook).data)["cells"]
    assert ["".join(cell["source"]) for cell in after] == ["FIRST", "second", "third"]


def test_a_part_that_is_read_again_renews_its_cells_and_no_others() -> None:
    before = as_agent_sees(book("first", "second"))
    now = as_agent_sees(book("first, changed", "second, changed"))
    base = known(known(None, before, None, None), now, lines_with(now.text, "first"), 1)
    assert [cell.source for cell in base.cells] == ["first, changed", "second"]


def test_a_cell_that_is_gone_stays_known_until_all_is_read_again() -> None:
    before = as_agent_sees(book("first", "second", "third"))
    now = as_agent_sees(book("first", "third", names="ac"))
    base = known(known(None, before, None, None), now, 1, 2)
    assert [cell.name for cell in base.cells] == ["a", "b", "c"]
    assert [cell.name for cell in known(base, now, 1, None).cells] == ["a", "c"]
