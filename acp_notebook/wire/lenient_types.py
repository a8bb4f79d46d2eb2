"""Convert a plain value to a message type as far as possible: the slow path, used when msgspec refuses.

Works for any type. It follows the leniency that the official schema marks: an invalid optional field takes
its default, an invalid list entry is left out, an unknown field is ignored. A member of a tagged union with
an unknown tag is kept as Opaque. Only an invalid required field makes it refuse the whole value.
"""

from __future__ import annotations

import types
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, ValidationError, structs

T = TypeVar("T")


class Opaque(Struct, frozen=True):
    """An unchanged value of a kind that is not in the schema."""

    raw: Any


def read(cls: type[T], value: Any) -> T:
    """Convert to the message type; raises msgspec.ValidationError if a required part is invalid."""
    result: T = _struct(cls, value)
    return result


def exact(cls: type[T], value: Any) -> T:
    """Like `read`, but only ignores unknown fields; any invalid part raises."""
    return msgspec.convert(_known(cls, value), cls)


def _known(wanted: Any, value: Any) -> Any:
    """Remove fields that the type does not have, and null fields, which count as missing."""
    if isinstance(value, list) and get_origin(wanted) is list:
        return [_known(get_args(wanted)[0], item) for item in value]
    if isinstance(value, dict) and isinstance(wanted, type) and issubclass(wanted, Struct):
        types_by_name = {field.encode_name: field.type for field in structs.fields(wanted)}
        return {
            name: _known(types_by_name[name], item)
            for name, item in value.items()
            if name in types_by_name and item is not None
        }
    return value


def _struct(cls: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValidationError(f"expected an object for {cls.__name__}")
    found: dict[str, Any] = {}
    for field in structs.fields(cls):
        if field.encode_name not in value:
            if field.required:
                raise ValidationError(f"{cls.__name__} has no {field.encode_name}")
            continue
        try:
            found[field.name] = _value(field.type, value[field.encode_name])
        except ValidationError:
            if field.required:
                raise
    return cls(**found)


def _value(wanted: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except ValidationError:
        pass
    arms = get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)
    if isinstance(value, list):
        for arm in arms:
            if get_origin(arm) is list:
                return list(_entries(get_args(arm)[0], value))
    candidates = [arm for arm in arms if isinstance(arm, type) and issubclass(arm, Struct)]
    if isinstance(value, dict) and candidates:
        return _one_of(candidates, value)
    raise ValidationError(f"{type(value).__name__} does not fit")


def _entries(wanted: Any, values: list[Any]) -> Any:
    for value in values:
        try:
            yield _value(wanted, value)
        except ValidationError:
            continue  # the schema's x-deserialize-skip-invalid-items; the raw message is kept


def _one_of(candidates: list[Any], value: dict[str, Any]) -> Any:
    config = candidates[0].__struct_config__
    if config.tag is None or (len(candidates) == 1 and config.tag_field not in value):
        return _struct(candidates[0], value)
    for candidate in candidates:
        if candidate.__struct_config__.tag == value.get(config.tag_field):
            return _struct(candidate, value)
    return Opaque(value)
