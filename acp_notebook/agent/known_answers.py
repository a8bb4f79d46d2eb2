"""Answers that are known in advance, such as those of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ..core.elicitation import Outcome
from ..core.policy import Decision, PermissionRequest
from ..core.requests import CreateElicitation

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class KnownAnswer(Generic[A]):
    """A known answer. None: nobody answered. `waits`: keep the question open, something will settle it."""

    answer: A | None
    waits: bool = False


class KnownAnswers(Protocol):
    """Answers questions instead of the user."""

    def is_allowed(self, session: str, tool: str) -> bool:
        """Whether an action of this tool call is allowed without a question."""

    def permission(self, session: str, request: PermissionRequest) -> KnownAnswer[Decision] | None:
        """The known answer, or None if grants, rules and the user decide."""

    def elicitation(self, session: str, id: str, asked: CreateElicitation) -> KnownAnswer[Outcome]: ...


class NoAnswers:
    """Knows no answers in advance."""

    def is_allowed(self, session: str, tool: str) -> bool:
        return False

    def permission(self, session: str, request: PermissionRequest) -> KnownAnswer[Decision] | None:
        return None

    def elicitation(self, session: str, id: str, asked: CreateElicitation) -> KnownAnswer[Outcome]:
        return KnownAnswer(None)
