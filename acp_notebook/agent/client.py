"""What the agent may ask of us; each handler: translate, delegate, translate back.

Decides nothing itself. A request that is not built is refused at once: a silent client hangs agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ..core.events import UnknownReceived
from ..wire import v1
from ..wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Garbage
from .connection import Refused

if TYPE_CHECKING:
    from .host import AgentHost


class Client:
    """The handler of one agent's connection."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host

    def notified(self, method: str, params: Raw) -> None:
        if method == "session/update":
            self._host.update(*v1.read_update(params))

    async def requested(self, method: str, params: Raw) -> Any:
        try:
            if method == "session/request_permission":
                return await self._permission(params)
        except v1.Malformed as error:
            raise Refused(INVALID_PARAMS, f"{method}: {error}") from None
        raise Refused(METHOD_NOT_FOUND, f"this client has no {method}")

    async def _permission(self, params: Raw) -> Any:
        asked = v1.read_permission(params)
        conversation = self._host.sessions.get(asked.session_id)
        if conversation is None:
            raise Refused(INVALID_PARAMS, f"no session {asked.session_id!r} is open here")
        return v1.permission_answer(await conversation.permission(asked))

    def unreadable(self, line: Garbage) -> None:
        self._host.stray.append(f"{line.head} ({line.why})")
        if line.head.lstrip().startswith("{"):
            # It was meant as a message: people should know. A line of a log is only kept.
            self._host.update(None, UnknownReceived(f"unreadable message ({line.why})", line.head))

    def ended(self, error: Exception) -> None:
        self._host.ended(error)
