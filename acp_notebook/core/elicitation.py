"""Elicitations: what an agent asks the user for, who answers, and the answer.

Pure. The user fills in a form (`forms`) or opens an address; any other mode is declined.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from .forms import Field, checked, unanswerable
from .patterns import pattern
from .records import Json

Action = Literal["accept", "decline", "cancel"]
ACTIONS = ("accept", "decline", "cancel")
WORDS = ("ask", "decline")

_WEB = pattern(r"https?://[^\s\x00-\x20\x7f-\x9f<>\"'`\\\u2028-\u202e\u2066-\u2069]+", re.IGNORECASE)
"""Excludes characters that could end or hide a part of the address, like `export.links`."""

NOBODY = "nobody can be asked here; pass elicitation=, a function, to connect() to answer"


class ElicitationRequest(Struct, frozen=True):
    """What the agent asks for: a form of `fields` to fill in, or an address (`url`) to open.

    A function passed as `elicitation=` returns a mapping from field names to values (empty for an address),
    or "decline", "cancel" or "ask".
    """

    message: str
    mode: str
    """"form" or "url"."""
    fields: tuple[Field, ...] = ()
    url: str | None = None
    title: str | None = None
    description: str | None = None

    @property
    def host(self) -> str | None:
        """The host of the address, in ASCII: other alphabets have look-alikes."""
        return host_of(self.url) if self.url is not None else None


ElicitationFunction = Callable[[ElicitationRequest], Any | Awaitable[Any]]
ElicitationPolicy = Literal["ask", "decline"] | ElicitationFunction


class Outcome(Struct, frozen=True):
    """The answer to an elicitation, who gave it, and why."""

    action: Action
    by: str
    reason: str | None = None
    content: Mapping[str, Json] | None = None
    person: str | None = None
    """Which of several users, as the page claims."""


def checked_policy(policy: Any) -> ElicitationPolicy:
    """Return the policy if it is valid; raises ValueError that says what is."""
    if callable(policy) or (isinstance(policy, str) and policy in WORDS):
        result: ElicitationPolicy = policy
        return result
    raise ValueError(f'elicitation is {policy!r}; it may be "ask", "decline" or a function of the request')


def host_of(url: str) -> str | None:
    """The host of a web address; None if the address must not be opened."""
    if _WEB.fullmatch(url) is None:
        return None
    try:
        parts = urlsplit(url)
        if not parts.hostname:
            return None
        host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
        return host if parts.port is None else f"{host}:{parts.port}"
    except (ValueError, UnicodeError):
        return None


def problem_of(request: ElicitationRequest) -> str | None:
    """Why the request is declined without asking anybody, or None."""
    if request.mode == "form":
        return None
    if request.mode != "url":
        return f"this client does not know the mode {request.mode!r}"
    if request.host is None:
        return "only addresses that begin with http:// or https:// are opened"
    return None


def outcome_of(said: Any, request: ElicitationRequest) -> Outcome:
    """Convert the result of a user's function to an answer; an invalid result declines, and says why."""
    if isinstance(said, str) and said in ("decline", "cancel"):
        return Outcome("cancel" if said == "cancel" else "decline", "policy")
    if request.mode == "url" and (said is True or said == "accept"):
        said = {}
    if not isinstance(said, Mapping):
        what = 'the elicitation function must return a mapping, "decline", "cancel" or "ask"'
        return Outcome("decline", "policy", f"{what}; it returned {said!r:.200}")
    if request.mode == "url":
        return Outcome("accept", "policy")
    values, wrong = checked(request.fields, said)
    if wrong:
        reasons = "; ".join(f"{name}: {why}" for name, why in wrong.items())
        return Outcome("decline", "policy", f"the elicitation function's answer does not fit: {reasons}")
    return Outcome("accept", "policy", content=values)


def fillable(request: ElicitationRequest) -> str | None:
    """Why the user can only decline; None if it can be answered."""
    return problem_of(request) or unanswerable(request.fields)
