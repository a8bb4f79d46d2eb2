"""Sends the prompt of a turn, and sends it again if the agent certainly has not started on it.

Decides what a response means: the end of the turn, a required sign-in, a rate limit, or an agent that died
before it read the prompt. Knows nothing about the updates of a turn or how to cancel it.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from msgspec import Raw

from ..core import events as ev
from ..errors import (
    AgentDied,
    AgentError,
    AuthenticationRequired,
    ConnectionLost,
    Error,
    ProtocolError,
    UsageError,
)
from ..wire import v1
from ..wire.jsonrpc import AUTH_REQUIRED
from .agent_link import AgentLink
from .known_agents.quirks import Quirks
from .session_state import SessionState
from .turn_limiter import TurnLimiter
from .turn_queue import TurnRun

REFUSED = (
    "The agent has dropped this prompt and what followed it from the conversation: the next prompt goes "
    "on from before them."
)
"""What the protocol specifies for the stop reason `refusal`."""

UNTAKEN = "It had not read the prompt: nothing was done."

UNKNOWN_WHETHER_BEGUN = (
    "It sent nothing after the prompt, so it is unknown whether it started on it: check what was changed "
    "before you send it again."
)


KEPT = (
    "What had come is kept. The prompt was not sent again: the agent may still be working on it. "
    "The next prompt connects again."
)


class TurnOwner(Protocol):
    """How a session reacts to the responses to its prompts."""

    def turn_over(self, run: TurnRun, end: ev.TurnEnded, failure: Exception | None) -> None:
        """The turn ended with the agent's response, or without one."""

    def answered_late(self, error: Exception | None) -> None:
        """The response to an ended turn arrived."""

    def explain(self, error: AgentError) -> AgentError:
        """The error, with ways to continue if the agent does not know the session."""

    async def ready(self) -> None:
        """Wait until a prompt can be sent."""

    async def wait_signed_in(self, error: AuthenticationRequired, tries: int) -> None:
        """Wait until somebody has signed in. Raises an error if nobody can."""


class PromptSender:
    """Sends the prompts of one session and handles their responses."""

    def __init__(self, state: SessionState, agent: AgentLink, limiter: TurnLimiter, owner: TurnOwner) -> None:
        self._state = state
        self._agent = agent
        self._limiter = limiter
        self._owner = owner

    def send(self, run: TurnRun) -> None:
        call = v1.prompt(self._state.id, run.content, run.meta)
        try:
            self._agent.connection.ask(call, lambda result, error: self._answered(run, result, error))
        except (TypeError, ValueError) as error:  # the user's own content cannot be encoded as JSON
            self._answered(run, None, UsageError(f"the prompt cannot be sent: {error}"))

    def fail(self, run: TurnRun, error: Exception) -> None:
        """End the running turn with this error."""
        self._over(run, None, error)

    def _answered(self, run: TurnRun, result: Raw | None, error: Exception | None) -> None:
        if self._state.running is not run:
            self._owner.answered_late(error)
            return
        if isinstance(error, AgentError) and error.code == AUTH_REQUIRED and not run.cancelling:
            error = self._agent.explain(error)
            if run.pause is None and isinstance(error, AuthenticationRequired):
                run.pause = self._agent.background(self._sign_in(run, error))
                return
        if (wait := self._limiter.retry_after(run, error)) is not None:
            run.pause = self._agent.background(self._send_later(run, wait))
            return
        if isinstance(error, AgentError) and not run.begun and not run.cancelling:
            error = self._owner.explain(error)
        if isinstance(error, AgentDied) and error.untaken and self._may_restart(run):
            run.begun, run.restarted = False, True
            run.pause = self._agent.background(self._send_again(run))
            return
        self._over(run, result, error)

    def _may_restart(self, run: TurnRun) -> bool:
        """Whether to restart the agent for this prompt. Only once, or it might be restarted forever."""
        closed = self._state.closed or self._agent.closed
        return not (run.restarted or run.cancelling or closed)

    def _over(self, run: TurnRun, result: Raw | None, error: Exception | None) -> None:
        end, failure = _turn_end(run, result, error, self._agent.quirks)
        if end.stop_reason == "refusal":
            self._state.apply(ev.NoticeGiven("warning", "The agent refused", REFUSED, "client"))
        self._owner.turn_over(run, end, failure)

    async def _send_later(self, run: TurnRun, wait: float) -> None:
        await asyncio.sleep(wait)
        if self._state.running is run:
            self._state.apply(ev.RateLimitOver())
            await self._send_again(run)

    async def _send_again(self, run: TurnRun) -> None:
        """Send the same prompt again, and restart the agent first if it has ended."""
        try:
            await self._owner.ready()
        except Error as failure:
            if self._state.running is run:
                if isinstance(failure, AgentDied) and not run.begun:  # it was not sent again
                    failure = failure.reworded(str(failure), untaken=True)
                self.fail(run, failure)
            return
        run.pause = None
        if self._state.running is run:
            self.send(run)

    async def _sign_in(self, run: TurnRun, error: AuthenticationRequired) -> None:
        """Wait for the sign-in that the agent requires, then send the prompt again."""
        try:
            await self._owner.wait_signed_in(error, run.sign_ins)
        except Error as failure:
            if self._state.running is run:
                self.fail(run, failure)
            return
        run.sign_ins += 1
        if self._state.running is run:
            await self._send_again(run)


def _died_silently(died: AgentDied) -> AgentDied:
    """Add to the error whether the agent may have started on the prompt."""
    return died.reworded(f"{died}\n{UNTAKEN if died.untaken else UNKNOWN_WHETHER_BEGUN}")


def _turn_end(
    run: TurnRun, result: Raw | None, error: Exception | None, quirks: Quirks
) -> tuple[ev.TurnEnded, Exception | None]:
    """The end of a turn by the agent's response, and the error to raise, if any."""
    if result is not None:
        try:
            answer = v1.read_prompt_response(result, usage_in_meta=quirks.usage_in_meta)
            said = {"usage": answer.usage, "raw": answer.raw, "meta": answer.meta}
            return ev.TurnEnded("done", answer.stop_reason, **said), None
        except v1.Malformed as malformed:
            error = ProtocolError(f"session/prompt: the agent's answer cannot be used ({malformed})")
    if isinstance(error, AgentDied) and not run.begun and run.pause is None:
        error = _died_silently(error)
    elif isinstance(error, ConnectionLost):
        error = error.reworded(f"{error}\n{UNTAKEN if error.untaken else KEPT}")
    if run.cancelling and isinstance(error, AgentError):
        # Some agents answer a cancelled prompt with an error instead of the stop reason.
        return ev.TurnEnded("done", "cancelled"), None
    return ev.TurnEnded("failed", error=str(error)), error
