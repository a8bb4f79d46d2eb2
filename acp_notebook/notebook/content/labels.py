"""What an object in a prompt is called: its variable's name where that is known, else its type and place.

Looks names up in the main module only, by identity.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ...core.records import Resource
from .bounds import bounded

SCHEME = "python"
"""Of the addresses of objects: an agent sees that it is no file."""

COMMON = (str, bytes, int, float, complex, bool, type(None))
"""Equal values of these are often one object: identity says nothing of the name."""

HIDDEN = frozenset({"In", "Out", "exit", "quit"})


@dataclass(frozen=True)
class Named:
    """An object and the name that the user called it by."""

    name: str
    value: Any


class Label(NamedTuple):
    name: str | None
    uri: str

    def heading(self, what: str) -> str:
        return f"`{self.name}`: {what}" if self.name else what

    def resource(self, text: str, mime_type: str = "text/plain") -> Resource:
        return Resource(self.uri, text=bounded(text), mime_type=mime_type)


def label_of(value: Any, at: int) -> Label:
    if type(value) is Named:
        return Label(value.name, f"{SCHEME}:{quote(value.name, errors='replace')}")
    name = _variable(value)
    return Label(name, f"{SCHEME}:{quote(name or f'{type(value).__name__}-{at}')}")


def _variable(value: Any) -> str | None:
    """The name that the notebook's cells have for it."""
    if issubclass(type(value), COMMON):  # not isinstance: that asks the object, and a proxy may refuse
        return None
    module = sys.modules.get("__main__")
    names = list(vars(module).items()) if module is not None else []
    found = (name for name, bound in names if bound is value)
    return next((it for it in found if not it.startswith("_") and it not in HIDDEN), None)
