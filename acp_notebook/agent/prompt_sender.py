"""The prompt of a running turn: sent, and sent again where the agent has certainly not begun with it.

Decides what an answer means: the turn's end, a sign-in that is wanted first, a rate limit, an agent that died
before it read the prompt. Knows nothing of what the turn brings, nor of how it is cancelled.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Raw

from ..core import events as ev
from ..errors import AgentDied, AgentError, AuthenticationRequired, Error, ProtocolError, UsageError
from ..wire import v1
from ..wire.jsonrpc import AUTH_REQUIRED
from .known_agents.quirks import Quirks
from .turn_queue import TurnRun

if TYPE_CHECKING:
    from .conversation import Conversation

REFUSED = (
    "The agent has dropped this prompt and what followed it from the conversation: the next prompt goes "
    "on from before them."
)
"""What the protocol says of the stop reason `refusal`."""

UNKNOWN_WHETHER_BEGUN = (
    "It said nothing after the prompt, so it is not known whether it had begun with it: look at what was "
    "changed before you send it again."
)


class PromptSender:
    """Sends the prompts of one session and waits for their answers."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def send(self, run: TurnRun) -> None:
        call = v1.prompt(self._conversation.id, run.content)
        try:
            self._conversation.host.connection.ask(
                call, lambda result, error: self._answered(run, result, error)
            )
        except (TypeError, ValueError) as error:  # content made by hand, of which no JSON can be made
            self._answered(run, None, UsageError(f"the prompt cannot be sent: {error}"))

    def fail(self, run: TurnRun, error: Exception) -> None:
        """The turn that runs is over, for this reason."""
        self._over(run, None, error)

    def _answered(self, run: TurnRun, result: Raw | None, error: Exception | None) -> None:
        conversation = self._conversation
        if conversation.running is not run:
            conversation.answered_late(error)
            return
        host = conversation.host
        if isinstance(error, AgentError) and error.code == AUTH_REQUIRED and not run.cancelling:
            error = host.signing.explained(error)
            if run.pause is None and isinstance(error, AuthenticationRequired):
                run.pause = host.background(self._sign_in(run, error))
                return
        if (wait := conversation.limiting.met(run, error)) is not None:
            run.pause = host.background(self._send_later(run, wait))
            return
        if isinstance(error, AgentError) and not run.begun and not run.cancelling:
            error = conversation.explained(error)
        if isinstance(error, AgentDied) and error.untaken and self._may_restart(run):
            run.begun, run.restarted = False, True
            run.pause = host.background(self._send_again(run))
            return
        self._over(run, result, error)

    def _may_restart(self, run: TurnRun) -> bool:
        """Once: an agent that never takes it is not started for ever."""
        closed = self._conversation.closed or self._conversation.host.closed
        return not (run.restarted or run.cancelling or closed)

    def _over(self, run: TurnRun, result: Raw | None, error: Exception | None) -> None:
        end, failure = _turn_end(run, result, error, self._conversation.host.quirks)
        if end.stop_reason == "refusal":
            self._conversation.apply(ev.NoticeGiven("warning", "The agent refused", REFUSED, "client"))
        self._conversation.turn_over(run, end, failure)

    async def _send_later(self, run: TurnRun, wait: float) -> None:
        await asyncio.sleep(wait)
        if self._conversation.running is run:
            self._conversation.apply(ev.RateLimitOver())
            await self._send_again(run)

    async def _send_again(self, run: TurnRun) -> None:
        """The same prompt once more; where the agent has ended meanwhile, it is started again for it."""
        try:
            await self._conversation.ready()
        except Error as failure:
            if self._conversation.running is run:
                self.fail(run, failure)
            return
        run.pause = None
        if self._conversation.running is run:
            self.send(run)

    async def _sign_in(self, run: TurnRun, error: AuthenticationRequired) -> None:
        """The agent wants a sign-in before it takes the prompt; then it gets it again."""
        try:
            await self._conversation.host.signing.wanted(error, self._conversation, run.sign_ins)
        except Error as failure:
            if self._conversation.running is run:
                self.fail(run, failure)
            return
        run.sign_ins += 1
        if self._conversation.running is run:
            await self._send_again(run)


def _died_silently(died: AgentDied) -> AgentDied:
    """What is known of a prompt of which nothing was heard."""
    known = "It had not read the prompt: nothing was done." if died.untaken else UNKNOWN_WHETHER_BEGUN
    return AgentDied(f"{died}\n{known}", exit_code=died.exit_code, stderr=died.stderr, untaken=died.untaken)


def _turn_end(
    run: TurnRun, result: Raw | None, error: Exception | None, quirks: Quirks
) -> tuple[ev.TurnEnded, Exception | None]:
    """How a turn ended by the agent's answer, and the error to raise for it."""
    if result is not None:
        try:
            answer = v1.read_prompt_answer(result, usage_in_meta=quirks.usage_in_meta)
            return ev.TurnEnded("done", answer.stop_reason, usage=answer.usage, raw=answer.raw), None
        except v1.Malformed as malformed:
            error = ProtocolError(f"session/prompt: the agent's answer cannot be used ({malformed})")
    if isinstance(error, AgentDied) and not run.begun and run.pause is None:
        error = _died_silently(error)
    if run.cancelling and isinstance(error, AgentError):
        # Agents that answer a cancel with an error mean what they should have said: cancelled.
        return ev.TurnEnded("done", "cancelled"), None
    return ev.TurnEnded("failed", error=str(error)), error
