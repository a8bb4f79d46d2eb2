"""What a session shows and does while the network to its agent is interrupted, and after it.

Some transports overcome interruptions by themselves: this shows that they try, and which turns may have lost
something. If a connection is lost for good, this makes another one in the background, so that the next prompt
does not have to. Knows no kind of transport. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio

from ..core import events as ev
from ..errors import ConnectionLost, Error
from ..log import logger, suppressed
from .agent_link import AgentLink
from .recovery import Recovery
from .session_state import SessionState
from .sessions import Sessions
from .transport import Interrupted, LinkChange, MessagesLost, Silent

_log = logger(__name__)

SHORT_LIFE_S = 10.0
"""A connection that is lost sooner was not worth much: …"""

MOST_SHORT_LIVES = 3
"""… after so many in a row, another one is made only when somebody needs it."""


class Interruptions:
    """Follows the link to one agent on behalf of its sessions."""

    def __init__(self, agent: AgentLink, sessions: Sessions, recovery: Recovery) -> None:
        self._agent = agent
        self._sessions = sessions
        self._recovery = recovery
        self._short_lives = 0
        agent.on_link_change = self.link_changed

    def link_changed(self, change: LinkChange) -> None:
        if isinstance(change, Interrupted):
            self._agent.interruption = change.reason
            for state in self._sessions.states():
                if _status(state) in ("idle", "working"):
                    state.apply(ev.StatusChanged(self._agent.launch.reach.returning, change.reason))
            return
        if isinstance(change, MessagesLost):
            self._agent.messages_lost(change.session)
            self._sessions.messages_lost(change.session, earlier=change.earlier)
            return
        if isinstance(change, Silent):
            self._sessions.silent(change.session)
            return
        self._agent.interruption = None
        if self._agent.starting.locked():  # sessions are being reopened, which has the same status
            self._agent.background(self._show_later())
        else:
            self._show_reached()

    async def _show_later(self) -> None:
        async with self._agent.starting:
            if self._agent.interruption is None and self._agent.ready:
                self._show_reached()

    def _show_reached(self) -> None:
        for conversation in self._sessions.open:
            if _status(conversation.state) == self._agent.launch.reach.returning:
                conversation.show_reached()

    def ended(self, error: Exception) -> None:
        """The connection ended. Connect again in the background, if that may help."""
        self._agent.interruption = None
        self._sessions.ended(error)
        if not (isinstance(error, ConnectionLost) and error.may_pass and self._agent.was_ready):
            return
        now = asyncio.get_running_loop().time()
        self._short_lives = self._short_lives + 1 if now - self._agent.ready_since < SHORT_LIFE_S else 0
        if self._sessions.open and not self._agent.closed and self._short_lives < MOST_SHORT_LIVES:
            self._agent.background(self._connect_again())

    async def _connect_again(self) -> None:
        with suppressed(_log, Error):  # the sessions' status says it, and the next prompt tries again
            await self._recovery.revive()


def _status(state: SessionState) -> str:
    return state.read(lambda transcript: transcript.header().status)
