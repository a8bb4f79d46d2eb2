"""Python objects -> the content of a prompt: data, pictures, code and errors, each bounded in size.

Imports no data library: an object is known by the names of its classes, and asked through its own methods.
What an agent takes is not decided here; `core.prompt.fitted` does that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.records import Content, Text
from . import arrays, code, data, errors, pictures, rich, tables
from .labels import Label, Named, label_of

__all__ = ["Named", "contents"]

Family = Callable[[Any, Label], tuple[Content, ...] | None]

FAMILIES: dict[str, Family] = {
    "table": tables.take,
    "picture": pictures.take,
    "array": arrays.take,
    "error": errors.take,
    "code": code.take,
    "data": data.take,
    "rich form": rich.take,
}
"""Asked in this order; the first that knows the object describes it."""


def contents(value: Any, at: int) -> tuple[Content, ...]:
    """What is sent for an object that stands at this place of a prompt. Never fails for its sake."""
    label = label_of(value, at)
    if type(value) is Named:
        value = value.value
    troubles: list[str] = []
    for name, take in FAMILIES.items():
        try:
            found = take(value, label)
        except Exception as error:  # the object's own code, and any library's: it must not stop a prompt
            troubles.append(f"as {name}: {type(error).__name__}")
            continue
        if found is not None:
            return (*_failed(troubles, label), *found)
    return (*_failed(troubles, label), label.resource(label.heading(object.__repr__(value))))


def _failed(troubles: list[str], label: Label) -> tuple[Content, ...]:
    """What follows is less than it should be: that is said."""
    return (Text(f"[{label.heading('')}could not be sent {'; '.join(troubles)}]"),) if troubles else ()
