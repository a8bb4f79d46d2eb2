"""Elicitations: forms and URLs that an agent asks the user for. Each one is answered once.

The first of these settles an elicitation: the user's answer, the policy function, a cancel, the end of its
turn, the end of the agent or the session, or the agent withdrawing it. Knows no protocol. Runs on the loop
thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

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
from ..core.forms import Field, checked, kept
from ..core.records import Json
from ..core.requests import CreateElicitation
from ..log import logger
from .known_answers import KnownAnswers, NoAnswers
from .permissions.questions import call_function
from .session_state import SessionState
from .turn_queue import TurnRun

_log = logger(__name__)

OUTCOMES = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}


class _Open:
    """An elicitation that is not settled yet. `run`: the turn that it belongs to."""

    def __init__(self, id: str, asked: CreateElicitation, run: TurnRun | None) -> None:
        self.id = id
        self.asked = asked
        self.run = run
        self.answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.applied = False
        """Whether the transcript contains the outcome."""


class Elicitations:
    """Shows the elicitations of one session to the user and returns the answers to the agent."""

    def __init__(
        self,
        state: SessionState,
        policy: ElicitationPolicy,
        known: KnownAnswers | None = None,
    ) -> None:
        self.policy = policy
        self._state = state
        self._auditor = state.auditor
        self._known = known or NoAnswers()
        self._count = 0
        self._open: dict[str, _Open] = {}
        self._addresses: dict[str, str] = {}
        """The agent's ids of URL elicitations mapped to ours."""

    # ---- requests of the agent ----------------------------------------------------------------

    async def handle_request(self, asked: CreateElicitation) -> Outcome:
        """Open an elicitation and wait for its outcome."""
        self._count += 1
        one = _Open(f"e{self._count}", asked, self._state.running)
        if asked.elicitation_id is not None:
            self._addresses[asked.elicitation_id] = one.id
        self._show(one)
        self._open[one.id] = one
        try:
            outcome = await self._outcome(one)
        except asyncio.CancelledError:
            self._settle(one, Outcome("cancel", "agent", "the agent withdrew the request"))
            raise
        except Exception as error:  # for example from the user's mapping: the form must not stay open
            _log.debug("the answer to an elicitation could not be used", exc_info=True)
            outcome = Outcome("decline", "client", f"the answer could not be used: {error!r:.200}")
        finally:
            del self._open[one.id]
        self._hide_secrets(asked.request, outcome)
        self._settle(one, outcome)
        return outcome

    def _show(self, one: _Open) -> None:
        request, asked = one.asked.request, one.asked
        self._note("request", one, detail={"mode": request.mode})
        self._state.apply(
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
                asked.raw if asked.problem is None else None,  # too big to show is too big to keep
                asked.meta,
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
        known = self._known.elicitation(self._state.id, one.id, one.asked)
        return known.answer or await self._by_user(one, known.waits)

    async def _by_user(self, one: _Open, waits: bool) -> Outcome:
        """Wait for the user. `waits`: wait even if nobody can answer, because something will settle it."""
        audience = self._state.audience
        if not audience.can_answer and not waits:
            return Outcome("decline", "policy", NOBODY)
        done, _ = await asyncio.wait({one.answer}, timeout=audience.timeout)
        if done:
            return one.answer.result()
        return Outcome("decline", "policy", f"nobody answered within {audience.timeout:g} s")

    # ---- answers ------------------------------------------------------------------------------

    def answer(
        self, id: str, action: Action, values: Mapping[str, Any], person: str | None = None
    ) -> dict[str, str]:
        """Take the user's answer; return problems by field. Only the first valid answer counts."""
        one = self._open.get(id)
        if one is None or one.answer.done():
            return {}
        if action != "accept":
            one.answer.set_result(Outcome(action, "user", person=person))
            return {}
        request = one.asked.request
        problem = fillable(request)
        if problem is not None:
            return {"": problem}
        if request.mode == "url":
            one.answer.set_result(Outcome("accept", "user", person=person))
            return {}
        found, wrong = checked(request.fields, values)
        if not wrong:
            one.answer.set_result(Outcome("accept", "user", content=found, person=person))
        return wrong

    def completed(self, elicitation_id: str) -> None:
        """Settle a URL elicitation that the agent reports as complete, even if nobody opened the URL."""
        id = self._addresses.get(elicitation_id)
        if id is None:
            return
        self._state.apply(ev.ElicitationCompleted(id))
        one = self._open.get(id)
        if one is not None and not one.answer.done():
            one.answer.set_result(Outcome("accept", "agent", "the agent says that it is done"))

    def settle(self, reason: str, run: TurnRun | None = None) -> None:
        """Cancel the elicitations of this turn, or all, now: an ended turn has no open question."""
        for one in [*self._open.values()]:
            if (run is None or one.run is run) and not one.answer.done():
                outcome = Outcome("cancel", "client", reason)
                one.answer.set_result(outcome)
                self._settle(one, outcome)

    def _settle(self, one: _Open, outcome: Outcome) -> None:
        if one.applied:
            return
        one.applied = True
        fields = one.asked.request.fields
        values = None if outcome.content is None else kept(fields, outcome.content)
        self._state.apply(
            ev.ElicitationSettled(
                one.id, outcome.action, outcome.by, outcome.reason, values, person=outcome.person
            )
        )
        who = {} if outcome.person is None else {"person": outcome.person}
        self._note("decision", one, outcome, {**({"fields": [*values]} if values else {}), **who})

    def _note(
        self, what: str, one: _Open, outcome: Outcome | None = None, detail: Mapping[str, Json] | None = None
    ) -> None:
        """Write an audit entry. It names the filled fields, not their values."""
        request = one.asked.request
        self._auditor.note(
            what,
            "elicitation",
            request.url or request.message,
            by="agent" if outcome is None else outcome.by,
            outcome="" if outcome is None else OUTCOMES[outcome.action],
            reason=None if outcome is None else outcome.reason,
            **(detail or {}),
        )

    def _hide_secrets(self, request: ElicitationRequest, outcome: Outcome) -> None:
        answers = outcome.content or {}
        secret = {field.name: field for field in request.fields if field.secret}
        values = {name: str(value) for name, value in answers.items() if name in secret}
        proposed = {name for name, value in values.items() if _proposes(secret[name], value)}
        redactor = self._state.agent.redactor
        redactor.learn(value for name, value in values.items() if name not in proposed)
        redactor.learn_from_agent(values[name] for name in proposed)


def _proposes(field: Field, value: str) -> bool:
    """Whether the value is the agent's own: then it is no secret of the user's."""
    return value in (str(field.default), *(str(choice.value) for choice in field.choices))


async def _by_function(function: ElicitationFunction, request: ElicitationRequest) -> Outcome | None:
    """The outcome of the user's function, or None if it says to ask."""
    said, reason = await call_function(function, request, "elicitation function", "decline")
    if reason is not None:
        return Outcome("decline", "policy", reason)
    return None if isinstance(said, str) and said == "ask" else outcome_of(said, request)


async def without_session(policy: ElicitationPolicy, asked: CreateElicitation) -> Outcome:
    """Answer an elicitation outside of a session. Nothing can show it, so only a function can answer."""
    problem = asked.problem or problem_of(asked.request)
    if problem is not None or not callable(policy):
        return Outcome("decline", "client", problem or NOBODY)
    return await _by_function(policy, asked.request) or Outcome("decline", "client", NOBODY)
