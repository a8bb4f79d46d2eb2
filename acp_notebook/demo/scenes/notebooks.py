"""Scenes that edit notebooks as agents do: read the JSON as a text, change it, and write all of it back.

Nothing of a cell that is not meant is touched; what the client makes of the text is the client's business.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..commands import Misuse, command
from ..files import FileTrouble, inside, read_text, write_text
from ..turn import Turn

Cells = list[dict[str, Any]]

USAGE = "read|insert|note|edit|delete|move|mix|clear|disk PATH [CELL] [TEXT]"


@command("nb", "Edit a notebook: by the client, or with “disk” behind its back", USAGE)
async def nb(turn: Turn, args: str) -> None:
    verb, _, rest = args.partition(" ")
    name, _, rest = rest.partition(" ")
    if verb not in (*_CHANGES, "read", "disk") or not name:
        raise Misuse
    try:
        path = inside(turn.session.cwd, name)
        if verb == "disk":
            await _on_disk(turn, path, rest)
            return
        text = await read_text(turn, path)
        if text is None:
            raise FileTrouble("it is not there")
        notebook = json.loads(text)
        if verb != "read":
            _CHANGES[verb](notebook["cells"], *_cell_and_text(rest))
            await _wait_for_go(turn)
            await write_text(turn, path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    except (FileTrouble, ValueError, LookupError) as trouble:
        await turn.say(f"`{name}` is unchanged: {trouble}.")
        return
    sources = ["".join(cell["source"]) for cell in notebook["cells"]]
    await turn.say(f"Read {sources!r}." if verb == "read" else f"Wrote `{name}`.")


async def _wait_for_go(turn: Turn) -> None:
    """Wait between reading and writing while the file `nb-wait` exists: others change the notebook then.

    The file then says "read".
    """
    file = Path(turn.session.cwd, "nb-wait")
    if file.exists():
        file.write_text("read")
    while file.exists():
        await asyncio.sleep(0.02)


async def _on_disk(turn: Turn, path: str, rest: str) -> None:
    """As agents do that have tools of their own: the client only hears of it."""
    tool = await turn.tool(f"Edit {os.path.basename(path)}", "edit", locations=[{"path": path}])
    notebook = json.loads(Path(path).read_text(encoding="utf-8"))
    _edit(notebook["cells"], *_cell_and_text(rest))
    Path(path).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    await tool.complete()
    await turn.say(f"Wrote `{os.path.basename(path)}` on disk.")


def _cell_and_text(rest: str) -> tuple[str, str]:
    cell, _, text = rest.partition(" ")
    return cell, text.replace("\\n", "\n")


def _index(cells: Cells, which: str) -> int:
    """A cell by its id, or by its number from 0 on."""
    for at, cell in enumerate(cells):
        if cell.get("id") == which:
            return at
    at = int(which)
    if not 0 <= at < len(cells):
        raise LookupError(f"there is no cell {which}")
    return at


def _edit(cells: Cells, which: str, text: str) -> None:
    cells[_index(cells, which)]["source"] = text.splitlines(keepends=True)


def _insert(cells: Cells, which: str, text: str) -> None:
    made: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells.insert(_index(cells, which) + 1, {**made, "source": text.splitlines(keepends=True)})


def _note(cells: Cells, which: str, text: str) -> None:
    """A markdown cell."""
    made = {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}
    cells.insert(_index(cells, which) + 1, made)


def _delete(cells: Cells, which: str, _: str) -> None:
    del cells[_index(cells, which)]


def _move(cells: Cells, which: str, text: str) -> None:
    """TEXT is the cell that it goes behind."""
    cell = cells.pop(_index(cells, which))
    cells.insert(_index(cells, text) + 1, cell)


def _clear(cells: Cells, which: str, text: str) -> None:
    cells.clear()


def _mix(cells: Cells, which: str, text: str) -> None:
    """Several changes in one write: the cell is edited, a new one comes after it, the last one goes."""
    _edit(cells, which, text)
    _insert(cells, which, "inserted")
    del cells[-1]


_CHANGES: dict[str, Callable[[Cells, str, str], None]] = {
    "clear": _clear,
    "delete": _delete,
    "edit": _edit,
    "insert": _insert,
    "mix": _mix,
    "move": _move,
    "note": _note,
}
