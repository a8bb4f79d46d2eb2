"""A question ends by the policy, by the first answer, or with its turn."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.audience import Audience
from acp_notebook.agent.permissions.questions import NOBODY, Questions
from acp_notebook.core.answers import answers
from acp_notebook.core.policy import Decision, PermissionRequest
from acp_notebook.core.records import Offer, Option
from acp_notebook.core.snapshot import Question, ToolCall

LIMIT_S = 60.0

OPTIONS = (
    Option("always", "Always", "allow_always"),
    Option("yes", "Yes", "allow_once"),
    Option("no", "No", "reject_once"),
    Option("odd", "Odd", "allow_maybe"),
)


def request(kind: str = "edit", options: tuple[Option, ...] = OPTIONS) -> PermissionRequest:
    return PermissionRequest(ToolCall("k1", None, "t1", "Edit", kind, "pending"), options)


def run(work: Coroutine[Any, Any, Decision]) -> Decision:
    return asyncio.run(asyncio.wait_for(work, LIMIT_S))


def decided(policy: Any, kind: str = "edit", *, can_ask: bool = False) -> Decision:
    audience = Audience()
    audience.can_answer = can_ask
    questions = Questions(policy, audience)
    decision = run(questions.ask("q1", request(kind)))
    assert questions._open == {}
    return decision


def waits_for_ever(_: object) -> str:
    threading.Event().wait(LIMIT_S)
    return "allow"


async def sleeps_for_ever(_: object) -> str:
    await asyncio.sleep(LIMIT_S)
    return "allow"


@pytest.mark.parametrize(
    ("policy", "kind", "option"),
    [
        ("allow", "edit", "yes"),
        ("reject", "edit", "no"),
        ({"edit": "allow"}, "edit", "yes"),
        ({"edit": "reject", "read": "allow"}, "edit", "no"),
    ],
)
def test_words_and_mappings_decide_without_asking(policy: Any, kind: str, option: str) -> None:
    assert decided(policy, kind, can_ask=True) == Decision(option, "policy")


@pytest.mark.parametrize("policy", ["ask", {}, {"read": "allow"}, lambda request: "ask"])
def test_without_anybody_to_ask_the_request_is_rejected_with_a_reason(policy: Any) -> None:
    assert decided(policy) == Decision("no", "policy", NOBODY)


@pytest.mark.parametrize(
    ("said", "option"), [("allow", "yes"), ("reject", "no"), ("always", "always"), ("odd", "odd")]
)
def test_a_function_returns_a_word_or_an_option(said: str, option: str) -> None:
    async def later(request: PermissionRequest) -> str:
        await asyncio.sleep(0)
        return said

    assert decided(lambda request: said) == Decision(option, "policy")
    assert decided(later) == Decision(option, "policy")


def test_a_function_runs_on_its_own_thread() -> None:
    seen: list[Any] = []

    def policy(request: PermissionRequest) -> str:
        seen.extend([request, threading.current_thread()])
        return "allow" if request.kind == "edit" and request.tool.title == "Edit" else "reject"

    assert decided(policy).option == "yes"
    assert seen[0] == request()
    assert seen[1] is not threading.current_thread()
    assert seen[1].daemon


async def raises_later(_: object) -> str:
    raise KeyError("later")


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (lambda request: 1 / 0, "ZeroDivisionError"),
        (lambda request: next(iter(())), "StopIteration"),
        (lambda request: sys.exit(3), "SystemExit"),
        (lambda: "allow", "TypeError"),
        (raises_later, "KeyError"),
    ],
)
def test_a_function_that_raises_rejects_with_the_error(policy: Any, reason: str) -> None:
    decision = decided(policy, can_ask=True)
    assert decision.option == "no"
    assert reason in str(decision.reason)


class Odd:
    """Cannot be compared, like arrays and data frames."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("said", [None, True, 1, [], "", "maybe", Odd()])
def test_an_invalid_result_of_a_function_rejects_and_says_so(said: Any) -> None:
    decision = decided(lambda request: said, can_ask=True)
    assert decision.option == "no"
    assert "rejected" in str(decision.reason)


@pytest.mark.parametrize("policy", [waits_for_ever, sleeps_for_ever])
def test_a_function_that_does_not_return_rejects_after_a_timeout(policy: Any) -> None:
    timeouts.replace(policy=0.02)
    decision = decided(policy, can_ask=True)
    assert decision.option == "no"
    assert "within 0.02 s" in str(decision.reason)


def test_an_allow_without_an_allow_option_rejects() -> None:
    questions = Questions("allow", Audience())
    only_odd = request(options=OPTIONS[3:])
    assert run(questions.ask("q1", only_odd)).option is None
    assert run(questions.ask("q2", request(options=OPTIONS[2:]))).option == "no"


