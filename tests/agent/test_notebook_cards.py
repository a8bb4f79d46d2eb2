"""What a tool call shows of a notebook: cells, whatever the agent shows."""

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
    return cards.seen(ToolChanged("1", content=content)).content


@pytest.mark.parametrize(
    ("told", "shown"),
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
def test_a_whole_notebook_is_shown_by_its_cells_and_all_else_as_it_is(told: Diff, shown: Diff) -> None:
    assert seen(NotebookCards("/w"), Text("t"), told) == (Text("t"), shown)


def test_a_line_of_what_was_read_is_told_by_its_cell() -> None:
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
    assert cards.seen(asked) == asked
    calls = [
        ToolCall("k", "t", "1", "", "read", "pending", locations=places),
        ToolCall("l", "t", "2", "", "read", "pending"),
    ]
    (told,) = cards.read("/w/n.ipynb", cell_lines(view), calls)
    placed = cards.seen(told)
    assert (placed.id, placed.locations) == ("1", (replace(places[0], cell="b"), *places[1:]))
    cards.turn_started()
    assert cards.seen(asked) == asked


def test_what_was_written_through_us_is_shown_in_the_place_of_what_the_agent_tells_of_it() -> None:
    cards = NotebookCards("/w")
    assert cards.wrote("1", (Text("t"), Diff("/w/n.ipynb", NEW)), WRITTEN).content == (Text("t"), WRITTEN)
    assert seen(cards, PART, PART, Text("t")) == (WRITTEN, Text("t"))
    assert cards.seen(ToolChanged("2", content=(PART,))).content == (PART,), "another call's"
    assert cards.seen(ToolChanged("1", status="completed")) == ToolChanged("1", status="completed")
    cards.turn_started()
    assert seen(cards, PART) == (PART,)


def test_two_writes_of_one_call_are_shown_together() -> None:
    cards = NotebookCards("/w")
    cards.wrote("1", (), WRITTEN)
    again = cards.wrote("1", (WRITTEN,), Diff("n.ipynb", "# %% a\nz\n\n", AFTER))
    assert again.content == (Diff("n.ipynb", "# %% a\nz\n\n", BEFORE),)


def test_what_would_take_long_to_read_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(percent_format, "MOST_CHARS", len(NEW) - 1)
    assert seen(NotebookCards("/w"), Diff("n.ipynb", NEW)) == (Diff("n.ipynb", NEW),)
