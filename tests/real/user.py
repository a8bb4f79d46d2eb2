"""A simulated user who answers every question at once, or leaves it open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import acp_notebook as acp
from acp_notebook.core.snapshot import Question, ToolCall

Choose = Callable[[Question], str | None]
"""Chooses the id of an option or an offer; None leaves the question open."""


def option(kind: str) -> Choose:
    """Choose the first option of this kind."""
    return lambda question: next(it.id for it in question.options if it.kind == kind)


def offer(scope: str) -> Choose:
    """Choose our own offer with this scope."""
    return lambda question: next(it.id for it in question.offers if it.scope == scope)


allow, reject, always = option("allow_once"), option("reject_once"), option("allow_always")


class User:
    """The user of one session, until `leave`: from then on nobody can be asked."""

    def __init__(self, session: acp.Session, choose: Choose = lambda _: None) -> None:
        self.choose = choose
        self._session = session
        self._permissions = session._conversation.permissions
        self._audience = session._conversation.state.audience
        self._audience.can_answer = True
        session._conversation.state.listeners = (*session._conversation.state.listeners, self._hear)

    def leave(self) -> None:
        self.choose = lambda _: None
        self._audience.can_answer = False

    def _hear(self, event: Any, _: Any) -> None:
        if isinstance(event, acp.events.QuestionAsked):
            question = next(it for it in questions(self._session) if it.id == event.id)
            said = self.choose(question)
            if said is not None:
                self._session._loop.post(self._permissions.answer, question, said)


def questions(session: acp.Session) -> list[Question]:
    return [item for item in session.transcript.items if isinstance(item, Question)]


def unprompted(session: acp.Session) -> list[bool]:
    """For each question, whether it is ours because the agent did not ask."""
    calls = {it.key: it for it in session.transcript.items if isinstance(it, ToolCall)}
    return [calls[str(question.tool)].unprompted for question in questions(session)]
