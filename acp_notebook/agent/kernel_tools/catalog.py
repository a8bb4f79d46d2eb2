"""The tools as a model sees them: names, descriptions and argument schemas.

The descriptions contain everything that a model must know, because several agents do not pass on a server's
instructions. A struct is both the schema of a tool's arguments and their validation. Knows no kernel and no
permissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ...core.kernel_tools.calls import CALL_FUNCTION, function_arguments
from ...core.kernel_tools.schemas import json_schema

WAIT_S = 40.0
"""The longest wait for code. Some agents give up a call after 60 s, and a question may come first:
no call lasts longer than 45 s."""

MOST_CODE = 1_000_000
"""Characters of code: more is not shown to the user, so that it cannot be asked about."""

INSTRUCTIONS = (
    "Tools of the Jupyter kernel that this conversation runs in: the user's live variables, code that runs "
    "in it, and the open notebook. Look at variables instead of guessing; run code here, not in a shell, "
    "when it needs the user's data."
)

WaitSeconds = Annotated[
    float, Meta(ge=0, description="Seconds to wait for the end, at most 40; then the status is running")
]
CellRef = Annotated[
    str, Meta(description="A cell: its id, the first characters of it, or [n] for execution count n")
]


class ListVariables(Struct):
    """List the variables of the user's live kernel: name, type, shape or length, size.

    Cheap, runs no code and works while the kernel is busy. Call it first to learn what data is there.
    """

    pattern: Annotated[str, Meta(description="Only names that match, with * and ?, such as df*")] = ""
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many to list at most")] = 50


class InspectVariable(Struct):
    """Look at one variable of the user's live kernel without running code.

    For data frames: columns, types, missing values, first rows. For arrays: shape, type, range. For
    containers and objects: their contents to a depth. Prefer this to run_code with print or repr.
    """

    name: Annotated[str, Meta(description="The variable's name")]
    depth: Annotated[int, Meta(ge=0, le=5, description="How deep to show nested values")] = 1
    rows: Annotated[int, Meta(ge=1, le=200, description="How many rows or items to show")] = 10


class RunCode(Struct):
    """Run Python code in the user's live kernel, like a cell: same variables, magics, await, %pip, figures.

    The user is asked first. The result has what was printed and displayed, the value of the last line, errors
    with their traceback, and figures as images. What it assigns stays in the kernel. No cell is added; use
    edit_notebook for code that the user should keep. After wait_s seconds the status is running: call wait.
    Status busy means that the user's own cell runs: nothing was run, try again later. input() and exit() are
    refused. Say in purpose what it is for: the user reads it next to the code.
    """

    code: Annotated[str, Meta(max_length=MOST_CODE, description="Python code, as in a notebook cell")]
    purpose: Annotated[str, Meta(description="One short sentence for the user: what this code is for")] = ""
    wait_s: WaitSeconds = WAIT_S


class Wait(Struct):
    """Wait for code that still runs, or for the user's permission; gives what is new since the last look.

    Call it again while the status is running.
    """

    run: Annotated[str, Meta(description="The run's id, from run_code or run_cells")]
    wait_s: WaitSeconds = WAIT_S


class Interrupt(Struct):
    """Stop code that this session runs. The user's own cells are never stopped."""

    run: Annotated[str, Meta(description="The run's id")]


class ReadNotebook(Struct):
    """Read the notebook that is open: an outline of its cells, unsaved changes included.

    Without arguments: id, execution count, type, first lines and state of each cell. With cells: their whole
    sources. Refer to cells by id.
    """

    cells: Annotated[list[CellRef], Meta(description="Cells to show whole; empty: the outline")] = []
    outputs: Annotated[bool, Meta(description="Also describe the outputs of each cell")] = False


class ReadOutput(Struct):
    """Read the outputs of a cell or of a run, figures as images. Long text comes in pages: use offset."""

    cell: Annotated[str, Meta(description="A cell (id or [n]), or a run's id")]
    index: Annotated[int, Meta(ge=-1, description="Which of the outputs, from 0; -1: all of them")] = -1
    offset: Annotated[int, Meta(ge=0, description="From this character on")] = 0


class Edit(Struct):
    """One change of the notebook."""

    op: Annotated[
        Literal["insert", "replace", "edit", "delete", "move"],
        Meta(
            description="insert: a new cell with source, after the cell named by after. replace: the whole "
            "source of cell. edit: in cell, old becomes new. delete: cell. move: cell, to after the cell "
            "named by after"
        ),
    ]
    cell: Annotated[
        str, Meta(description="The cell to change: its id, the first characters of it, or [n]")
    ] = ""
    after: Annotated[str, Meta(description='A cell, "top", or "bottom" (also if empty)')] = ""
    source: Annotated[str, Meta(description="For insert and replace: the cell's source")] = ""
    old: Annotated[str, Meta(description="For edit: text that the cell has exactly once")] = ""
    new: Annotated[str, Meta(description="For edit: the text that replaces old")] = ""
    type: Annotated[Literal["code", "markdown", "raw"], Meta(description="For insert: the kind of cell")] = (
        "code"
    )


