"""Offers the user's functions to an agent: as tools of their own, and through `call_function`.

Some agents read the list of tools only once, so each function can be called through `call_function` as well.
Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ...core.actions import Action, CallFunction
from ...core.kernel_tools.docstrings import first_line
from ...core.kernel_tools.interface import FunctionCall, KernelTools, OnChange, Run, RunState
from ...core.records import Json
from ...core.visible import shown
from ...wire.mcp import ToolRequest
from ..permissions.permission_manager import Denied
from . import catalog
from .functions import Function, Functions

LISTED_CHARS = 6_000
"""Characters of the list of functions in the description of `call_function`."""

LINE_CHARS = 300
"""Of one function in that list."""

NO_DOC = "A function of the user's notebook, without a description."
NONE_YET = "There are no functions at the moment: the user can add some at any time."
WAITS = "If it runs longer than 40 s, the status is running: call wait."
CHANGED = "the user removed or replaced the function in the meantime"


class Gate(Protocol):
    """The part of the gate that function calls use."""

    async def permit(self, request: ToolRequest, action: Action) -> OnChange: ...

    def refused(self, request: ToolRequest) -> None: ...


class FunctionTools:
    """Lists the functions of one session as tools, and starts their calls."""

    def __init__(
        self,
        functions: Functions,
        kernel: KernelTools,
        gate: Gate,
        called_by: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`called_by` is entered around each call, on the thread that runs it."""
        self._functions = functions
        self._kernel = kernel
        self._gate = gate
        self._called_by = called_by

    def listed(self, server: str = "") -> list[dict[str, Any]]:
        """The functions in the format of `tools/list`; `server` as in `catalog.listed`."""
        return [_listed(it, server) for it in self._functions]

    def described(self) -> str:
        """The functions with their signatures, for the description of `call_function`."""
        lines = [_line(it) for it in self._functions]
        if not lines:
            return NONE_YET
        text = "\n".join(lines)
        if len(text) > LISTED_CHARS:
            cut = text[:LISTED_CHARS].rpartition("\n")[0]
            left = len(lines) - cut.count("\n") - 1
            text = f"{cut}\n… {left} more: call_function without a name lists all of them"
        return f"The functions are:\n{text}"

    def all_described(self) -> str:
        return "\n".join(_line(it) for it in self._functions) or NONE_YET

    def has(self, name: str) -> bool:
        return self._functions.find(name) is not None

    async def start(self, request: ToolRequest, name: str, given: Mapping[str, Json]) -> Run:
        """Ask, if the function's permission says so, and start the call. Raises Denied and ValueError."""
        function = self._functions.find(name)
        if function is None:
            raise ValueError(f"There is no function {name[:100]!r}. {self.described()}")
        try:
            action = function.action(given)
        except ValueError as error:
            self._gate.refused(request)
            raise ValueError(f"{name}: {error}") from None
        show = await self._gate.permit(request, action)
        if self._functions.find(name) is not function:
            show(RunState("", "refused", 0.0, function=name, arguments=action.arguments))
            raise Denied(CHANGED)
        self._functions.count(function)
        return self._kernel.start_call(self._call(function, action), on_change=show)

    def _call(self, function: Function, action: CallFunction) -> FunctionCall:
        positional, named = function.signature.bind(function.values(action))
        return FunctionCall(
            function.name,
            function.call,
            positional,
            named,
            action.arguments,
            function.where,
            function.signature.reports,
            self._called_by,
        )


def _line(function: Function) -> str:
    text = f"{function.name}{function.signature.text}"
    doc = first_line(function.doc)
    return f"- {shown(f'{text}: {doc}' if doc else text, chars=LINE_CHARS)}"


def _listed(function: Function, server: str) -> dict[str, Any]:
    title = f"{server}-{function.name}" if server else function.name
    reads = function.permission == "read"
    hints = catalog.READ_HINTS if reads else catalog.ACT_HINTS
    return {
        "name": function.name,
        "title": title,
        "description": f"{function.doc or NO_DOC}\n\n{WAITS}",
        "inputSchema": dict(function.signature.schema),
        "annotations": {"title": title, **hints},
        "_meta": {"anthropic/alwaysLoad": True},
    }
