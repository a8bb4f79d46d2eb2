"""Opens sessions on one agent: new, loaded, resumed or forked. Runs on the loop thread."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw
from msgspec.structs import replace

from ..core.requests import SessionFacts
from ..errors import AgentError, AuthenticationRequired, ProtocolError, UsageError
from ..wire import v1
from . import lost_session
from .agent_link import AgentLink
from .conversation import Conversation
from .known_agents import start_hints
from .mcp_servers import check_supported
from .session_store import SessionStore
from .sessions import Sessions


class SessionOpener:
    """Requests sessions from one agent and adds them to `sessions`."""

    def __init__(self, agent: AgentLink, sessions: Sessions, store: SessionStore) -> None:
        self._agent = agent
        self._sessions = sessions
        self._store = store

    async def new(self, conversation: Conversation) -> None:
        facts = await self.begin(conversation)
        conversation.state.fresh = True
        conversation.on_opened(facts)
        self._sessions.adopt(conversation, facts.id or "")

    async def load(self, conversation: Conversation, id: str) -> None:
        """Load a session. The agent sends its history before or after the response."""
        self._store.check("load", self._agent.facts.capabilities.load)
        self._sessions.check_not_open(id)
        conversation.on_opened(await self.load_history(conversation, id))
        conversation.unproven = True
        conversation.continues()
        self._store.restore_title(conversation.state)

    async def load_history(self, conversation: Conversation, id: str) -> SessionFacts:
        is_open = conversation in self._sessions.open
        self._sessions.adopt(conversation, id)
        try:
            facts = await self._ask(v1.load_session, v1.read_session, conversation, id)
            await self._agent.request_history(self._agent.connection, id)
            await conversation.wait_for_history()
            return facts
        except BaseException:
            self._sessions.known.pop(id, None)
            if not is_open:
                self._sessions.open.remove(conversation)
            raise

    async def resume(self, conversation: Conversation, id: str) -> None:
        self._store.check("resume", self._agent.facts.capabilities.resume)
        self._sessions.check_not_open(id)
        facts = await self.resume_known(conversation, id)
        conversation.on_opened(facts)
        conversation.unproven = True
        conversation.continues()
        self._sessions.adopt(conversation, id)
        self._store.restore_title(conversation.state)

    async def stored(self, conversation: Conversation, id: str) -> None:
        """Continue a session of an earlier kernel: with its history if the agent loads, else without."""
        can = self._agent.facts.capabilities
        if not (can.load or can.resume):
            raise UsageError(
                f"{self._agent.name} neither loads nor resumes sessions; {lost_session.AS_CONTEXT}"
            )
        try:
            await (self.load if can.load else self.resume)(conversation, id)
        except AuthenticationRequired:
            raise
        except AgentError as error:
            raise lost_session.gone(error, self._agent.name) from None

    async def fork(self, conversation: Conversation, id: str) -> None:
        """Open a session that continues another one, which stays unchanged."""
        self._store.check("fork", self._agent.facts.capabilities.fork)
        facts = await self._ask(v1.fork_session, v1.read_new_session, conversation, id)
        if facts.id and await self._lacks_servers(conversation):
            await self._agent.request(v1.close_session(facts.id))
            resumed = await self.resume_known(conversation, facts.id)
            facts = replace(facts, events=(*facts.events, *resumed.events))
        conversation.on_opened(facts)
        self._sessions.adopt(conversation, facts.id or "")

    async def _lacks_servers(self, conversation: Conversation) -> bool:
        """Whether a new fork has none of its MCP servers, but would get them if it were opened again."""
        can = self._agent.facts.capabilities
        wanted = self._agent.quirks.forks_lack_servers and can.close and can.resume
        return wanted and bool(await conversation.servers())

    async def begin(self, conversation: Conversation) -> SessionFacts:
        """Request a new session without adopting it."""
        return await self._ask(v1.new_session, v1.read_new_session, conversation)

    async def resume_known(self, conversation: Conversation, id: str) -> SessionFacts:
        """Request a session without its history and without adopting it."""
        return await self._ask(v1.resume_session, v1.read_session, conversation, id)

    async def _ask(
        self,
        call: Callable[..., v1.Call],
        read: Callable[[Raw], SessionFacts],
        conversation: Conversation,
        *id: str,
    ) -> SessionFacts:
        agent, state = self._agent, conversation.state
        directories = state.directories if agent.facts.capabilities.additional_directories else ()
        servers = await conversation.servers()
        check_supported(servers, agent.facts.capabilities, agent.name)
        asked = call(*id, state.cwd, v1.mcp_servers(servers), directories, conversation.meta)
        if agent.tap is not None:
            agent.tap.opening(state.cwd, state.directories, covered=conversation.undoing.covers)
        with self._sessions.opening(conversation):
            try:
                facts = read(await agent.request(asked))
                start_hints.last.pop(agent.name, None)
                return facts
            except AuthenticationRequired:
                raise
            except AgentError as error:
                raise self._explain(error) from None
            except v1.Malformed as error:
                raise ProtocolError(f"{asked[0]}: the agent's answer cannot be used ({error})") from None

    def _explain(self, error: AgentError) -> AgentError:
        """Add a hint from stderr: many agents start their backend only now and report errors only there."""
        explanation = start_hints.explanation(self._agent.redactor.text(self._agent.stderr_text()))
        text = "\n".join(filter(None, [str(error), explanation]))
        start_hints.last[self._agent.name] = text
        return AgentError(text, code=error.code, data=error.data)
