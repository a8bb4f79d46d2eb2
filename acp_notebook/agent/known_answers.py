"""Answers that are known in advance, such as those of a recording."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from ..core.elicitation import Outcome
from ..core.policy import Decision, PermissionRequest
from ..core.records import Json
from ..core.requests import CreateElicitation

A = TypeVar("A")


class KnownAnswer(Struct, Generic[A], frozen=True):
    """A known answer. None: nobody answered. `waits`: keep the question open, something will settle it."""

    answer: A | None
    waits: bool = False


class ExtensionAnswer(Struct, frozen=True):
    """The known answer to a request beyond the protocol: a result, or an error (code, message, data)."""

    result: Json = None
    error: tuple[int, str, Json] | None = None


class KnownAnswers(Protocol):
    """Answers questions instead of the user."""

    def is_allowed(self, session: str, tool: str) -> bool:
        """Whether an action of this tool call is allowed without a question."""

    def permission(self, session: str, request: PermissionRequest) -> KnownAnswer[Decision] | None:
        """The known answer, or None if grants, rules and the user decide."""

    def elicitation(self, session: str, id: str, asked: CreateElicitation) -> KnownAnswer[Outcome]: ...

    def extension(self, method: str, params: Json) -> ExtensionAnswer | None:
        """The known answer to a request beyond the protocol that the user has no handler for."""


class NoAnswers:
    """Knows no answers in advance."""

    def is_allowed(self, session: str, tool: str) -> bool:
        return False

    def permission(self, session: str, request: PermissionRequest) -> KnownAnswer[Decision] | None:
        return None

    def elicitation(self, session: str, id: str, asked: CreateElicitation) -> KnownAnswer[Outcome]:
        return KnownAnswer(None)

    def extension(self, method: str, params: Json) -> ExtensionAnswer | None:
        return None
