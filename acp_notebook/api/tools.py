"""session.tools: the tools of the kernel that the agent of a session may use, and the user's functions.

Has no state: it is in `agent.session_tools` and in the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..agent.conversation import Conversation
from ..core.tables import html_table, text_table
from ..errors import UsageError
from .session_tool import OPTIONS, AskableSession, is_session

if TYPE_CHECKING:
    from ..agent.kernel_tools.functions import Function, Functions, Permission

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=AskableSession)

COLUMNS = ("function", "permission", "runs on", "calls", "description")


class Tool:
    """One of the user's functions, as the agent may call it."""

    def __init__(self, function: Function, functions: Functions) -> None:
        self._function = function
        self._functions = functions

    @property
    def name(self) -> str:
        return self._function.name

    @property
    def function(self) -> Callable[..., Any]:
        return self._function.call

    @property
    def session(self) -> AskableSession | None:
        """The other session that it asks; None: it is a function."""
        found: AskableSession | None = self._function.session
        return found

    @property
    def description(self) -> str:
        """The docstring, which the agent reads."""
        return self._function.doc

    @property
    def signature(self) -> str:
        """What the agent may pass, such as `(city: str, days: int = 3)`."""
        return self._function.signature.text

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return dict(self._function.signature.schema)

    @property
    def permission(self) -> Permission:
        """ "ask", "read", or a function of the arguments."""
        return self._function.permission

    @property
    def calls(self) -> int:
        """How often the agent of this session has called it."""
        return self._functions.calls(self._function)

    @property
    def _row(self) -> tuple[str, ...]:
        permission = self.permission if isinstance(self.permission, str) else "function"
        runs_on = {"main": "main thread", "thread": "own thread", "loop": "another session"}[
            self._function.where
        ]
        summary = self.description.partition("\n")[0]
        return f"{self.name}{self.signature}", permission, runs_on, str(self.calls), summary

    def __repr__(self) -> str:
        return f"<Tool {self.name}{self.signature} · {self.calls} call{'s' * (self.calls != 1)}>"


