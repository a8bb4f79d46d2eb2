"""The context of a prompt in an IPython shell: the user's variables, the cells that ran, the last error.

Reads the shell from any thread; knows no magics, sessions or agents.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, proxy

from ...errors import Error
from ...log import logger, suppressed
from ...notebook.ipykernel_compat import running_kernel
from .mentions import LAST, MentionSources

if TYPE_CHECKING:
    from ...api.live_notebook import LiveNotebook

_log = logger(__name__)

_NONE = object()

RECENT_CELLS = 3
"""After so many cells without an error, an error is old."""

MAGIC_USAGE_ERROR = "UsageError"
"""IPython raises an error of this name if a magic is misused; @error skips it."""

_all: WeakKeyDictionary[Any, ShellContext] = WeakKeyDictionary()


def shell_context(shell: Any) -> ShellContext:
    """The context of a shell; there is one for each."""
    return _all.setdefault(shell, ShellContext(shell))


def current_shell_context() -> ShellContext | None:
    """The context of this process's kernel; None outside a kernel."""
    shell = getattr(running_kernel(), "shell", None)
    return None if shell is None else shell_context(shell)


class ShellContext:
    """The variables, cells and last error of one IPython shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = proxy(shell)
        self._error: BaseException | None = None
        self._seen: tuple[int, int] | None = None
        """The id of the last error, and the number of the cell when it was first seen."""
        self._running: Any = None
        self.cells: Callable[[str], str | None] = self._executed_cell
        """Maps "3" or "last" to the text of a cell. Reads the history unless replaced."""

    def sources(self, cwd: str, notebook: Callable[[], LiveNotebook | None]) -> MentionSources:
        """The sources for the mentions in a prompt."""
        cells = self._cell_reader(notebook)
        return MentionSources(self.variables(), cells, self.last_error, Path(cwd))

    def variables(self) -> dict[str, Any]:
        """The user's variables, without those of the shell."""
        hidden, names = self._shell.user_ns_hidden, self._shell.user_ns
        return {it: value for it, value in list(names.items()) if hidden.get(it, _NONE) is not value}

    # ---- cells --------------------------------------------------------------------------------

    def _cell_reader(self, notebook: Callable[[], LiveNotebook | None]) -> Callable[[str], str | None]:
        def cell(which: str) -> str | None:
            """The cell as it is in the page, unsaved text included; else as it ran."""
            inputs = self.inputs()
            # Resolve "last" here: in the page, the running cell already has a number, too.
            number = str(max(inputs)) if which == LAST and inputs else which
            with suppressed(_log, Error):  # the page cannot be reached
                live = notebook()
                source = None if live is None else live.source_of(number)
                if source is not None:
                    return source
            return self.cells(which)

        return cell

    def _executed_cell(self, which: str) -> str | None:
        inputs = self.inputs()
        if which == LAST:
            return inputs[max(inputs)] if inputs else None
        return inputs.get(int(which))

    def inputs(self) -> dict[int, str]:
        """The cells that ran before the current one, by the number in their brackets."""
        raw = list(self._shell.history_manager.input_hist_raw)
        running = self._running
        if running is not None and running.store_history and raw[-1] == running.raw_cell.rstrip("\n"):
            del raw[-1]
        return {at: text for at, text in enumerate(raw) if at and text.strip()}

    # ---- callbacks of the shell ---------------------------------------------------------------

    def on_cell_start(self, info: Any) -> None:
        """Remember the running cell; whether the history already contains it depends on the version."""
        self._running = info

    def on_cell_end(self, result: Any) -> None:
        """Remember the last error; sys.last_value would also contain misuse of magics."""
        self._running = None
        error = result.error_in_exec or result.error_before_exec
        if error is not None and not _is_magic_usage_error(error):
            self._error = error

    def failed_recently(self) -> bool:
        """Whether the last error is new: since it was first seen, only a few cells have run."""
        error, now = self.last_error(), self._shell.execution_count
        if error is None:
            return False
        if self._seen is None or self._seen[0] != id(error):
            self._seen = id(error), now
        return bool(now - self._seen[1] <= RECENT_CELLS)

    def last_error(self) -> BaseException | None:
        if self._error is not None:
            return self._error
        error = getattr(sys, "last_value", None)  # raised before the callbacks were registered
        return error if isinstance(error, BaseException) and not _is_magic_usage_error(error) else None


def _is_magic_usage_error(error: BaseException) -> bool:
    kind = type(error)
    return kind.__name__ == MAGIC_USAGE_ERROR and kind.__module__.startswith("IPython")
