"""What stands around a prompt in an IPython shell: the user's variables, the cells that ran, the last error.

Reads the shell that it is given, from any thread; knows no magic, no session and no agent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, proxy

from ...errors import Error
from ...notebook.ipykernel_compat import running_kernel
from .mentions import LAST, MentionSources

if TYPE_CHECKING:
    from ...api.live_notebook import LiveNotebook

_NONE = object()

MISUSE = "UsageError"
"""IPython's own error of this name: a magic that was written wrongly is nothing to ask an agent about."""

_all: WeakKeyDictionary[Any, ShellContext] = WeakKeyDictionary()


def surroundings_of(shell: Any) -> ShellContext:
    """One for each shell: what one has noted, all know."""
    return _all.setdefault(shell, ShellContext(shell))


def surroundings_here() -> ShellContext | None:
    """Those of the kernel in this process; None: there is none."""
    shell = getattr(running_kernel(), "shell", None)
    return None if shell is None else surroundings_of(shell)


class ShellContext:
    """The variables, cells and last error of one IPython shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = proxy(shell)
        self._error: BaseException | None = None
        self._running: Any = None
        self.cells: Callable[[str], str | None] = self._ran
        """From "3" or "last" to a cell's text. The history of what ran, unless another source is put here."""

    def places(self, cwd: str, notebook: Callable[[], LiveNotebook | None]) -> MentionSources:
        """Where what a prompt mentions is looked up."""
        cells = self._cells_by(notebook)
        return MentionSources(self.variables(), cells, self.last_error, Path(cwd))

    def variables(self) -> dict[str, Any]:
        """The user's, without what the shell put there."""
        hidden, names = self._shell.user_ns_hidden, self._shell.user_ns
        return {it: value for it, value in list(names.items()) if hidden.get(it, _NONE) is not value}

    # ---- cells --------------------------------------------------------------------------------

    def _cells_by(self, notebook: Callable[[], LiveNotebook | None]) -> Callable[[str], str | None]:
        def cell(which: str) -> str | None:
            """As it stands in the page, with what is not saved; else as it ran."""
            inputs = self.inputs()
            # The number of the last one is known here: in the page, the cell that runs now has one, too.
            number = str(max(inputs)) if which == LAST and inputs else which
            with suppress(Error):  # it cannot be reached now
                live = notebook()
                source = None if live is None else live.source_of(number)
                if source is not None:
                    return source
            return self.cells(which)

        return cell

    def _ran(self, which: str) -> str | None:
        inputs = self.inputs()
        if which == LAST:
            return inputs[max(inputs)] if inputs else None
        return inputs.get(int(which))

    def inputs(self) -> dict[int, str]:
        """What ran before the cell that runs now, by the number in its brackets."""
        raw = list(self._shell.history_manager.input_hist_raw)
        running = self._running
        if running is not None and running.store_history and raw[-1] == running.raw_cell.rstrip("\n"):
            del raw[-1]
        return {at: text for at, text in enumerate(raw) if at and text.strip()}

    # ---- what the shell tells, where it is asked to -------------------------------------------

    def runs_cell(self, info: Any) -> None:
        """Note the cell that runs: whether the shell's count has it already differs between versions."""
        self._running = info

    def ran_cell(self, result: Any) -> None:
        """Keep the last error: the shell's own note of it also has misuse of magics."""
        self._running = None
        error = result.error_in_exec or result.error_before_exec
        if error is not None and not _is_misuse(error):
            self._error = error

    def last_error(self) -> BaseException | None:
        if self._error is not None:
            return self._error
        error = getattr(sys, "last_value", None)  # nobody has asked the shell to tell, or only later
        return error if isinstance(error, BaseException) and not _is_misuse(error) else None


def _is_misuse(error: BaseException) -> bool:
    kind = type(error)
    return kind.__name__ == MISUSE and kind.__module__.startswith("IPython")
