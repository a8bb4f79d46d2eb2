"""Writes the recorded changes of each turn into the folders of a replay, in place of checkpoints.

Has the interface of `undo.contract.TurnCheckpoints`. It never writes outside the session's folders or through
a link, and never creates a link that leads out of them. Knows neither the format (`file_changes`) nor the
position of the replay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ...core.changes import PathChange, Version
from ..files.file_state import ATTEMPTS, make_folder, make_root, read_state, remove_empty, write_state
from ..files.roots import FileTrouble, Refused, Roots, visible
from ..threads import on_a_thread
from ..undo.checkpoints import Marks
from ..user_dirs import config_folder, state_folder
from .file_changes import RecordedFile, RecordedTurn

LEADS_OUT = "it is a link that leads out of the session's folders: a replay does not create it"
OURS = "a replay does not write there"

ChangesOf = Callable[[int], RecordedTurn | None]
"""Returns the recorded changes of a turn, given its number, or None if there are none."""


class ReplayedCheckpoints:
    """Makes the recorded changes of a replayed session and reports them as found."""

    def __init__(self, roots: Roots, changes_of: ChangesOf, *, scratch: bool) -> None:
        """`scratch`: the folders are temporary, so the recorded states before a turn are valid. Otherwise the
        states on the disk are."""
        self._roots = roots
        self._changes_of = changes_of
        self._scratch = scratch
        self.notes: tuple[str, ...] = ()
        self.states: dict[str, str] = {}
        self.why_not = "this is a replay: the recording contains the changes"
        self.covers = self.can_switch = False
        """A replay does not scan folders."""

    def switch(self, on: bool) -> None: ...

    def warm(self) -> None: ...

    def kill(self) -> None: ...

    async def close(self) -> None: ...

    def late(self) -> Marks:
        return Marks()

    async def before(self, waited: float = 0.0) -> Marks:
        return Marks()

    async def after(self, marks: Marks, keep: Callable[[PathChange], None]) -> frozenset[str]:
        """Write the files as they were after the turn, and pass each change to `keep`."""
        turn = self._changes_of(marks.turn)
        if turn is None:
            return frozenset()
        marks.missing, marks.recorded_notes, marks.filled = dict(turn.missing), turn.notes, turn.filled
        await on_a_thread(lambda: self._write_turn(turn, keep))
        return turn.emptied

    def _write_turn(self, turn: RecordedTurn, keep: Callable[[PathChange], None]) -> None:
        for folder in sorted(turn.filled, reverse=True):  # a file may take its place
            remove_empty(self._roots, folder, turn.emptied)
        made = {it.found.path: self._write_file(it, turn.emptied) for it in _in_order(turn.files)}
        for folder in sorted(turn.emptied):
            make_folder(self._roots, folder)
        for it in turn.files:  # in the recorded order
            keep(made[it.found.path])

    def _write_file(self, it: RecordedFile, emptied: frozenset[str]) -> PathChange:
        """Write the recorded state and return the change as it happened here."""
        found = it.found
        if not it.known:
            return found
        try:
            self._check(found.path, it.after)
            before = self._put(found.path, it.after)
        except (FileTrouble, OSError) as error:
            return PathChange(found.path, why_not=str(error), action=found.action, by=found.by)
        if it.after is None:
            remove_empty(self._roots, os.path.dirname(found.path), emptied)
        if self._scratch or found.why_not is not None:
            return found
        return PathChange(found.path, before, it.after, during=found.during, by=found.by)

    def _put(self, path: str, after: Version | None) -> Version | None:
        """Write the state and return the previous one."""
        for _ in range(ATTEMPTS):
            now = read_state(self._roots, path)
            if now == after:
                return now
            if after is not None:
                make_root(self._roots, path)
            if write_state(self._roots, path, after, now):
                return now
        raise Refused(f"{visible(path)} keeps changing, so the replay did not write it")

    def _check(self, path: str, after: Version | None) -> None:
        ours = [os.path.realpath(it) for it in (config_folder(), state_folder())]
        if ".git" in path.split("/") or any(f"{path}/".startswith(f"{it}/") for it in ours):
            raise Refused(f"{visible(path)}: {OURS}")
        if after is not None and after.link and not leads_inside(path, os.fsdecode(after.data), self._roots):
            raise Refused(LEADS_OUT)


def leads_inside(path: str, target: str, roots: Roots) -> bool:
    """Whether a link stays inside the folders, even if other links on its path change.

    Only leading ".." parts are safe: the path of the link's own folder contains no links.
    """
    names = [it for it in target.split("/") if it not in ("", ".")]
    ups = next((at for at, it in enumerate(names) if it != ".."), len(names))
    if ".." in names[ups:] or (ups and os.path.isabs(target)):
        return False
    end = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return any(end == root or end.startswith(f"{root}/") for root in roots.folders)


def _in_order(files: Sequence[RecordedFile]) -> list[RecordedFile]:
    """Sort deletions first, the deepest before the others: files and folders may take each other's place."""

    def order(it: RecordedFile) -> tuple[bool, int]:
        gone = it.known and it.after is None
        depth = it.found.path.count("/")
        return not gone, -depth if gone else depth

    return sorted(files, key=order)
