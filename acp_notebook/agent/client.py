"""Handles the agent's requests and notifications: reads the message, delegates, writes the response.

Makes no decisions. Passes methods beyond the protocol to `extensions`. Refuses unknown requests at once,
because agents hang if a client stays silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw

from ..core.events import UnknownReceived
from ..log import WARNING, logger, suppressed
from ..wire import v1
from ..wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, Garbage
from .agent_state import AgentState
from .client_services import ClientServices, Denied, FileTrouble, TerminalTrouble
from .connection import SHOWN_CHARS, RequestRefused
from .conversation import Conversation
from .elicitation import without_session
from .extensions import Extensions
from .files.roots import Failed, NotFound
from .launch import SessionOptions
from .sessions import Sessions
from .terminals.contract import AnyTerminal
from .terminals.session_terminals import UnknownTerminal

_log = logger(__name__)

DENIED = -32001
"""The user or the policy rejected the action. The protocol has no code for that."""

UNKNOWN_SHOWN = 20
"""How many notifications of one unknown method are shown: some agents send one with every chunk."""

UNKNOWN_KEPT = 400
"""Characters kept of each further one, in `agent.stray`."""

_SERVED = {
    "session/request_permission": "_permission",
    "elicitation/create": "_elicitation",
    "fs/read_text_file": "_read_file",
    "fs/write_text_file": "_write_file",
    "terminal/create": "_create_terminal",
    "terminal/output": "_terminal_output",
    "terminal/wait_for_exit": "_wait_for_exit",
    "terminal/kill": "_kill_terminal",
    "terminal/release": "_release_terminal",
}


class Client:
    """Handles the messages of one agent's connection."""

    def __init__(
        self,
        agent: AgentState,
        sessions: Sessions,
        options: SessionOptions,
        extensions: Extensions,
        on_ended: Callable[[Exception], None] | None = None,
    ) -> None:
        self._agent = agent
        self._sessions = sessions
        self._options = options
        self._extensions = extensions
        self._on_ended = on_ended or sessions.ended
        self._seen: Counter[str] = Counter()
        """Unknown notifications by method."""

    def updated(self, messages: Sequence[v1.Update]) -> None:
        for session_id, events in v1.read_updates(messages, self._failed):
            try:
                self._sessions.update(session_id, *events)
            except Exception as error:  # a bug in handling one update must not lose the next ones
                self._failed(events[0], error)

    def _failed(self, what: object, error: Exception) -> None:
        _log.warning("an update could not be handled", exc_info=error)
        with suppressed(_log, Exception, level=WARNING):  # the same part may fail again
            self.unreadable(Garbage(repr(what)[:SHOWN_CHARS], f"the client failed on it: {error!r}"))

    def notified(self, method: str, params: Raw) -> None:
        if method == "session/update":
            self._sessions.update(*v1.read_update(params))
        elif method == "elicitation/complete":
            with suppressed(_log, v1.Malformed):
                self._sessions.elicitation_completed(v1.requests.read_elicitation_complete(params))
        elif not self._extensions.notified(method, params):
            self._unknown(method, params)

    def _unknown(self, method: str, params: Raw) -> None:
        """Show an unknown notification in its session, or in all. Beyond UNKNOWN_SHOWN, only keep it."""
        self._seen[method] += 1
        if method.startswith("$/") or self._seen[method] > UNKNOWN_SHOWN:
            head = bytes(params)[:UNKNOWN_KEPT].decode("utf-8", "replace")
            self._agent.stray.append(self._agent.redactor.text(f"{method} {head}"))
            return
        self._sessions.update(*v1.read_unknown_notification(method, params))

    async def requested(self, method: str, params: Raw) -> Any:
        if v1.owner(method) is None:
            return await self._extensions.requested(method, params)
        serve = getattr(self, _SERVED.get(method, ""), None)
        if serve is None or not self._options.offers(method):
            raise RequestRefused(METHOD_NOT_FOUND, f"this client has no {method}")
        try:
            return await serve(params)
        except v1.Malformed as error:
            raise RequestRefused(INVALID_PARAMS, f"{method}: {error}") from None
        except Denied as error:
            raise RequestRefused(DENIED, f"not permitted: {error}") from None
        except (NotFound, UnknownTerminal) as error:
            raise RequestRefused(NOT_FOUND, str(error)) from None
        except (FileTrouble, TerminalTrouble) as error:
            raise RequestRefused(
                INTERNAL_ERROR if isinstance(error, Failed) else INVALID_PARAMS, str(error)
            ) from None

    async def _permission(self, params: Raw) -> Any:
        asked = v1.requests.read_permission(params)
        conversation = self._conversation(asked.session_id)
        return v1.requests.permission_response(await conversation.permissions.handle_request(asked))

    async def _elicitation(self, params: Raw) -> Any:
        asked = v1.requests.read_elicitation(params)
        conversation = self._sessions.for_question(asked.session_id)
        if conversation is not None:
            return v1.requests.elicitation_response(await conversation.elicitations.handle_request(asked))
        if asked.session_id is not None:
            raise RequestRefused(INVALID_PARAMS, f"no session {asked.session_id!r} is open here")
        return v1.requests.elicitation_response(await without_session(self._options.elicitation, asked))

    async def _read_file(self, params: Raw) -> Any:
        asked = v1.requests.read_read_file(params)
        try:
            text = await self._services(asked.session_id).read(asked)
        except NotFound:
            if not self._agent.quirks.missing_reads_empty:
                raise
            text = ""
        return v1.requests.file_response(text)

    async def _write_file(self, params: Raw) -> Any:
        asked = v1.requests.read_write_file(params)
        await self._services(asked.session_id).write(asked)
        return v1.requests.empty_response()

    async def _create_terminal(self, params: Raw) -> Any:
        asked = v1.requests.read_create_terminal(params)
        terminal = await self._services(asked.session_id).create(asked)
        return v1.requests.terminal_response(terminal.id)

    async def _terminal_output(self, params: Raw) -> Any:
        terminal = self._terminal(params)
        text, truncated = terminal.output()
        return v1.requests.output_response(
            text, truncated, v1.requests.exit_status(*terminal.exit) if terminal.exit else None
        )

    async def _wait_for_exit(self, params: Raw) -> Any:
        return v1.requests.exit_status(*await self._terminal(params).wait())

    async def _kill_terminal(self, params: Raw) -> Any:
        await self._terminal(params).kill()
        return v1.requests.empty_response()

    async def _release_terminal(self, params: Raw) -> Any:
        asked = v1.requests.read_terminal(params)
        await self._services(asked.session_id).terminals.release(asked.terminal_id)
        return v1.requests.empty_response()

    def _terminal(self, params: Raw) -> AnyTerminal:
        asked = v1.requests.read_terminal(params)
        return self._services(asked.session_id).terminals.get(asked.terminal_id)

    def _services(self, session_id: str) -> ClientServices:
        return self._conversation(session_id).services

    def _conversation(self, session_id: str) -> Conversation:
        conversation = self._sessions.known.get(session_id)
        if conversation is None:
            raise RequestRefused(INVALID_PARAMS, f"no session {session_id!r} is open here")
        if (run := conversation.state.running) is not None:
            run.begun = True
        return conversation

    def unreadable(self, line: Garbage) -> None:
        self._agent.stray.append(self._agent.redactor.text(f"{line.head} ({line.why})"))
        if line.head.lstrip().startswith("{"):
            # It was meant as a message, so show it. Log lines are only kept.
            self._sessions.update(None, UnknownReceived(f"unreadable message ({line.why})", line.head))

    def ended(self, error: Exception) -> None:
        self._on_ended(error)
