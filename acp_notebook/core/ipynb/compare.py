"""Compare two states of a notebook cell by cell: for people, for the open document, and for a warning.

A `Comparison` records which cell came from which. Independent of agents and of the cause of the change.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import ClassVar, Literal

from msgspec import Struct

from ..actions import MetadataChange
from ..records import Json
from ..subsequence import longest_increasing
from .align import pair_cells
from .cell_ids import CellIds, source_hash
from .metadata import same
from .parse import Cell, Data, Notebook, read
from .views import content

DRASTIC_SHARE = 0.5
"""A write that removes more than this share of the cells with text needs the user's consent."""

DRASTIC_CELLS = 3
"""Removing fewer cells than this is an edit, whatever their share; emptying a notebook always needs it."""

DRASTIC_TEXT = 0.2
"""A write that leaves less than this share of all source text needs the user's consent."""

DRASTIC_TEXT_FROM = 2_000
"""Characters of source below which a complete rewrite is normal."""


class Comparison(Struct, frozen=True):
    """Two states of a notebook, and where each cell of the second came from."""

    before: Notebook
    after: Notebook
    origins: tuple[int | None, ...]
    """For each cell of `after`: its index in `before`; None for a new cell."""
    protected: str | None = None
    """The id of a cell that must not move: the others move around it."""


def compare(before: Data, after: Data) -> Comparison:
    """Compare any two states of a file; cells are matched by id, else by content."""
    one, other = read(before), read(after)
    pairs = pair_cells(
        *([(it.id, content(it.type, it.source)) for it in side.cells] for side in (other, one))
    )
    return Comparison(one, other, tuple(pairs.get(index) for index in range(len(other.cells))))


# ---- for people


class CellChange(Struct, frozen=True):
    """One cell's change. A changed cell can also have `moved`. Indexes are None where there is no cell."""

    kind: Literal["added", "deleted", "changed", "moved"]
    id: str
    before: int | None
    after: int | None
    old: str
    new: str
    old_type: str
    new_type: str
    metadata_changed: bool = False
    moved: bool = False


def changes(comparison: Comparison) -> tuple[CellChange, ...]:
    """The changes in the order of `after`; deleted cells appear at their old position."""
    before, after = comparison.before.cells, comparison.after.cells
    moved = _moved(comparison)
    kept = {origin for origin in comparison.origins if origin is not None}
    gone = iter([index for index in range(len(before)) if index not in kept])
    found: list[CellChange] = []
    next_gone = next(gone, None)
    for index, origin in enumerate(comparison.origins):
        while next_gone is not None and origin is not None and index not in moved and next_gone < origin:
            found.append(_deleted(before[next_gone], next_gone))
            next_gone = next(gone, None)
        change = _change(comparison, index, index in moved)
        if change is not None:
            found.append(change)
    while next_gone is not None:
        found.append(_deleted(before[next_gone], next_gone))
        next_gone = next(gone, None)
    assert len(after) == len(comparison.origins)
    return tuple(found)


def _deleted(cell: Cell, index: int) -> CellChange:
    return CellChange("deleted", cell.id, index, None, cell.source, "", cell.type, "")


def _change(comparison: Comparison, index: int, moved: bool) -> CellChange | None:
    cell, origin = comparison.after.cells[index], comparison.origins[index]
    if origin is None:
        return CellChange("added", cell.id, None, index, "", cell.source, "", cell.type)
    old = comparison.before.cells[origin]
    metadata = not same(old.metadata, cell.metadata)
    changed = metadata or (old.type, old.source) != (cell.type, cell.source)
    if not changed and not moved:
        return None
    return CellChange(
        "changed" if changed else "moved",
        old.id,
        origin,
        index,
        old.source,
        cell.source,
        old.type,
        cell.type,
        metadata,
        moved,
    )