OFFERS = (Offer("acp:session", "All edits", "session"),)


def question_of(id: str) -> Question:
    given = answers(OPTIONS, OFFERS)
    return Question("k2", None, id, "k1", OPTIONS, "open", offers=OFFERS, answers=given)


async def asked(questions: Questions, *ids: str) -> list[asyncio.Task[Decision]]:
    """Open questions that somebody can answer."""
    questions._audience.can_answer = True
    tasks = [asyncio.ensure_future(questions.ask(id, request())) for id in ids]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


def test_the_first_answer_wins() -> None:
    async def main() -> Decision:
        questions = Questions("ask", Audience())
        (question,) = await asked(questions, "q1")
        assert not question.done()
        assert questions.settle(question_of("q1"), "always", by="user")
        assert not questions.settle(question_of("q1"), "no", by="user")
        decision = await question
        assert not questions.settle(question_of("q1"), "no", by="user")
        assert not questions.settle(question_of("q2"), "yes", by="user")
        return decision

    assert run(main()) == Decision("always", "user")


def test_a_user_can_answer_while_the_function_still_runs() -> None:
    async def main() -> Decision:
        questions = Questions(sleeps_for_ever, Audience())
        (question,) = await asked(questions, "q1")
        assert questions.settle(question_of("q1"), "yes", by="user")
        return await question

    assert run(main()) == Decision("yes", "user")


def test_a_function_that_the_user_replaced_meanwhile_does_not_decide() -> None:
    called, go_on = threading.Event(), threading.Event()

    def allows_later(_: object) -> str:
        called.set()
        go_on.wait(LIMIT_S)
        return "allow"

    async def main() -> Decision:
        questions = Questions(allows_later, Audience())
        (question,) = await asked(questions, "q1")
        await asyncio.to_thread(called.wait, LIMIT_S)
        questions.policy = "reject"
        go_on.set()
        return await question

    assert run(main()) == Decision("no", "policy")


def test_all_open_questions_are_settled_at_once() -> None:
    async def main() -> Decision:
        questions = Questions("ask", Audience())
        first, second, third = await asked(questions, "q1", "q2", "q3")
        questions.settle(question_of("q1"), "yes", by="user")
        questions.settle_all("the turn is over")
        questions.settle_all("once more")
        assert (await first).option == "yes"
        assert await second == Decision(None, "client", "the turn is over")
        return await third

    assert run(main()) == Decision(None, "client", "the turn is over")


def test_a_withdrawn_question_leaves_nothing_open() -> None:
    async def main() -> Decision:
        questions = Questions("ask", Audience())
        (question,) = await asked(questions, "q1")
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        assert questions._open == {}
        return Decision(None, "nobody")

    run(main())


def test_an_accepted_offer_is_an_allow_to_be_remembered() -> None:
    async def main() -> Decision:
        questions = Questions("ask", Audience())
        (question,) = await asked(questions, "q1")
        assert not questions.settle(question_of("q1"), "acp:always", by="user"), "nobody offered that"
        assert questions.settle(question_of("q1"), "acp:session", by="user")
        return await question

    assert run(main()) == Decision("yes", "user", offer="acp:session")


def test_grants_answer_only_if_the_policy_says_ask() -> None:
    before = Decision("yes", "grant")

    async def main(policy: Any) -> Decision:
        return await Questions(policy, Audience()).ask("q1", request(), lambda: before)

    assert run(main("ask")) == before
    assert run(main({"execute": "allow"})) == before
    assert run(main("reject")) == Decision("no", "policy")


def test_an_unanswered_question_rejects_after_a_timeout() -> None:
    async def main() -> Decision:
        audience = Audience(timeout=0.01)
        audience.can_answer = True
        questions = Questions("ask", audience)
        return await questions.ask("q1", request())

    assert run(main()) == Decision("no", "policy", "nobody answered within 0.01 s")


def test_the_agents_ids_do_not_change_what_an_answer_means() -> None:
    """The agent calls its "Reject" by our own word for an allow."""
    options = (Option("allow", "Reject", "reject_once"), Option("x", "Allow", "allow_once"))

    async def main() -> Decision:
        audience = Audience()
        audience.can_answer = True
        questions = Questions("ask", audience)
        asking = asyncio.ensure_future(questions.ask("q1", request(options=options)))
        while not questions._open:
            await asyncio.sleep(0)
        question = Question("k2", None, "q1", "t1", options, "open", answers=answers(options, ()))
        assert questions.settle(question, "allow", by="user")
        return await asking

    decision = run(main())
    assert decision.option == "allow" and not decision.allows(options)
