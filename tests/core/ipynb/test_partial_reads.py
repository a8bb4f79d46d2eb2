"""Which cells an agent knows after reading a notebook in parts."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.ipynb import as_agent_sees, merge
from acp_notebook.core.ipynb.partial_reads import cell_lines, known_after, slice_lines

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
def test_every_line_belongs_to_its_cell(sources: list[str]) -> None:
    view = as_agent_sees(book(*sources))
    lines, inside = cell_lines(view), None
    cells = iter(view.cells)
    for number, line in enumerate(view.text.split("\n")[:-1], 1):
        inside = next(cells).name if line == "  {" else inside
        assert lines.cell_at(number) == inside
    assert next(cells, None) is None


@given(SOURCES, st.integers(1, 9))
def test_all_parts_together_are_the_whole(sources: list[str], size: int) -> None:
    view = as_agent_sees(book(*sources))
    count = view.text.count("\n")
    parts = [slice_lines(view.text, line, size) for line in range(1, count + 1, size)]
    assert "".join(parts) == view.text
    assert slice_lines(view.text, count + 1, None) == ""
    assert slice_lines(view.text, 0, None) == slice_lines(view.text, None, None) == view.text


@given(SOURCES, st.integers(1, 9))
def test_reading_every_part_makes_every_cell_known(sources: list[str], size: int) -> None:
    view = as_agent_sees(book(*sources))
    base = None
    for line in range(1, view.text.count("\n") + 1, size):
        base = known_after(base, view, line, size)
    assert base is not None
    assert (base.cells, base.metadata) == (view.cells, view.metadata)


def lines_with(text: str, word: str) -> int:
    return next(at for at, line in enumerate(text.split("\n"), 1) if word in line)


def test_leaving_out_an_unread_cell_does_not_delete_it() -> None:
    notebook = book("first", "second", "third")
    view = as_agent_sees(notebook)
    base = known_after(None, view, 1, lines_with(view.text, "first"))
    assert [cell.source for cell in base.cells] == ["first"]
    written = json.dumps(book("FIRST"))
    after = json.loads(merge(base, written, notebook).data)["cells"]
    assert ["".join(cell["source"]) for cell in after] == ["FIRST", "second", "third"]


def test_rereading_a_part_updates_only_its_cells() -> None:
    before = as_agent_sees(book("first", "second"))
    now = as_agent_sees(book("first, changed", "second, changed"))
    base = known_after(known_after(None, before, None, None), now, lines_with(now.text, "first"), 1)
    assert [cell.source for cell in base.cells] == ["first, changed", "second"]


def test_a_deleted_cell_stays_known_until_everything_is_reread() -> None:
    before = as_agent_sees(book("first", "second", "third"))
    now = as_agent_sees(book("first", "third", names="ac"))
    base = known_after(known_after(None, before, None, None), now, 1, 2)
    assert [cell.name for cell in base.cells] == ["a", "b", "c"]
    assert [cell.name for cell in known_after(base, now, 1, None).cells] == ["a", "c"]
