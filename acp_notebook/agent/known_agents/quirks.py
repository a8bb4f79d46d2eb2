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

SESSION_ID = "{session}"
"""In `harmless_env`: the id of the session."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """What one agent needs that others do not."""

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
    harmless_env: Mapping[str, str] = field(default_factory=dict)
    """Variables that it sends with every command, by their exact values: they change nothing that counts."""
    command_in_title: str | None = None
    """A pattern for the title of a question; its first group is the whole command line."""
    command_in_text: str | None = None
    """The same for the question's text."""
    folder_in_text: str | None = None
    """A pattern for the beginning of the question's text; its first group is the command's folder."""
    input_in_text: bool = False
    """A call that has no raw input has it as JSON in its text."""
    always_lasts: str | None = None
    """How long the agent itself remembers an "always", in words that follow "remembers this,"."""
    own_state: tuple[str, ...] = ()
    """Folders in the session's folder where it keeps its sessions: nothing to list, and nothing to undo."""
    tool_name_in_meta: tuple[str, ...] = ()
    """The keys that lead to a tool's name in `_meta` of its call."""
    mcp_in_input: bool = False
    """The raw input of an MCP tool's call is {server, tool, arguments}."""
    own_servers: tuple[str, ...] = ()
    """MCP servers that are a part of it: their tools are its own."""

    def __or__(self, other: Quirks) -> Quirks:
        return Quirks(
            {**self.env, **other.env},
            {**self.announced, **other.announced},
            self.missing_reads_empty or other.missing_reads_empty,
            self.terminals_in_meta or other.terminals_in_meta,
            self.usage_in_meta or other.usage_in_meta,
            {**self.harmless_env, **other.harmless_env},
            other.command_in_title or self.command_in_title,
            other.command_in_text or self.command_in_text,
            other.folder_in_text or self.folder_in_text,
            self.input_in_text or other.input_in_text,
            other.always_lasts or self.always_lasts,
            self.own_state + other.own_state,
            other.tool_name_in_meta or self.tool_name_in_meta,
            self.mcp_in_input or other.mcp_in_input,
            self.own_servers + other.own_servers,
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
        Quirks(harmless_env={"CLAUDECODE": "1"}),
        "It sets this variable for every command, to say who runs it. Seen in 0.16.2.",
    ),
    Entry(
        "claude-code-acp|claude-agent-acp",
        Quirks(tool_name_in_meta=("claudeCode", "toolName")),
        "It names the tool of a call there, `mcp__server__tool` for those of MCP servers. Seen in 0.16.2 and "
        "0.99.1.",
    ),
    Entry(
        "claude-code-acp",
        Quirks(own_servers=("acp",)),
        "Its file and command tools, which work through us, are called `mcp__acp__…`. Seen in 0.16.2.",
    ),
    Entry(
        "qwen|qwen-code",
        Quirks(tool_name_in_meta=("toolName",)),
        "It names the tool of a call there; its titles are the arguments. Seen in 0.24.4.",
    ),
    Entry(
        "codex-acp",
        Quirks(mcp_in_input=True),
        "It names server and tool of an MCP call in the raw input, and its title is `mcp.server.tool`. Seen "
        "in 2.6.0.",
    ),
    Entry(
        "kimi|kimi-code",
        Quirks(harmless_env={"SHELL": "/bin/bash"}, input_in_text=True),
        "It names the shell for every command. Its question has no raw input and cuts the command after 50 "
        "characters, but the text of the call before it is the whole input as JSON. Seen in 2.1.0.",
    ),
    Entry(
        "gemini|gemini-cli",
        Quirks(command_in_title=r"(.+)", folder_in_text=r"\[(?:current working directory|in) ([^\]]+)\]"),
        "It runs commands itself: the title of its question is the whole line, the text names the folder. "
        "Seen in 0.61.0.",
    ),
    Entry(
        "goose",
        Quirks(harmless_env={"AGENT_SESSION_ID": SESSION_ID}),
        "It tells every command the id of the session. Seen in 1.50.0.",
    ),
    Entry(
        "claude-code-acp",
        Quirks(always_lasts="for every use of this tool in this folder (.claude/settings.local.json)"),
        "It adds a rule for the whole tool to its settings: after one command it asks about none, even in "
        "a new process. Seen in 0.16.2.",
    ),
    Entry(
        "claude-agent-acp",
        Quirks(
            always_lasts='until the session ends; if it says "don\'t ask again", for good in this folder '
            "(.claude/settings.local.json)"
        ),
        "It allows all edits by a mode of the session; rules for commands, tools and hosts go into the "
        "folder's settings. Seen in 0.99.1.",
    ),
    Entry(
        "kimi|kimi-code",
        Quirks(always_lasts="for this very command, until the session ends"),
        "It keeps a rule with the whole command line in the session; a new session asks. Seen in 2.1.0.",
    ),
    Entry(
        "gemini|gemini-cli",
        Quirks(always_lasts="for this program, or for all edits, until the session ends"),
        "After `touch a` it does not ask about `touch b`, but about `mkdir c`; after one edit it asks about "
        "none. A new session asks. Seen in 0.61.0.",
    ),
    Entry(
        "goose",
        Quirks(always_lasts="for every use of this tool in all folders (its permission.yaml)"),
        "It adds the whole tool to its settings: after one command it asks about none, in no folder. Seen in "
        "1.50.0.",
    ),
    Entry(
        "codex-acp",
        Quirks(always_lasts="for commands that begin like this, in all folders (its rules/default.rules)"),
        "It adds a rule with the beginning of the command to its settings; a new process does not ask. Seen "
        "in 2.6.0.",
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
