"""The signature of a user's function as a tool's arguments: their schema, and the conversion of what comes.

Pure. What an annotation means is what msgspec takes it for, and a `Path` is a text. Everything that cannot
be a tool is found here, where the function is registered, and not when a model calls it.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import msgspec

from ..records import Json
from .docstrings import description_of, parameter_descriptions
from .schemas import json_schema

NAME_CHARS = 40
"""Of a tool's name: models accept 64 characters, and agents put the server's name in front."""

REPORT = "report"
"""The parameter that gets the function to report progress with, and is no argument of the tool."""

DEFAULT_CHARS = 200
"""Of a default value in a schema. A longer one is not shown."""

DEEPEST = 100
"""Levels of lists and objects in an argument. How many Python itself can handle differs between versions."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
_KINDS = inspect.Parameter


class BadSignature(ValueError):
    """The function cannot be a tool. The message says why, and what to do."""


class BadArguments(ValueError):
    """The arguments do not fit the function. The message names each that does not, and why."""


class Parameter(msgspec.Struct, frozen=True):
    """One argument of a tool."""

    name: str
    type: Any
    is_required: bool
    by_position: bool = False
    """It can be given by position only."""


class Signature(msgspec.Struct, frozen=True):
    """What a tool takes."""

    parameters: tuple[Parameter, ...]
    schema: Mapping[str, Json]
    text: str
    """As in the function's definition: `(city: str, days: int = 3)`."""
    reports: bool = False
    """It takes `report`."""

    def convert(self, given: Mapping[str, Json]) -> dict[str, Any]:
        """Convert JSON arguments to the annotated types; accepts numbers in quotes. Raises BadArguments."""
        values: dict[str, Any] = {}
        wrong: list[str] = []
        for parameter in self.parameters:
            name = parameter.name
            if name not in given:
                wrong += [f"argument {name!r} is missing"] if parameter.is_required else []
                continue
            if _is_too_deep(given[name]):
                wrong.append(f"argument {name!r} is nested in more than {DEEPEST} levels")
                continue
            try:
                values[name] = msgspec.convert(given[name], parameter.type, strict=False, dec_hook=_decode)
            except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
                wrong.append(f"argument {name!r}: {str(error).replace('`$', f'`{name}')}")
        known = {it.name for it in self.parameters}
        wrong += [f"there is no argument {name[:NAME_CHARS]!r}" for name in given if name not in known]
        if wrong:
            raise BadArguments(f"{'; '.join(wrong)}. It takes {self.text}.")
        return values

    def bind(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The converted arguments by position and by name, as the function takes them."""
        by_position = [it.name for it in self.parameters if it.by_position and it.name in values]
        named = {name: it for name, it in values.items() if name not in by_position}
        return tuple(values[name] for name in by_position), named


def _is_too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for it in level
            if isinstance(it, (list, dict))
            for inner in (it.values() if isinstance(it, dict) else it)
        ]
        if not level:
            return False
    return True


def shown_arguments(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The name and the JSON text of each argument, as the function gets it. Raises BadArguments."""
    return tuple((name, _json_text(name, it)) for name, it in values.items())


def _json_text(name: str, value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=_encode).decode()
    except (TypeError, ValueError, NotImplementedError, RecursionError) as error:
        raise BadArguments(f"argument {name!r} cannot be shown as JSON: {error}") from None


def name_of(function: Callable[..., Any], name: str | None, taken: typing.Container[str] = ()) -> str:
    """The tool's name, by default the function's. Raises BadSignature."""
    given = name if name is not None else getattr(function, "__name__", None)
    if not isinstance(given, str) or given == "<lambda>":
        raise BadSignature(f"{_described(function)} has no name: give one with name=")
    if not _NAME.fullmatch(given) or len(given) > NAME_CHARS:
        raise BadSignature(
            f"{given!r} cannot be the name of a tool: it has to be at most {NAME_CHARS} letters, digits and "
            "single underscores, with a letter first; name= gives another"
        )
    if given in taken:
        raise BadSignature(f"{given!r} is the name of one of the kernel's own tools; name= gives another")
    return given


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read the signature and the docstring of a function. Raises BadSignature."""
    if not callable(function):
        raise BadSignature(f"a tool is a function, not {_described(function)}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadSignature(f"{_described(function)} is a generator: a tool has to return its result")
    try:
        declared = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise BadSignature(f"{_described(function)} does not say which arguments it takes") from None
    hints = _hints(function)
    said = parameter_descriptions(getattr(function, "__doc__", None))
    parameters: list[Parameter] = []
    properties: dict[str, Json] = {}
    texts: list[str] = []
    for name, it in declared.items():
        if name == REPORT:
            continue
        if it.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD):
            stars = "*" if it.kind == _KINDS.VAR_POSITIONAL else "**"
            raise BadSignature(
                f"{_described(function)} takes {stars}{name}: a model has to know the name and the type of "
                "each argument, so write them out"
            )
        kind = hints.get(name, Any)
        properties[name] = _property(function, it, kind, said.get(name))
        is_required = it.default is inspect.Parameter.empty
        parameters.append(Parameter(name, kind, is_required, it.kind == _KINDS.POSITIONAL_ONLY))
        texts.append(_written(name, kind, properties[name], is_required))
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [it.name for it in parameters if it.is_required]:
        schema["required"] = required
    return Signature(tuple(parameters), schema, f"({', '.join(texts)})", REPORT in declared)


def doc_of(function: Callable[..., Any]) -> str:
    """The docstring of a function; "" if it has none of its own."""
    if isinstance(function, functools.partial):
        return doc_of(function.func)
    own = getattr(function, "__doc__", None)
    return description_of(own if isinstance(own, str) else None)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target: Any = inspect.unwrap(function)
    while isinstance(target, functools.partial):
        target = target.func
    if not (inspect.isroutine(target) or inspect.isclass(target)):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target.__init__ if inspect.isclass(target) else target, None, None, True)
    except Exception as error:  # an annotation is any code
        raise BadSignature(
            f"the annotations of {_described(function)} cannot be read: {type(error).__name__}: {error}"
        ) from None


def _property(
    function: Callable[..., Any], parameter: inspect.Parameter, kind: Any, said: str | None
) -> dict[str, Json]:
    """The schema of one parameter."""
    try:
        msgspec.json.Decoder(kind, dec_hook=_decode)  # build it now: two threads must not (see core.records)
        schema = json_schema(kind, _schema)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise BadSignature(
            f"{_described(function)} cannot be a tool because of its parameter {parameter.name!r}: {error}. "
            "Annotate it with a type that JSON can express: numbers, texts, lists, dicts, Literal, enums, "
            "dataclasses, msgspec structs"
        ) from None
    if said and "description" not in schema:
        schema["description"] = said
    if parameter.default is not inspect.Parameter.empty and "default" not in schema:
        try:
            text = msgspec.json.encode(parameter.default, enc_hook=_encode)
        except (TypeError, ValueError, NotImplementedError):
            text = b""  # a value that JSON cannot express: the argument is optional all the same
        if 0 < len(text) <= DEFAULT_CHARS:
            schema["default"] = msgspec.json.decode(text)
    return schema


def _written(name: str, kind: Any, schema: Mapping[str, Json], is_required: bool) -> str:
    """The parameter as in the function's definition, without the details that `Annotated` adds."""
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    annotation = "" if kind is Any else inspect.formatannotation(kind)
    for it in _classes(kind):
        annotation = annotation.replace(f"{it.__module__}.{it.__qualname__}", it.__name__)
    text = f"{name}: {annotation}" if annotation else name
    if is_required:
        return text
    default = repr(schema["default"]) if "default" in schema else "…"
    return f"{text} = {default}" if annotation else f"{text}={default}"


def _classes(kind: Any) -> Iterator[type]:
    """The classes that a type consists of."""
    if isinstance(kind, type):
        yield kind
    for part in typing.get_args(kind):
        yield from _classes(part)


def _schema(kind: type) -> dict[str, Json]:
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    raise TypeError(f"{getattr(kind, '__name__', kind)} is no type that JSON can express")


def _decode(kind: type, value: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, PurePath) and isinstance(value, str):
        return (Path if kind is Path else kind)(value)
    raise msgspec.ValidationError(f"Expected `{getattr(kind, '__name__', kind)}`, got {type(value).__name__}")


def _encode(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _described(function: Any) -> str:
    name = getattr(function, "__name__", None)
    return f"{name}()" if isinstance(name, str) and callable(function) else repr(function)[:100]
