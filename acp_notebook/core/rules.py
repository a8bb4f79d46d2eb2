"""Permission rules of a file: what is allowed, asked or rejected by kind, path, command and agent.

Pure. The user's rules answer where the policy of a call says "ask", and what they reject stays rejected
whatever the call says. A project's can only tighten: there, an allow means nothing.

Of the rules that match, the strictest counts; where none does, the word for the kind, then the default.
To allow, a rule must cover every action of a call, paths by whole folders, commands as the exact line without
an environment, and an MCP server's tools by the exact names that the agent surely gives; to reject or to ask,
one action is enough, and a command or a tool may be a pattern with * in it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .actions import BESIDE, Action, Command, McpCall, NotebookWrite, Other, Write, real_paths
from .grants import inside, reaches
from .mcp_calls import same_name, squashed
from .policy import Word, strictest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: all that is given must match. `path` is absolute and resolved."""

    say: Word
    kind: str | None = None
    path: str | None = None
    command: str | None = None
    agent: str | None = None
    server: str | None = None
    """An MCP server's name, …"""
    tool: str | None = None
    """… and the name of one of its tools; None: all of them."""

    def matches(self, agent: str, kind: str, actions: Sequence[Action]) -> bool:
        if self.agent not in (None, agent) or self.kind not in (None, kind):
            return False
        if self.path is None and self.command is None and self.server is None:
            return True
        if self.say == "allow" and self.server is not None:
            return self._covers_tool(actions)
        if self.say == "allow":
            counted = [action for action in actions if not isinstance(action, BESIDE)]
            return bool(counted) and all(self._covers(action) for action in counted)
        if self.server is not None:
            named = any(isinstance(it, McpCall) and self._may_be_tool(it) for it in actions)
            return named and (self.path is None or any(self._touches(action) for action in actions))
        return any(self._touches(action) for action in actions)

    def _covers_tool(self, actions: Sequence[Action]) -> bool:
        """What reads as a command is asked about; what reads as a write is, unless a path covers it.

        An allow would hold for doing just that through us.
        """
        named = [action for action in actions if isinstance(action, McpCall)]
        rest = [action for action in actions if not isinstance(action, BESIDE)]
        if not named or not all(self._is_tool(action) for action in named):
            return False
        if any(isinstance(action, Command) for action in rest):
            return False
        if self.path is None:
            return not any(isinstance(action, Write | NotebookWrite) for action in rest)
        paths = [path for action in rest for path in real_paths(action)]
        return bool(paths) and all(reaches(self.path, path) for path in paths)

    def _is_tool(self, action: McpCall) -> bool:
        return action.sure and action.server == self.server and self.tool in (None, action.tool)

    def _may_be_tool(self, action: McpCall) -> bool:
        """In doubt it is: by names as agents change them, wherever the server's name ends."""
        server, tool = squashed(self.server or ""), squashed(self.tool or "*")
        if action.sure:
            return same_name(action.server, server) and fnmatch.fnmatchcase(squashed(action.tool), tool)
        return fnmatch.fnmatchcase(squashed(f"{action.server}_{action.tool}"), f"{server}_{tool}")

    def _covers(self, action: Action) -> bool:
        if self.command is not None:
            if not isinstance(action, Command) or action.env:  # a rule names no environment
                return False
            return action.line == self.command and self.path in (None, action.cwd)
        if isinstance(action, Command | Other) or self.path is None:
            return False
        paths = real_paths(action)
        return bool(paths) and all(reaches(self.path, path) for path in paths)

    def _touches(self, action: Action) -> bool:
        if self.path is not None and not any(inside(self.path, path) for path in real_paths(action)):
            return False
        if self.command is None:
            return True
        lines = {action.line, action.text} if isinstance(action, Command) else set()
        return any(fnmatch.fnmatchcase(line, self.command) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The permission rules of one settings file."""

    default: Word | None = None
    kinds: Mapping[str, Word] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.default or self.kinds or self.rules)

    def matching(self, agent: str, kind: str, actions: Sequence[Action]) -> Word | None:
        """What its single rules say."""
        words = [it.say for it in self.rules if it.matches(agent, kind, actions)]
        return strictest(*words) if words else None

    def word(self, agent: str, kind: str, actions: Sequence[Action]) -> Word | None:
        return self.matching(agent, kind, actions) or self.kinds.get(kind) or self.default


NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Judge:
    """The user's rules, and those of the project: what becomes of a policy's word."""

    own: Rules = NO_RULES
    project: Rules = NO_RULES
    agent: str = ""
    """Whose acts are judged."""

    def judged(self, said: Word, kind: str, actions: Sequence[Action]) -> tuple[Word, str | None]:
        """The word that counts, and whose rule made it so, if one did."""
        word, whose = said, None
        if said == "ask":
            word, whose = self.own.word(self.agent, kind, actions) or "ask", "a rule of your file"
        if self.own.matching(self.agent, kind, actions) == "reject":
            word, whose = "reject", "a rule of your file"
        tighter = strictest(word, self.project.word(self.agent, kind, actions) or "allow")
        if tighter != word:
            word, whose = tighter, "a rule of the project's file"
        return word, whose if word != said else None

    def rejects(self, action: Action, said: Word = "allow") -> str | None:
        """Whose rule rejects it, where a policy or an earlier answer says otherwise; None: no rule does."""
        word, whose = self.judged(said, action.kind, (action,))
        return whose if word == "reject" else None


NO_JUDGE = Judge()
