"""A cell output with a display id: shown once, then replaced from any thread.

Independent of the content. Create it on the thread that runs the cell, or it would appear in another cell.
"""

from __future__ import annotations

from typing import Any

from .ipykernel_compat import request_of, running_kernel


class CellOutput:
    """A displayed output that can be replaced in place while its page is open."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @classmethod
    def display(cls, bundle: dict[str, Any]) -> CellOutput:
        from IPython.display import display

        show: Any = display
        return cls(show(bundle, raw=True, display_id=True))

    def update(self, bundle: dict[str, Any]) -> None:
        self._handle.update(bundle, raw=True)


def emit(bundle: dict[str, Any]) -> None:
    """Display an output that never changes: nbval ignores outputs that are updated later."""
    from IPython.display import display

    show: Any = display
    show(bundle, raw=True)


def current_request() -> str | None:
    """The id of the request that runs the current cell; without a kernel, the number of the cell."""
    kernel = running_kernel()
    if kernel is None:
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        return None if shell is None else f"cell {shell.execution_count}"
    header = request_of(kernel).get("header") or {}
    found: str | None = header.get("msg_id")
    return found
