"""Questions: the user's policy first, then whoever can be asked; the first answer wins.

Knows no protocol. A function of the user's runs on a thread of its own, for a bounded time; what it
raises, and what it forgets to answer, is a reject with that reason.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ...core.answers import REJECT
from ...core.policy import Decision, PermissionRequest, Policy, decide, word_for
from ...core.snapshot import Question
from ..threads import on_a_thread

R = TypeVar("R")

POLICY_S = 60.0
"""How long a policy function of the user's may think: longer than any rule needs, and a turn still ends."""

NOBODY = 'nobody can be asked here; pass permissions="allow", a mapping or a function to decide'


class Questions:
    """The open questions of one session. Lives on the loop thread."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.can_ask = False
        """Whether somebody sees the questions and can answer: no, without a front end."""
        self.timeout: float | None = None
        """How long a person may take, in seconds; None: as long as it takes."""
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
        """The decision; ends at the latest when `settle` or `settle_all` is called.

        What the policy says is `judged` by the rules of files, with whose rule it was. Where that says to
        ask, what was `remembered` answers in the user's place. `waits`: it is left open also where nobody can
        be asked, because it is known that it will be settled.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[id] = answer
        policy = asyncio.ensure_future(self._by_policy(request, judged))
        try:
            both: set[asyncio.Future[Any]] = {answer, policy}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            decision = policy.result() or remembered()
            return decision if decision is not None else await self._by_user(answer, request, waits)
        finally:
            policy.cancel()
            del self._open[id]

    def settle(self, question: Question, said: str, *, by: str) -> bool:
        """An answer from a person; False if the question was settled before, or has no such answer."""
        answer = self._open.get(question.id)
        if answer is None or answer.done():
            return False
        if all(it.id != said for it in question.answers):
            return False
        offer = next((offer for offer in question.offers if offer.id == said), None)
        word = "allow" if offer else "reject" if said == REJECT else said
        decision = decide(word, question.options, by=by)
        answer.set_result(decision if offer is None else replace(decision, offer=offer.id))
        return True

    def settle_all(self, reason: str) -> list[str]:
        """Every open question is answered "cancelled"; their ids."""
        settled = [id for id, answer in self._open.items() if not answer.done()]
        for id in settled:
            self._open[id].set_result(Decision(None, "client", reason))
        return settled

    async def _by_policy(
        self, request: PermissionRequest, judged: Callable[[Any], tuple[Any, str | None]]
    ) -> Decision | None:
        """None: the policy says to ask."""
        if callable(self.policy):
            said, reason = await call_function(self.policy, request, "policy function", "reject")
        else:
            said, reason = word_for(self.policy, request), None
        said, rule = judged(said)
        reason = rule or reason
        if isinstance(said, str) and said == "ask":
            return None
        return decide(said, request.options, by="policy", reason=reason)

    async def _by_user(
        self, answer: asyncio.Future[Decision], request: PermissionRequest, waits: bool
    ) -> Decision:
        if not self.can_ask and not waits:
            return decide("reject", request.options, by="policy", reason=NOBODY)
        done, _ = await asyncio.wait({answer}, timeout=self.timeout)
        if done:
            return answer.result()
        reason = f"nobody answered within {self.timeout:g} s"
        return decide("reject", request.options, by="policy", reason=reason)


async def call_function(
    function: Callable[[R], Any], request: R, what: str, instead: str
) -> tuple[Any, str | None]:
    """What the user's function says; where it says nothing in time or raises, the word `instead` and why."""
    try:
        async with asyncio.timeout(POLICY_S):
            return await on_a_thread(lambda: _run(function, request, what, instead), "acp-policy")
    except TimeoutError:
        return instead, f"the {what} did not answer within {POLICY_S:g} s"


def _run(function: Callable[[R], Any], request: R, what: str, instead: str) -> tuple[Any, str | None]:
    try:
        said = function(request)
        return (asyncio.run(_awaited(said)) if inspect.isawaitable(said) else said), None
    except BaseException as error:  # also sys.exit(): it would end this thread, and the question stay open
        return instead, f"the {what} raised {error!r}"


async def _awaited(said: Any) -> Any:
    return await said
