"""Three-way merge of notebooks by cell: what the agent read, what it writes, and the present notebook.

Text in, text out; no files and no pages. The rules:

- A cell that the agent did not change stays as it is now, to the byte: outputs, counts, metadata,
  attachments, and the user's edits.
- A cell that the agent changed keeps its id, metadata and attachments; its outputs are cleared, unless
  `keep_outputs`. A cell that both changed is a conflict, unless both made the same change.
- A cell that one side deleted is deleted; if the other side changed it, that is a conflict.
- The order is the agent's if it moved cells, else the user's; a new cell comes after its predecessor.
- Outputs come from running a cell, never from an agent's text; what an agent leaves out (outputs,
  attachments, empty metadata) is not deleted.
- A file without ids (before nbformat 4.5) gets none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ..records import Json
from ..subsequence import longest_increasing
from .align import with_missing
from .cell_ids import CellIds, is_id
from .compare import Comparison
from .elide import is_elided_output, shown_attachments
from .errors import MOST_NAMED, SINCE, Clash, Conflict, Invalid, first_line
from .metadata import (
    MetadataClash,
    added_attachments,
    attachment_key,
    merged_metadata,
    same,
    without_placeholders,
)
from .pairs import pair_notebooks
from .parse import Cell, Data, Notebook, read
from .serialize import Fields, rewrite
from .validate import check_metadata, check_plain, check_text, check_type, read_written
from .views import Content, KnownCell, View, as_agent_sees, content_of

NewId = Callable[[], str]

_GONE = 2**63
"""In place of the index of a cell that no longer exists."""

_READ_NEVER = "the agent wrote the notebook without reading it first: it was compared with the present state"


class Merged(Struct, frozen=True):
    """The result of a merge. `data` is the new content of the file."""

    data: bytes
    base: View
    """What the agent knows from now on: the base of its next write, unless it reads before."""
    comparison: Comparison
    """For `changes`, `operations` and `drastic_reason`."""
    notes: tuple[str, ...]
    """What was not taken from the agent's text, and why; for the transcript."""
    changed: bool


def merge(
    base: View | None,
    written: str | bytes,
    now: Data | Notebook,
    *,
    keep_outputs: bool = False,
    protected: str | None = None,
    new_id: NewId | None = None,
    restoring: bool = False,
) -> Merged:
    """Apply the agent's changes to the present notebook; raises `Invalid` or `Conflict`.

    Without a base, every difference from `now` counts as the agent's change, so a user's edit that the agent
    has not seen is undone. `protected` is the id of a cell (the one with the running prompt) that may not be
    deleted, moved or changed in type, and whose outputs always stay. With `restoring`, the text is an earlier
    state of the notebook, so the outputs and attachments of restored cells are restored, too.
    """
    there = now if isinstance(now, Notebook) else read(now)
    wrote = read_written(written)
    known = as_agent_sees(there) if base is None else base
    merging = _Merge(known, wrote, there, keep_outputs, protected, new_id, restoring)
    try:
        result = merging.run()
    except RecursionError:
        raise Invalid("this notebook cannot be written: its metadata is nested too deeply") from None
    return replace(result, notes=(_READ_NEVER, *result.notes)) if base is None else result


