"""A tool call about a notebook shows cells, whatever form the agent sends."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from acp_notebook.agent.files.notebook_cards import NotebookCards
from acp_notebook.core.events import ToolChanged
from acp_notebook.core.ipynb import as_agent_sees, percent_format
from acp_notebook.core.ipynb.partial_reads import cell_lines
from acp_notebook.core.records import Content, Diff, Location, Text
from acp_notebook.core.snapshot import ToolCall
from tests.core.ipynb.books import code, notebook, text

OLD = json.dumps(notebook(code("x", "a"), text("# T", "b")))
NEW = json.dumps(notebook(code("y", "a"), text("# T", "b")))
BEFORE = "# %% a\nx\n\n# %% [markdown] b\n# T\n\n"
AFTER = BEFORE.replace("x", "y")
PART = Diff("/w/n.ipynb", '    "y"\n', '    "x"\n')
WRITTEN = Diff("n.ipynb", AFTER, BEFORE)


def seen(cards: NotebookCards, *content: Content) -> object:
    return cards.rewrite(ToolChanged("1", content=content)).content


@pytest.mark.parametrize(
    ("received", "shown"),
    [
        (Diff("n.ipynb", NEW, OLD), Diff("n.ipynb", AFTER, BEFORE)),
        (Diff("N.IPYNB", NEW), Diff("N.IPYNB", AFTER)),
        (Diff("n.json", NEW, OLD), Diff("n.json", NEW, OLD)),
        (Diff("n.ipynb", NEW, "no notebook"), Diff("n.ipynb", NEW, "no notebook")),
        (Diff("n.ipynb", "{" * 100_000), Diff("n.ipynb", "{" * 100_000)),
        (PART, PART),
        (WRITTEN, WRITTEN),
    ],
)
def test_only_whole_notebooks_are_shown_as_cells(received: Diff, shown: Diff) -> None:
    assert seen(NotebookCards("/w"), Text("t"), received) == (Text("t"), shown)


def test_a_line_of_a_read_notebook_is_mapped_to_its_cell() -> None:
    cards = NotebookCards("/w")
    view = as_agent_sees(notebook(code("x", "a"), text("# T", "b")))
    at = view.text.split("\n").index('   "id": "b",') + 1
    places = (
        Location("n.ipynb", at),
        Location("/w/n.ipynb", 1),
        Location("n.ipynb"),
        Location("m.ipynb", at),
    )
    asked = ToolChanged("1", locations=places)
    assert cards.rewrite(asked) == asked
    calls = [
        ToolCall("k", "t", "1", "", "read", "pending", locations=places),
        ToolCall("l", "t", "2", "", "read", "pending"),
    ]
    (call,) = cards.on_read("/w/n.ipynb", cell_lines(view), calls)
    placed = cards.rewrite(call)
    assert (placed.id, placed.locations) == ("1", (replace(places[0], cell="b"), *places[1:]))
    cards.on_turn_started()
    assert cards.rewrite(asked) == asked


def test_our_own_diff_of_a_write_replaces_the_agents() -> None:
    cards = NotebookCards("/w")
    assert cards.on_write("1", (Text("t"), Diff("/w/n.ipynb", NEW)), WRITTEN).content == (Text("t"), WRITTEN)
    assert seen(cards, PART, PART, Text("t")) == (WRITTEN, Text("t"))
    assert cards.rewrite(ToolChanged("2", content=(PART,))).content == (PART,), "another call's"
    assert cards.rewrite(ToolChanged("1", status="completed")) == ToolChanged("1", status="completed")
    cards.on_turn_started()
    assert seen(cards, PART) == (PART,)


def test_two_writes_of_one_call_are_shown_together() -> None:
    cards = NotebookCards("/w")
    cards.on_write("1", (), WRITTEN)
    again = cards.on_write("1", (WRITTEN,), Diff("n.ipynb", "# %% a\nz\n\n", AFTER))
    assert again.content == (Diff("n.ipynb", "# %% a\nz\n\n", BEFORE),)


def test_a_diff_that_would_take_long_to_parse_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(percent_format, "MOST_CHARS", len(NEW) - 1)
    assert seen(NotebookCards("/w"), Diff("n.ipynb", NEW)) == (Diff("n.ipynb", NEW),)
