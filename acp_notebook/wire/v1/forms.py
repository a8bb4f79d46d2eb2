"""Translate the restricted JSON schema of a form to our fields.

An agent's mistake in a field only costs that part of the field: a bound that is not a number is ignored, and
so is a default that does not fit. A field of an unknown type keeps its raw schema.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ...core.forms import MOST_CHOICES, MOST_FIELDS, Field, Form, Misfit, fitting
from ...core.patterns import pattern
from ...core.records import Choice

MOST_TITLE = 200
"""Characters of a title; longer ones are truncated."""

MOST_TEXT = 4_000
"""Characters of a description; longer ones are truncated."""

_SECRET_FORMATS = frozenset({"password", "secret"})
_SECRET_NAME = pattern(r"token|secret|password|passwd|passphrase|credential|api[-_]?key", re.IGNORECASE)
"""The same words as those by which a recording recognises secrets."""

_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "multiselect": ("minItems", "maxItems"),
}


def read_form(schema: Mapping[str, Any]) -> Form:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    title, description = _title(schema.get("title")), _text(schema.get("description"))
    if len(properties) > MOST_FIELDS:
        problem = f"the form has {len(properties):,} fields; this client shows at most {MOST_FIELDS}"
        return Form((), title, description, problem)
    required = schema.get("required")
    needed = set(filter(_is_text, required)) if isinstance(required, list) else set()
    fields = tuple(_field(name, value, name in needed) for name, value in properties.items())
    count = sum(len(field.choices) for field in fields)
    if count > MOST_CHOICES:
        problem = f"the form has {count:,} choices; this client shows at most {MOST_CHOICES}"
        return Form((), title, description, problem)
    return Form(fields, title, description)


def _field(name: str, given: Any, required: bool) -> Field:
    about = given if isinstance(given, dict) else {}
    kind = about.get("type")
    choices = tuple(_choices(about if kind == "string" else about.get("items")))
    type_ = _type_of(kind, about, choices)
    least, most = (_number(about.get(bound)) for bound in _BOUNDS.get(type_, ("", "")))
    field = Field(
        name,
        type_,
        _title(about.get("title")),
        _text(about.get("description")),
        required=required,
        choices=choices,
        format=_text(about.get("format")) if type_ == "string" else None,
        pattern=about.get("pattern") if type_ == "string" and _is_text(about.get("pattern")) else None,
        least=least,
        most=most,
        secret=type_ == "string" and _is_secret(name, about),
        raw=given if type_ == "unknown" else None,
    )
    return replace(field, default=_default(field, about.get("default")))


def _type_of(kind: Any, about: Mapping[str, Any], choices: tuple[Choice, ...]) -> str:
    if kind == "string":
        return "select" if choices or isinstance(about.get("enum") or about.get("oneOf"), list) else "string"
    if kind == "array":
        return "multiselect" if choices else "unknown"
    return kind if kind in ("number", "integer", "boolean") else "unknown"


def _choices(about: Any) -> Iterable[Choice]:
    """Read the choices, which are bare values or values with titles."""
    if not isinstance(about, dict):
        return
    titled = about.get("oneOf") or about.get("anyOf")
    for option in titled if isinstance(titled, list) else ():
        match option:
            case {"const": str(value)}:
                yield Choice(value, _title(option.get("title")) or value, _text(option.get("description")))
    if titled:
        return
    values = about.get("enum")
    names = about.get("enumNames")  # from an earlier draft of the schema
    for at, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, str):
            name = names[at] if isinstance(names, list) and at < len(names) else value
            yield Choice(value, _title(name) or value)


def _default(field: Field, value: Any) -> Any:
    if value is None or field.secret or field.type == "unknown":
        return None
    try:
        return fitting(field, value)
    except Misfit:
        return None


def _is_secret(name: str, about: Mapping[str, Any]) -> bool:
    marked = about.get("format") in _SECRET_FORMATS if _is_text(about.get("format")) else False
    return marked or about.get("writeOnly") is True or _SECRET_NAME.search(name) is not None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _text(value: Any, most: int = MOST_TEXT) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return None
    return value if len(value) <= most else value[:most] + "…"


def _title(value: Any) -> str | None:
    return _text(value, MOST_TITLE)


def _number(value: Any) -> float | int | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if fits else None
