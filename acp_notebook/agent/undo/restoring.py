"""A change undone, done again, in whole or hunk by hunk: with what the user made of the file since.

Knows files and the book of changes; asks nobody. Blocks, so it belongs on a thread. Either all paths of a
change can be had as they should be, or none is touched and the change says why.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from msgspec.structs import replace

from ...core import changes as ch
from ...core.changes import Step, Version
from ...core.notebook_changes import is_notebook, merged_version, with_cells_undone
from ..files.roots import FileTrouble, Roots
from .ledger import Change, Ledger, Part
from .leftovers import Leftovers
from .versions import ATTEMPTS, look, make_folder, make_root, put, remove_empty


@dataclass(frozen=True, slots=True)
class _Move:
    """One path on its way to another state."""

    path: str
    now: Version | None
    step: Step


class Restorer:
    """Brings files of one session to other states."""

    def __init__(self, roots: Roots, ledger: Ledger) -> None:
        self._roots = roots
        self._ledger = ledger
        self._leftovers = Leftovers()

    def bring(self, change: Change, undone: frozenset[int], empty: frozenset[str]) -> str | None:
        """The change's files with these hunks undone; None, or why that cannot be.

        `empty`: folders that stay, though there is nothing in them.
        """
        try:
            for _ in range(ATTEMPTS):
                moves = [self._planned(change, part, undone) for part in change.parts]
                conflict = next((it.step.conflict for it in moves if it.step.conflict), None)
                if conflict is not None:
                    return conflict
                moves.sort(key=lambda it: it.step.write is not None)  # a folder may have to go for a file
                if all(self._carried_out(move, empty) for move in moves):
                    return None
        except (FileTrouble, OSError) as error:
            return str(error)
        return "it keeps changing: try again"

    def finished(self) -> None:
        """Nothing is under way any more."""
        self._leftovers.close()

    def clear_folders(self, source: frozenset[str], target: frozenset[str]) -> None:
        """Empty folders that are not to be: before all else, since a file may be to stand there."""
        for folder in sorted(source - target, reverse=True):
            remove_empty(self._roots, folder, target)

    def make_folders(self, source: frozenset[str], target: frozenset[str]) -> None:
        """Empty folders that are to be: when all else is done."""
        for folder in sorted(target - source):
            make_folder(self._roots, folder)

    def _planned(self, change: Change, part: Part, undone: frozenset[int]) -> _Move:
        source = self._state(change, part, change.undone)
        target = self._state(change, part, undone)
        now = look(self._roots, part.path)
        return _Move(part.path, now, _step(part.path, source, target, now))

    def states(self, change: Change, undone: frozenset[int]) -> tuple[Version | None, Version | None]:
        """The file as the change says that it is, and as it is to be with these hunks undone."""
        part = change.parts[-1]
        return self._state(change, part, change.undone), self._state(change, part, undone)

    def _state(self, change: Change, part: Part, undone: frozenset[int]) -> Version | None:
        """This path, with these hunks undone. Hunks of a moved file are in its new place."""
        if undone == change.everything:
            return self._ledger.version(part.before)
        if not undone or part is not change.parts[-1]:
            return self._ledger.version(part.after)
        before, after = self._ledger.version(change.before), self._ledger.version(change.after)
        if change.shape is not None and change.shape.notebook and before is not None and after is not None:
            return replace(after, data=with_cells_undone(before.data, after.data, undone))
        return ch.partly(before, after, undone)

    def _carried_out(self, move: _Move, empty: frozenset[str]) -> bool:
        if not move.step.needed:
            return True
        if move.step.write is not None:
            make_root(self._roots, move.path)
        if not put(self._roots, move.path, move.step.write, move.now, self._leftovers.note):
            return False
        if move.step.write is None:
            remove_empty(self._roots, os.path.dirname(move.path), empty)
        return True


def _step(path: str, source: Version | None, target: Version | None, now: Version | None) -> Step:
    """Notebooks that were changed since are merged by their cells: lines of JSON are nobody's."""
    if not is_notebook(path) or now in (source, target) or source is None or target is None or now is None:
        return ch.step(source, target, now)
    made = merged_version(source, target, now)
    if isinstance(made, str):
        return Step(conflict=made)
    return Step(made, needed=made != now)
