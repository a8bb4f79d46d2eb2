"""Open questions: the user's policy answers first, then the user; the first answer wins.

A policy function runs on its own thread for a bounded time; if it raises or does not answer, the question is
rejected with that reason. Knows no protocol.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from ... import timeouts
from ...core.answers import REJECT
from ...core.policy import Decision, PermissionRequest, Policy, decide, word_for
from ...core.snapshot import Question
from ..audience import Audience
from ..threads import on_a_thread

R = TypeVar("R")

NOBODY = 'nobody can be asked here; pass permissions="allow", a mapping or a function to decide'


class Questions:
    """Keeps the open questions of one session and waits for their answers. Runs on the loop thread."""

    def __init__(self, policy: Policy, audience: Audience) -> None:
        self.policy = policy
        self._audience = audience
        self._open: dict[str, asyncio.Future[Decision]] = {}

    async def ask(
        self,
        id: str,
        request: PermissionRequest,
        remembered: Callable[[], Decision | None] = lambda: None,
        judged: Callable[[Any], tuple[Any, str | None]] = lambda said: (said, None),
        *,
        waits: bool = False,
    ) -> Decision:
        """Return the decision; at the latest when `settle` or `settle_all` is called.

        `judged` applies the rules of settings files to the policy's answer and returns the rule that changed
        it. If the result is "ask", `remembered` may answer for the user. `waits`: keep the question open even
        if nobody can answer, because something will settle it.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[id] = answer
        try:
            decision = await self._unless_answered(answer, request, judged)
            if answer.done():
                return answer.result()
            decision = decision or remembered()
            return decision if decision is not None else await self._by_user(answer, request, waits)
        finally:
            del self._open[id]

    async def _unless_answered(
        self,
        answer: asyncio.Future[Decision],
        request: PermissionRequest,
        judged: Callable[[Any], tuple[Any, str | None]],
    ) -> Decision | None:
        """The decision of the policy that is in force when it has decided; None if it says to ask."""
        while True:
            asked = self.policy
            policy = asyncio.ensure_future(self._by_policy(asked, request, judged))
            try:
                both: set[asyncio.Future[Any]] = {answer, policy}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                policy.cancel()
            if answer.done():
                return None
            if self.policy is asked:
                return policy.result()

    def settle(self, question: Question, said: str, *, by: str, person: str | None = None) -> bool:
        """Answer a question. Return False if it is already settled or has no such answer."""
        answer = self._open.get(question.id)
        if answer is None or answer.done():
            return False
        if all(it.id != said for it in question.answers):
            return False
        offer = next((offer for offer in question.offers if offer.id == said), None)
        if offer is not None:
            decision = replace(decide("allow", question.options, by=by), offer=offer.id)
        elif said == REJECT:
            decision = decide("reject", question.options, by=by)
        else:  # not by `decide`: an agent may call an option "allow" that does not allow
            decision = Decision(said, by)
        answer.set_result(replace(decision, person=person))
        return True

    def settle_all(self, reason: str) -> list[str]:
        """Cancel every open question and return their ids."""
        settled = [id for id, answer in self._open.items() if not answer.done()]
        for id in settled:
            self._open[id].set_result(Decision(None, "client", reason))
        return settled

    async def _by_policy(
        self,
        policy: Policy,
        request: PermissionRequest,
        judged: Callable[[Any], tuple[Any, str | None]],
    ) -> Decision | None:
        """The policy's decision, or None if it says to ask."""
        if callable(policy):
            said, reason = await call_function(policy, request, "policy function", "reject")
        else:
            said, reason = word_for(policy, request), None
        said, rule = judged(said)
        reason = rule or reason
        if isinstance(said, str) and said == "ask":
            return None
        return decide(said, request.options, by="policy", reason=reason)

    async def _by_user(
        self, answer: asyncio.Future[Decision], request: PermissionRequest, waits: bool
    ) -> Decision:
        if not self._audience.can_answer and not waits:
            return decide("reject", request.options, by="policy", reason=NOBODY)
        done, _ = await asyncio.wait({answer}, timeout=self._audience.timeout)
        if done:
            return answer.result()
        reason = f"nobody answered within {self._audience.timeout:g} s"
        return decide("reject", request.options, by="policy", reason=reason)


async def call_function(
    function: Callable[[R], Any], request: R, what: str, instead: str
) -> tuple[Any, str | None]:
    """Call the user's function on a thread; return its answer and None.

    If it raises or exceeds its time limit, return `instead` and the reason.
    """
    try:
        async with asyncio.timeout(timeouts.get().policy):
            return await on_a_thread(lambda: _run(function, request, what, instead), "acp-policy")
    except TimeoutError:
        return instead, f"the {what} did not answer within {timeouts.get().policy:g} s"


def _run(function: Callable[[R], Any], request: R, what: str, instead: str) -> tuple[Any, str | None]:
    try:
        said = function(request)
        return (asyncio.run(_await(said)) if inspect.isawaitable(said) else said), None
    except BaseException as error:  # also SystemExit: it would end this thread and leave the question open
        return instead, f"the {what} raised {error!r}"


async def _await(said: Any) -> Any:
    return await said