class EditNotebook(Struct):
    """Change cells of the notebook that is open: the user sees the difference and is asked first.

    All edits are made, or none. Changes appear in the page at once; nothing is run: call run_cells for that.
    The user can undo them. Do not write the .ipynb file yourself.
    """

    edits: Annotated[list[Edit], Meta(min_length=1, description="In this order")]


class RunCells(Struct):
    """Run cells of the open notebook, in this order, until one fails; outputs appear below their cells.

    The user is asked first, with the sources. The result has the outputs of each cell. Use it after
    edit_notebook, or to bring the notebook up to date. Status and waiting are as with run_code.
    """

    cells: Annotated[list[CellRef], Meta(min_length=1, description="The cells to run")]
    wait_s: WaitSeconds = WAIT_S


class CallFunction(Struct):
    """Call a function that the user offers to you, in their live kernel.

    The user may be asked first. The result has its return value, what it printed and drew, or its error.
    Functions that were added later are listed by a call without a name.
    """

    name: Annotated[str, Meta(description="The function's name; empty: list the functions")] = ""
    arguments: Annotated[dict[str, Any], Meta(description="Its arguments by name")] = {}
    wait_s: WaitSeconds = WAIT_S


Arguments = (
    (ListVariables | InspectVariable | RunCode | Wait | Interrupt | ReadNotebook | ReadOutput | EditNotebook)
    | RunCells
    | CallFunction
)

READ_HINTS = {"readOnlyHint": True, "openWorldHint": False}
ACT_HINTS = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}

_TOOLS: dict[str, tuple[str, type[Any], dict[str, bool]]] = {
    "list_variables": ("List variables", ListVariables, READ_HINTS),
    "inspect_variable": ("Look at a variable", InspectVariable, READ_HINTS),
    "run_code": ("Run code in the kernel", RunCode, ACT_HINTS),
    "wait": ("Wait for code", Wait, READ_HINTS),
    "interrupt": ("Stop code", Interrupt, {"readOnlyHint": False, "idempotentHint": True}),
    "read_notebook": ("Read the notebook", ReadNotebook, READ_HINTS),
    "read_output": ("Read outputs", ReadOutput, READ_HINTS),
    "edit_notebook": ("Change the notebook", EditNotebook, ACT_HINTS),
    "run_cells": ("Run cells", RunCells, ACT_HINTS),
    "call_function": ("Call a function", CallFunction, ACT_HINTS),
}

NAMES = tuple(_TOOLS)


class BadArguments(ValueError):
    """Invalid arguments for a tool. The message says which and why."""


def title_of(tool: str, arguments: Mapping[str, Any] = {}) -> str:
    """The title that users see: what the tool does, and to what."""
    match tool, arguments:
        case "inspect_variable", {"name": str(name)}:
            return f"Look at {name}"
        case "call_function", {"name": str(name)} if name.strip():
            return f"Call {name.strip()}"
        case "call_function", _:
            return "List functions"
    return _TOOLS[tool][0] if tool in _TOOLS else f"Call {tool}"


def read_arguments(tool: str, given: Mapping[str, Any]) -> Arguments:
    """Read the arguments of a call: accepts numbers in quotes, ignores unknown names. Raises BadArguments."""
    _, arguments, _ = _TOOLS[tool]
    try:
        if tool == CALL_FUNCTION:
            given = {**given, "arguments": function_arguments(given.get("arguments"))}
        read: Arguments = msgspec.convert(dict(given), arguments, strict=False)
        return read
    except (msgspec.ValidationError, ValueError) as error:
        takes = ", ".join(it.name for it in msgspec.structs.fields(arguments))
        raise BadArguments(f"{tool}: {error}. It takes {takes}.") from None


def listed(names: tuple[str, ...] = NAMES, *, server: str = "", functions: str = "") -> list[dict[str, Any]]:
    """The tools in the format of `tools/list`; with `server`, their titles are `server-tool`.

    `functions` describes the user's functions.
    """
    found = [_listed(name, server) for name in NAMES if name in names]
    for it in found:
        if it["name"] == CALL_FUNCTION:
            it["description"] = f"{it['description']} {functions}".strip()
    return found


def _listed(name: str, server: str) -> dict[str, Any]:
    title, arguments, hints = _TOOLS[name]
    title = f"{server}-{name}" if server else title
    return {
        "name": name,
        "title": title,
        "description": " ".join((arguments.__doc__ or "").split()),
        "inputSchema": _schema(arguments),
        "annotations": {"title": title, **hints},
        "_meta": {"anthropic/alwaysLoad": True},  # claude-agent-acp: not hidden behind its search tool
    }


def _schema(arguments: type[Any]) -> dict[str, Any]:
    schema = json_schema(arguments)
    schema.pop("description", None)  # of the tool, which has it already
    return schema
