"""Applied: the changes of a run, brought to the user's folder, with undo."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...agent import loop
from ...agent.host import AgentHost
from ...agent.undo.applied import AppliedChanges, CannotApply
from ...agent.undo.operations import Operation
from ...core.changes import FileChange
from ...core.document_protocol import OpenNotebooks
from ...core.fan_out.task import ChangedFile
from ...core.notebook_changes import is_notebook
from ...errors import Conflict
from ...notebook.notebook_path import started_paths
from ...notebook.runtime import where

if TYPE_CHECKING:
    from ...agent.conversation import Conversation
    from ..changes import ChangesTable


class Applied:
    """What `run.apply()` changed here, with undo as for a turn. Sessions that are open in the folder list it
    in `session.changes`."""

    def __init__(
        self,
        folder: str,
        files: Sequence[ChangedFile],
        documents: OpenNotebooks | None = None,
        on_change: Callable[[bool], None] = lambda applied: None,
        *,
        name: str = "run",
        by: str | None = None,
    ) -> None:
        """`on_change` is called with whether something is applied now."""
        self.folder = os.path.realpath(folder)
        self._is_entered = False
        self._files = files
        documents = documents or _open_notebooks()
        self._is_blind = documents is None
        self._changes = AppliedChanges(
            folder,
            files,
            documents,
            name=name,
            by=by,
            trackers=lambda: [it.undoing for it in _conversations()],
            on_change=on_change,
        )

    @property
    def changes(self) -> ChangesTable:
        """The files, as in `turn.changes`: each has `path`, `action`, `diff`, `hunks` and `state`, and can be
        undone, redone or kept by itself, hunks included."""
        from ..changes import changes_of_run

        return changes_of_run(self._changes, self.folder)

    @property
    def shown(self) -> tuple[FileChange, ...]:
        """The files as the table of the fan-out shows them, relative to the folder."""
        return self._changes.shown

    def revert(self) -> Applied:
        """Undo the changes, merging later edits. Raises acp.Conflict if something cannot be merged; then
        nothing is changed."""
        self.act("undo")
        return self

    def redo(self) -> Applied:
        """Apply the changes again. Raises acp.Conflict; then nothing is changed."""
        if self._is_entered:
            self.act("redo")
            return self
        if self._is_blind and (path := self._possibly_open()) is not None:
            raise Conflict(
                f"the run cannot be applied, and nothing was changed:\n  {path}: it may be open in a page "
                "with cells that are not saved. Show a session in it (%acp_agent demo) and apply the run "
                "again: its cells are then changed in the page"
            )
        try:
            loop.call(self._changes.apply())
        except CannotApply as error:
            raise Conflict(f"the run cannot be applied, and nothing was changed:\n{error}") from None
        self._is_entered = True
        return self

    def keep(self) -> Applied:
        """Mark the changes as reviewed and kept."""
        self.act("keep")
        return self

    def act(self, operation: Operation, file: str | None = None, hunk: str | None = None) -> None:
        """Undo, redo or keep all files, one file, or one hunk, by their ids. Raises acp.Conflict."""
        touched = loop.call(self._changes.act(operation, file, hunk))
        if conflicts := self._changes.conflicts(touched):
            done = "undone" if operation == "undo" else "applied"
            raise Conflict(f"the run cannot be {done}, and nothing was changed:\n{conflicts}")

    def _possibly_open(self) -> str | None:
        """The notebook of this kernel, if the run changes it and a page may have it open. Where its path is
        not known, every notebook may be the one."""
        if not where().kernel or where().headless is True:
            return None
        own = {os.path.realpath(it) for it in started_paths()}
        notebooks = (it.path for it in self._files if is_notebook(it.path) and it.before is not None)
        return next((it for it in notebooks if not own or os.path.join(self.folder, it) in own), None)

    def __repr__(self) -> str:
        return repr(self.changes)

    def _repr_html_(self) -> str:
        return self.changes._repr_html_()


def _conversations() -> list[Conversation]:
    hosts = [it for it in loop.owners() if isinstance(it, AgentHost)]
    return [it for host in hosts for it in tuple(host.sessions.open)]


def _open_notebooks() -> OpenNotebooks | None:
    """The notebooks that a page has open, as a session of this kernel knows them."""
    known = (it.workspace.open_notebooks for it in _conversations())
    return next((it for it in known if it is not None), None)
