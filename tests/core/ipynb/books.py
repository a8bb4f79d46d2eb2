"""Notebooks for tests: built by hand or by Hypothesis, edited by an agent and a user.

`valid` holds a notebook against nbformat's own schemas, which the package itself does not use.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from hypothesis import strategies as st
from nbformat.validator import get_validator

Plain = dict[str, Any]

PNG = "iVBORw0KGgo" * 20
NUMBER = "@number@"
"""A placeholder for a number in a form that Python's JSON writers never produce."""


def stream(text: str, name: str = "stdout") -> Plain:
    return {"output_type": "stream", "name": name, "text": text.splitlines(True)}


def display(data: Plain, type: str = "display_data") -> Plain:
    count = {"execution_count": 3} if type == "execute_result" else {}
    return {"output_type": type, "data": data, "metadata": {}, **count}


def code(source: str, id: str | None = None, *outputs: Plain, **more: Any) -> Plain:
    cell = {
        "cell_type": "code",
        "execution_count": 1 if outputs else None,
        "metadata": {},
        "outputs": list(outputs),
        "source": source.splitlines(True),
        **more,
    }
    return cell if id is None else {**cell, "id": id}


def text(source: str, id: str | None = None, type: str = "markdown", **more: Any) -> Plain:
    cell = {"cell_type": type, "metadata": {}, "source": source.splitlines(True), **more}
    return cell if id is None else {**cell, "id": id}


def notebook(*cells: Plain, minor: int = 5, **more: Any) -> Plain:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": minor, **more}


def file(
    book: Plain, *, indent: int | None = 1, crlf: bool = False, bom: bool = False, ascii: bool = False
) -> bytes:
    """Serialise it in nbformat's layout, or another."""
    written = json.dumps(book, indent=indent, sort_keys=True, ensure_ascii=ascii).replace(
        f'"{NUMBER}"', "1.10e-7"
    )
    written = f"{written}\n"
    if crlf:
        written = written.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if bom else b"") + written.encode()


def valid(book: Plain, *, relaxed: bool = False) -> bool:
    """Validate it with nbformat's schema of its version, and check that ids are unique."""
    validator: Any = cast(Any, get_validator)(4, book["nbformat_minor"], relax_add_props=relaxed)
    ids = [cell["id"] for cell in book["cells"] if "id" in cell]
    return len(ids) == len(set(ids)) and not list(validator.iter_errors(book))


def source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def sources(data: bytes | str) -> list[str]:
    return [
        source(cell)
        for cell in json.loads(data if isinstance(data, str) else data.decode("utf-8-sig"))["cells"]
    ]


def edited(view_text: str, edit: Callable[[list[Plain]], object]) -> str:
    """The text that an agent writes after these edits of the cells it read."""
    book = json.loads(view_text)
    edit(book["cells"])
    return json.dumps(book, indent=1)


# ---- any notebook

SOURCES = ["", "x = 1", "x = 1\n", "print('é🙂')\nx\n", "# Title\r\ntext", "a\u2028b\x0cc", "import os\n\nos"]
sources_ = st.sampled_from(SOURCES) | st.text(max_size=20).filter(lambda it: it.isprintable())
small: st.SearchStrategy[Any] = st.sampled_from([None, True, 1, 1.5, "y", [], {"z": [1, "é"]}])
tags = st.lists(st.sampled_from(["a", "b", "hide input"]), unique=True, max_size=2)
cell_metadata = st.fixed_dictionaries(
    {},
    optional={
        "tags": tags,
        "name": st.just("n"),
        "jupyter": st.just({"source_hidden": True}),
        "other": small,
    },
)
book_metadata = st.fixed_dictionaries(
    {},
    optional={
        "kernelspec": st.just({"name": "python3", "display_name": "Python 3"}),
        "language_info": st.just({"name": "python", "version": "3.11"}),
        "widgets": st.just({"state": {str(n): "x" * 40 for n in range(60)}}),
        "other": small,
    },
)
outputs = st.sampled_from(
    [
        stream("hello\n"),
        stream("line\n" * 450),
        display({"image/png": PNG, "text/plain": ["<Figure>"]}),
        display({"text/plain": "42"}, "execute_result"),
        display({"application/json": {"value": NUMBER, "nested": [[1, {}]]}}),
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mline " * 60 + "\n"] * 5},
    ]
)
strange_outputs = st.sampled_from([{"output_type": "hologram", "beam": [NUMBER]}, display({"text/plain": 7})])
attachments = st.just({"a.png": {"image/png": PNG}})