class _Merge:
    """One merge in progress: collects clashes, notes and the fields that change."""

    def __init__(
        self,
        base: View,
        wrote: Notebook,
        there: Notebook,
        keep_outputs: bool,
        protected: str | None,
        new_id: NewId | None,
        restoring: bool,
    ) -> None:
        self._base, self._wrote, self._there = base, wrote, there
        self._keep_outputs, self._protected, self._new_id = keep_outputs, protected, new_id
        self._restoring = restoring
        self._clashes: list[Clash] = []
        self._notes: dict[str, list[int]] = {}
        """What was not taken, with the indexes of the cells in the agent's text."""
        self._fields: dict[int, Fields] = {}
        """The fields that change, by index in the present notebook."""
        self._pairs = pair_notebooks(base, wrote, there)
        self._as_read: set[int] = set()
        """The cells that the agent left as it had read them, by index in its text: most of them."""

    # ---- the steps

    def run(self) -> Merged:
        gone = self._merge_base_cells()
        order = self._order(gone)
        metadata = self._notebook_metadata()
        new = {cell: self._new_cell(-cell - 1) for cell in order if cell < 0}
        if self._clashes:
            raise Conflict(tuple(self._clashes))
        ids = self._ids(order, new)
        after = rewrite(self._there, order, self._fields, new, ids, metadata)
        origins = tuple(cell if cell >= 0 else None for cell in order)
        return Merged(
            after.data,
            self._next_base(order, after),
            Comparison(self._there, after, origins, self._protected),
            tuple(_note(why, cells) for why, cells in self._notes.items()),
            after.text != self._there.text,
        )

    def _merge_base_cells(self) -> set[int]:
        """Merge each cell of the base; return the indexes of present cells that the agent deletes."""
        gone: set[int] = set()
        for index, cell in enumerate(self._base.cells):
            here, there = self._pairs.written.get(index), self._pairs.now.get(index)
            if here is not None and there is not None:
                self._merge_cell(cell, here, there)
            elif there is not None:
                self._delete(cell, there)
                gone.add(there)
            elif here is not None:
                self._check_revival(cell, here)
        for here, there in self._pairs.both_added.items():
            if content_of(self._wrote.cells[here]) != content_of(self._there.cells[there]):
                self._clash("you write a cell with this id, but have not read the existing one", there)
        return gone

    def _delete(self, cell: KnownCell, there: int) -> None:
        if self._is_protected(there):
            self._clash("the cell whose prompt is running cannot be deleted", there)
        elif content_of(self._there.cells[there]) != cell.content:
            self._clash(f"you delete it, but it{SINCE}", there)
        else:
            self._check_twins(cell, there)

    def _check_revival(self, cell: KnownCell, here: int) -> None:
        written = self._wrote.cells[here]
        metadata = written.metadata or cell.metadata
        if content_of(written) != cell.content or not same(metadata, cell.metadata):
            line = first_line(cell.source)
            self._clashes.append(
                Clash("you change it, but it was deleted since you read it", cell.name, here, line)
            )

    def _check_twins(self, cell: KnownCell, there: int) -> None:
        """Report a clash if it is unclear which of several equal cells without ids this one is."""
        if self._there.cells[there].own_id and self._there.cells[there].id == cell.id:
            return
        before, now = self._twins
        if before[cell.content] != now[cell.content]:
            self._clash("several equal cells have no id, and their number has changed since your read", there)

    @cached_property
    def _twins(self) -> tuple[Counter[Content], Counter[Content]]:
        return Counter(it.content for it in self._base.cells), Counter(map(content_of, self._there.cells))

    # ---- one cell

    def _merge_cell(self, cell: KnownCell, here: int, there: int) -> None:
        written, now = self._wrote.cells[here], self._there.cells[there]
        if _is_as_read(written, cell):
            self._as_read.add(here)
            return
        fields: dict[str, Json] = {}
        if content_of(written) != cell.content:
            fields |= self._new_content(cell, written, now, here, there)
        type = fields.get("cell_type", now.type)
        metadata = self._cell_metadata(cell, written, now, type, here, there)
        if type != now.type:
            check_metadata(metadata, type, here)
        if not same(metadata, now.metadata):
            fields["metadata"] = metadata
        if type != "code":
            fields |= self._attachments(cell, written, now, here)
        if cell.type == "code" and "outputs" in written.fields and written.outputs != cell.outputs:
            self._note_outputs(cell, written, now, here)
        if fields:
            self._fields[there] = fields

    def _new_content(
        self, cell: KnownCell, written: Cell, now: Cell, here: int, there: int
    ) -> dict[str, Json]:
        if content_of(now) != cell.content:
            if content_of(now) != content_of(written):
                self._clash(f"it{SINCE}", there)
            return {}
        self._check_twins(cell, there)
        check_text(written.source, f"cells[{here}]", here)
        fields: dict[str, Json] = {"source": _with_line_ends_of(written.source, now)}
        if written.type != cell.type:
            check_type(written.type, here)
            if self._is_protected(there):
                self._clash("the cell whose prompt is running must stay a code cell", there)
            fields["cell_type"] = written.type
            if now.attachments and written.type == "code":
                self._note(here, "attachments were removed, because a code cell cannot have any")
        elif now.type == "code" and not self._keep_outputs and not self._is_protected(there):
            fields |= self._execution_fields(written)
        return fields

    def _execution_fields(self, cell: Cell) -> dict[str, Json]:
        """Outputs come from running a cell, never from an agent's text."""
        if not self._restoring:
            return {"outputs": [], "execution_count": None}
        return {"outputs": cell.outputs, "execution_count": cell.fields.get("execution_count")}

    def _cell_metadata(
        self, cell: KnownCell, written: Cell, now: Cell, type: str, here: int, there: int
    ) -> dict[str, Json]:
        if "metadata" not in written.fields or same(written.metadata, cell.metadata):
            return now.metadata
        if not written.metadata:
            self._note(here, "metadata was kept, because empty metadata does not delete any")
            return now.metadata
        try:
            metadata = merged_metadata(cell.metadata, written.metadata, now.metadata)
        except MetadataClash as error:
            self._clash(f"its metadata {error.key!r}{SINCE}", there)
            return now.metadata
        if not same(metadata, now.metadata):
            check_metadata(written.metadata, type, here)
        return metadata

    def _attachments(self, cell: KnownCell, written: Cell, now: Cell, here: int) -> dict[str, Json]:
        added, refused = added_attachments(written.attachments, now.attachments, self._pictures)
        self._note_refused(refused, here)
        changed = [it for it in now.attachments if written.attachments.get(it) != cell.attachments.get(it)]
        if "attachments" in written.fields and changed:
            self._note(here, "existing attachments were kept unchanged")
        check_plain(added, f"cells[{here}]: its attachments", here)
        return {"attachments": {**now.attachments, **added}} if added else {}

    def _note_outputs(self, cell: KnownCell, written: Cell, now: Cell, here: int) -> None:
        if any(it not in cell.outputs and not is_elided_output(it) for it in written.outputs):
            self._note(here, "outputs were not taken; only running a cell makes them")
        elif not written.outputs and now.outputs and content_of(written) == content_of(now):
            self._note(here, "outputs were kept, because the text was not changed")

    def _note_refused(self, names: Sequence[str], here: int) -> None:
        if names:
            self._note(
                here, f"attachments were left out, because their pictures are unknown: {', '.join(names)}"
            )

    @cached_property
    def _pictures(self) -> dict[tuple[str, str], Json]:
        return dict(_pictures(self._there.cells))

    def _new_cell(self, here: int) -> dict[str, Json]:
        cell = self._wrote.cells[here]
        check_type(cell.type, here)
        check_text(cell.source, f"cells[{here}]", here)
        metadata = without_placeholders(cell.metadata)
        check_metadata(metadata, cell.type, here)
        fields: dict[str, Json] = {"cell_type": cell.type, "metadata": metadata, "source": cell.source}
        if cell.type == "code":
            if not self._restoring and any(not is_elided_output(it) for it in cell.outputs):
                self._note(here, "outputs were not taken; only running a cell makes them")
            return {**fields, **self._execution_fields(cell)}
        if self._restoring:
            return {**fields, "attachments": cell.attachments} if cell.attachments else fields
        added, refused = added_attachments(cell.attachments, {}, self._pictures)
        self._note_refused(refused, here)
        check_plain(added, f"cells[{here}]: its attachments", here)
        return {**fields, "attachments": added} if added else fields

    # ---- the whole

    def _order(self, gone: set[int]) -> list[int]:
        """The new order as indexes of present cells; a new cell is -1 minus its index in the agent's text."""
        at_base = {there: index for index, there in self._pairs.now.items()}
        now = [index for index in range(len(self._there.cells)) if index not in gone]
        base_of = {here: index for index, here in self._pairs.written.items()}
        written = list(self._written_order(base_of))
        common = {it for it in written if it in at_base}
        before = sorted(common, key=at_base.__getitem__)
        mine, theirs = ([it for it in side if it in common] for side in (written, now))
        if mine != before:
            if theirs != before and theirs != mine:
                self._clashes.append(Clash(f"the order of the cells{SINCE}"))
            self._check_protected_moves(before, mine)
            return with_missing(written, now)
        return with_missing(now, written)

    def _written_order(self, base_of: Mapping[int, int]) -> Iterator[int]:
        for here in range(len(self._wrote.cells)):
            if here in base_of:
                there = self._pairs.now.get(base_of[here])
                if there is not None:
                    yield there
            else:
                yield self._pairs.both_added.get(here, -here - 1)

    def _check_protected_moves(self, before: list[int], after: list[int]) -> None:
        fixed = next((at for at, it in enumerate(after) if self._is_protected(it)), None)
        if fixed is None:
            return
        place = {it: at for at, it in enumerate(before)}
        positions = [place[it] for it in after]
        if len(longest_increasing(positions, fixed)) < len(longest_increasing(positions)):
            self._clash("the cell whose prompt is running cannot be moved", after[fixed])

    def _notebook_metadata(self) -> dict[str, Json] | None:
        written = self._wrote.metadata
        if not written or same(written, self._base.metadata):
            return None
        try:
            metadata = merged_metadata(self._base.metadata, written, self._there.metadata)
        except MetadataClash as error:
            self._clashes.append(Clash(f"the notebook's metadata {error.key!r}{SINCE}"))
            return None
        if same(metadata, self._there.metadata):
            return None
        check_metadata(written, None)
        return metadata

    def _ids(self, order: Sequence[int], new: Mapping[int, Mapping[str, Json]]) -> dict[int, str]:
        """The ids of all cells, with new ones for new cells and for those that lack one."""
        there = {cell.id for cell in self._there.cells}
        wanted = {cell: self._wrote.cells[-cell - 1].fields.get("id") for cell in new}
        # Including names that the agent knows and no cell has any more: they must not be used again.
        taken = there | {it for cell in self._base.cells for it in (cell.name, cell.id)}
        taken |= {id for id in wanted.values() if id is not None}
        ids = {cell: self._there.cells[cell].id for cell in order if cell >= 0}
        names = CellIds(taken)
        for cell, fields in new.items():
            id = wanted[cell]
            ids[cell] = self._make_id(names, taken, fields) if id is None or id in there else id
        return ids

    def _make_id(self, names: CellIds, taken: set[str], fields: Mapping[str, Json]) -> str:
        if self._new_id is not None:
            made = self._new_id()
            if is_id(made) and made not in taken:
                taken.add(made)
                return made
        return names.next(fields["cell_type"], fields["source"])

    def _next_base(self, order: Sequence[int], after: Notebook) -> View:
        """The agent's text as the base of its next write, with the ids that the cells have now."""
        ids = dict(zip(order, (cell.id for cell in after.cells), strict=True))
        base_of = {here: index for index, here in self._pairs.written.items()}
        names = CellIds({id for cell in self._wrote.cells if (id := cell.fields.get("id")) is not None})
        lost = CellIds({cell.id for cell in after.cells})
        cells: list[KnownCell] = []
        for here, cell in enumerate(self._wrote.cells):
            old = self._base.cells[base_of[here]] if here in base_of else None
            there = self._pairs.both_added.get(here, -here - 1)
            if old is not None:
                there = self._pairs.now.get(base_of[here], _GONE)
            # In a file without ids, the derived id of a deleted cell may belong to another cell by now.
            id = (
                lost.claim(old.id, cell.type, cell.source)
                if old is not None and there == _GONE
                else ids[there]
            )
            # Likewise, a cell to which the agent gave no name must not get the agent's name for another cell.
            name = cell.fields.get("id") or names.claim(
                id if old is None else old.name, cell.type, cell.source
            )
            if here in self._as_read and old is not None and (old.name, old.id) == (name, id):
                cells.append(old)
            else:
                cells.append(_known(cell, old, name, id))
        metadata = self._wrote.metadata or self._base.metadata
        return View(self._wrote.text, tuple(cells), metadata)

    # ---- messages

    def _note(self, here: int, why: str) -> None:
        self._notes.setdefault(why, []).append(here)

    def _is_protected(self, there: int) -> bool:
        return (
            there >= 0 and self._protected is not None and self._there.cells[there].raw_id == self._protected
        )

    def _clash(self, why: str, there: int) -> None:
        cell = self._there.cells[there]
        self._clashes.append(Clash(why, cell.id, there, first_line(cell.source)))


