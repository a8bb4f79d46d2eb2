"""Runs, outputs and notebooks as the text and pictures of a tool's result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.ipynb import read
from acp_notebook.core.kernel_tools.interface import (
    READ_CHARS,
    CellRun,
    Display,
    Failure,
    RunState,
    Stream,
    UnknownCell,
)
from acp_notebook.core.kernel_tools.outline import Outline, outputs_of, to_nbformat
from acp_notebook.core.kernel_tools.results import output_blocks, run_blocks
from acp_notebook.core.kernel_tools.text import head_and_tail, page, plain
from acp_notebook.core.records import Image, Text

PICTURE = Image("AAAA", "image/png")


def state(*outputs: object, status: str = "ok", **fields: object) -> RunState:
    return RunState("run-1", status, 1.25, outputs, **fields)  # type: ignore[arg-type]


def text(blocks: tuple[object, ...]) -> str:
    return "\n".join(it.text for it in blocks if isinstance(it, Text))


@given(st.text(max_size=300), st.integers(0, 300))
def test_a_cut_text_has_at_most_so_many_characters(given_text: str, chars: int) -> None:
    assert len(head_and_tail(given_text, chars)) <= chars


def test_a_cut_text_keeps_head_and_tail_and_says_how_to_get_the_rest() -> None:
    cut = head_and_tail("begin" + "x" * 50_000 + "end", 1_000, hint="read_output('r')")
    assert cut.startswith("begin") and cut.endswith("end")
    assert "50,008 characters in all" in cut and "read_output('r')" in cut


@given(st.text(alphabet="ab\n", max_size=2_000), st.integers(200, 500))
def test_pages_are_the_whole_text_in_order(whole: str, chars: int) -> None:
    at, got = 0, ""
    while True:
        shown = page(whole, at, chars)
        if "; for more, offset=" not in shown:
            got += shown.partition(":\n")[2] if at else shown
            break
        body, _, note = shown.rpartition("\n… ")
        got += body
        at = int(note.partition("offset=")[2].split()[0])
    assert got == whole


def test_colours_and_what_a_progress_bar_wrote_over_are_left_out() -> None:
    assert plain("\x1b[31mred\x1b[0m\r\n10%\r20%\rdone\n") == "red\ndone\n"


def test_a_run_reads_as_status_outputs_and_pictures() -> None:
    shown = Display({"text/plain": "<Figure>"}, {}, "<Figure>", PICTURE)
    run = state(
        Stream("stdout", "a\n"), Stream("stderr", "b\n"), shown, Failure("E", "m", "trace"), status="error"
    )
    blocks = run_blocks(run, footer="kernel: idle")
    assert text(blocks) == "error · run-1 · 1.2 s\na\n[stderr]\nb\n<Figure>\ntrace\nkernel: idle"
    assert blocks[-1] is PICTURE


def test_a_result_has_at_most_16_000_characters_and_three_pictures() -> None:
    shown = Display({}, {}, "x", PICTURE)
    blocks = run_blocks(state(Stream("stdout", "x" * 100_000), *[shown] * 5), footer="idle")
    assert isinstance(blocks[0], Text) and len(blocks[0].text) <= READ_CHARS
    assert sum(it is PICTURE for it in blocks) == 3 and "2 more pictures" in text(blocks)


def test_a_run_that_goes_on_says_how_to_wait_and_then_what_is_new() -> None:
    first = state(Stream("stdout", "one\n"), status="running")
    assert "wait(run='run-1')" in text(run_blocks(first))
    later = state(Stream("stdout", "one\ntwo\n"), Stream("stderr", "three"))
    assert text(run_blocks(later, first)) == "ok · run-1 · 1.2 s\ntwo\n[stderr]\nthree"


def test_cells_are_titled() -> None:
    cells = (CellRun("a1", "ok", 3, (Stream("stdout", "x"),)), CellRun("b2", "skipped"))
    assert text(run_blocks(state(cells=cells))).splitlines()[1:] == [
        "--- cell a1 [3]: ok",
        "x",
        "--- cell b2: skipped",
    ]


def test_outputs_are_listed_and_read_one_by_one_by_page() -> None:
    outputs = (Stream("stdout", "x" * 40_000), Display({"text/plain": "y"}, {}, "y", PICTURE, True))
    listed = output_blocks(outputs, "run-1")
    assert "[0] stdout, 40,000 characters" in text(listed) and len(text(listed)) <= READ_CHARS
    first = text(output_blocks(outputs, "run-1", 0))
    assert "for more, read_output('run-1', 0, " in first
    assert "from character 39,990" in text(output_blocks(outputs, "run-1", 0, 39_990))
    assert output_blocks(outputs, "run-1", 1) == (Text("y"), PICTURE)
    assert "index goes from 0 to 1" in text(output_blocks(outputs, "run-1", 2))
    assert text(output_blocks((), "run-1")) == "run-1 has no outputs."


def book(*cells: dict[str, object]) -> Outline:
    return Outline(read({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def code(id: str, source: str, *outputs: object, count: int | None = None) -> dict[str, object]:
    fields = {"cell_type": "code", "id": id, "metadata": {}, "source": source}
    return {**fields, "outputs": list(outputs), "execution_count": count}


ERROR = {
    "output_type": "error",
    "ename": "KeyError",
    "evalue": "'x'",
    "traceback": ["\x1b[31mKeyError\x1b[0m"],
}
RESULT = {
    "output_type": "execute_result",
    "execution_count": 4,
    "metadata": {},
    "data": {"text/plain": ["4"], "image/png": "AAAA"},
}


def test_an_outline_names_cells_states_and_kinds_of_outputs() -> None:
    outline = book(code("aaaaaaaa1", "1\n2\n3\n4", ERROR, count=3), code("aaaaaaaa2", "x", RESULT))
    assert outline.text().splitlines() == [
        "2 cells",
        "aaaaaaaa1 · code · [3] · ERROR KeyError",
        "    1",
        "    2",
        "    3",
        "    … 1 more lines",
        "aaaaaaaa2 · code · not run · image/png",
        "    x",
    ]
    assert "KeyError" in outline.text(outputs=True)
    assert outline.text(["[3]"]) == "--- aaaaaaaa1 · code · [3] · ERROR KeyError\n1\n2\n3\n4"


def test_cells_are_found_by_id_by_its_beginning_and_by_count() -> None:
    outline = book(code("abc1", "one", count=3), code("abd2", "two"))
    assert [outline.find(it).source for it in ("abc1", "abd", "[3]")] == ["one", "two", "one"]
    for name in ("ab", "", "[4]", "zzz"):
        with pytest.raises(UnknownCell, match="Its cells: abc1, abd2"):
            outline.find(name)


def test_outputs_become_records_and_come_back() -> None:
    stream = {"output_type": "stream", "name": "stderr", "text": "a\n"}
    cell = book(code("a", "x", stream, ERROR, RESULT)).cells[0]
    records = outputs_of(cell)
    assert records[0] == Stream("stderr", "a\n")
    assert isinstance(records[1], Failure) and records[1].traceback == "KeyError"
    assert isinstance(records[2], Display) and records[2].image == PICTURE and records[2].is_result
    assert to_nbformat(records, 4) == [stream, ERROR, RESULT]


def test_the_line_of_dashes_above_a_traceback_is_removed() -> None:
    """If the model quotes that line, gemini-cli thinks that the model is stuck in a loop."""
    failure = Failure("E", "why", f"{'-' * 75}\nE   Traceback\n----> 1 f()\nE: why")
    assert "--------" not in text(run_blocks(state(failure, status="error")))
    assert "----> 1 f()\nE: why" in text(output_blocks((failure,), "run-1"))
