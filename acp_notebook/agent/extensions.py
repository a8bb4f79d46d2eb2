"""Methods beyond the protocol, in both directions: the user's requests, and the user's handlers.

Survives restarts of the agent. Knows no thread of the user and no transcript. Runs on the loop thread; other
threads may change `handlers`.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Raw

from .. import timeouts
from ..core import events as ev
from ..core.plain_json import plain_json
from ..core.records import Json
from ..errors import AgentError, ExtensionError, ProtocolError, Timeout
from ..log import logger
from ..wire import v1
from ..wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from .agent_link import AgentLink
from .connection import RequestRefused
from .conversation import Conversation
from .handler_threads import Handler, HandlerThreads, Outcome
from .known_answers import KnownAnswers
from .sessions import Sessions

_log = logger(__name__)

NOTIFICATIONS_KEPT = 1000
"""How many notifications may wait for their handlers. Further ones are dropped; `agent.stray` names them."""

AUDITED_CHARS = 2000
"""How much of a request's parameters the audit keeps."""


class Extensions:
    """Sends and serves the extension methods of one agent."""

    def __init__(
        self,
        agent: AgentLink,
        sessions: Sessions,
        handlers: Mapping[str, Handler],
        answers: KnownAnswers,
        revive: Callable[[], Awaitable[None]],
    ) -> None:
        self.handlers = dict(handlers)
        self._agent = agent
        self._sessions = sessions
        self._answers = answers
        self._revive = revive
        self._threads = HandlerThreads()
        self._waiting: deque[tuple[str, Handler, Json]] = deque()
        self._hearing: asyncio.Task[None] | None = None
        self._failed: set[str] = set()
        """Notifications whose handler has failed: the user is told once."""

    # ---- to the agent -------------------------------------------------------------------------

    async def request(self, method: str, params: Mapping[str, Json], limit: float) -> Json:
        """Send a request and return its result. Restarts the agent first if it has ended."""
        await self._ready()
        try:
            return v1.read_extension(
                await self._agent.connection.request(v1.extension(method, params), limit)
            )
        except TimeoutError:
            raise Timeout(
                f"{self._agent.name} did not answer {method} within {limit:g} s; timeout= allows it more"
            ) from None
        except AgentError as error:
            raise self._agent.explain(error) from None
        except v1.Malformed as error:
            raise ProtocolError(f"{method}: the agent's answer cannot be used ({error})") from None

    async def notify(self, method: str, params: Mapping[str, Json]) -> None:
        await self._ready()
        self._agent.connection.notify(v1.extension(method, params))

    async def _ready(self) -> None:
        # Not while sessions are reopened: a handler that the agent calls then would wait for itself.
        if not self._agent.ready:
            await self._revive()

    # ---- requests of the agent ----------------------------------------------------------------

    async def requested(self, method: str, params: Raw) -> Json:
        """Answer a request with the user's handler, or as recorded. Raises RequestRefused."""
        try:
            given = v1.read_extension(params)
        except v1.Malformed as error:
            raise RequestRefused(INVALID_PARAMS, f"{method}: {error}") from None
        conversation = self._conversation(given)
        shown = self._shown(given)  # now: the handler may change it
        try:
            result = await self._answer(method, given)
        except RequestRefused as refused:
            self._audit(conversation, method, shown, "failed", str(refused))
            raise
        except asyncio.CancelledError:
            self._audit(conversation, method, shown, "cancelled", None)
            raise
        self._audit(conversation, method, shown, "done", None)
        return result

    def _audit(
        self, conversation: Conversation | None, method: str, params: str, outcome: str, reason: str | None
    ) -> None:
        if conversation is None:  # before the first session
            return
        conversation.state.auditor.note(
            "request", "extension", method, outcome=outcome, reason=reason, params=params
        )

    def _shown(self, params: Json) -> str:
        """The parameters without secrets, then cut: half of a secret would not be found."""
        try:
            text = json.dumps(self._agent.redactor.for_actions.clean(params), ensure_ascii=False)
        except RecursionError:
            return "(nested too deeply)"
        return text[:AUDITED_CHARS].encode(errors="replace").decode()

    async def _answer(self, method: str, params: Json) -> Json:
        handler = self.handlers.get(method)
        if handler is None:
            known = self._answers.extension(method, params)
            if known is None:
                raise RequestRefused(METHOD_NOT_FOUND, f"this client has no {method}")
            if known.error is not None:
                raise RequestRefused(*known.error)
            return known.result
        outcome = await self._called(method, handler, params, f"the result of {method}")
        if outcome.error is not None:
            raise self._refusal(method, outcome.error)
        return outcome.result

    async def _called(self, method: str, handler: Handler, params: Json, what: str | None) -> Outcome:
        limit = timeouts.get().extension_handler
        try:
            async with asyncio.timeout(limit):
                return await self._threads.call(handler, {} if params is None else params, what)
        except TimeoutError:
            late = f"the handler of {method} did not answer within {limit:g} s"
            return Outcome(error=ExtensionError(late))

    def _refusal(self, method: str, error: BaseException) -> RequestRefused:
        if not isinstance(error, ExtensionError):
            _log.warning("the handler of %s failed", method, exc_info=error)
            return RequestRefused(INTERNAL_ERROR, _words(error))
        try:
            return RequestRefused(error.code, str(error), plain_json(error.data, "the data of the error"))
        except ValueError as unfit:
            return RequestRefused(error.code, f"{error} ({unfit})")

    def _conversation(self, params: Json) -> Conversation | None:
        """The session that a request names, or one that can show what came of it."""
        session = v1.session_named(params)
        conversation = self._sessions.for_question(session)
        if conversation is not None and session is not None and (run := conversation.state.running):
            run.begun = True
        return conversation

    # ---- notifications of the agent -------------------------------------------------------------

    def notified(self, method: str, params: Raw) -> bool:
        """Pass a notification to its handler; return whether there is one. Handlers run one at a time."""
        handler = self.handlers.get(method)
        if handler is None:
            return False
        try:
            given = v1.read_extension(params)
        except v1.Malformed:
            return False
        if len(self._waiting) >= NOTIFICATIONS_KEPT:
            self._agent.stray.append(f"{method} (dropped: {NOTIFICATIONS_KEPT} wait for their handlers)")
            return True
        self._waiting.append((method, handler, given))
        if self._hearing is None or self._hearing.done():
            self._hearing = self._agent.background(self._hear())
        return True

    async def _hear(self) -> None:
        while self._waiting:
            method, handler, params = self._waiting.popleft()
            outcome = await self._called(method, handler, params, None)
            if outcome.error is not None:
                self._report(method, outcome.error)

    def _report(self, method: str, error: BaseException) -> None:
        _log.warning("the handler of %s failed", method, exc_info=error)
        if method not in self._failed:
            self._failed.add(method)
            text = f"{_words(error)} (Further failures of this handler are only in acp.doctor(log=True).)"
            self._sessions.apply(ev.NoticeGiven("warning", f"The handler of {method} failed", text, "client"))


def _words(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
