"""A cell output with a display id: shown once, then replaced from any thread.

Independent of the content. Create it on the thread that runs the cell, or it would appear in another cell.
"""

from __future__ import annotations

from typing import Any

from .ipykernel_compat import request_of, running_kernel

IN_PAGE = "in the page"
"""Takes the place of a request: no run of a cell displayed it."""


class CellOutput:
    """A displayed output that can be replaced in place while its page is open."""

    def __init__(self, handle: Any, cell: str | None = None, request: str | None = None) -> None:
        self._handle = handle
        self.cell = cell
        """The id of the cell that shows it, if the front end says."""
        self._request = request
        _shows(cell, request)

    @property
    def is_current(self) -> bool:
        """Whether the cell has displayed nothing of ours in a later run."""
        return self.cell is not None and _newest[self.cell] == self._request

    @classmethod
    def display(cls, bundle: dict[str, Any]) -> CellOutput:
        from IPython.display import display

        show: Any = display
        return cls(show(bundle, raw=True, display_id=True), current_cell(), current_request())

    @classmethod
    def in_page(cls, cell: str) -> CellOutput:
        """An output that a page adds itself, in a cell with this id."""
        from IPython.display import DisplayHandle

        make: Any = DisplayHandle
        return cls(make(), cell, IN_PAGE)

    def update(self, bundle: dict[str, Any]) -> None:
        self._handle.update(bundle, raw=True)


def emit(bundle: dict[str, Any]) -> None:
    """Display an output that never changes: nbval ignores outputs that are updated later."""
    from IPython.display import display

    show: Any = display
    show(bundle, raw=True)
    _shows(current_cell(), current_request())


_newest: dict[str, str | None] = {}
"""The newest request that displayed something, by the id of its cell."""


def _shows(cell: str | None, request: str | None) -> None:
    if cell is not None:
        _newest[cell] = request


def current_request() -> str | None:
    """The id of the request that runs the current cell; without a kernel, the number of the cell."""
    if running_kernel() is None:
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        return None if shell is None else f"cell {shell.execution_count}"
    found: str | None = (_request().get("header") or {}).get("msg_id")
    return found


def current_cell() -> str | None:
    """The id of the current cell, if the front end says; notebooks before nbformat 4.5 have none."""
    found = (_request().get("metadata") or {}).get("cellId")
    return found if isinstance(found, str) else None


def _request() -> dict[str, Any]:
    kernel = running_kernel()
    return {} if kernel is None else request_of(kernel)
