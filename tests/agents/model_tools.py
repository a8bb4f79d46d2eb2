"""Turns an intention of the model into a call of the tool that the agent offers for it.

Knows no agent: goes by the names of tools and by the schemas of their arguments. So one script makes any
agent write a file, read one or run a command, in the words that it has for it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]


class Tool(NamedTuple):
    """An offered tool: its name and the schema of its arguments; `free`: it takes a text instead; `script`:
    the text is JavaScript that calls other tools."""

    name: str
    schema: Mapping[str, Any] = {}
    free: bool = False
    namespace: str = ""
    script: bool = False


class NoTool(LookupError):
    """The agent offers no tool for what the model should do."""


_NAMES = {
    "write": (
        *(r"write", r"write_?(to_)?(text_)?file", r"create_?file", r"file_?write", r"create"),
        *(r"str_replace_(based_)?edit(or|_tool)", r"(text|file)_editor", r"apply_patch"),
    ),
    "read": (r"read", r"read_?(text_)?files?", r"file_?read", r"view(_file)?", r"(text|file)_editor"),
    "run": (
        *(r"bash", r"run_shell_command", r"exec_command", r"shell(_command|_exec)?", r"run_terminal_cmd"),
        *(r"(execute|run)_(shell_|bash_)?commands?", r"run_in_terminal", r"terminal", r"execute"),
    ),
}
"""The names of these tools in agents, the most common first."""

_PATH = (
    *("file_path", "filePath", "absolute_path", "absolutePath", "path", "filename", "file", "target_file"),
    *("paths", "files"),
)
_TEXT = ("content", "contents", "file_text", "file_content", "text", "new_str")
_LINE = ("command", "cmd", "commands", "script")


LIMIT = 60_000
"""Timeout of a command in milliseconds, if the tool takes one: without one, claude-code-acp ends it at
once."""


def chosen(what: str, details: Mapping[str, str], offered: Sequence[Tool]) -> tuple[Tool, Json]:
    """The tool and its arguments; the text of a free tool is in `input`. Raises NoTool."""
    tool = _find(what, offered)
    if tool is None:
        if what == "run":
            raise NoTool(f"no tool for commands among {', '.join(it.name for it in offered)}")
        return chosen("run", {"line": _as_command(what, details)}, offered)
    if tool.free or set(tool.schema.get("properties", ())) == {"input"}:
        return tool, {"input": _patch(details)}
    return tool, _arguments(what, details, tool.schema)


def _find(what: str, offered: Sequence[Tool]) -> Tool | None:
    for pattern in _NAMES[what]:
        whole = re.compile(rf"(.*__)?{pattern}", re.IGNORECASE)
        for tool in offered:
            if whole.fullmatch(tool.name):
                return tool
    return None


def _as_command(what: str, details: Mapping[str, str]) -> str:
    """For an agent that has nothing but a shell."""
    path = shlex.quote(details["path"])
    return f"cat {path}" if what == "read" else f"printf %s {shlex.quote(details['text'])} > {path}"


def _patch(details: Mapping[str, str]) -> str:
    lines = "".join(f"+{line}\n" for line in details["text"].splitlines())
    return f"*** Begin Patch\n*** Add File: {details['path']}\n{lines}*** End Patch\n"


def _arguments(what: str, details: Mapping[str, str], schema: Mapping[str, Any]) -> Json:
    known = schema.get("properties", {})
    arguments: Json = example(schema, schema)
    for names, value in _wanted(what, details):
        name = next((it for it in names if it in known), None)
        if name is not None:
            arguments[name] = _fitted(value, known[name], schema)
    limit = known.get("timeout", {})
    if what == "run" and limit.get("type") in ("number", "integer"):
        arguments["timeout"] = min(LIMIT, limit.get("maximum", LIMIT))
    if "sandbox_permissions" in known:  # a model asks to leave the sandbox if it must
        arguments |= {"sandbox_permissions": "require_escalated", "justification": "As asked."}
    if "create" in known.get("command", {}).get("enum", ()):  # an editor with commands of its own
        arguments["command"] = {"write": "create", "read": "view"}[what]
    return arguments


def _wanted(what: str, details: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    if what == "run":
        yield _LINE, details["line"]
    else:
        yield _PATH, details["path"]
    if what == "write":
        yield _TEXT, details["text"]


def _fitted(value: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The value, in a list or an object if the argument is one."""
    if schema.get("type") != "array":
        return value
    inner = _resolved(schema.get("items", {}), root)
    if inner.get("type") != "object":
        return [value]
    names = (*_PATH, *_LINE, *_TEXT)
    name = next((it for it in names if it in inner.get("properties", {})), None)
    return [example(inner, root) | ({name: value} if name else {})]


def example(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The simplest value that the schema allows, with only the required parts."""
    schema = _resolved(schema, root)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = next((it for it in kinds if it != "null"), "null") if isinstance(kinds, list) else kinds
    if "const" in schema or schema.get("enum"):
        return schema.get("const", next(iter(schema.get("enum", ())), None))
    match str(kind).lower():
        case "object":
            known = schema.get("properties", {})
            return {name: example(known.get(name, {}), root) for name in schema.get("required", ())}
        case "array":
            return [example(schema.get("items", {}), root)] * schema.get("minItems", 0)
        case "integer" | "number":
            return schema.get("default", schema.get("minimum", 1))
        case "boolean":
            return schema.get("default", False)
        case "null":
            return None
    return "as asked"


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return _resolved(schema[several][0], root)
    if "$ref" not in schema:
        return schema
    found: Any = root
    for name in str(schema["$ref"]).removeprefix("#/").split("/"):
        found = found.get(name, {})
    return _resolved(found, root)
