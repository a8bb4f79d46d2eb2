"""The user's functions that an agent may call: those of a session, and those of every session.

Usable from any thread. Knows no agent and no kernel; `function_tools` offers them to an agent.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ...core.actions import CallFunction
from ...core.kernel_tools.calls import TOOLS
from ...core.kernel_tools.interface import Where
from ...core.kernel_tools.signatures import (
    BadArguments,
    BadSignature,
    Signature,
    doc_of,
    name_of,
    read_signature,
    shown_arguments,
)
from ...core.mcp_calls import KnownFunction
from ...core.records import Json
from ...log import logger, suppressed
from ..permissions.questions import call_function

_log = logger(__name__)

Permission = Literal["ask", "read"] | Callable[..., Any]
"""ask: as for code. read: never asked about. A function gets the arguments by name, and answers "allow",
"ask" or "reject"."""

MOST_CHARS = 1_000_000
"""Characters of all arguments of a call: more is not shown to the user, so that it cannot be asked about."""

_numbers = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Function:
    """A function as a tool. `call` is what runs; `where`: on which thread."""

    name: str
    call: Callable[..., Any]
    signature: Signature
    doc: str = ""
    where: Where = "main"
    permission: Permission = "ask"
    identity: str = field(default_factory=lambda: f"function-{next(_numbers)}")
    """Different for each registration, also under the same name."""
    session: Any = None
    """The other session that the tool asks, instead of a function of the user's."""

    def action(self, given: Mapping[str, Json]) -> CallFunction:
        """What a call with these arguments would do, with the arguments as the function gets them.

        Raises BadArguments.
        """
        shown = shown_arguments(self.signature.convert(given))
        if sum(len(text) for _, text in shown) > MOST_CHARS:
            raise BadArguments(f"the arguments have more than {MOST_CHARS:,} characters")
        action = CallFunction(self.name, shown, self.identity, self.permission == "read")
        self.values(action)  # what cannot be passed as it is shown, such as NaN, is not asked about
        return action

    def values(self, action: CallFunction) -> dict[str, Any]:
        """The arguments of an action, converted: the function gets what was shown."""
        return self.signature.convert({name: msgspec.json.decode(text) for name, text in action.arguments})

    async def word(self, action: CallFunction) -> tuple[Any, str | None]:
        """What the function's own permission says about a call, and why."""
        permission = self.permission
        if not callable(permission):
            return "ask", None
        answers: Callable[..., Any] = permission
        said, why = await call_function(
            lambda _: answers(**self.values(action)), action, f"permission function of {self.name}", "reject"
        )
        if isinstance(said, str) and said in ("allow", "ask", "reject"):
            return said, why or f"the permission function of {self.name}"
        return (
            "reject",
            f'the permission function of {self.name} answered {said!r}, not "allow", "ask" or "reject"',
        )


def checked_permission(permission: Permission) -> Permission:
    """Raises BadSignature if it is none."""
    if not callable(permission) and permission not in ("ask", "read"):
        raise BadSignature(
            f'permission is {permission!r}; it is "ask", "read" or a function of the arguments'
        )
    return permission


def made_function(
    call: Callable[..., Any], *, name: str | None, permission: Permission, thread: bool
) -> Function:
    """A Python function as a tool. Raises BadSignature."""
    checked_permission(permission)
    signature = read_signature(call)
    chosen = name_of(call, name, TOOLS)
    return Function(chosen, call, signature, doc_of(call), "thread" if thread else "main", permission)


class Functions:
    """Registered functions by name. `shared`: functions that are found here as well, unless one of the same
    name is registered here."""

    def __init__(self, shared: Functions | None = None) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._functions: dict[str, Function] = {}
        self._calls: dict[str, int] = {}
        self._listeners: list[Callable[[], None]] = []

    def add(self, function: Function) -> None:
        """Add a function; it replaces one of the same name."""
        with self._lock:
            self._functions[function.name] = function
        self._changed()

    def remove(self, name: str) -> bool:
        """Remove a function that is registered here. A call that runs goes on."""
        with self._lock:
            found = self._functions.pop(name, None)
        if found is not None:
            self._changed()
        return found is not None

    def find(self, name: str) -> Function | None:
        return self.all().get(name)

    def has_own(self, name: str) -> bool:
        return name in self._functions

    def all(self) -> dict[str, Function]:
        """All functions by name, the shared ones first."""
        shared = {} if self._shared is None else self._shared.all()
        with self._lock:
            return shared | self._functions

    def __iter__(self) -> Iterator[Function]:
        return iter(self.all().values())

    def count(self, function: Function) -> None:
        """Note a call."""
        with self._lock:
            self._calls[function.identity] = self._calls.get(function.identity, 0) + 1

    def calls(self, function: Function) -> int:
        """How often this function was called through this object."""
        return self._calls.get(function.identity, 0)

    def known(self) -> Mapping[str, KnownFunction]:
        """The functions as the description of an agent's tool calls needs them."""
        return {
            it.name: KnownFunction(frozenset(p.name for p in it.signature.parameters), it.action)
            for it in self
        }

    def word(self, action: CallFunction) -> Awaitable[tuple[Any, str | None]] | None:
        """What a function's own permission says about a call; None if it has none of its own."""
        function = self.find(action.name)
        if function is None or function.identity != action.identity or not callable(function.permission):
            return None
        return function.word(action)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener, on any thread, when functions were added or removed; return how to stop that."""
        with self._lock:
            self._listeners.append(listener)
        stop_shared = self._shared.on_change(listener) if self._shared is not None else lambda: None

        def stop() -> None:
            stop_shared()
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return stop

    def _changed(self) -> None:
        for listener in tuple(self._listeners):
            with suppressed(_log, Exception):  # of a session whose loop has ended
                listener()


EVERYWHERE = Functions()
"""The functions of every session of this kernel."""