def _moved(comparison: Comparison) -> set[int]:
    """Indexes in `after` of the cells that moved, as few as possible."""
    kept = [(index, origin) for index, origin in enumerate(comparison.origins) if origin is not None]
    ids = comparison.before.cells
    fixed = next(
        (at for at, (_, origin) in enumerate(kept) if ids[origin].raw_id == comparison.protected), None
    )
    stay = longest_increasing([origin for _, origin in kept], fixed)
    return {index for at, (index, _) in enumerate(kept) if at not in stay}


def metadata_changes(comparison: Comparison) -> tuple[MetadataChange, ...]:
    """Every metadata entry and attachment that changes, the notebook's first; all those of new cells."""
    before, after = comparison.before, comparison.after
    found = _entries("notebook", before.metadata, after.metadata)
    for index, (cell, origin) in enumerate(zip(after.cells, comparison.origins, strict=True)):
        old = None if origin is None else before.cells[origin]
        where = f"cell {index + 1}"
        found += _entries(where, {} if old is None else old.metadata, cell.metadata)
        found += _entries(f"{where}, attachment", {} if old is None else old.attachments, cell.attachments)
    return tuple(found)


def all_metadata(notebook: Notebook) -> tuple[MetadataChange, ...]:
    """Every metadata entry, attachment and output of a new notebook."""
    found = _entries("notebook", {}, notebook.metadata)
    for index, cell in enumerate(notebook.cells):
        found += _entries(f"cell {index + 1}", {}, cell.metadata)
        found += _entries(f"cell {index + 1}, attachment", {}, cell.attachments)
        outputs = {str(number): output for number, output in enumerate(cell.outputs, 1)}
        found += _entries(f"cell {index + 1}, output", {}, outputs)
    return tuple(found)


def _entries(where: str, old: dict[str, Json], new: dict[str, Json]) -> list[MetadataChange]:
    names = [*new, *(name for name in old if name not in new)]
    return [
        MetadataChange(where, name, _as_json(old, name), _as_json(new, name))
        for name in names
        if name not in old or name not in new or not same(old[name], new[name])
    ]


def _as_json(values: dict[str, Json], name: str) -> str | None:
    return json.dumps(values[name], ensure_ascii=False, default=str) if name in values else None


# ---- for the open document


class Delete(Struct, frozen=True, tag_field="op", tag="delete"):
    id: str
    based_on: str
    """The hash that the cell's source must still have."""


class Insert(Struct, frozen=True, tag_field="op", tag="insert"):
    """Insert a cell after the cell `after` (None: at the top)."""

    id: str
    after: str | None
    cell_type: str
    source: str
    metadata: dict[str, Json]
    attachments: dict[str, Json]
    outputs: tuple[Json, ...] = ()
    execution_count: int | None = None
    _nullable: ClassVar = ("execution_count",)


class Move(Struct, frozen=True, tag_field="op", tag="move"):
    id: str
    after: str | None
    based_on: str


class Replace(Struct, frozen=True, tag_field="op", tag="replace"):
    """Set a cell's source and type, and optionally clear or replace its outputs."""

    id: str
    based_on: str
    cell_type: str
    source: str
    clear_outputs: bool
    attachments: dict[str, Json]
    outputs: tuple[Json, ...] = ()
    execution_count: int | None = None
    _nullable: ClassVar = ("execution_count",)


class SetMetadata(Struct, frozen=True, tag_field="op", tag="metadata"):
    """Set and remove metadata entries of a cell, or of the notebook (None)."""

    id: str | None
    values: dict[str, Json]
    removed: tuple[str, ...]


Operation = Delete | Insert | Move | Replace | SetMetadata


