"""Labels for objects in a prompt: the variable's name if known, else the type and position.

Looks up names in the main module only, by identity.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ...core.records import Resource
from .bounds import bounded

SCHEME = "python"
"""The URI scheme of objects, which shows an agent that this is not a file."""

COMMON = (str, bytes, int, float, complex, bool, type(None))
"""Equal values of these types are often one object, so identity does not reveal the name."""

HIDDEN = frozenset({"In", "Out", "exit", "quit"})


@dataclass(frozen=True)
class Named:
    """An object and the name by which the user mentioned it."""

    name: str
    value: Any


class Label(NamedTuple):
    """Identifies an object in the text of a prompt and by a URI."""

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
    """The name of the object in the notebook's namespace."""
    if issubclass(type(value), COMMON):  # not isinstance, which reads `__class__`: a proxy may raise there
        return None
    module = sys.modules.get("__main__")
    names = list(vars(module).items()) if module is not None else []
    found = (name for name, bound in names if bound is value)
    return next((it for it in found if not it.startswith("_") and it not in HIDDEN), None)
