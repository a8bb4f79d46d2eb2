"""session.tool(other_session): lets the agent of one session ask the agent of another.

Has no state; `agent.delegation` answers the calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from ..agent.conversation import Conversation
from ..core.limits import Limits
from ..errors import SessionClosed, UsageError

if TYPE_CHECKING:
    from ..agent.kernel_tools.functions import Function, Functions, Permission
    from ..agent.session_state import SessionState
    from ..agent.turn_queue import TurnRun

OPTIONS = ("description", "max_seconds", "max_tool_calls", "max_cost", "max_depth")
"""The options that a session takes as a tool, and a function does not."""


class AskableSession(Protocol):
    """A session, as far as it takes to ask it."""

    _conversation: Conversation

    @property
    def cwd(self) -> str: ...

    @property
    def status(self) -> str: ...

    def _expect_answers(self) -> None: ...

    def _answer_with(self, asker: SessionState) -> str | None: ...

    def _add_turn(self, run: TurnRun) -> None: ...


def is_session(given: object) -> TypeGuard[AskableSession]:
    """Whether it is a session, and not an object that merely has such attributes."""
    return AskableSession in type(given).__mro__


async def _ask(prompt: str) -> None:
    """The signature of the tool.

    Args:
        prompt: What to do or to answer, with everything the agent has to know for it.
    """


def session_function(
    session: AskableSession,
    functions: Functions,
    owner: Conversation | None,
    *,
    name: str | None,
    permission: Permission,
    options: Mapping[str, Any],
) -> Function:
    """A session as a tool of another. `owner`: the one that gets it; None: every session.

    Raises UsageError and SessionClosed.
    """
    from ..agent.delegation import MAX_DEPTH, Delegate  # import it only if needed
    from ..agent.kernel_tools.functions import Function, checked_permission
    from ..core.kernel_tools.asked import asking_doc
    from ..core.kernel_tools.calls import TOOLS
    from ..core.kernel_tools.signatures import name_of, read_signature

    conversation = session._conversation
    if conversation is owner:
        raise UsageError("a session cannot be a tool of itself: acp.connect(...) opens another one")
    if conversation.state.closed:
        raise SessionClosed("the session was closed; acp.connect(...) opens another")
    depth = options.get("max_depth")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
        raise UsageError(f"max_depth is {depth!r}; it is a whole number above 0")
    agent = conversation.state.agent.name
    try:
        limits = Limits(options.get("max_seconds"), options.get("max_tool_calls"), options.get("max_cost"))
        chosen = _free(agent, session, functions) if name is None else name_of(_ask, name, TOOLS)
        allowed = checked_permission(permission)
    except ValueError as error:  # also BadSignature
        raise UsageError(str(error)) from None
    session._expect_answers()
    delegate = Delegate(
        conversation, chosen, limits, depth or MAX_DEPTH, session._answer_with, session._add_turn
    )
    doc = asking_doc(agent, session.cwd, str(options.get("description") or ""))
    return Function(chosen, delegate, read_signature(_ask), doc, "loop", allowed, session=session)


def _free(agent: str, session: AskableSession, functions: Functions) -> str:
    """A name that no tool has, except one for the same session or for a closed one."""
    from ..core.kernel_tools.asked import asking_name, free_name
    from ..core.kernel_tools.calls import TOOLS

    taken = [
        it.name
        for it in functions
        if it.session is not session and not (it.session is not None and it.session.status == "closed")
    ]
    return free_name(asking_name(agent), (*taken, *TOOLS))