@st.composite
def cells(draw: st.DrawFn, *, strange: bool, sources: st.SearchStrategy[str] = sources_) -> Plain:
    type = draw(st.sampled_from(["code", "code", "markdown", "raw"]))
    more: Plain = {"metadata": draw(cell_metadata)}
    written = draw(sources)
    if type == "code":
        made = st.lists(outputs | strange_outputs if strange else outputs, max_size=3)
        cell = code(written, None, *draw(made), **more)
    else:
        cell = text(written, None, type, **more)
        if draw(st.booleans()):
            cell["attachments"] = draw(attachments)
    if strange and draw(st.booleans()):
        cell["prompt_number"] = 7
    if draw(st.integers(0, 4)) == 0:
        cell["source"] = written  # some tools write it as one text
    return cell


@st.composite
def books(
    draw: st.DrawFn,
    *,
    minors: st.SearchStrategy[int] | None = None,
    strange: bool = False,
    sources: st.SearchStrategy[str] = sources_,
) -> Plain:
    minor = draw(minors if minors is not None else st.integers(0, 5))
    found = draw(st.lists(cells(strange=strange, sources=sources), max_size=6))
    if minor >= 5:
        for number, cell in enumerate(found):
            cell["id"] = f"cell-{number}"
    more: Plain = {"unknown": [NUMBER]} if strange else {}
    return notebook(*found, minor=minor, **{**more, "metadata": draw(book_metadata)})


layouts = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([1, 1, 2, None]),
        "crlf": st.booleans(),
        "bom": st.booleans(),
        "ascii": st.booleans(),
    }
)

# ---- any edits

Edit = tuple[Any, ...]


def edits(words: list[str]) -> st.SearchStrategy[list[Edit]]:
    one = st.tuples(st.sampled_from(words), st.integers(0, 9), st.integers(0, 9), sources_)
    return st.lists(one, max_size=5)


AGENT = ["source", "source", "delete", "move", "insert", "insert named", "type", "tag", "untag", "drop id",
         "write outputs", "clear outputs", "drop metadata", "copy", "book"]  # fmt: skip
USER = ["source", "source", "delete", "move", "insert", "run", "note", "book"]
agent_edits = edits(AGENT)
user_edits = edits(USER)


def applied(book: Plain, run: list[Edit], *, ids: bool, who: str) -> Plain:
    """The notebook after these edits; with `ids`, the user's new cells have one."""
    book = copy.deepcopy(book)
    found: list[Plain] = book["cells"]
    for number, (word, at, to, new) in enumerate(run):
        if word == "book":
            book["metadata"][f"by {who}"] = new
        elif word.startswith("insert"):
            named = word == "insert named" or (who == "user" and ids)
            found.insert(at % (len(found) + 1), code(new, f"{who}-{number}" if named else None))
        elif found:
            _edit(found, word, at % len(found), to % len(found), new)
    return book


def _edit(found: list[Plain], word: str, at: int, to: int, new: str) -> None:
    cell = found[at]
    match word:
        case "source":
            cell["source"] = new.splitlines(True)
        case "delete":
            del found[at]
        case "move":
            found.insert(to, found.pop(at))
        case "copy":
            found.insert(to, {key: it for key, it in copy.deepcopy(cell).items() if key != "id"})
        case "type":
            kept = {key: it for key, it in cell.items() if key in ("id", "metadata")}
            cell.clear()
            cell.update(text(new, None, "markdown"), **kept)
        case "tag":
            cell["metadata"]["tags"] = ["new"]
        case "untag":
            cell["metadata"].pop("tags", None)
        case "note":
            cell["metadata"]["noted"] = new
        case "drop id":
            cell.pop("id", None)
        case "drop metadata":
            cell["metadata"] = {}
        case "clear outputs" if cell["cell_type"] == "code":
            cell["outputs"] = []
        case "write outputs" | "run" if cell["cell_type"] == "code":
            cell["outputs"] = [stream(f"made up {new}")]
            cell["execution_count"] = 9