class Tools:
    """The kernel's tools of one session (see `tools` of `connect`), and your functions as tools.

    Iterate over it for the functions; `tools["name"]` is one of them, and `del tools["name"]` takes it away.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def enabled(self) -> bool:
        """Whether the agent may use them. Set it to False to take them away at once, like "Kernel tools" in
        the panel: code of the agent's that runs is stopped, and each call is refused until you set it to
        True again. A session opened without tools cannot get them: setting it to True raises
        `acp.UsageError`."""
        state = self._conversation.state
        return not state.closed and state.read(lambda transcript: transcript.header()).kernel_tools is True

    @enabled.setter
    def enabled(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise UsageError(f"session.tools.enabled is True or False, not {on!r}")
        if on or self.enabled:
            self._conversation.agent.loop.call(self._conversation.switch_tools(on))

    # ---- functions ------------------------------------------------------------------------

    def remove(self, name: str) -> None:
        """Take a function away from the agent. A call that runs goes on."""
        functions = self._functions
        if functions.has_own(name):
            functions.remove(name)
        elif functions.find(name) is not None:
            raise UsageError(f"{name!r} is a tool of every session: acp.tool.remove({name!r}) removes it")
        else:
            raise UsageError(_unknown(name, functions))

    def __getitem__(self, name: str) -> Tool:
        functions = self._functions
        function = functions.find(name)
        if function is None:
            raise KeyError(_unknown(name, functions))
        return Tool(function, functions)

    def __delitem__(self, name: str) -> None:
        self.remove(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._functions.find(name) is not None

    def __iter__(self) -> Iterator[Tool]:
        functions = self._functions
        return iter([Tool(it, functions) for it in functions])

    def __len__(self) -> int:
        return len(self._functions.all())

    def __bool__(self) -> bool:
        return True

    @property
    def _functions(self) -> Functions:
        return self._conversation.agent.loop.call(self._conversation.functions())

    def _listed(self) -> list[Tool]:
        try:
            return list(self)
        except UsageError:  # a session without tools
            return []

    def __repr__(self) -> str:
        head = f"<kernel tools: {'on' if self.enabled else 'off'}>"
        tools = self._listed()
        return f"{head}\n{text_table(COLUMNS, (it._row for it in tools))}" if tools else head

    def _repr_html_(self) -> str:
        tools = self._listed()
        table = html_table(COLUMNS, (it._row for it in tools)) if tools else "No functions yet."
        return f"<div>Kernel tools: {'on' if self.enabled else 'off'}</div>{table}"


class ToolDecorator:
    """Offers a function to an agent as a tool: `@tool`, `@tool(permission="read")` or `tool(function)`.

    `session.tool` offers it to the agent of that session, `acp.tool` to the agents of all sessions of this
    kernel, present and future. The function is returned as it is.

    Its name, docstring and annotations tell the agent what it does and takes; arguments arrive as the
    annotated types. What it returns, prints and draws goes to the agent, exceptions as errors. It runs on the
    main thread like a cell, with `thread=True` on a thread of its own, and may be async. `permission` is
    "ask" (as for code), "read" (nobody is asked) or a function of the same arguments that returns "allow",
    "ask" or "reject". A parameter `report` gets a function to report progress with: `report(fraction, text)`.
    Raises `acp.UsageError` if the signature cannot be a tool's.
    """

    def __init__(self, functions: Callable[[], Functions], owner: Conversation | None = None) -> None:
        """`owner`: the session that gets the tools; None: every session."""
        self._functions = functions
        self._owner = owner

    @overload
    def __call__(
        self,
        session: S,
        /,
        *,
        name: str | None = None,
        description: str = "",
        permission: Permission = "ask",
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
        max_depth: int | None = None,
    ) -> S: ...

    @overload
    def __call__(
        self, /, *, name: str | None = None, permission: Permission = "ask", thread: bool = False
    ) -> Callable[[F], F]: ...

    @overload
    def __call__(
        self,
        function: F,
        /,
        *,
        name: str | None = None,
        permission: Permission = "ask",
        thread: bool = False,
    ) -> F: ...

    def __call__(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        permission: Permission = "ask",
        thread: bool = False,
        **options: Any,
    ) -> Any:
        def added(given: Any) -> Any:
            from ..agent.kernel_tools.functions import made_function
            from ..core.kernel_tools.signatures import BadSignature
            from .session_tool import session_function

            _check_options(options, OPTIONS, is_session=is_session(given), thread=thread)
            if is_session(given):
                functions.add(
                    session_function(
                        given, functions, self._owner, name=name, permission=permission, options=options
                    )
                )
                return given
            try:
                made = made_function(given, name=name, permission=permission, thread=thread)
            except BadSignature as error:
                raise UsageError(str(error)) from None
            functions.add(made)
            return given

        functions = self._functions()  # a session without tools is an error where the decorator is used
        return added if function is None else added(function)

    def remove(self, name: str) -> None:
        """Take a function away that was added in this way."""
        functions = self._functions()
        if not functions.remove(name):
            raise UsageError(_unknown(name, functions))

    def __repr__(self) -> str:
        names = ", ".join(it.name for it in self._functions()) or "none yet"
        return f"<tool decorator; functions: {names}>"


def _check_options(
    options: dict[str, Any], of_sessions: tuple[str, ...], *, is_session: bool, thread: bool
) -> None:
    """Raise UsageError for an option that a function, or a session, does not take as a tool."""
    if unknown := [it for it in options if it not in of_sessions]:
        raise UsageError(f"session.tool has no option {unknown[0]!r}")
    if is_session and thread:
        raise UsageError("thread=True is for functions: a session that is a tool needs no thread")
    if options and not is_session:
        raise UsageError(f"{next(iter(options))} is for sessions that are tools, not for functions")


def _unknown(name: str, functions: Functions) -> str:
    there = ", ".join(it.name for it in functions) or "no functions"
    return f"no function {name!r}; there are {there}"


def _everywhere() -> Functions:
    from ..agent.kernel_tools.functions import EVERYWHERE  # import it only if needed

    return EVERYWHERE


tool = ToolDecorator(_everywhere)
"""Offers a function to the agents of all sessions of this kernel."""