def _note(why: str, cells: Sequence[int]) -> str:
    """A note for people, who count cells from 1; names only the first few cells."""
    named = ", ".join(str(it + 1) for it in cells[:MOST_NAMED])
    more = f" and {len(cells) - MOST_NAMED} more" if len(cells) > MOST_NAMED else ""
    return f"cell{'s' * (len(cells) > 1)} {named}{more}: {why}"


def _with_line_ends_of(source: str, now: Cell) -> str:
    """The source with the line ends that the cell had before."""
    if "\r\n" in now.source and "\r" not in source and "\n" not in now.source.replace("\r\n", ""):
        return source.replace("\n", "\r\n")
    return source


def _pictures(cells: Sequence[Cell]) -> Iterator[tuple[tuple[str, str], Json]]:
    for cell in cells:
        for name, shown in shown_attachments(cell.attachments).items():
            yield attachment_key(name, shown), cell.attachments[name]


def _is_as_read(written: Cell, cell: KnownCell) -> bool:
    """Whether a cell is exactly as the agent read it, so that there is nothing to merge.

    False for a cell with attachments, which may have to be restored.
    """
    fields = written.fields
    return (
        written.source == cell.source
        and written.type == cell.type
        and "attachments" not in fields
        and same(fields.get("metadata"), cell.metadata)
        and fields.get("outputs", cell.outputs) == cell.outputs
    )


def _known(cell: Cell, old: KnownCell | None, name: str, id: str) -> KnownCell:
    fields = cell.fields
    return KnownCell(
        name,
        id,
        cell.type,
        cell.source,
        cell.metadata if cell.metadata or old is None else old.metadata,
        cell.attachments if "attachments" in fields or old is None else old.attachments,
        cell.outputs if "outputs" in fields or old is None else old.outputs,
    )
