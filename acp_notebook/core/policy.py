"""Permission: from the user's policy and the agent's options to one answer.

Pure: it asks nobody and remembers nothing. "allow" takes an allow_once option, else allow_always;
"reject" takes reject_once, else reject_always, else answers cancelled. An option of a kind that we do
not know is never taken for either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .records import Option
from .snapshot import ToolCall

Word = Literal["ask", "allow", "reject"]
WORDS = ("ask", "allow", "reject")
TOOL_KINDS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"),
)
ALLOWING = ("allow_once", "allow_always")


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """What a policy of the user's is asked: the tool call, and the options the agent offers."""

    tool: ToolCall
    options: tuple[Option, ...]

    @property
    def kind(self) -> str:
        return self.tool.kind


PolicyFunction = Callable[[PermissionRequest], str | Awaitable[str]]
Policy = Word | Mapping[str, Word] | PolicyFunction


@dataclass(frozen=True, slots=True)
class Decision:
    """`option` is the id to answer with; None answers "cancelled"."""

    option: str | None
    by: str
    reason: str | None = None
    offer: str | None = None
    """The offer that was taken up: to be remembered beyond this question."""

    def allows(self, options: tuple[Option, ...]) -> bool:
        """Whether the chosen option is one that allows it; one of an unknown kind is not."""
        return any(it.id == self.option and it.kind in ALLOWING for it in options)


def checked(policy: Any) -> Policy:
    """The policy, if it is one; raises ValueError with what it may be."""
    if callable(policy) or (isinstance(policy, str) and policy in WORDS):
        result: Policy = policy
        return result
    if isinstance(policy, Mapping):
        for kind, word in policy.items():
            if kind not in TOOL_KINDS:
                raise ValueError(_no_kind(kind))
            if word not in WORDS:
                raise ValueError(
                    f'permissions[{kind!r}] is {word!r}; a tool kind maps to "ask", "allow" or "reject"'
                )
        return policy
    raise ValueError(
        f'permissions is {policy!r}; it may be "ask", "allow", "reject", a mapping from tool kind to one '
        "of these, or a function of the request"
    )


def _no_kind(kind: Any) -> str:
    """A name that no call ever has would do nothing, and look as if it did."""
    meant = (
        "what is left out is asked about"
        if kind == "*"
        else "rules for commands and folders are [[permissions.rules]] of your config.toml"
    )
    return f"permissions[{kind!r}] is no kind of tool: these are {', '.join(TOOL_KINDS)}; {meant}"


def word_for(policy: Word | Mapping[str, Word], request: PermissionRequest) -> Word:
    """What a policy without a function says; a kind that a mapping leaves out is asked."""
    return policy if isinstance(policy, str) else policy.get(request.kind, "ask")


def decide(said: Any, options: tuple[Option, ...], *, by: str, reason: str | None = None) -> Decision:
    """ "allow", "reject" or an option's id, made into an answer; anything else is a reject that says so."""
    if not isinstance(said, str):  # its == may be anything: of an array, say
        return Decision(_reject(options), by, f"the policy answered {said!r}, which is no text: rejected")
    if said == "allow":
        option = _first(options, "allow_once", "allow_always")
        if option is not None:
            return Decision(option, by, reason)
        return Decision(_reject(options), by, "the agent offers no option to allow it")
    if said == "reject":
        return Decision(_reject(options), by, reason)
    if any(option.id == said for option in options):
        return Decision(said, by, reason)
    return Decision(_reject(options), by, f"the policy answered {said!r}, which is no option: rejected")


def _reject(options: tuple[Option, ...]) -> str | None:
    return _first(options, "reject_once", "reject_always")


def _first(options: tuple[Option, ...], *kinds: str) -> str | None:
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option.id
    return None
