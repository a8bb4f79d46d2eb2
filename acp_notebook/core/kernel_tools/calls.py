"""Calls of the kernel's tools: what they would do, and which tool call of the agent an MCP call belongs to.

Pure. The agent's tool call and the MCP call are described by the same actions, so that an allow for the one
covers the other, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..actions import PATH_KINDS, Action, CallFunction, KernelCall, McpCall, RunCode
from ..mcp_calls import KnownFunction, Naming, mcp_call, same_name
from ..records import Json
from ..snapshot import ToolCall
from ..visible import shown

SERVER = "kernel"
"""The server's name, for agents and for the user's rules."""

CALL_FUNCTION = "call_function"
"""The tool that calls any of the user's functions; each is a tool of its own as well."""

READS = ("list_variables", "inspect_variable", "wait", "interrupt", "read_notebook", "read_output")
"""Tools that need no permission. `interrupt` stops only what the agent itself started."""

OWN_RUNS = ("wait", "interrupt")
"""The ones among them that concern only the agent's own runs: they read none of the user's data."""

TOOLS: Mapping[str, frozenset[str]] = {
    "list_variables": frozenset({"pattern", "limit"}),
    "inspect_variable": frozenset({"name", "depth", "rows"}),
    "wait": frozenset({"run", "wait_s"}),
    "interrupt": frozenset({"run"}),
    "read_notebook": frozenset({"cells", "outputs"}),
    "read_output": frozenset({"cell", "index", "offset"}),
    "run_code": frozenset({"code", "purpose", "wait_s"}),
    "run_cells": frozenset({"cells", "wait_s"}),
    "edit_notebook": frozenset({"edits"}),
    CALL_FUNCTION: frozenset({"name", "arguments", "wait_s"}),
}
"""The tools with the names of their arguments; `agent.kernel_tools.catalog` describes them."""

PURPOSE_CHARS = 300
"""Of what an agent says that its code is for: a sentence must not push the code out of sight."""


def kernel_call(tool: ToolCall, naming: Naming) -> McpCall | None:
    """The kernel tool that a tool call uses, under the server's own name; None if it uses none.

    It is not sure if the input does not fit the tool: the model may have worded the title.
    """
    if not naming.kernel:
        return None
    found = mcp_call(tool, naming)
    if found is None or found.server != naming.kernel:
        return None
    function = naming.functions.get(found.tool)
    takes = TOOLS.get(found.tool) if function is None else function.takes
    if takes is None:
        return None
    is_taken = takes >= {*(arguments_of(tool) or ())}
    return McpCall(SERVER, found.tool, found.sure and is_taken)


def is_foreign_tool(action: Action) -> bool:
    """Whether it names a tool of another MCP server: its input says little about what the tool does."""
    return isinstance(action, McpCall) and not (action.sure and action.server == SERVER)


def other_call(found: McpCall | None, naming: Naming) -> McpCall | None:
    """A call of another server. If it has the name that rules have for ours, no rule allows the call."""
    if found is None or not naming.kernel or not same_name(found.server, SERVER):
        return found
    return McpCall(found.server, found.tool, found.sure and found.server == naming.kernel)


def arguments_of(tool: ToolCall) -> Mapping[str, Json] | None:
    """The arguments of an MCP call as the agent shows them; None if it shows none."""
    raw = tool.raw_input
    match raw:
        case {"server": str(), "tool": str(), **more} if {*more} <= {"arguments"}:
            raw = more.get("arguments")
    return raw if isinstance(raw, Mapping) else None


def function_call(
    tool: str, arguments: Mapping[str, Json] | None, functions: Mapping[str, KnownFunction]
) -> CallFunction | None:
    """The call of one of the user's functions, by its name or through `call_function`; None if the tool is
    another one, or the arguments do not fit."""
    if arguments is None:
        return None
    try:
        if tool == CALL_FUNCTION:
            tool, arguments = (
                str(arguments.get("name")).strip(),
                function_arguments(arguments.get("arguments")),
            )
        function = functions.get(tool)
        return None if function is None else function.action(arguments)
    except ValueError:
        return None


def function_arguments(given: Json) -> Mapping[str, Json]:
    """The arguments in a call of `call_function`: some models write them as JSON in a text.

    Raises ValueError.
    """
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given or "{}")
        except msgspec.DecodeError as error:
            raise ValueError(f"arguments is no JSON: {error}") from None
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ValueError("arguments has to be an object, with the names of the function's parameters")
    return given


def described_call(
    tool: str, arguments: Mapping[str, Json] | None, functions: Mapping[str, KnownFunction] = {}
) -> Action:
    """What a call would do, as far as the agent shows it. Nothing is known about cells and edits yet."""
    if tool in READS:
        return KernelCall(tool)
    if (function := function_call(tool, arguments, functions)) is not None:
        return function
    given = arguments or {}
    if tool == "run_code" and isinstance(code := given.get("code"), str):
        purpose = given.get("purpose")
        return run_code(code, purpose if isinstance(purpose, str) else "")
    return KernelCall(tool, later=True)


def run_code(code: str, purpose: str) -> RunCode:
    """An action with the whole code and one line about its purpose."""
    return RunCode(code, shown(purpose, chars=PURPOSE_CHARS))


def matching_call(
    calls: Sequence[ToolCall], naming: Naming, tool: str, arguments: Mapping[str, Any], call_id: str | None
) -> ToolCall | None:
    """The agent's open tool call for this MCP call: by its id, else by name and equal arguments.

    If an agent shows no arguments, the name alone decides, if it is unique among the open calls. An id counts
    unless the call clearly uses another tool: such a call keeps its own card.
    """
    newest = {call.id: call for call in calls}
    named = [(call, kernel_call(call, naming)) for call in newest.values()]
    if call_id is not None and call_id in newest:
        own, found = next((call, it) for call, it in named if call.id == call_id)
        is_another = _does_other_things(own) if found is None else found.tool != tool
        return None if is_another else own
    same = [call for call, it in named if it is not None and it.tool == tool]
    equal = [call for call in same if arguments_of(call) == arguments]
    silent = [call for call in same if arguments_of(call) is None]
    if equal:
        return equal[0]
    return silent[0] if len(silent) == 1 else None


def _does_other_things(call: ToolCall) -> bool:
    """Whether a call that names none of our tools shows a command, files or a change of them."""
    return call.command is not None or bool(call.diffs) or bool(call.locations) or call.kind in PATH_KINDS
