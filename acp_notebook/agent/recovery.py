"""Restarts an agent that is gone or stuck, or connects to it again, and reopens its sessions.

A session is resumed, else loaded, else replaced by a new one, and gets its previous settings. This module
only orders the steps: the link starts the agent, `session_opener` opens sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from .. import timeouts
from ..core import events as ev
from ..core.conversation_context import lost_context
from ..core.records import Usage
from ..core.requests import SessionFacts
from ..core.snapshot import Snapshot
from ..errors import (
    AgentDied,
    AgentError,
    AuthenticationRequired,
    ConnectionLost,
    Error,
    ProtocolError,
    Timeout,
    UsageError,
)
from ..log import logger, suppressed
from ..wire import v1
from .agent_link import AgentLink
from .backoff import Backoff
from .conversation import Conversation
from .session_opener import SessionOpener
from .sessions import Sessions
from .sign_in import SignInFlow

_log = logger(__name__)

LOADED = "Some agents now repeat interrupted work: watch what this one does. The session was loaded."
"""openhands repeats it."""


class Recovery:
    """Restarts one agent and reopens its sessions."""

    def __init__(
        self,
        agent: AgentLink,
        sessions: Sessions,
        opener: SessionOpener,
        signing: SignInFlow,
        connect: Callable[[], Awaitable[None]],
    ) -> None:
        self._agent = agent
        self._sessions = sessions
        self._opener = opener
        self._signing = signing
        self._connect = connect
        self._why = ""

    async def revive(self, conversation: Conversation | None = None) -> None:
        """Restart the agent if it is gone, and reopen the session if the agent does not know it."""
        while True:
            if self._agent.connection.error is not None:
                failed = await self.restart(
                    "it had ended" if self._agent.launch.reach.is_ours else "the connection was lost"
                )
                if conversation in failed:
                    raise failed[conversation]
            async with self._agent.starting:  # wait for a restart in progress
                if self._agent.connection.error is None:
                    if conversation is not None:
                        await self._rejoin(conversation)
                    return

    async def restart(
        self, why: str, stuck: Conversation | None = None, *, alive: bool = False
    ) -> dict[Conversation | None, Error]:
        """Restart the agent and reopen its sessions; return the sessions that failed, with their errors.

        Does nothing if the agent is alive and `stuck` no longer stuck, for example after another restart,
        unless `alive` says to restart it all the same. Cancelling the caller does not stop the restart,
        because other sessions depend on it.
        """
        return await asyncio.shield(self._agent.background(self._restart(why, stuck, alive)))

    async def _restart(
        self, why: str, stuck: Conversation | None, alive: bool
    ) -> dict[Conversation | None, Error]:
        if stuck is not None:
            await self._wait_for_others(stuck)
        async with self._agent.starting:
            needed = alive or (stuck is not None and stuck.stuck)
            if self._agent.connection.error is None and not needed:
                return {}
            for conversation in self._sessions.open:
                conversation.interrupt(self._interruption(why))
            await self._agent.connection.close()
            self._sessions.known.clear()
            for conversation in self._sessions.open:
                conversation.gaps.connected_anew()  # before anything can be lost on the next connection
            self._why = why
            reach = self._agent.launch.reach
            self._sessions.apply(ev.StatusChanged(reach.returning))
            try:
                await self._start_again()
            except Error as error:
                self._sessions.apply(ev.StatusChanged(reach.gone, self._reason(error)))
                raise
            return await self._rejoin_all()

    async def _start_again(self) -> None:
        """Start the agent. A remote one may be unreachable for a while."""
        backoff = Backoff()
        while True:
            try:
                return await self._connect()
            except (ConnectionLost, Timeout) as error:
                reach = self._agent.launch.reach
                if isinstance(error, Timeout) and reach.is_ours:
                    raise
                lost = error if isinstance(error, ConnectionLost) else _late(error)
                self._sessions.apply(ev.StatusChanged(reach.returning, self._reason(lost)))
                if not lost.may_pass or not await backoff.pause():
                    raise lost from None

    def _reason(self, error: Error) -> str:
        """The error without the agent's name, which the panel shows anyway."""
        return str(error).removeprefix(f"{self._agent.name}: ")

    def _interruption(self, why: str) -> AgentDied:
        if self._agent.launch.reach.is_ours:
            return AgentDied(f"{self._agent.name} was restarted because {why}")
        return ConnectionLost(f"the connection to {self._agent.name} was renewed because {why}")

    async def _rejoin_all(self) -> dict[Conversation | None, Error]:
        """Reopen all sessions; return those that failed, with their errors. Their next prompt tries again."""
        failed: dict[Conversation | None, Error] = {}
        for conversation in tuple(self._sessions.open):
            try:
                await self._rejoin(conversation)
            except Error as error:
                failed[conversation] = error
                wanted = isinstance(error, AuthenticationRequired) and self._signing.status(
                    conversation.state
                )
                conversation.state.apply(
                    ev.StatusChanged(wanted or self._agent.launch.reach.gone, str(error))
                )
        return failed

    async def _wait_for_others(self, stuck: Conversation) -> None:
        runs = [other.state.running for other in self._sessions.open if other is not stuck]
        waits = {asyncio.wrap_future(run.done) for run in runs if run is not None}
        if waits:
            await asyncio.wait(waits, timeout=timeouts.get().restart_defer)

    async def _rejoin(self, conversation: Conversation) -> None:
        """Resume the session on the restarted agent, else load it, else start a new one."""
        if conversation.state.closed or self._sessions.known.get(conversation.state.id) is conversation:
            return
        before = conversation.state.read(lambda transcript: transcript.snapshot())
        with conversation.reloading():
            facts, memory = await self._reopen(conversation)
        if conversation.state.closed:  # during the reopening
            return
        if self._agent.launch.reach.is_ours:
            title, did = "The agent was restarted", f"{self._agent.name} was restarted"
        else:
            title, did = "Connected again", f"The connection to {self._agent.name} was renewed"
        await self._settle(conversation, before, facts, title, f"{did} because {self._why}. {memory}")

    async def reopen(self, conversation: Conversation, *, new: bool) -> None:
        """Reopen a session that the running agent has lost. `new`: replace it by a new session."""
        if self._agent.connection.error is not None:
            await self.revive(conversation)
            if not new:
                return
        async with self._agent.starting:
            before = conversation.state.read(lambda transcript: transcript.snapshot())
            lost = conversation.state.id
            self._sessions.known.pop(lost, None)
            try:
                with conversation.reloading():
                    facts, how = await (self._begin_new(conversation) if new else self._again(conversation))
            except BaseException:
                self._sessions.known.setdefault(lost, conversation)  # still lost, as before
                raise
            if conversation.state.closed:  # during the reopening
                return
            if new:
                conversation.context = lost_context(before.items, conversation.state.cwd)
                how = "A new session replaced it; your next prompt includes this conversation."
            await self._settle(conversation, before, facts, "The session was reopened", how)

    async def reread(self, conversation: Conversation) -> Sequence[ev.Event]:
        """The history that the agent has stored, which the transcript does not get; () if it cannot load.

        It is read on another connection.
        """
        if not self._agent.facts.capabilities.load:
            return ()
        state = conversation.state
        return await self._agent.read_aside(
            v1.load_session(state.id, state.cwd, v1.mcp_servers(()), state.directories, conversation.meta),
            state.id,
        )

    async def renew(self, conversation: Conversation) -> None:
        """Replace a connection on which messages of this session were lost: a server may still write to the
        stream that broke. Only if the session can be loaded, and no turn of another one runs."""
        others = [it for it in self._sessions.open if it is not conversation]
        if self._agent.facts.capabilities.load and not any(it.state.running for it in others):
            await self.restart("messages were lost on it", alive=True)

    async def take_up(self, conversation: Conversation, id: str) -> None:
        """Continue a stored session in place of a new one, which has no turns yet."""
        await self.revive(conversation)
        async with self._agent.starting:
            conversation.check_unused()  # a turn may have begun while this waited
            before = conversation.state.read(lambda transcript: transcript.snapshot())
            unused = conversation.state.id
            self._sessions.known.pop(unused, None)
            try:
                await self._opener.stored(conversation, id)
            except BaseException:
                conversation.state.id = unused
                self._sessions.known.setdefault(unused, conversation)
                raise
            conversation.state.fresh = False
            await self._close_unused(unused)
            await self._restore_and_report(conversation, before, known=True)

    async def _close_unused(self, id: str) -> None:
        if self._agent.facts.capabilities.close:
            with suppressed(_log, Error, TimeoutError):  # it is empty, and nothing here refers to it
                await self._agent.connection.request(v1.close_session(id), timeouts.get().session_close)

    async def _settle(
        self, conversation: Conversation, before: Snapshot, facts: SessionFacts, title: str, why: str
    ) -> None:
        """Show that the session is open, and restore its settings."""
        conversation.state.apply(ev.NoticeGiven("warning", title, why, "client"))
        for event in facts.events:
            conversation.state.apply(event)
        await self._restore_and_report(conversation, before, known=bool(facts.events))
        conversation.on_rejoined()

    async def _restore_and_report(self, conversation: Conversation, before: Snapshot, *, known: bool) -> None:
        for lost in await self._restore(conversation, before, known=known):
            conversation.state.apply(ev.NoticeGiven("warning", "A setting was lost", lost, "client"))

    async def _reopen(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        if self._agent.facts.capabilities.resume or self._agent.facts.capabilities.load:
            try:
                return await self._again(conversation)
            except AuthenticationRequired:
                raise
            except (AgentError, ProtocolError):
                _log.debug("the agent no longer knows the session", exc_info=True)
        return await self._begin_new(conversation)

    async def _again(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        """Resume the session, else load it. Raises the agent's error if both fail."""
        can, id = self._agent.facts.capabilities, conversation.state.id
        if can.resume:
            try:
                facts = await self._opener.resume_known(conversation, id)
                self._sessions.adopt(conversation, id)
                conversation.unproven = True
                return facts, "The session was resumed."
            except AuthenticationRequired:
                raise
            except (AgentError, ProtocolError):
                if not can.load:
                    raise
        if not can.load:
            raise UsageError(
                f"{self._agent.name} neither loads nor resumes sessions: use session.reopen(new=True)"
            )
        facts = await self._opener.load_history(conversation, id)
        conversation.unproven = True
        return facts, LOADED

    async def _begin_new(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        facts = await self._opener.begin(conversation)
        self._sessions.adopt(conversation, facts.id or "")
        conversation.unproven = False
        # The title, the context and the cost were those of the session that is gone.
        conversation.state.apply(ev.InfoChanged(title=None, updated_at=None))
        conversation.state.apply(ev.UsageChanged(Usage()))
        return facts, "It does not remember this conversation."

    async def _restore(self, conversation: Conversation, before: Snapshot, *, known: bool) -> list[str]:
        """Restore forgotten settings; return those that failed. A restrictive mode must not get lost unseen.

        `known`: the agent sent its current settings, so only differing ones are set.
        """
        now = conversation.state.read(lambda transcript: transcript.snapshot())
        values = {option.id: option.value for option in now.config}
        sets = [
            (f"{option.name}: {option.value}", conversation.ask_config(option, option.value))
            for option in before.config
            if not known or values.get(option.id, option.value) != option.value
        ]
        mode = before.mode if before.mode_option is None else None
        if mode is not None and (not known or now.mode != mode):
            sets.append((f"mode: {mode}", conversation.ask_mode(mode)))
        lost = []
        for what, asked in sets:
            try:
                await asked
            except Error as error:
                lost.append(f"{what} could not be restored ({error})")
        return lost


def _late(error: Timeout) -> ConnectionLost:
    """A server that does not answer is lost, as one that refuses the connection; it may be restarting."""
    return ConnectionLost(str(error), may_pass=True)
