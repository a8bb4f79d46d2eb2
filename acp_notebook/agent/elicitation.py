"""What the agent asks of the user beside permissions: forms and addresses, each answered once.

Joins the user's policy, whoever can be asked, and the transcript; knows no protocol. Whatever ends first
settles it: an answer, the function's word, a cancel, the end of the turn that it was asked in, the agent's
death, the session's end, the agent's own taking back. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core import events as ev
from ..core.elicitation import (
    NOBODY,
    Action,
    ElicitationFunction,
    ElicitationPolicy,
    ElicitationRequest,
    Outcome,
    fillable,
    outcome_of,
    problem_of,
)
from ..core.forms import checked, kept
from ..core.records import Json
from ..core.requests import CreateElicitation
from .permissions.questions import call_function

if TYPE_CHECKING:
    from .conversation import Conversation
    from .turn_queue import TurnRun

OUTCOMES = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}


class _Open:
    """One that is not settled yet; `run`: the turn that it was asked in."""

    def __init__(self, id: str, asked: CreateElicitation, run: TurnRun | None) -> None:
        self.id = id
        self.asked = asked
        self.run = run
        self.answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.told = False
        """The transcript knows its outcome."""


class Elicitations:
    """Asks the user what the agent of one session elicits, and answers the agent."""

    def __init__(self, conversation: Conversation, policy: ElicitationPolicy) -> None:
        self.policy = policy
        self._conversation = conversation
        self._count = 0
        self._open: dict[str, _Open] = {}
        self._addresses: dict[str, str] = {}
        """Our ids of those with an address, by the agent's."""

    # ---- the agent asks -----------------------------------------------------------------------

    async def asked(self, asked: CreateElicitation) -> Outcome:
        self._count += 1
        one = _Open(f"e{self._count}", asked, self._conversation.running)
        if asked.elicitation_id is not None:
            self._addresses[asked.elicitation_id] = one.id
        self._tell(one)
        self._open[one.id] = one
        try:
            outcome = await self._outcome(one)
        except asyncio.CancelledError:
            self._settle(one, Outcome("cancel", "agent", "the agent took the question back"))
            raise
        except Exception as error:  # of a mapping of the user's, say: it must not stay open
            outcome = Outcome("decline", "client", f"the answer could not be used: {error!r:.200}")
        finally:
            del self._open[one.id]
        self._hide_secrets(asked.request, outcome)
        self._settle(one, outcome)
        return outcome

    def _tell(self, one: _Open) -> None:
        request, asked = one.asked.request, one.asked
        self._note("request", one, detail={"mode": request.mode})
        self._conversation.apply(
            ev.ElicitationOpened(
                one.id,
                request.mode,
                request.message,
                request.fields,
                request.url,
                request.host,
                request.title,
                request.description,
                asked.tool_id,
                asked.problem or fillable(request),
                asked.raw if asked.problem is None else None,  # what is too big to show is too big to keep
            )
        )

    async def _outcome(self, one: _Open) -> Outcome:
        request, run = one.asked.request, one.run
        problem = one.asked.problem or problem_of(request)
        if problem is not None:
            return Outcome("decline", "client", problem)
        if run is not None and run.cancelling:
            return Outcome("cancel", "client", "the turn was cancelled")
        if self.policy == "decline":
            return Outcome("decline", "policy")
        if callable(self.policy):
            policy = asyncio.ensure_future(_by_function(self.policy, request))
            try:
                both: set[asyncio.Future[Any]] = {one.answer, policy}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                decided = one.answer.result() if one.answer.done() else policy.result()
            finally:
                policy.cancel()
            if decided is not None:
                return decided
        replay = self._conversation.host.launch.replay
        if replay is None:
            return await self._by_user(one)
        recorded, waits = replay.responders.filled_in(self._conversation.id, one.id, one.asked)
        return recorded or await self._by_user(one, waits)

    async def _by_user(self, one: _Open, waits: bool = False) -> Outcome:
        """`waits`: also where nobody can be asked, because it is known that something will settle it."""
        questions = self._conversation.permissions.questions
        if not questions.can_ask and not waits:
            return Outcome("decline", "policy", NOBODY)
        done, _ = await asyncio.wait({one.answer}, timeout=questions.timeout)
        if done:
            return one.answer.result()
        return Outcome("decline", "policy", f"nobody answered within {questions.timeout:g} s")

    # ---- answers ------------------------------------------------------------------------------

    def answer(self, id: str, action: Action, values: Mapping[str, Any]) -> dict[str, str]:
        """A person's answer. The first one wins; a later one is harmless. What does not fit, by field."""
        one = self._open.get(id)
        if one is None or one.answer.done():
            return {}
        if action != "accept":
            one.answer.set_result(Outcome(action, "user"))
            return {}
        request = one.asked.request
        problem = fillable(request)
        if problem is not None:
            return {"": problem}
        if request.mode == "url":
            one.answer.set_result(Outcome("accept", "user"))
            return {}
        found, wrong = checked(request.fields, values)
        if not wrong:
            one.answer.set_result(Outcome("accept", "user", content=found))
        return wrong

    def completed(self, elicitation_id: str) -> None:
        """The agent tells that what the address was opened for is done; also if nobody clicked it here."""
        id = self._addresses.get(elicitation_id)
        if id is None:
            return
        self._conversation.apply(ev.ElicitationCompleted(id))
        one = self._open.get(id)
        if one is not None and not one.answer.done():
            one.answer.set_result(Outcome("accept", "agent", "the agent says that it is done"))

    def settle(self, reason: str, run: TurnRun | None = None) -> None:
        """Cancel those of this turn, or all; told at once: a turn that is over has no open question."""
        for one in [*self._open.values()]:
            if (run is None or one.run is run) and not one.answer.done():
                outcome = Outcome("cancel", "client", reason)
                one.answer.set_result(outcome)
                self._settle(one, outcome)

    def _settle(self, one: _Open, outcome: Outcome) -> None:
        if one.told:
            return
        one.told = True
        fields = one.asked.request.fields
        values = None if outcome.content is None else kept(fields, outcome.content)
        self._conversation.apply(
            ev.ElicitationSettled(one.id, outcome.action, outcome.by, outcome.reason, values)
        )
        self._note("decision", one, outcome, {"fields": [*values]} if values else {})

    def _note(
        self, what: str, one: _Open, outcome: Outcome | None = None, detail: Mapping[str, Json] | None = None
    ) -> None:
        """What was filled in is not for the audit: only which fields."""
        request = one.asked.request
        self._conversation.auditor.note(
            what,
            "elicitation",
            request.url or request.message,
            by="agent" if outcome is None else outcome.by,
            outcome="" if outcome is None else OUTCOMES[outcome.action],
            reason=None if outcome is None else outcome.reason,
            **(detail or {}),
        )

    def _hide_secrets(self, request: ElicitationRequest, outcome: Outcome) -> None:
        secret = [field.name for field in request.fields if field.secret]
        values = [str(value) for name, value in (outcome.content or {}).items() if name in secret]
        self._conversation.host.launch.redactor.learn(values)


async def _by_function(function: ElicitationFunction, request: ElicitationRequest) -> Outcome | None:
    """None: it says to ask."""
    said, reason = await call_function(function, request, "elicitation function", "decline")
    if reason is not None:
        return Outcome("decline", "policy", reason)
    return None if isinstance(said, str) and said == "ask" else outcome_of(said, request)


async def without_session(policy: ElicitationPolicy, asked: CreateElicitation) -> Outcome:
    """Before there is any session, nothing is shown: only a function of the user's can answer."""
    problem = asked.problem or problem_of(asked.request)
    if problem is not None or not callable(policy):
        return Outcome("decline", "client", problem or NOBODY)
    return await _by_function(policy, asked.request) or Outcome("decline", "client", NOBODY)
