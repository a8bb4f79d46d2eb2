"""An agent that is gone or stuck is started again, and every session on it is taken along.

Knows the order of things, not how they are done: the host starts the agent and opens sessions. A
session is resumed, else loaded, else begun anew, and gets the settings it had.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..core import events as ev
from ..core.requests import SessionFacts
from ..core.snapshot import Snapshot
from ..errors import AgentDied, AgentError, AuthenticationRequired, Error, ProtocolError, UsageError
from ..wire import v1
from . import lost_session

if TYPE_CHECKING:
    from .conversation import Conversation
    from .host import AgentHost

DEFER_S = 30.0
"""A restart for a stuck session waits this long for other sessions' turns on the same agent."""

LOADED = "Some agents now run again what was interrupted: see what it does. The session was loaded."
"""openhands does."""


class Recovery:
    """Restarts one agent and reopens its sessions."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._why = ""

    async def revive(self, conversation: Conversation | None = None) -> None:
        """Start the agent again if it is gone, and open the session on it if it does not know it yet."""
        if self._host.connection.error is not None:
            failed = await self.restart("it had ended")
            if conversation in failed:
                raise failed[conversation]
        async with self._host.starting:  # whoever restarts it just now has to be done
            if conversation is not None:
                await self._rejoin(conversation)

    async def restart(self, why: str, stuck: Conversation | None = None) -> dict[Conversation | None, Error]:
        """End the agent and start it again; every session on it is taken along, as far as they can be.

        Only if it is gone or `stuck` still is: whoever comes second finds all well again. Cancelling
        one who waits for it does not stop it: others depend on it.
        """
        return await asyncio.shield(self._host.background(self._restart(why, stuck)))

    async def _restart(self, why: str, stuck: Conversation | None) -> dict[Conversation | None, Error]:
        if stuck is not None:
            await self._others_done(stuck)
        async with self._host.starting:
            if self._host.connection.error is None and (stuck is None or not stuck.stuck):
                return {}
            for conversation in self._host.conversations:
                conversation.interrupted(AgentDied(f"{self._host.name} was started again, because {why}"))
            await self._host.connection.close()
            self._host.sessions.clear()
            self._why = why
            self._host.tell(ev.StatusChanged("restarting"))
            try:
                await self._host.connect()
            except Error as error:
                self._host.tell(ev.StatusChanged("dead", str(error)))
                raise
            return await self._rejoin_all()

    async def _rejoin_all(self) -> dict[Conversation | None, Error]:
        """Those whose session could not be opened again, and why; their next prompt tries once more."""
        failed: dict[Conversation | None, Error] = {}
        for conversation in tuple(self._host.conversations):
            try:
                await self._rejoin(conversation)
            except Error as error:
                failed[conversation] = error
                wanted = isinstance(error, AuthenticationRequired) and self._host.signing.status(conversation)
                conversation.apply(ev.StatusChanged(wanted or "dead", str(error)))
        return failed

    async def _others_done(self, stuck: Conversation) -> None:
        runs = [other.running for other in self._host.conversations if other is not stuck]
        waits = {asyncio.wrap_future(run.done) for run in runs if run is not None}
        if waits:
            await asyncio.wait(waits, timeout=DEFER_S)

    async def _rejoin(self, conversation: Conversation) -> None:
        """Resume the session on the fresh agent, else load it, else begin a new one."""
        if conversation.closed or self._host.sessions.get(conversation.id) is conversation:
            return
        before = conversation.read(lambda transcript: transcript.snapshot())
        conversation.retell(True)
        try:
            facts, memory = await self._reopen(conversation)
        finally:
            conversation.retell(False)
        if conversation.closed:  # meanwhile
            return
        why = f"{self._host.name} was started again, because {self._why}. {memory}"
        await self._settle(conversation, before, facts, "The agent was started again", why)

    async def reopen(self, conversation: Conversation, *, new: bool) -> None:
        """Open a session again that the living agent has lost; `new`: another one takes its place."""
        if self._host.connection.error is not None:
            await self.revive(conversation)
            if not new:
                return
        async with self._host.starting:
            before = conversation.read(lambda transcript: transcript.snapshot())
            lost = conversation.id
            self._host.sessions.pop(lost, None)
            conversation.retell(True)
            try:
                facts, how = await (self._begin_anew(conversation) if new else self._again(conversation))
            except BaseException:
                self._host.sessions.setdefault(lost, conversation)  # as lost as it was
                raise
            finally:
                conversation.retell(False)
            if conversation.closed:  # meanwhile
                return
            if new:
                conversation.context = lost_session.context(before.items, conversation.cwd)
                how = "A new one took its place; your next prompt takes this conversation along."
            await self._settle(conversation, before, facts, "The session was opened again", how)

    async def _settle(
        self, conversation: Conversation, before: Snapshot, facts: SessionFacts, title: str, why: str
    ) -> None:
        """The session is open: say so, and give it the settings that it had."""
        conversation.apply(ev.NoticeGiven("warning", title, why, "client"))
        for event in facts.events:
            conversation.apply(event)
        for lost in await self._restore(conversation, before, told=bool(facts.events)):
            conversation.apply(ev.NoticeGiven("warning", "A setting was lost", lost, "client"))
        conversation.rejoined()

    async def _reopen(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        if self._host.facts.capabilities.resume or self._host.facts.capabilities.load:
            try:
                return await self._again(conversation)
            except AuthenticationRequired:
                raise
            except (AgentError, ProtocolError):
                pass  # it does not know the session any more
        return await self._begin_anew(conversation)

    async def _again(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        """Resumed, else loaded; raises what the agent says to the last way that it offers."""
        can, id = self._host.facts.capabilities, conversation.id
        if can.resume:
            try:
                facts = await self._host.open(v1.resume_session, v1.read_session, conversation, id)
                self._host.adopt(conversation, id)
                conversation.unproven = True
                return facts, "The session was resumed."
            except AuthenticationRequired:
                raise
            except (AgentError, ProtocolError):
                if not can.load:
                    raise
        if not can.load:
            raise UsageError(
                f"{self._host.name} neither loads nor resumes sessions: use session.reopen(new=True)"
            )
        facts = await self._host.load_history(conversation, id)
        conversation.unproven = True
        return facts, LOADED

    async def _begin_anew(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        facts = await self._host.open(v1.new_session, v1.read_new_session, conversation)
        self._host.adopt(conversation, facts.id or "")
        conversation.unproven = False
        return facts, "It does not remember this conversation."

    async def _restore(self, conversation: Conversation, before: Snapshot, *, told: bool) -> list[str]:
        """Set again what the fresh agent has forgotten: a mode that forbids must not be loosened unseen."""
        now = conversation.read(lambda transcript: transcript.snapshot())
        values = {option.id: option.value for option in now.config}
        sets = [
            (f"{option.name}: {option.value}", conversation.ask_config(option, option.value))
            for option in before.config
            if not told or values.get(option.id, option.value) != option.value
        ]
        mode = before.mode if before.mode_option is None else None
        if mode is not None and (not told or now.mode != mode):
            sets.append((f"mode: {mode}", conversation.ask_mode(mode)))
        lost = []
        for what, asked in sets:
            try:
                await asked
            except Error as error:
                lost.append(f"{what} could not be set again ({error})")
        return lost
