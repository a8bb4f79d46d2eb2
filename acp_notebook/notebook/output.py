"""One output of a cell, by its display id: shown once, replaced from any thread.

Knows nothing of what is in it. Created on the thread that displays, or it would land in another cell.
"""

from __future__ import annotations

from typing import Any

from .ipykernel_compat import request_of, running_kernel


class Output:
    """An output that can be replaced where it stands, as long as its page lives."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @classmethod
    def display(cls, bundle: dict[str, Any]) -> Output:
        from IPython.display import display

        show: Any = display
        return cls(show(bundle, raw=True, display_id=True))

    def update(self, bundle: dict[str, Any]) -> None:
        self._handle.update(bundle, raw=True)


def emit(bundle: dict[str, Any]) -> None:
    """One output, for good: nbval ignores those that change later."""
    from IPython.display import display

    show: Any = display
    show(bundle, raw=True)


def current_request() -> str | None:
    """What tells one run of a cell from another: the id of the request that runs it."""
    kernel = running_kernel()
    request = None if kernel is None else request_of(kernel)
    header = (request or {}).get("header") or {}
    found: str | None = header.get("msg_id")
    return found