def operations(comparison: Comparison) -> tuple[Operation, ...]:
    """The fewest operations that turn `before` into `after`, to be carried out in this order.

    Cells are named by their ids in the document before, valid or not, and positions by the preceding cell,
    which is in place by then. A new cell has its id from `after`, unless a cell had that id before, which is
    possible in files without ids.
    """
    before, after = comparison.before, comparison.after
    uses = Counter(cell.raw_id for cell in before.cells)
    named = [cell.raw_id if uses[cell.raw_id] == 1 else cell.id for cell in before.cells]
    kept = {origin for origin in comparison.origins if origin is not None}
    done: list[Operation] = [
        Delete(named[index], source_hash(cell.source))
        for index, cell in enumerate(before.cells)
        if index not in kept
    ]
    done += _metadata(None, before.metadata, after.metadata)
    moved = _moved(comparison)
    names = CellIds({*named, *(cell.id for cell in before.cells)})
    place: str | None = None
    for index, (cell, origin) in enumerate(zip(after.cells, comparison.origins, strict=True)):
        if origin is None:
            id = names.claim(cell.id, cell.type, cell.source)
            run = tuple(cell.outputs), cell.fields.get("execution_count")
            done.append(Insert(id, place, cell.type, cell.source, cell.metadata, cell.attachments, *run))
            place = id
            continue
        old = before.cells[origin]
        if index in moved:
            done.append(Move(named[origin], place, source_hash(old.source)))
        done += _edits(named[origin], old, cell)
        place = named[origin]
    return tuple(done)


def _edits(id: str, old: Cell, new: Cell) -> list[Operation]:
    done: list[Operation] = []
    if (old.type, old.source) != (new.type, new.source) or old.attachments != new.attachments:
        cleared = bool(old.outputs) and not new.outputs
        hashed = source_hash(old.source)
        ran = bool(new.outputs) and new.outputs != old.outputs
        run = (tuple(new.outputs), new.fields.get("execution_count")) if ran else ()
        done.append(Replace(id, hashed, new.type, new.source, cleared, new.attachments, *run))
    return done + _metadata(id, old.metadata, new.metadata)


def _metadata(id: str | None, old: dict[str, Json], new: dict[str, Json]) -> list[Operation]:
    values = {key: it for key, it in new.items() if key not in old or not same(old[key], it)}
    removed = tuple(key for key in old if key not in new)
    return [SetMetadata(id, values, removed)] if values or removed else []


# ---- for a warning


def drastic_reason(comparison: Comparison) -> str | None:
    """Why this change needs the user's consent; None if it is an ordinary change.

    A cell that loses all its text counts as removed. Blank cells do not count.
    """
    kernels = [side.metadata.get("kernelspec") for side in (comparison.before, comparison.after)]
    if not same(*kernels):
        return f"it would change the kernel from {_kernel(kernels[0])} to {_kernel(kernels[1])}"
    left = {origin for origin, cell in zip(comparison.origins, comparison.after.cells, strict=True)
            if cell.source.strip()}  # fmt: skip
    had = [index for index, cell in enumerate(comparison.before.cells) if cell.source.strip()]
    gone = sum(index not in left for index in had)
    if not had:
        return None
    if gone == len(had) and not any(cell.source.strip() for cell in comparison.after.cells):
        return f"it would empty the notebook, which has {_cells(len(had))} with text"
    if gone >= DRASTIC_CELLS and gone > DRASTIC_SHARE * len(had):
        new = sum(it is None for it in comparison.origins)
        added = f" (and add {new} new)" if new else ""
        return f"it would remove {gone} of the {_cells(len(had))} with text{added}"
    before, after = (
        sum(len(it.source) for it in side.cells) for side in (comparison.before, comparison.after)
    )
    if before >= DRASTIC_TEXT_FROM and after < DRASTIC_TEXT * before:
        return f"it would cut the notebook's text from {before:,} to {after:,} characters"
    return None


def _kernel(spec: Json) -> str:
    name = spec.get("name") if isinstance(spec, dict) else spec
    return "none" if name is None else repr(name)


def _cells(count: int) -> str:
    return f"{count} cell{'s' if count != 1 else ''}"
