"""Applied: the changes of a run, brought to the user's folder, with undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...agent import loop
from ...agent.host import AgentHost
from ...agent.undo.applied import AppliedChanges, CannotApply
from ...core.changes import FileChange
from ...core.document_protocol import OpenNotebooks
from ...core.fan_out.task import ChangedFile
from ...core.tables import text_table
from ...errors import Conflict


class Applied:
    """What `run.apply()` changed here. `revert()` undoes it, and merges what you changed since."""

    def __init__(
        self,
        folder: str,
        files: Sequence[ChangedFile],
        documents: OpenNotebooks | None = None,
        on_change: Callable[[bool], None] = lambda applied: None,
    ) -> None:
        self.folder = folder
        self._on_change = on_change
        """Called with whether the changes are applied now."""
        self._changes = AppliedChanges(folder, files, documents or _open_notebooks())

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files: `path`, `action`, `added`, `removed`, `hunks`, and their `state`: applied or undone."""
        return self._changes.changes

    def revert(self) -> Applied:
        """Undo the changes. Raises acp.Conflict if something cannot be merged; then nothing is changed."""
        try:
            loop.call(self._changes.revert())
        except CannotApply as error:
            raise Conflict(f"the run cannot be undone, and nothing was changed:\n{error}") from None
        self._on_change(False)
        return self

    def redo(self) -> Applied:
        """Apply the changes again. Raises acp.Conflict."""
        try:
            loop.call(self._changes.apply())
        except CannotApply as error:
            raise Conflict(f"the run cannot be applied, and nothing was changed:\n{error}") from None
        self._on_change(True)
        return self

    def __repr__(self) -> str:
        rows = [(it.action, it.path, f"+{it.added}", f"-{it.removed}", it.state) for it in self.changes]
        return text_table(("action", "path", "+", "-", "state"), rows)

    def _repr_html_(self) -> str:
        from ...core.export.runs_html import changes_html

        return changes_html(self.changes)


def _open_notebooks() -> OpenNotebooks | None:
    """The notebooks that a page has open, as a session of this kernel knows them."""
    hosts = [it for it in loop.owners() if isinstance(it, AgentHost)]
    known = (it.workspace.open_notebooks for host in hosts for it in host.sessions.open)
    return next((it for it in known if it is not None), None)
