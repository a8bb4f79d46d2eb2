"""What the agent may ask of us; each handler: translate, delegate, translate back.

Decides nothing itself. A request that is not built is refused at once: a silent client hangs agents.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ..core.events import UnknownReceived
from ..wire import v1
from ..wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, Garbage
from .client_services import Denied, FileTrouble, TerminalTrouble
from .connection import RequestRefused
from .elicitation import without_session
from .files.roots import Failed, NotFound
from .recordings.replayed_terminals import AnyTerminal
from .terminals.session_terminals import UnknownTerminal

if TYPE_CHECKING:
    from .client_services import ClientServices
    from .conversation import Conversation
    from .host import AgentHost

DENIED = -32001
"""The user, or the user's policy, said no. The protocol has no number for that."""

UNKNOWN_SHOWN = 20
"""Notifications of one unknown method that are shown; some agents send one with every chunk."""

UNKNOWN_KEPT = 400
"""Characters of each that follows, in `agent.stray`."""

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
    """The handler of one agent's connection."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._seen: Counter[str] = Counter()
        """Notifications that we do not know."""

    def notified(self, method: str, params: Raw) -> None:
        if method == "session/update":
            self._host.update(*v1.read_update(params))
        elif method == "elicitation/complete":
            with contextlib.suppress(v1.Malformed):
                self._host.elicitation_completed(v1.read_elicitation_complete(params))
        else:
            self._unknown(method, params)

    def _unknown(self, method: str, params: Raw) -> None:
        """Kept, and shown in the session that it names, or in all; a flood of one kind is only kept."""
        self._seen[method] += 1
        if method.startswith("$/") or self._seen[method] > UNKNOWN_SHOWN:
            head = bytes(params)[:UNKNOWN_KEPT].decode("utf-8", "replace")
            self._host.stray.append(self._host.launch.redactor.text(f"{method} {head}"))
            return
        self._host.update(*v1.read_unknown_notification(method, params))

    async def requested(self, method: str, params: Raw) -> Any:
        serve = getattr(self, _SERVED.get(method, ""), None)
        if serve is None or not self._host.offers(method):
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
        asked = v1.read_permission(params)
        conversation = self._conversation(asked.session_id)
        return v1.permission_answer(await conversation.permissions.asked(asked))

    async def _elicitation(self, params: Raw) -> Any:
        asked = v1.read_elicitation(params)
        conversation = self._host.asked_in(asked.session_id)
        if conversation is not None:
            return v1.elicitation_answer(await conversation.elicitations.asked(asked))
        if asked.session_id is not None:
            raise RequestRefused(INVALID_PARAMS, f"no session {asked.session_id!r} is open here")
        return v1.elicitation_answer(await without_session(self._host.launch.elicitation, asked))

    async def _read_file(self, params: Raw) -> Any:
        asked = v1.read_read_file(params)
        try:
            text = await self._services(asked.session_id).read(asked)
        except NotFound:
            if not self._host.quirks.missing_reads_empty:
                raise
            text = ""
        return v1.file_answer(text)

    async def _write_file(self, params: Raw) -> Any:
        asked = v1.read_write_file(params)
        await self._services(asked.session_id).write(asked)
        return v1.done()

    async def _create_terminal(self, params: Raw) -> Any:
        asked = v1.read_create_terminal(params)
        terminal = await self._services(asked.session_id).create(asked)
        return v1.terminal_made(terminal.id)

    async def _terminal_output(self, params: Raw) -> Any:
        terminal = self._terminal(params)
        text, truncated = terminal.output()
        return v1.output_answer(text, truncated, v1.exit_status(*terminal.exit) if terminal.exit else None)

    async def _wait_for_exit(self, params: Raw) -> Any:
        return v1.exit_status(*await self._terminal(params).wait())

    async def _kill_terminal(self, params: Raw) -> Any:
        await self._terminal(params).kill()
        return v1.done()

    async def _release_terminal(self, params: Raw) -> Any:
        asked = v1.read_terminal(params)
        await self._services(asked.session_id).terminals.release(asked.terminal_id)
        return v1.done()

    def _terminal(self, params: Raw) -> AnyTerminal:
        asked = v1.read_terminal(params)
        return self._services(asked.session_id).terminals.get(asked.terminal_id)

    def _services(self, session_id: str) -> ClientServices:
        return self._conversation(session_id).services

    def _conversation(self, session_id: str) -> Conversation:
        conversation = self._host.sessions.get(session_id)
        if conversation is None:
            raise RequestRefused(INVALID_PARAMS, f"no session {session_id!r} is open here")
        if conversation.running is not None:
            conversation.running.begun = True
        return conversation

    def unreadable(self, line: Garbage) -> None:
        self._host.stray.append(self._host.launch.redactor.text(f"{line.head} ({line.why})"))
        if line.head.lstrip().startswith("{"):
            # It was meant as a message: people should know. A line of a log is only kept.
            self._host.update(None, UnknownReceived(f"unreadable message ({line.why})", line.head))

    def ended(self, error: Exception) -> None:
        self._host.ended(error)
