"""Write the cells of a notebook: code with its outputs, and markdown. The same content gives the same ids."""

from __future__ import annotations

import json
import keyword
from collections.abc import Sequence
from html import escape
from typing import Any

from ..ipynb.cell_ids import CellIds
from ..records import Image, Json, KernelRun, RunDisplay, RunError, RunOutput, RunStream

RAISES = "raises-exception"
"""The tag of a cell whose error does not stop "Run All" and nbclient."""


class Cells:
    """Collects the cells of a notebook, in the form that nbformat has in memory."""

    def __init__(self) -> None:
        self.made: list[dict[str, Json]] = []
        self._ids = CellIds(set())

    def markdown(self, text: str) -> None:
        source = text.strip("\n")
        if source:
            self._add("markdown", source)

    def code(self, source: str, outputs: Sequence[RunOutput] = (), *, tags: Sequence[str] = ()) -> None:
        self._add("code", source, tags, execution_count=None, outputs=[_output(it) for it in outputs])

    def _add(self, type: str, source: str, tags: Sequence[str] = (), **fields: Json) -> None:
        metadata = {"tags": list(tags)} if tags else {}
        id = self._ids.next(type, source)
        self.made.append({"cell_type": type, "id": id, "metadata": metadata, "source": source, **fields})


def _output(output: RunOutput) -> dict[str, Json]:
    match output:
        case RunStream():
            return {"output_type": "stream", "name": output.name, "text": output.text}
        case RunError():
            lines = (output.traceback or f"{output.name}: {output.message}").split("\n")
            named = {"ename": output.name, "evalue": output.message}
            return {"output_type": "error", **named, "traceback": lines}
        case RunDisplay():
            return {"output_type": "display_data", "data": _bundle(output), "metadata": {}}


def _bundle(display: RunDisplay) -> dict[str, Json]:
    data: dict[str, Json] = {"text/plain": display.text}
    if isinstance(display.image, Image):
        data[display.image.mime_type] = display.image.data
    elif display.table is not None:
        data["text/html"] = _table(display.table)
    return data


def _table(rows: Sequence[Sequence[str]]) -> str:
    first, *others = ("".join(f"<td>{escape(it)}</td>" for it in row) for row in rows)
    head = first.replace("<td>", "<th>").replace("</td>", "</th>")
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in (head, *others)) + "</table>"


def call_of(run: KernelRun, *, awaited: bool = False) -> str:
    """The code that calls the user's function as the agent did."""
    named, other = [], []
    for name, text in run.arguments:
        value = _argument(text)
        if name.isidentifier() and not keyword.iskeyword(name):
            named.append(f"{name}={value}")
        else:
            other.append(f"{name!r}: {value}")
    if other:
        named.append(f"**{{{', '.join(other)}}}")
    return f"{'await ' * awaited}{run.function}({', '.join(named)})"


def _argument(text: str) -> str:
    try:
        return _literal(json.loads(text))
    except ValueError:  # without a secret that was a number
        return repr(text)


def _literal(value: Any) -> str:
    """A JSON value as a Python expression; repr() writes numbers beyond JSON as names."""
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return f'float("{value}")'
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            return f"{{{', '.join(f'{key!r}: {_literal(it)}' for key, it in value.items())}}}"
    return repr(value)
