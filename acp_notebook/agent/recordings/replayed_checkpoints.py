"""What turns changed when they were recorded, written into the folders of a replay instead of checkpoints.

Has the interface of `undo.checkpoints.Checkpoints`. Knows neither the format (`file_changes`) nor where the
recording stands.
Nothing is written outside of the session's folders, nor through a link, and no link is made that leads out
of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ...core.changes import Version
from ..files.file_state import ATTEMPTS, make_folder, make_root, read_state, remove_empty, write_state
from ..files.roots import FileTrouble, Refused, Roots, visible
from ..permissions.grant_store import config_folder
from ..threads import on_a_thread
from ..undo.backend import PathChange
from ..undo.checkpoints import Marks
from ..user_dirs import state_folder
from .file_changes import RecordedFile, RecordedTurn

LEADS_OUT = "it is a link that leads out of the session's folders: a replay does not make it"
OURS = "a replay does not write there"

Tells = Callable[[int], RecordedTurn | None]
"""What the recording tells of a turn of the session, by its number; None: nothing."""


class ReplayedCheckpoints:
    """Stands in for the checkpoints of a replayed session: writes the recorded changes."""

    def __init__(self, roots: Roots, tells: Tells, *, scratch: bool) -> None:
        """`scratch`: the folders are ours, and what was recorded counts; else what is there does."""
        self._roots = roots
        self._tells = tells
        self._scratch = scratch
        self.notes: tuple[str, ...] = ()
        self.states: dict[str, str] = {}
        self.covers = False
        """Nothing is looked at: it is told."""

    def warm(self) -> None: ...

    def kill(self) -> None: ...

    async def close(self) -> None: ...

    def late(self) -> Marks:
        return Marks()

    async def before(self, waited: float = 0.0) -> Marks:
        return Marks()

    async def after(self, marks: Marks, keep: Callable[[PathChange], None]) -> frozenset[str]:
        """Have the files as they were after the turn, and hand them out."""
        told = self._tells(marks.turn)
        if told is None:
            return frozenset()
        marks.missing, marks.recorded_notes, marks.filled = dict(told.missing), told.notes, told.filled
        await on_a_thread(lambda: self._make(told, keep))
        return told.emptied

    def _make(self, told: RecordedTurn, keep: Callable[[PathChange], None]) -> None:
        for folder in sorted(told.filled, reverse=True):  # a file may be to stand there
            remove_empty(self._roots, folder, told.emptied)
        made = {it.found.path: self._made(it, told.emptied) for it in _in_order(told.files)}
        for folder in sorted(told.emptied):
            make_folder(self._roots, folder)
        for it in told.files:  # in the order in which they were found
            keep(made[it.found.path])

    def _made(self, it: RecordedFile, emptied: frozenset[str]) -> PathChange:
        """The find, as it is here."""
        found = it.found
        if not it.known:
            return found
        try:
            self._check(found.path, it.after)
            before = self._put(found.path, it.after)
        except (FileTrouble, OSError) as error:
            return PathChange(found.path, why_not=str(error), action=found.action)
        if it.after is None:
            remove_empty(self._roots, os.path.dirname(found.path), emptied)
        if self._scratch or found.why_not is not None:
            return found
        return PathChange(found.path, before, it.after, during=found.during)

    def _put(self, path: str, after: Version | None) -> Version | None:
        """Returns what was there before."""
        for _ in range(ATTEMPTS):
            now = read_state(self._roots, path)
            if now == after:
                return now
            if after is not None:
                make_root(self._roots, path)
            if write_state(self._roots, path, after, now):
                return now
        raise Refused(f"{visible(path)} keeps changing, so it was left alone")

    def _check(self, path: str, after: Version | None) -> None:
        ours = [os.path.realpath(it) for it in (config_folder(), state_folder())]
        if ".git" in path.split("/") or any(f"{path}/".startswith(f"{it}/") for it in ours):
            raise Refused(f"{visible(path)}: {OURS}")
        if after is not None and after.link and not leads_inside(path, os.fsdecode(after.data), self._roots):
            raise Refused(LEADS_OUT)


def leads_inside(path: str, target: str, roots: Roots) -> bool:
    """Whether a link stays within the folders, whatever other links on its way become.

    So it may go up only before it goes down: the folder that the link is in has no links on its way.
    """
    names = [it for it in target.split("/") if it not in ("", ".")]
    ups = next((at for at, it in enumerate(names) if it != ".."), len(names))
    if ".." in names[ups:] or (ups and os.path.isabs(target)):
        return False
    end = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return any(end == root or end.startswith(f"{root}/") for root in roots.folders)


def _in_order(files: Sequence[RecordedFile]) -> list[RecordedFile]:
    """Deletions first, the deepest of them first: a folder may stand where a file was, or the other way."""

    def order(it: RecordedFile) -> tuple[bool, int]:
        gone = it.known and it.after is None
        depth = it.found.path.count("/")
        return not gone, -depth if gone else depth

    return sorted(files, key=order)
