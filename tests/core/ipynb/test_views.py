"""An agent sees a notebook's sources and ids, and short placeholders for the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core.ipynb import Invalid, as_agent_sees, read, source_hash
from acp_notebook.core.ipynb.elide import KEPT_A_CELL, KEPT_TEXT, TRANSCRIPT_MIME
from acp_notebook.notebook import static_bundle
from tests.core.ipynb.books import Plain, code, display, file, notebook, stream, text, valid


def shown(*cells: Plain, **more: Any) -> Plain:
    book: Plain = json.loads(as_agent_sees(file(notebook(*cells, **more))).text)
    assert valid(book)
    return book


def output(*outputs: Plain) -> str:
    """The outputs of a cell, as the agent reads them."""
    return json.dumps(shown(code("x", "a", *outputs))["cells"][0]["outputs"])


def test_the_transcript_mime_type_matches_the_files() -> None:
    assert TRANSCRIPT_MIME == static_bundle.TRANSCRIPT_MIME


def test_one_line_of_source_is_one_line_of_the_text() -> None:
    lines = as_agent_sees(file(notebook(code("one\ntwo\nthree", "a")))).text.split("\n")
    at = next(number for number, line in enumerate(lines) if '"one\\n"' in line)
    assert [line.strip() for line in lines[at : at + 3]] == ['"one\\n",', '"two\\n",', '"three"']
    assert lines[-1] == ""


def test_an_image_is_named_with_its_size() -> None:
    said = output(display({"image/png": "x" * 48_000, "text/plain": "<Figure>"}))
    assert "<Figure>\\n" in said
    assert "[image/png, 48 kB, not shown]" in said


def test_short_results_and_errors_are_shown() -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "why", "traceback": ["first\n", "last\n"]}
    said = output(stream("printed\n"), display({"text/plain": "42"}, "execute_result"), error)
    assert all(word in said for word in ("printed", "42", "why", "last"))
    assert "not shown" not in said


def test_a_long_text_is_left_out_and_a_long_traceback_keeps_its_end() -> None:
    assert "[stdout stream, 3 kB, not shown]" in output(stream("x" * (KEPT_TEXT + 1_000)))
    lines = [f"line {n} {'x' * 100}\n" for n in range(100)]
    said = output({"output_type": "error", "ename": "E", "evalue": "v", "traceback": lines})
    assert "line 99 " in said
    assert "line 0 " not in said
    assert "[first part of the traceback, " in said


def test_thousands_of_small_outputs_do_not_fill_the_context() -> None:
    said = output(*(stream("x" * 100 + "\n") for _ in range(5_000)))
    assert len(said) < 2 * KEPT_A_CELL
    assert "more outputs, " in said


def test_our_own_conversations_are_always_left_out() -> None:
    ours = display({TRANSCRIPT_MIME: {"items": []}, "text/plain": "said", "text/html": "<p>said"})
    noted = {**display({"text/plain": "said"}), "metadata": {"acp_notebook": {"session": "s"}}}
    for it in (ours, noted):
        assert "[conversation with an agent, " in output(it)
        assert "said" not in output(it)
        raw = as_agent_sees(file(notebook(code("x", "a", it))), outputs="raw").text
        assert "said" not in raw


def test_raw_outputs_are_shown_completely() -> None:
    it = display({"image/png": "x" * 10_000})
    book = json.loads(as_agent_sees(file(notebook(code("x", "a", it))), outputs="raw").text)
    assert book["cells"][0]["outputs"] == [it]


def test_an_output_of_an_unknown_type_is_named() -> None:
    assert "[output of type hologram, " in output({"output_type": "hologram"})


def test_attachments_and_big_metadata_are_named() -> None:
    picture = text("![](p.png)", "a", attachments={"p.png": {"image/png": "x" * 5_000}})
    book = shown(picture, metadata={"widgets": {"state": "x" * 5_000}})
    assert book["cells"][0]["attachments"] == {"p.png": {"image/png": "[image/png, 5 kB, not shown]"}}
    assert book["metadata"]["widgets"] == {"acp_notebook": "[metadata widgets, 5 kB, not shown]"}


def test_cells_without_a_valid_id_get_one_derived_from_content() -> None:
    book = notebook(code("a"), code("a"), code("b", "x"), code("c", "x"), code("d", "no id!"))
    ids = [cell.id for cell in read(file(book)).cells]
    assert len(set(ids)) == 5
    assert ids[2] == "x"
    book["cells"].insert(0, code("new"))
    assert [cell.id for cell in read(file(book)).cells][1:] == ids


def test_fifty_megabytes_read_as_their_sources() -> None:
    figure = display({"image/png": "x" * 1_000_000})
    view = as_agent_sees(notebook(*(code(f"plot({n})", f"c{n}", figure) for n in range(50))))
    assert len(view.text) < 50_000


@pytest.mark.parametrize("data", [b"", b"\xff\xfe{}", b'{"cells": [7], "nbformat": 4, "nbformat_minor": 5}'])
def test_an_invalid_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(Invalid):
        as_agent_sees(data)


@pytest.mark.parametrize("depth", [40, 300, 900])
def test_deeply_nested_metadata_does_no_harm(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    data = file(notebook(code("x", "a", metadata={"deep": "@"}))).replace(b'"@"', deep.encode())
    try:
        book = json.loads(as_agent_sees(data).text)
    except Invalid as error:
        assert "nested too deeply" in str(error)
    else:
        assert valid(book)


def test_the_checksum_of_a_source_matches_the_browsers() -> None:
    """js/test/live.test.ts expects the same values."""
    assert source_hash("") == "0-00000000"
    assert source_hash("é🙂\n") == "7-e83f2b49"
    assert source_hash("é🙂\n") == source_hash("\u00e9\U0001f642\n") != source_hash("é🙂")
    assert source_hash("\ud800") == source_hash("\ufffd")
