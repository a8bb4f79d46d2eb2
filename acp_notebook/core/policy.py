"""Policies: turn the user's policy and the agent's options into one answer.

Pure: asks nobody and remembers nothing. "allow" selects an allow_once option, else allow_always;
"reject" selects reject_once, else reject_always, else answers cancelled. An option of an unknown kind
is never selected for either.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from .actions import RUNS, Action, CallFunction, Command, McpCall, NotebookWrite, Write, real_paths
from .records import Option
from .snapshot import ToolCall

Word = Literal["ask", "allow", "reject"]
WORDS = ("ask", "allow", "reject")
TOOL_KINDS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"),
)
ALLOWING = ("allow_once", "allow_always")


class PermissionRequest(Struct, frozen=True):
    """What a policy decides about: the tool call, the agent's options, and the actions that it describes."""

    tool: ToolCall
    options: tuple[Option, ...]
    actions: tuple[Action, ...] = ()

    @property
    def kind(self) -> str:
        """The kind that the agent declares."""
        return self.tool.kind

    @property
    def kinds(self) -> tuple[str, ...]:
        """The declared kind, and the kinds of the described actions."""
        return tuple(dict.fromkeys((self.kind, *filter(None, (it.kind for it in self.actions)))))

    @property
    def command(self) -> str | None:
        """The shell line that would run."""
        return None if self._command is None else self._command.line

    @property
    def cwd(self) -> str | None:
        """The real path of the folder that the command would run in."""
        return None if self._command is None else self._command.cwd

    @property
    def env(self) -> dict[str, str]:
        """The environment variables that the command would get, without harmless ones such as NO_COLOR."""
        return {} if self._command is None else dict(self._command.env)

    @property
    def paths(self) -> tuple[str, ...]:
        """The real paths of the files that the actions name."""
        files = (it for it in self.actions if not isinstance(it, Command))
        return tuple(dict.fromkeys(path for it in files for path in real_paths(it)))

    @property
    def content(self) -> str | None:
        """The text that would be written; for a notebook, its cells as a script."""
        writes = [it for it in self.actions if isinstance(it, Write | NotebookWrite)]
        return writes[0].new_text if len(writes) == 1 else None

    @property
    def code(self) -> str | None:
        """The code that would run in the kernel; for cells, their sources."""
        return next((it.text for it in self.actions if isinstance(it, RUNS)), None)

    @property
    def function(self) -> str | None:
        """The name of your function that would be called."""
        return None if self._call is None else self._call.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of that function, as JSON values."""
        return {} if self._call is None else {name: json.loads(it) for name, it in self._call.arguments}

    @property
    def _call(self) -> CallFunction | None:
        return next((it for it in self.actions if isinstance(it, CallFunction)), None)

    @property
    def mcp(self) -> McpCall | None:
        """The MCP tool that would be called: `.server`, `.tool`; `.sure`: not just inferred from a title."""
        return next((it for it in self.actions if isinstance(it, McpCall)), None)

    @property
    def _command(self) -> Command | None:
        return next((it for it in self.actions if isinstance(it, Command)), None)


PolicyFunction = Callable[[PermissionRequest], str | Awaitable[str]]
Policy = Word | Mapping[str, Word] | PolicyFunction


class Decision(Struct, frozen=True):
    """An answer to a permission request. `option` is the option's id; None answers "cancelled"."""

    option: str | None
    by: str
    reason: str | None = None
    offer: str | None = None
    """The accepted offer, to be remembered beyond this question."""
    person: str | None = None
    """Which of several users, as the page claims: to be shown, never to decide by."""

    def allows(self, options: tuple[Option, ...]) -> bool:
        """Whether the chosen option allows the call; an option of an unknown kind does not."""
        return any(it.id == self.option and it.kind in ALLOWING for it in options)


def checked(policy: Any) -> Policy:
    """Return the policy if it is valid; raises ValueError that says what is."""
    if callable(policy) or (isinstance(policy, str) and policy in WORDS):
        result: Policy = policy
        return result
    if isinstance(policy, Mapping):
        for kind, word in policy.items():
            if kind not in TOOL_KINDS:
                raise ValueError(_unknown_kind(kind))
            if word not in WORDS:
                raise ValueError(
                    f'permissions[{kind!r}] is {word!r}; a tool kind maps to "ask", "allow" or "reject"'
                )
        return policy
    raise ValueError(
        f'permissions is {policy!r}; it may be "ask", "allow", "reject", a mapping from tool kind to one '
        "of these, or a function of the request"
    )


def _unknown_kind(kind: Any) -> str:
    """The message for a kind that no call ever has: accepted, it would silently do nothing."""
    meant = (
        "what is left out is asked about"
        if kind == "*"
        else "rules for commands and folders are [[permissions.rules]] of your config.toml"
    )
    return f"permissions[{kind!r}] is not a tool kind; the kinds are {', '.join(TOOL_KINDS)}; {meant}"


STRICTNESS: tuple[Word, ...] = ("allow", "ask", "reject")


def strictest(*words: Word) -> Word:
    return max(words, key=STRICTNESS.index)


def word_for(policy: Word | Mapping[str, Word], request: PermissionRequest) -> Word:
    """The answer of a policy that is not a function; "ask" for a kind that a mapping leaves out.

    A mapping judges the declared kind and the actual ones, so an agent cannot evade it with a false name.
    """
    if isinstance(policy, str):
        return policy
    return strictest(*(policy.get(kind, "ask") for kind in request.kinds))


def decide(said: Any, options: tuple[Option, ...], *, by: str, reason: str | None = None) -> Decision:
    """Turn "allow", "reject" or an option's id into an answer; anything else rejects, and says why."""
    if not isinstance(said, str):  # `==` may not return a bool, for example for an array
        return Decision(_reject(options), by, f"the policy answered {said!r}, which is not a text: rejected")
    if said == "allow":
        option = _first(options, "allow_once", "allow_always")
        if option is not None:
            return Decision(option, by, reason)
        return Decision(_reject(options), by, "the agent offers no option to allow it")
    if said == "reject":
        return Decision(_reject(options), by, reason)
    if any(option.id == said for option in options):
        return Decision(said, by, reason)
    return Decision(_reject(options), by, f"the policy answered {said!r}, which is not an option: rejected")


def _reject(options: tuple[Option, ...]) -> str | None:
    return _first(options, "reject_once", "reject_always")


def _first(options: tuple[Option, ...], *kinds: str) -> str | None:
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option.id
    return None
