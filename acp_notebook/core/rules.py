"""Permission rules from a settings file: allow, ask or reject by kind, path, command and agent.

Pure. The user's rules decide if the policy says "ask", and their rejections override any policy. A
project's rules can only tighten: an allow has no effect there.

Of the rules that match, the strictest counts; if none matches, the word for the kind, then the default.
To allow, a rule must cover every action of a call: paths by whole folders, commands by the exact line without
an environment, MCP tools by the exact names that the agent gives for certain, and by nothing else. To reject
or to ask, one matching action is enough, and a command or a tool may be a pattern with *.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from .actions import (
    ANNOTATIONS,
    ASKED_BY_TOOLS,
    Action,
    Command,
    McpCall,
    NotebookWrite,
    Other,
    Write,
    real_paths,
)
from .grants import inside, reaches, to_cover
from .mcp_calls import same_name, squashed
from .policy import Word, strictest


class Rule(Struct, frozen=True, kw_only=True):
    """One rule; every field that is given must match. `path` is absolute and resolved."""

    say: Word
    kind: str | None = None
    path: str | None = None
    command: str | None = None
    agent: str | None = None
    server: str | None = None
    """The name of an MCP server."""
    tool: str | None = None
    """The name of one of its tools; None: all of them."""

    def matches(self, agent: str, kind: str, actions: Sequence[Action]) -> bool:
        if self.agent not in (None, agent) or self.kind not in (None, kind):
            return False
        if self.path is None and self.command is None and self.server is None:
            return True
        if self.say == "allow" and self.server is not None:
            return self._covers_tool(actions)
        if self.say == "allow":
            counted = to_cover(actions)
            return bool(counted) and all(self._covers(action) for action in counted)
        if self.server is not None:
            named = any(isinstance(it, McpCall) and self._may_be_tool(it) for it in actions)
            return named and (self.path is None or any(self._touches(action) for action in actions))
        return any(self._touches(action) for action in actions)

    def _covers_tool(self, actions: Sequence[Action]) -> bool:
        """Whether an allow covers the call; not if its input reads as a command, or as a write that no path
        covers.

        An allow would also cover the same command or write as a client method.
        """
        named = [action for action in actions if isinstance(action, McpCall)]
        rest = [action for action in actions if not isinstance(action, ANNOTATIONS)]
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
        """Whether it might be the tool, if agents alter names, and wherever the server's name ends."""
        server, tool = squashed(self.server or ""), squashed(self.tool or "*")
        if action.sure:
            return same_name(action.server, server) and fnmatch.fnmatchcase(squashed(action.tool), tool)
        return fnmatch.fnmatchcase(squashed(f"{action.server}_{action.tool}"), f"{server}_{tool}")

    def _covers(self, action: Action) -> bool:
        if self.command is not None:
            if not isinstance(action, Command) or action.env:  # a rule names no environment
                return False
            return action.line == self.command and self.path in (None, action.cwd)
        if isinstance(action, (Command, Other, *ASKED_BY_TOOLS)) or self.path is None:
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


class Rules(Struct, frozen=True, kw_only=True):
    """Holds the permission rules of one settings file."""

    default: Word | None = None
    kinds: Mapping[str, Word] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.default or self.kinds or self.rules)

    def matching(self, agent: str, kind: str, actions: Sequence[Action]) -> Word | None:
        """The strictest word of the matching rules."""
        words = [it.say for it in self.rules if it.matches(agent, kind, actions)]
        return strictest(*words) if words else None

    def word(self, agent: str, kind: str, actions: Sequence[Action]) -> Word | None:
        return self.matching(agent, kind, actions) or self.kinds.get(kind) or self.default


NO_RULES = Rules()


class Judge(Struct, frozen=True):
    """Applies the user's and the project's rules to the answer of a policy."""

    own: Rules = NO_RULES
    project: Rules = NO_RULES
    agent: str = ""
    """The agent whose actions are judged."""

    @property
    def has_rules(self) -> bool:
        return bool(self.own or self.project)

    def judged(self, said: Word, kind: str, actions: Sequence[Action]) -> tuple[Word, str | None]:
        """Return the final word, and whose rule changed it, if one did."""
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
        """Whose rule rejects the action despite a policy or an earlier answer; None if no rule does."""
        word, whose = self.judged(said, action.kind, (action,))
        return whose if word == "reject" else None


NO_JUDGE = Judge()
