"""The same outcomes give the same table; notes are numbered, and nothing breaks a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.compat.outcome import OK, Outcome
from tests.compat.report import LEGEND, Column, failed, merged, read, table

TEXTS = st.text(st.characters(exclude_characters="\n\r"), max_size=30)


def test_agents_are_columns_and_share_their_notes() -> None:
    columns = [
        Column("a", "1.0", {"new": OK, "fork": Outcome("defect", "forgets it")}),
        Column("b", None, {"new": Outcome("FAIL", "lost"), "fork": Outcome("defect", "forgets it")}),
    ]
    lines = table(columns, ["new", "fork"]).splitlines()
    assert lines[:4] == [
        "|  | a 1.0 | b |",
        "| --- | --- | --- |",
        "| new | ok | FAIL [1] |",
        "| fork | defect [2] | defect [2] |",
    ]
    assert lines[-2:] == ["1. lost", "2. forgets it"]
    assert failed(columns) == ["b: new: lost"]


def test_the_legend_explains_exactly_the_words_that_are_used() -> None:
    text = table([Column("a", "1", {"new": OK})], ["new"])
    assert f"- **ok**: {LEGEND['ok']}" in text
    assert "FAIL" not in text


def test_a_table_can_be_read_again_and_one_column_of_it_replaced() -> None:
    columns = [
        Column("a", "1.0", {"new": OK, "fork": Outcome("defect", "says a|b < c")}),
        Column("b", None, {"new": Outcome("FAIL", "lost")}),
    ]
    assert read(f"# Head\n\n{table(columns, ['new', 'fork'])}") == columns
    later, other = Column("a", "2.0", {"new": OK}), Column("c", None, {"new": OK})
    assert merged(columns, [later, other]) == [later, columns[1], other]


@given(TEXTS, TEXTS)
def test_no_note_and_no_name_breaks_the_table(name: str, note: str) -> None:
    text = table([Column(name, None, {"new": Outcome("defect", note)})], ["new"])
    for line in text.split("\n\n")[0].split("\n"):
        assert line.replace("\\|", "").count("|") == 3
    assert text == table([Column(name, None, {"new": Outcome("defect", note)})], ["new"])
