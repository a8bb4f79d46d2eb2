"""JSON schemas of types, in a form that all agents accept: no references, and enums with a type. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..records import Json

_ENUM_TYPES: dict[type, str] = {str: "string", int: "integer"}


class SelfReference(TypeError):
    """The type contains itself, so that its schema has no end without references."""


def json_schema(of: Any, hook: Callable[[type], dict[str, Json]] | None = None) -> dict[str, Json]:
    """The JSON schema of a type; raises TypeError if it has none. `hook`: schemas of further types.

    Inlines references, which some agents do not resolve, and omits titles that only name a class.
    """
    (schema,), components = msgspec.json.schema_components([of], ref_template="{name}", schema_hook=hook)
    inlined: dict[str, Json] = _inlined(schema, components, ())
    _complete(inlined)
    return inlined


def _inlined(value: Json, components: dict[str, Json], within: tuple[str, ...]) -> Json:
    if isinstance(value, list):
        return [_inlined(it, components, within) for it in value]
    if not isinstance(value, dict):
        return value
    name = value.get("$ref")
    if isinstance(name, str) and name in components:
        if name in within:
            raise SelfReference(f"{name} contains itself")
        rest = {key: it for key, it in value.items() if key != "$ref"}
        return _inlined({**components[name], **rest}, components, (*within, name))
    return {key: _inlined(it, components, within) for key, it in value.items()}


def _complete(schema: Json) -> None:
    if isinstance(schema, list):
        for part in schema:
            _complete(part)
    if not isinstance(schema, dict):
        return
    if "enum" in schema:
        kinds = {type(it) for it in schema["enum"]}
        if len(kinds) == 1 and (name := _ENUM_TYPES.get(*kinds)) is not None:
            schema["type"] = name  # Gemini's API requires it
    if schema.get("type") == "object" or "enum" in schema:
        schema.pop("title", None)
    for part in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("anyOf")):
        _complete(part)
    for part in (schema.get("additionalProperties"), schema.get("prefixItems")):
        _complete(part)
