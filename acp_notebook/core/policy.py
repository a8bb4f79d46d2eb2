"""Permission: from the user's policy and the agent's options to one answer.

Pure: it asks nobody and remembers nothing. "allow" takes an allow_once option, else allow_always;
"reject" takes reject_once, else reject_always, else answers cancelled. An option of a kind that we do
not know is never taken for either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .actions import Action, Command, McpCall, NotebookWrite, Write, real_paths
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
        """The declared kind, and the kinds of what is really described."""
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
        """The real paths of the files that are named."""
        files = (it for it in self.actions if not isinstance(it, Command))
        return tuple(dict.fromkeys(path for it in files for path in real_paths(it)))

    @property
    def content(self) -> str | None:
        """The text that would be written; of a notebook, its cells as a script."""
        writes = [it for it in self.actions if isinstance(it, Write | NotebookWrite)]
        return writes[0].new_text if len(writes) == 1 else None

    @property
    def mcp(self) -> McpCall | None:
        """The MCP server's tool that would be used: `.server`, `.tool`; `.sure`: that is no mere title."""
        return next((it for it in self.actions if isinstance(it, McpCall)), None)

    @property
    def _command(self) -> Command | None:
        return next((it for it in self.actions if isinstance(it, Command)), None)


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


STRICTNESS: tuple[Word, ...] = ("allow", "ask", "reject")


def strictest(*words: Word) -> Word:
    return max(words, key=STRICTNESS.index)


def word_for(policy: Word | Mapping[str, Word], request: PermissionRequest) -> Word:
    """What a policy without a function says; a kind that a mapping leaves out is asked.

    A mapping judges the declared kind and the real ones: an agent does not choose its judge by a name.
    """
    if isinstance(policy, str):
        return policy
    return strictest(*(policy.get(kind, "ask") for kind in request.kinds))


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
