"""Detect where the calling code runs: in a cell of a page, a headless run, a terminal, or a plain script.

Independent of widgets: cannot say whether a view has really appeared.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from .ipykernel_compat import COMM_TYPES, request_of, running_kernel, subshell_here

HEADLESS_VARIABLE = "ACP_NOTEBOOK_HEADLESS"
"""0 or 1, to override the detection."""

_headless: bool | None = None

_for_page: ContextVar[bool] = ContextVar("for_page", default=False)
_unattended: ContextVar[bool] = ContextVar("unattended", default=False)


class Runtime(Struct, frozen=True):
    """Describes the calling context at the time of the call to `where`."""

    kernel: bool
    """An ipykernel kernel runs in this process."""
    main_thread: bool
    headless: bool | None
    """No user is present to see or answer anything; None if unknown, as in jupyter console."""
    cell_id: str | None
    can_input: bool
    """`input()` would reach the user through the front end, if called here."""
    subshell: bool = False
    """The code runs on a subshell's thread, usually in a widget's callback."""
    terminal: bool = False
    """The code runs in IPython, in a terminal."""
    page_later: bool = False
    """A headless run whose outputs get a page when all cells have run: Voilà."""


def where() -> Runtime:
    """Describe the calling code's context; call it on the thread and in the cell in question."""
    kernel = running_kernel()
    request = request_of(kernel) if kernel is not None else {}
    main_thread = threading.current_thread() is threading.main_thread()
    cell_id = _part(request, "metadata").get("cellId")
    setting = True if _unattended.get() else False if _for_page.get() else headless_setting()
    terminal = kernel is None and setting is not True and _in_terminal()
    if setting is None:
        setting = None if terminal else kernel is None or _is_headless(request)
    return Runtime(
        kernel=kernel is not None,
        main_thread=main_thread,
        headless=setting,
        cell_id=cell_id if isinstance(cell_id, str) else None,
        can_input=main_thread and (terminal or _allows_input(request)),
        subshell=kernel is not None and subshell_here(kernel) is not None,
        terminal=terminal,
        page_later=kernel is not None
        and not _unattended.get()
        and headless_setting() is None
        and _in_voila(),
    )


def client_here() -> str | None:
    """The id of the connection whose request runs the calling code: one page has one for all its requests."""
    kernel = running_kernel()
    session = _part(request_of(kernel) if kernel is not None else {}, "header").get("session")
    return session if isinstance(session, str) else None


@contextmanager
def for_page() -> Iterator[None]:
    """Count the code in this block as run for a user who clicked in a page, on whatever thread it runs."""
    token = _for_page.set(True)
    try:
        yield
    finally:
        _for_page.reset(token)


@contextmanager
def unattended() -> Iterator[None]:
    """Count the code in this block as a headless run, also in a kernel with a page: nobody is asked."""
    token = _unattended.set(True)
    try:
        yield
    finally:
        _unattended.reset(token)


def set_headless(headless: bool | None) -> None:
    """Override whether a user is present, from now on; None: detect it."""
    global _headless
    _headless = headless


def headless_setting() -> bool | None:
    """The override: from `set_headless`, else from the environment."""
    if _headless is not None:
        return _headless
    return {"0": False, "1": True}.get(os.environ.get(HEADLESS_VARIABLE, ""))


def _in_voila() -> bool:
    """Whether Voilà started this kernel: it describes itself to the notebook as a web server does (CGI)."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


def _in_terminal() -> bool:
    """Whether this is IPython with a user at its terminal: input that is redirected is not."""
    module = sys.modules.get("IPython.terminal.interactiveshell")
    shell = getattr(module, "TerminalInteractiveShell", None)
    try:
        return shell is not None and shell.initialized() and sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is no stdin, or it is closed
        return False


def _is_headless(request: Mapping[str, Any]) -> bool | None:
    kind = _part(request, "header").get("msg_type")
    if kind in COMM_TYPES:
        return False  # a click: a user is present
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
