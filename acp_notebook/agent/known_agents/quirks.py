"""What particular agents need: one table, by agent and version, each entry with its reason.

Decides nothing else: whoever starts an agent or serves it asks `before_start` and `of`. Nothing that is
true of one agent only stands anywhere else in the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Version = tuple[int, ...]

ANY = ".*"


@dataclass(frozen=True, slots=True)
class Quirks:
    """What is done differently."""

    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to start it with; None: one that it must not find."""
    announced: Mapping[str, bool] = field(default_factory=dict)
    """What we say of ourselves beyond the protocol, in `_meta` of our capabilities."""
    missing_reads_empty: bool = False
    """A file that is not there reads as an empty one."""
    terminals_in_meta: bool = False
    """It runs commands itself, and tells their output beside its tool calls."""
    usage_in_meta: bool = False
    """The tokens of a turn stand in `_meta` of its answer."""
    own_state: tuple[str, ...] = ()
    """Folders in the session's folder where it keeps its sessions: nothing to list, and nothing to undo."""

    def __or__(self, other: Quirks) -> Quirks:
        return Quirks(
            {**self.env, **other.env},
            {**self.announced, **other.announced},
            self.missing_reads_empty or other.missing_reads_empty,
            self.terminals_in_meta or other.terminals_in_meta,
            self.usage_in_meta or other.usage_in_meta,
            self.own_state + other.own_state,
        )


@dataclass(frozen=True, slots=True)
class Entry:
    agent: str
    """What it calls itself, or a word of the command that starts it: a pattern for the whole name."""
    quirks: Quirks
    reason: str
    since: Version = ()
    before: Version | None = None

    def holds(self, names: Iterable[str], version: str | None) -> bool:
        if not any(re.fullmatch(self.agent, name) for name in names):
            return False
        number = version_of(version)
        # An agent that does not say its version is taken for one that needs it: a quirk costs little.
        return not number or (number >= self.since and (self.before is None or number < self.before))


TABLE = (
    Entry(
        ANY,
        Quirks(announced={"terminal_output": True}, terminals_in_meta=True),
        "An extension of several agents (codex-acp, claude-agent-acp): they run commands themselves, name a "
        "terminal in the tool call that we never made, and send its output and end in `_meta`.",
    ),
    Entry(
        "gemini|gemini-cli",
        Quirks(missing_reads_empty=True),
        "Before it writes a file it reads it through us, and takes any error for a reason to give up, also "
        "the one for a missing file: it could never make a new one. Seen in 0.61.0.",
    ),
    Entry(
        "gemini|gemini-cli",
        Quirks(usage_in_meta=True),
        "It tells neither usage_update nor usage, but how many tokens a turn took in `_meta.quota` of the "
        "turn's answer. Seen in 0.61.0.",
    ),
    Entry(
        "fast-agent|fast-agent-acp|fast-agent-mcp",
        Quirks(own_state=(".fast-agent/sessions/",)),
        "It keeps its sessions in the folder that it works in. Undoing that would make it forget the "
        "conversation. Seen in 0.10.48.",
    ),
    Entry(
        "claude-code-acp",
        Quirks(env={"CLAUDECODE": None}),
        "Where this variable is set it refuses to start a session. It is set in every shell that Claude Code "
        "opens, and so in the kernels of a JupyterLab that was started from one. Seen in 0.16.2.",
    ),
)


def before_start(command: Sequence[str]) -> Quirks:
    """For an agent of which nothing is known yet but its command."""
    return _found(_names(command), None)


def of(command: Sequence[str], name: str | None, version: str | None) -> Quirks:
    """For an agent that has introduced itself."""
    return _found([*_names(command), *_names([name or ""])], version)


def environment(
    inherited: Mapping[str, str], command: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """The variables to start an agent with; what the user gave is left alone."""
    needed = {name: it for name, it in before_start(command).env.items() if name not in given}
    return {name: it for name, it in {**inherited, **needed}.items() if it is not None}


def version_of(text: str | None) -> Version:
    """The numbers at its beginning: "0.61.0-preview.1" is (0, 61, 0); nothing, if there are none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text or "")
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _found(names: Sequence[str], version: str | None) -> Quirks:
    quirks = Quirks()
    for entry in TABLE:
        if entry.holds(names, version):
            quirks |= entry.quirks
    return quirks


def _names(words: Sequence[str]) -> list[str]:
    """The last part of each word, without a version: of /usr/bin/x, of @someone/x@1.2, of x.js."""
    short = (word.rstrip("/").rpartition("/")[2] for word in words)
    return [re.sub(r"@.*|\.(js|mjs|py|exe)$", "", it) or it for it in short]
