"""Formats a notebook for an agent as an outline or as whole cells, and converts outputs to and from records.

Pure. Cells are named by their ids; the start of an id, or `[n]`, also finds the cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..ipynb.elide import count_of, is_conversation
from ..ipynb.parse import Cell, Notebook, joined
from ..records import Image, Json
from .interface import Display, Failure, Output, Stream, UnknownCell
from .results import output_text
from .text import head_and_tail, indented, plain

SHOWN_ID = 8
"""Characters of an id that are shown; more if the short ids would not be unique."""

OUTLINE_LINES = 3
LINE_CHARS = 120
OUTPUT_CHARS = 1_000
"""Characters of one cell's outputs in an outline with outputs."""

HINT = "read_notebook(cells=[…])"

_COUNT = re.compile(r"\[?(\d+)\]?")
_IMAGES = ("image/png", "image/jpeg")


class Outline:
    """Finds the cells of a notebook by an agent's names for them, and formats them."""

    def __init__(self, notebook: Notebook) -> None:
        self.cells = notebook.cells
        self._short = _short_ids([it.id for it in notebook.cells])

    def short(self, cell: Cell) -> str:
        return self._short[cell.id]

    def find(self, name: str) -> Cell:
        """The cell with this id, with an id that starts so, or that ran as [n]; raises UnknownCell."""
        name = name.strip()
        found = [it for it in self.cells if it.id == name]
        if not found and (match := _COUNT.fullmatch(name)) and name.startswith("["):
            found = [it for it in self.cells if execution_count(it) == int(match[1])]
        if not found and name:
            found = [it for it in self.cells if it.id.startswith(name)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(self.short(it) for it in self.cells[:50])
        problem = "no cell" if not found else f"{len(found)} cells"
        raise UnknownCell(f"The notebook has {problem} {name!r}. Its cells: {known or 'none'}.")

    def text(self, cells: Sequence[str] | None = None, *, outputs: bool = False) -> str:
        """The text that `read_notebook` returns."""
        if cells:
            parts = [self._whole(self.find(it), outputs) for it in cells]
        else:
            parts = [f"{len(self.cells)} cells", *(self._brief(it, outputs) for it in self.cells)]
        return head_and_tail("\n".join(parts), hint=HINT)

    def _whole(self, cell: Cell, outputs: bool) -> str:
        text = f"--- {self._title(cell)}\n{cell.source}"
        return f"{text}\n{self._outputs(cell)}" if outputs and cell.outputs else text

    def _brief(self, cell: Cell, outputs: bool) -> str:
        lines = cell.source.strip("\n").splitlines()
        shown = [it if len(it) <= LINE_CHARS else f"{it[: LINE_CHARS - 1]}…" for it in lines[:OUTLINE_LINES]]
        if len(lines) > OUTLINE_LINES:
            shown.append(f"… {len(lines) - OUTLINE_LINES} more lines")
        text = "\n".join([self._title(cell), *(f"    {it}" for it in shown)])
        return f"{text}\n{self._outputs(cell, OUTPUT_CHARS)}" if outputs and cell.outputs else text

    def _title(self, cell: Cell) -> str:
        words = [self.short(cell), cell.type]
        if cell.type == "code":
            count = execution_count(cell)
            words.append("not run" if count is None else f"[{count}]")
            words += [kind for kind in dict.fromkeys(map(_kind, cell.outputs)) if kind]
        return " · ".join(words)

    def _outputs(self, cell: Cell, chars: int | None = None) -> str:
        text = "\n".join(map(output_text, outputs_of(cell)))
        if chars is not None:
            text = head_and_tail(text, chars, hint=f"read_output({self.short(cell)!r})")
        return f"  output:\n{indented(text)}"


def execution_count(cell: Cell) -> int | None:
    return count_of(cell.fields.get("execution_count"))


def _short_ids(ids: Sequence[str]) -> dict[str, str]:
    for length in range(SHOWN_ID, max(map(len, ids), default=0) + 1):
        short = {it: it[:length] for it in ids}
        if len(set(short.values())) == len(short):
            return short
    return {it: it for it in ids}


def _kind(output: Json) -> str:
    if is_conversation(output):
        return "conversation"
    match output:
        case {"output_type": "error", "ename": str(name)}:
            return f"ERROR {name[:LINE_CHARS]}"
        case {"output_type": "stream", "name": str(name)}:
            return name[:LINE_CHARS]
        case {"data": dict(data)}:
            rich = [it for it in data if it != "text/plain"]
            return ", ".join(rich[:3]) or "text"
    return ""


# ---- outputs of a notebook as records


def outputs_of(cell: Cell) -> tuple[Output, ...]:
    return outputs_from_nbformat(cell.outputs)


def outputs_from_nbformat(outputs: Sequence[Json]) -> tuple[Output, ...]:
    return tuple(_records(outputs))


def _records(outputs: Sequence[Json]) -> Iterator[Output]:
    for output in outputs:
        if is_conversation(output):
            yield Display({}, {}, "[conversation with an agent]")
            continue
        match output:
            case {"output_type": "stream", "name": ("stdout" | "stderr") as name, "text": text}:
                yield Stream(name, joined(text) or "")
            case {"output_type": "error", "ename": str(name), "evalue": str(value)}:
                lines = [it for it in output.get("traceback") or () if isinstance(it, str)]
                ansi = "\n".join(lines)
                yield Failure(name, value, plain(ansi), ansi)
            case {"data": dict(data)}:
                yield _display(data, output)
            case _:
                yield Display({}, {}, "[output of an unknown type]")


def _display(data: Mapping[str, Json], output: Mapping[str, Json]) -> Display:
    texts = {mime: joined(it) for mime, it in data.items() if mime.startswith("text/")}
    text = texts.get("text/plain") or texts.get("text/markdown") or f"[{', '.join(data)}]"
    image = next(
        (Image(it.strip(), mime) for mime in _IMAGES if (it := joined(data.get(mime))) is not None), None
    )
    result = output.get("output_type") == "execute_result"
    return Display(dict(data), output.get("metadata") or {}, text, image, result)


def to_nbformat(outputs: Sequence[Output], count: int | None) -> list[Json]:
    """Convert records to the outputs of a cell in a notebook file."""
    return [_plain(it, count) for it in outputs]


def _plain(output: Output, count: int | None) -> Json:
    match output:
        case Stream():
            return {"output_type": "stream", "name": output.name, "text": output.text}
        case Failure():
            lines = (output.ansi or output.traceback).split("\n")
            return {
                "output_type": "error",
                "ename": output.name,
                "evalue": output.message,
                "traceback": lines,
            }
        case Display():
            made = {"data": dict(output.data), "metadata": dict(output.metadata)}
            if output.is_result:
                return {"output_type": "execute_result", "execution_count": count, **made}
            return {"output_type": "display_data", **made}
