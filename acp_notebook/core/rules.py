"""Permission rules of a file: what is allowed, asked or rejected by kind, path, command and agent.

Pure. The user's rules answer where the policy of a call says "ask", and what they reject stays rejected
whatever the call says. A project's can only tighten: there, an allow means nothing.

Of the rules that match, the strictest counts; where none does, the word for the kind, then the default.
To allow, a rule must cover every action of a call, paths by whole folders and commands as the exact line
without an environment; to
reject or to ask, one action is enough, and a command may be a pattern with * in it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .actions import Action, Command, Details, Other, real_paths
from .grants import inside, reaches
from .policy import Word, strictest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: all that is given must match. `path` is absolute and resolved."""

    say: Word
    kind: str | None = None
    path: str | None = None
    command: str | None = None
    agent: str | None = None

    def matches(self, agent: str, kind: str, actions: Sequence[Action]) -> bool:
        if self.agent not in (None, agent) or self.kind not in (None, kind):
            return False
        if self.path is None and self.command is None:
            return True
        if self.say == "allow":
            counted = [action for action in actions if not isinstance(action, Details)]
            return bool(counted) and all(self._covers(action) for action in counted)
        return any(self._touches(action) for action in actions)

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
    """Of one file."""

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
