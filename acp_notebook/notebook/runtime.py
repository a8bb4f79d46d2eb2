"""Where the calling code runs: in a cell of a page, in a headless run, in a plain script.

Knows nothing of widgets: whether a view has really appeared is for others to see.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .ipykernel_compat import COMM_TYPES, request_of, running_kernel, subshell_here

HEADLESS_VARIABLE = "ACP_NOTEBOOK_HEADLESS"
"""0 or 1, for what cannot be seen from here: Voila runs notebooks as nbclient does, and yet has a page."""

_headless: bool | None = None


@dataclass(frozen=True)
class Runtime:
    """A calling context, as it was when it was asked for."""

    kernel: bool
    """An ipykernel kernel runs in this process."""
    main_thread: bool
    headless: bool | None
    """Nobody is there to see or to answer; None: perhaps, as in jupyter console."""
    cell_id: str | None
    can_input: bool
    """`input()` would reach the user through the front end, if called here."""
    subshell: bool = False
    """This is the thread of a subshell: a widget's callback, as a rule."""


def where() -> Runtime:
    """The context of the calling code; call it on the thread and in the cell that it is about."""
    kernel = running_kernel()
    request = request_of(kernel) if kernel is not None else {}
    main_thread = threading.current_thread() is threading.main_thread()
    cell_id = _part(request, "metadata").get("cellId")
    setting = headless_setting()
    return Runtime(
        kernel=kernel is not None,
        main_thread=main_thread,
        headless=setting if setting is not None else kernel is None or _is_headless(request),
        cell_id=cell_id if isinstance(cell_id, str) else None,
        can_input=main_thread and _allows_input(request),
        subshell=kernel is not None and subshell_here(kernel) is not None,
    )


def set_headless(headless: bool | None) -> None:
    """Say whether anyone is there, for all that follows; None: find out."""
    global _headless
    _headless = headless


def headless_setting() -> bool | None:
    """What the user said: here, else in the environment."""
    if _headless is not None:
        return _headless
    return {"0": False, "1": True}.get(os.environ.get(HEADLESS_VARIABLE, ""))


def _is_headless(request: Mapping[str, Any]) -> bool | None:
    kind = _part(request, "header").get("msg_type")
    if kind in COMM_TYPES:
        return False  # a click: somebody is there
    if kind != "execute_request":
        return None
    if not _allows_input(request):
        return True  # nbclient, and so nbconvert, nbval, papermill
    return False if "cellId" in _part(request, "metadata") else None


def _allows_input(request: Mapping[str, Any]) -> bool:
    return bool(_part(request, "content").get("allow_stdin", False))


def _part(request: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = request.get(name)
    return part if isinstance(part, Mapping) else {}
