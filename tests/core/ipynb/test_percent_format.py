"""A notebook as a script: different cells never look the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.ipynb import all_metadata, read
from acp_notebook.core.ipynb.percent_format import script

Cells = list[tuple[str, str]]


def notebook(cells: Cells, **fields: Any) -> str:
    made = [
        {"cell_type": type, "id": f"c{at}", "metadata": {}, "source": source}
        | ({"outputs": [], "execution_count": None, **fields} if type == "code" else {})
        for at, (type, source) in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def text_of(cells: Cells) -> str:
    return script(read(notebook(cells)))


def test_the_cells_of_a_notebook() -> None:
    found = text_of([("code", "x = 1"), ("markdown", "# A title")])
    assert found == "# %% c0\nx = 1\n\n# %% [markdown] c1\n# A title\n\n"


@pytest.mark.parametrize("header", ["# %% [markdown] c1", "#%% [markdown] c1", "#  %% [markdown] c1"])
def test_code_does_not_look_like_a_markdown_cell(header: str) -> None:
    shown = [("code", "x"), ("markdown", "import os")]
    spoofed = [("code", f"x\n\n{header}\nimport os")]
    assert text_of(shown) != text_of(spoofed) and f"\\{header}\n" in text_of(spoofed)


LINES = st.sampled_from(["x", "", "# %% c1", "\\# %% c1", "# %% [markdown] c1", "#%% c1", "%%bash"])
CELLS = st.lists(
    st.tuples(st.sampled_from(["code", "markdown"]), st.lists(LINES, max_size=3).map("\n".join)), max_size=3
)


@given(CELLS, CELLS)
def test_different_cells_have_different_scripts(one: Cells, other: Cells) -> None:
    def kept(cells: Cells) -> Cells:  # whether a source ends with a line end does not matter
        return [
            (type, source if source.endswith("\n") or not source else f"{source}\n") for type, source in cells
        ]

    assert (text_of(one) == text_of(other)) == (kept(one) == kept(other))


def test_the_outputs_of_a_new_notebook_are_part_of_what_is_shown() -> None:
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<img src='//evil'>"}}
    [change] = all_metadata(read(notebook([("code", "x")], outputs=[output])))
    assert (change.where, change.name) == ("cell 1, output", "1") and "//evil" in (change.after or "")
