"""Sets attributes temporarily, and restores them whatever happened to them in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...log import WARNING, logger, suppressed

_log = logger(__name__)

_MISSING = object()


class AttributeRestorer:
    """Remembers attributes of objects; `restore` restores them, the newest first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def keep(self, owner: Any, *names: str) -> None:
        """Remember these attributes; one that is missing now will be removed."""
        for name in names:
            stored = vars(owner) if hasattr(owner, "__dict__") else {}
            is_own = name in stored or not hasattr(owner, name)  # else it would hide the class's
            value = getattr(owner, name, _MISSING) if is_own else _inherited(owner, name)
            self._undo.append(lambda name=name, value=value: _put(owner, name, value))  # type: ignore[misc]

    def set(self, owner: Any, name: str, value: Any) -> None:
        self.keep(owner, name)
        setattr(owner, name, value)

    def on_restore(self, undo: Callable[[], object]) -> None:
        self._undo.append(undo)

    def restore(self) -> None:
        """Restore each attribute, even if another one fails: the code may have broken anything."""
        while self._undo:
            with suppressed(_log, Exception, level=WARNING):
                self._undo.pop()()


def _inherited(owner: Any, name: str) -> Any:
    """Restore an inherited attribute: set a trait or property, but delete what hides a method."""
    declared = getattr(type(owner), name, _MISSING)
    return getattr(owner, name) if hasattr(type(declared), "__set__") else _MISSING


def _put(owner: Any, name: str, value: Any) -> None:
    if value is not _MISSING:
        setattr(owner, name, value)
    elif name in vars(owner):
        delattr(owner, name)
