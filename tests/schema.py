"""Checks messages against the official schema (tests/data/v1.schema.json).

Knows no method: the schema itself says, with its x-method and x-side marks, which of its definitions is
for the parameters or the result of which method.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jsonschema

from acp_notebook.agent.recordings.recording import Entry

Direction = Literal["c2a", "a2c"]
Part = Literal["Request", "Response", "Notification"]

_SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "v1.schema.json").read_text())

_ID = {"type": ["integer", "string", "null"]}
_ENVELOPES: dict[Part, dict[str, Any]] = {
    "Request": {"required": ["jsonrpc", "id", "method"], "properties": {"id": _ID, "params": {}}},
    "Notification": {"required": ["jsonrpc", "method"], "properties": {"params": {}}},
    "Response": {
        "required": ["jsonrpc", "id"],
        "properties": {"id": _ID, "result": {}, "error": {"$ref": "#/$defs/Error"}},
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    },
}
"""JSON-RPC 2.0, where the protocol's schema is looser: these fields and no others."""

SIDES: dict[Direction, tuple[str, str]] = {"c2a": ("agent", "client"), "a2c": ("client", "agent")}
"""Whose methods are called in a direction, and whose are answered."""


def validate(message: Any, direction: Direction, method_of_request: str | None = None) -> None:
    """Validate a message; raises jsonschema.ValidationError, or LookupError for an unknown method.

    A response does not name its method: pass `method_of_request`. Methods with an underscore are extensions
    without a schema.
    """
    part = part_of(message)
    _validate(message, json.dumps(_envelope(part)))
    method = method_of_request if part == "Response" else message["method"]
    if method is None:
        raise LookupError(f"an answer needs the method of its request: {message}")
    if "error" not in message and not method.startswith("_"):
        content = message["result"] if part == "Response" else message.get("params", {})
        _validate(content, json.dumps({"$ref": f"#/$defs/{_definition(method, direction, part)}"}))


def validate_all(entries: Iterable[Entry], direction: Direction) -> list[str]:
    """Validate one side of a recording; returns the methods it called and answered, in order."""
    asked: dict[tuple[str, Any], str] = {}
    methods = []
    for entry in entries:
        message = entry.message
        if not isinstance(message, dict) or entry.direction == "note":
            continue
        if "method" in message and "id" in message:
            asked[entry.direction, message["id"]] = message["method"]
        if entry.direction == direction:
            asker = "a2c" if direction == "c2a" else "c2a"
            method = message.get("method") or asked.pop((asker, message["id"]), None)
            validate(message, direction, method)
            methods.append(str(method))
    return methods


def methods(side: str, part: Part) -> set[str]:
    """The methods of one kind that this side ("agent", "client" or "protocol") handles."""
    return {
        definition["x-method"]
        for name, definition in _SCHEMA["$defs"].items()
        if definition.get("x-side") == side and name.endswith(part)
    }


def update_kinds() -> dict[str, dict[str, Any]]:
    """Every kind of session update, with the definition of its fields."""
    return {
        kind["properties"]["sessionUpdate"]["const"]: _SCHEMA["$defs"][
            kind["allOf"][0]["$ref"].split("/")[-1]
        ]
        for kind in _SCHEMA["$defs"]["SessionUpdate"]["oneOf"]
    }


def is_valid(message: Any, direction: Direction, method_of_request: str | None = None) -> bool:
    try:
        validate(message, direction, method_of_request)
    except (jsonschema.ValidationError, LookupError):
        return False
    return True


def part_of(message: Any) -> Part:
    if "method" not in message:
        return "Response"
    return "Request" if "id" in message else "Notification"


def _envelope(part: Part) -> dict[str, Any]:
    envelope = _ENVELOPES[part]
    common = {"jsonrpc": {"const": "2.0"}, "method": {"type": "string"}}
    properties = {
        **{name: common[name] for name in common if name in envelope["required"]},
        **envelope["properties"],
    }
    return {**envelope, "type": "object", "properties": properties, "additionalProperties": False}


def _definition(method: str, direction: Direction, part: Part) -> str:
    """The name of the definition for a method's parameters or result."""
    called, answered = SIDES[direction]
    sides = (answered,) if part == "Response" else (called, "protocol")
    for name, definition in _SCHEMA["$defs"].items():
        if name.endswith(part) and definition.get("x-method") == method and definition.get("x-side") in sides:
            return str(name)
    raise LookupError(f"the schema has no {part.lower()} {method} in direction {direction}")


def _validate(instance: Any, schema: str) -> None:
    _validator(schema).validate(instance)


@cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    """Create a validator once per schema, which is passed as text to be a cache key."""
    return jsonschema.Draft202012Validator({"$defs": _SCHEMA["$defs"], **json.loads(schema)})
