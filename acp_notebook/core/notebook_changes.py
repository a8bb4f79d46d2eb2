"""What an agent changed in a notebook, cell by cell, and the result of undoing some cells.

Pure: takes the bytes of files, returns records and bytes. Knows no disk and no page. Outputs are never
compared: an unchanged cell keeps its outputs, even if it was run since.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from .changes import Hunk, Shape, Version, shape, too_long
from .ipynb import CellChange, Conflict, Invalid, Merged, as_agent_sees, changes, compare, merge
from .ipynb.parse import Data
from .ipynb.percent_format import SUFFIX


def is_notebook(path: str) -> bool:
    return path.lower().endswith(SUFFIX)


def cell_changes(before: Version | None, after: Version | None) -> tuple[CellChange, ...] | None:
    """The changes of the cells; None if either version is not a notebook."""
    if before is None or after is None or before.link or after.link:
        return None
    try:
        return changes(compare(before.data, after.data))
    except (Invalid, RecursionError):
        return None


def same_sources(before: Data, after: Data) -> bool:
    """Whether both are notebooks with the same cells, whatever their outputs and metadata are."""
    try:
        found = changes(compare(before, after))
    except (Invalid, RecursionError):
        return False
    return all(
        it.kind == "changed" and it.old == it.new and it.old_type == it.new_type and not it.moved
        for it in found
    )


def notebook_shape(before: Version | None, after: Version | None) -> tuple[Shape, int] | None:
    """How the change is shown, and how many cells can be undone separately; None: show it as text."""
    found = cell_changes(before, after)
    if found is None:
        return None
    hunks = tuple(_hunk(number, it) for number, it in enumerate(found))
    added = sum(line.startswith("+") for hunk in hunks for line in hunk.lines)
    removed = sum(line.startswith("-") for hunk in hunks for line in hunk.lines)
    note = None if found else "no cell's text: outputs or metadata only"
    if long := too_long(hunks):
        hunks, note = (), long
    single = 0 if any(it.moved or it.kind == "moved" for it in found) else len(found)
    return Shape("modified", added, removed, hunks, notebook=True, note=note), single


def _hunk(number: int, change: CellChange) -> Hunk:
    """The changed lines of one cell."""
    lines = shape(Version(change.old.encode(errors="replace")), Version(change.new.encode(errors="replace")))
    shown = tuple(line for it in lines.hunks for line in it.lines if not line.startswith("\\"))
    place = change.after if change.after is not None else change.before
    title = f"cell {(place or 0) + 1}, {change.new_type or change.old_type}: {_what(change)}"
    old, new = _count(change.old), _count(change.new)
    return Hunk(f"h{number + 1}", int(old > 0), old, int(new > 0), new, shown, title=title)


def _what(change: CellChange) -> str:
    also = " and moved" if change.moved and change.kind != "moved" else ""
    metadata = ", its metadata" if change.metadata_changed else ""
    return change.kind + also + metadata


def _count(text: str) -> int:
    return len(text.splitlines())


def with_cells_undone(before: bytes, after: bytes, undone: frozenset[int]) -> bytes:
    """The notebook `after`, with these changes (by number) undone; none of them may be a move."""
    found = changes(compare(before, after))
    old, new = json.loads(before), json.loads(after)
    cells: list[Any] = [(index, cell) for index, cell in enumerate(new["cells"])]
    for number, change in enumerate(found):
        if number not in undone:
            continue
        if change.kind == "added":
            cells = [it for it in cells if it[0] != change.after]
        elif change.kind == "deleted":
            cells.insert(_place(found, cells, change), (None, old["cells"][change.before]))
        else:
            cells = [(at, old["cells"][change.before] if at == change.after else it) for at, it in cells]
    return json.dumps(new | {"cells": [it for _, it in cells]}, indent=1, ensure_ascii=False).encode() + b"\n"


def _place(found: tuple[CellChange, ...], cells: list[Any], deleted: CellChange) -> int:
    """Where to restore a deleted cell: after the cells that preceded it and still exist."""
    gone = {it.before for it in found if it.kind == "deleted"}
    new = {it.after for it in found if it.kind == "added"}
    kept_before = sum(index not in gone for index in range(deleted.before or 0))
    for place, (at, _) in enumerate(cells):
        if at is not None and at not in new:
            if kept_before == 0:
                return place
            kept_before -= 1
    return len(cells)


def brought(source: bytes, target: bytes, now: Data) -> Merged:
    """Apply the change from `source` to `target` to the current notebook; raises Invalid, Conflict."""
    return merge(as_agent_sees(source, outputs="raw"), target, now, restoring=True)


def merged_version(source: Version, target: Version, now: Version) -> Version | str:
    """Apply the change from `source` to `target` to the current file; returns a text if it cannot."""
    try:
        made = brought(source.data, target.data, now.data)
    except Conflict as error:
        return f"it was changed since, in {error.places}"
    except Invalid as error:
        return f"it was changed since, and does not go together with that: {error}"
    return replace(now, data=made.data, mode=target.mode if now.mode == source.mode else now.mode)
