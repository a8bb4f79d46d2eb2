"""Which runs a fan-out consists of: each prompt, for each item, agent and attempt, with fields filled in.

Pure. A prompt is a text, or a list of parts; which parts can be sent is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import CodeType
from typing import Any

import msgspec
from msgspec import Struct

from ..agent_url import is_address, read_url
from ..records import Json
from .task import AgentSpec

PROMPT = "prompt"
"""The column of a table that has the prompts."""

LABEL_CHARS = 80

_FIELD = re.compile(r"\{(\w+)\}")


class Prompt(Struct, frozen=True):
    """A prompt with its fields filled in, and what the table calls it."""

    parts: tuple[Any, ...]
    label: str
    fields: Mapping[str, Json] = {}
    unfilled: tuple[str, ...] = ()
    """Words in braces that are no field, if there are fields: they stay as they are."""


class PlannedRun(Struct, frozen=True):
    """One run of a fan-out."""

    index: int
    prompt: Prompt
    agent: AgentSpec
    attempt: int


def planned(
    prompts: Sequence[Prompt], agents: Sequence[AgentSpec], attempts: int = 1
) -> tuple[PlannedRun, ...]:
    """All runs, so that the first ones already compare the agents. Raises ValueError if there are none."""
    if not prompts:
        raise ValueError("there is no prompt")
    if not agents:
        raise ValueError("there is no agent")
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise ValueError(f"attempts is {attempts!r}; it can be a number from 1 on")
    combined = (
        (prompt, agent, attempt)
        for attempt in range(1, attempts + 1)
        for prompt in prompts
        for agent in agents
    )
    return tuple(PlannedRun(index, *it) for index, it in enumerate(combined))


# ---- prompts ----------------------------------------------------------------------------------------


def prompts_of(given: Any, for_each: Any = None) -> tuple[Prompt, ...]:
    """The prompts that the user gave: a text, a list, a mapping of names to prompts, or a table with a
    column "prompt". Raises ValueError."""
    named = [*_named(given)]
    if for_each is None:
        return tuple(_filled(number, *it) for number, it in enumerate(named))
    return tuple(
        _filled(number, label, parts, {**fields, **item}, required=item)
        for number, item in enumerate(_items(for_each))
        for label, parts, fields in named
    )


def unfilled_of(prompts: Sequence[Prompt]) -> str | None:
    """A notice about words in braces that look like fields and are none."""
    words = dict.fromkeys(word for it in prompts for word in it.unfilled)
    if not words:
        return None
    known = dict.fromkeys(name for it in prompts for name in it.fields)
    return (
        f"the prompts have {_braced(words)}, which is no field and stays as it is. The fields are "
        f"{_braced(known)}"
    )


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{it}}}" for it in names)


Named = tuple[str | None, tuple[Any, ...], Mapping[str, Json]]


def _named(given: Any) -> Iterator[Named]:
    if isinstance(given, str | PurePath):
        yield None, _parts(given), {}
    elif (rows := table_rows(given)) is not None:
        yield from map(_row, rows)
    elif isinstance(given, Mapping):
        for name, prompt in given.items():
            yield str(name), _parts(prompt), {}
    elif isinstance(given, Iterable):
        for prompt in given:
            yield _row(prompt) if isinstance(prompt, Mapping) else (None, _parts(prompt), {})
    else:
        raise ValueError(
            f"prompts is a {type(given).__name__}; it can be a text, a list, a mapping or a table"
        )


def _row(row: Mapping[str, Json]) -> Named:
    if PROMPT not in row:
        raise ValueError(f'the table has no column "{PROMPT}"; its columns are {", ".join(map(str, row))}')
    return None, _parts(row[PROMPT]), {str(name): _plain(it) for name, it in row.items() if name != PROMPT}


def _parts(prompt: Any) -> tuple[Any, ...]:
    parts = tuple(prompt) if isinstance(prompt, list | tuple) else (prompt,)
    if (
        not parts
        or any(map(_is_missing, parts))
        or all(isinstance(it, str) and not it.strip() for it in parts)
    ):
        raise ValueError("a prompt is empty")
    return parts


def table_rows(given: Any) -> list[dict[str, Json]] | None:
    """The rows of a data frame (pandas, polars) or of a mapping from names to columns; None for others."""
    if isinstance(given, Mapping):
        columns = {str(name): it for name, it in given.items() if isinstance(it, list | tuple)}
        if PROMPT not in columns or len(columns) != len(given):
            return None
        if len({len(it) for it in columns.values()}) != 1:
            raise ValueError("the columns of prompts have different lengths")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if hasattr(given, "columns"):
        names = [*map(str, given.columns)]
        if twice := [it for it in dict.fromkeys(names) if names.count(it) > 1]:
            raise ValueError(f"the table has several columns of the same name: {', '.join(twice)}")
        rows = given.to_dict("records") if hasattr(given, "iterrows") else given.to_dicts()
        return [{str(name): _plain(it) for name, it in row.items()} for row in rows]
    return None


def _items(for_each: Any) -> Iterator[dict[str, Json]]:
    """The fields of each item: the columns of a table, or the path and its parts, or the item itself."""
    if isinstance(for_each, str):
        raise ValueError(f'for_each is a text; it can be a list, such as glob("{for_each}"), or a table')
    rows = table_rows(for_each)
    found = rows if rows is not None else [*for_each]
    if not found:
        raise ValueError("for_each is empty")
    for item in found:
        if isinstance(item, Mapping):
            yield {str(name): _plain(it) for name, it in item.items()}
        elif isinstance(item, str | PurePath):
            path = PurePath(item)
            yield {"item": str(item), "path": str(item), "name": path.name, "stem": path.stem}
        else:
            yield {"item": _plain(item)}


def _filled(
    number: int,
    label: str | None,
    parts: tuple[Any, ...],
    fields: Mapping[str, Json],
    required: Mapping[str, Json] | None = None,
) -> Prompt:
    """The prompt with its fields; braces around other words stay, because prompts contain code."""
    if required and not any(_uses(part, required) for part in parts):
        raise ValueError(
            f"the prompt uses none of the fields {_braced(required)}, so that all prompts would be equal"
        )
    used = dict.fromkeys(word for it in parts if isinstance(it, str) for word in _FIELD.findall(it))
    if missing := [it for it in used if it in fields and fields[it] is None]:
        raise ValueError(
            f"row {number} has no value for {_braced(missing)}: fill it in, or leave the row out"
        )
    made = tuple(_fill(it, fields) if isinstance(it, str) else it for it in parts)
    unfilled = tuple(it for it in used if it not in fields) if fields else ()
    return Prompt(made, label or label_of(made), dict(fields), unfilled)


def _uses(part: Any, fields: Mapping[str, Json]) -> bool:
    return isinstance(part, str) and any(it in fields for it in _FIELD.findall(part))


def _fill(text: str, fields: Mapping[str, Json]) -> str:
    return _FIELD.sub(lambda it: str(fields[it[1]]) if it[1] in fields else it[0], text)


def label_of(parts: Iterable[Any]) -> str:
    """The first line of a prompt, for the table."""
    texts = (str(it) for it in parts if isinstance(it, str | PurePath))
    line = next((line for text in texts for it in text.splitlines() if (line := " ".join(it.split()))), "")
    return line if len(line) <= LABEL_CHARS else line[: LABEL_CHARS - 1] + "…"


def _plain(value: Any) -> Json:
    """A cell of a table as JSON: numbers of numpy become Python's, and what is missing None."""
    if _is_missing(value):
        return None
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _is_missing(value: Any) -> bool:
    """Whether it is None, or what a data frame has for a missing value: NaN, NaT, NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or _is_nan(value)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


# ---- agents -----------------------------------------------------------------------------------------

_AGENT_KEYS = {"agent", "args", "config", "label"}


def agents_of(given: Any) -> tuple[AgentSpec, ...]:
    """The agents that the user gave: names or commands, or mappings with `agent`, `args`, `config` and
    `label`. Raises ValueError. Equal labels get a number."""
    several = [given] if isinstance(given, str | Mapping) else [*given]
    found = [_agent(it) for it in several]
    labels: dict[str, int] = {}
    made: list[AgentSpec] = []
    for it in found:
        labels[it.label] = labels.get(it.label, 0) + 1
        number = labels[it.label]
        made.append(it if number == 1 else msgspec.structs.replace(it, label=f"{it.label} ({number})"))
    return tuple(made)


def _agent(given: Any) -> AgentSpec:
    if isinstance(given, str) and given.strip():
        return AgentSpec(given, read_url(given.strip()).name if is_address(given) else given)
    if isinstance(given, Mapping):
        if "agent" not in given or set(given) - _AGENT_KEYS:
            raise ValueError(f"an agent is {dict(given)!r}; it can have {', '.join(sorted(_AGENT_KEYS))}")
        base = _agent(given["agent"])
        config = {str(name): value for name, value in dict(given.get("config") or {}).items()}
        values = (str(it) for it in config.values())
        label = given.get("label") or " ".join([base.label, *values])
        return AgentSpec(base.agent, label, tuple(map(str, given.get("args") or ())), config)
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        words = tuple(str(it) for it in given)
        return AgentSpec(words, PurePath(words[0]).name)
    raise ValueError(f"an agent is {given!r}; it can be a name, a command line, a list of words or a mapping")


# ---- recordings -------------------------------------------------------------------------------------


def keys_of(runs: Sequence[PlannedRun], contents: Sequence[Sequence[Json]], common: Json = None) -> list[str]:
    """The names of runs in a folder of results, equal for the same run of the same call: prompt and fields,
    agent, attempt, and what all runs have in `common`. Runs that are equal in all of it are counted."""
    found: list[str] = []
    counts: Counter[bytes] = Counter()
    for run, content in zip(runs, contents, strict=True):
        parts = [content, run.prompt.fields, msgspec.to_builtins(run.agent), run.attempt, common]
        data = json.dumps(parts, sort_keys=True).encode()
        counts[data] += 1
        found.append(hashlib.sha256(data + b"%d" % counts[data]).hexdigest()[:20])
    return found


def identity_of(function: Any) -> Json:
    """What tells one function of the user from another, also in another process: its code, and the plain
    values that it has from outside."""
    code = getattr(function, "__code__", None)
    if code is None:
        named = function if hasattr(function, "__qualname__") else type(function)
        return [named.__module__, named.__qualname__]
    cells = [it.cell_contents for it in function.__closure__ or ()]
    return [_code(code), *map(_value, (*(function.__defaults__ or ()), *cells))]


def _code(code: CodeType) -> Json:
    values = [_code(it) if isinstance(it, CodeType) else _value(it) for it in code.co_consts]
    return [code.co_code.hex(), *code.co_names, values]


def _value(value: Any) -> str:
    """A plain value; of others only the type, because their text may have an address in it."""
    is_plain = isinstance(value, str | bytes | int | float | None)
    return repr(value) if is_plain else type(value).__qualname__
