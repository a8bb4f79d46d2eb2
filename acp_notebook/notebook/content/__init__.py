"""Turn Python objects into prompt content: data, pictures, code and errors, each of limited size.

Imports no data library: it recognises an object by the names of its classes and uses the object's own
methods. It does not decide what an agent accepts; `core.prompt.fitted` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.records import Content, Text
from . import arrays, code, conversations, data, errors, pictures, rich, tables
from .labels import Label, Named, label_of

__all__ = ["Named", "contents"]

Family = Callable[[Any, Label], tuple[Content, ...] | None]

FAMILIES: dict[str, Family] = {
    "conversation": conversations.take,
    "table": tables.take,
    "picture": pictures.take,
    "array": arrays.take,
    "error": errors.take,
    "code": code.take,
    "data": data.take,
    "rich form": rich.take,
}
"""Tried in this order; the first that recognises the object describes it."""


def contents(value: Any, at: int) -> tuple[Content, ...]:
    """Describe an object at this position of a prompt. Errors in the object's own code are caught."""
    label = label_of(value, at)
    if type(value) is Named:
        value = value.value
    troubles: list[str] = []
    for name, take in FAMILIES.items():
        try:
            found = take(value, label)
        except Exception as error:  # code of the object or of a library, which must not fail the prompt
            troubles.append(f"as {name}: {type(error).__name__}")
            continue
        if found is not None:
            return (*_failed(troubles, label), *found)
    return (*_failed(troubles, label), label.resource(label.heading(object.__repr__(value))))


def _failed(troubles: list[str], label: Label) -> tuple[Content, ...]:
    """A note that the description that follows is poorer than it should be, and why."""
    return (Text(f"[{label.heading('')}could not be sent {'; '.join(troubles)}]"),) if troubles else ()
