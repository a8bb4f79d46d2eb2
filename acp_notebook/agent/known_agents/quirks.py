"""What particular agents need: one table by agent and version, with a reason for each entry.

Code that starts an agent or handles its requests looks quirks up with `before_start` and `for_agent`. What
must differ by agent is only here; `wire.v1.meta` and `wire.mcp` read what some agents add to the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field

Version = tuple[int, ...]

ANY = ".*"

SESSION_ID = "{session}"
"""A placeholder for the session's id in `harmless_env`."""

QWEN_HEARTBEAT = "_qwen/session/heartbeat"


class Quirks(Struct, frozen=True):
    """What one agent needs that others do not."""

    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to start it with; None: a variable that must be unset."""
    announced: Mapping[str, bool] = field(default_factory=dict)
    """Capabilities beyond the protocol that we announce, in `_meta` of our capabilities."""
    missing_reads_empty: bool = False
    """A missing file reads as an empty one."""
    terminals_in_meta: bool = False
    """It runs commands itself, and reports their output in `_meta` of its tool calls."""
    usage_in_meta: bool = False
    """It reports the tokens of a turn in `_meta` of the response to the prompt."""
    harmless_env: Mapping[str, str] = field(default_factory=dict)
    """Variables that it sends with every command, with their exact values; they change nothing relevant."""
    command_in_title: str | None = None
    """A pattern for the title of a question; its first group is the whole command line."""
    command_in_text: str | None = None
    """The same for the text of the question."""
    folder_in_text: str | None = None
    """A pattern for the beginning of the question's text; its first group is the command's folder."""
    input_in_text: bool = False
    """A call without raw input has it as JSON in its text."""
    bookkeeping: tuple[str, ...] = ()
    """Names in the raw input that identify a call or repeat what it does: they change nothing."""
    always_lasts: str | None = None
    """How long the agent itself remembers an "always", in words that follow "remembers this,"."""
    own_state: tuple[str, ...] = ()
    """Folders below the session's folder where it keeps its sessions: they are not listed and not undone."""
    tool_name_in_meta: tuple[str, ...] = ()
    """The keys to a tool's name in `_meta` of its call."""
    mcp_in_input: bool = False
    """The raw input of a call to an MCP tool is {server, tool, arguments}."""
    own_servers: tuple[str, ...] = ()
    """MCP servers that are part of the agent: their tools are its own."""
    mcp_in_title: bool = False
    """The title of an MCP call, which has the kind "other", is the agent's own name for the tool."""
    servers_by_name: bool = False
    """Its sessions share MCP servers by name: it offers the servers of each session to all of them."""
    mcp_http_only: bool = False
    """It only supports MCP servers over HTTP, regardless of its capabilities."""
    mcp_title_by_server: bool = False
    """Its question about an MCP call has the kind "other" and the title that the server gave the tool."""
    forks_lack_servers: bool = False
    """A fork does not get the MCP servers of the request until it is closed and resumed."""
    history_method: str | None = None
    """It sends the history of a loaded session with the next request for it: this method changes nothing."""

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
            self.bookkeeping + other.bookkeeping,
            other.always_lasts or self.always_lasts,
            self.own_state + other.own_state,
            other.tool_name_in_meta or self.tool_name_in_meta,
            self.mcp_in_input or other.mcp_in_input,
            self.own_servers + other.own_servers,
            self.mcp_in_title or other.mcp_in_title,
            self.servers_by_name or other.servers_by_name,
            self.mcp_http_only or other.mcp_http_only,
            self.mcp_title_by_server or other.mcp_title_by_server,
            self.forks_lack_servers or other.forks_lack_servers,
            other.history_method or self.history_method,
        )


class Entry(Struct, frozen=True):
    """The quirks of one agent, in a range of versions, and the reason."""

    agent: str
    """A pattern for the whole name: the agent's own, or a word of the command that starts it."""
    quirks: Quirks
    reason: str
    since: Version = ()
    before: Version | None = None
    method: str | None = None
    """A method beyond the protocol that the agent has to offer."""

    def applies_to(self, names: Iterable[str], version: str | None, methods: Collection[str] = ()) -> bool:
        if not any(re.fullmatch(self.agent, name) for name in names):
            return False
        if self.method is not None and self.method not in methods:
            return False
        number = version_of(version)
        # Without a version, assume that the agent needs the quirk, because it costs little.
        return not number or (number >= self.since and (self.before is None or number < self.before))


TABLE = (
    Entry(
        ANY,
        Quirks(announced={"terminal_output": True}, terminals_in_meta=True),
        "An extension of several agents (codex-acp, claude-agent-acp): they run commands themselves, name a "
        "terminal in the tool call that we did not create, and send its output and end in `_meta`.",
    ),
    Entry(
        "gemini|gemini-cli",
        Quirks(missing_reads_empty=True),
        "Before it writes a file, it reads it through the client, and gives up after any error, also the one "
        "for a missing file: it could never create a file. Seen in 0.61.0.",
    ),
    Entry(
        "gemini|gemini-cli",
        Quirks(usage_in_meta=True),
        "It sends neither usage_update nor usage, but reports the tokens of a turn in `_meta.quota` of the "
        "response. Seen in 0.61.0.",
    ),
    Entry(
        "fast-agent|fast-agent-acp|fast-agent-mcp",
        Quirks(own_state=(".fast-agent/sessions/",)),
        "It keeps its sessions in its working folder. To undo that would make it forget the conversation. "
        "Seen in 0.10.48.",
    ),
    Entry(
        "claude-code-acp",
        Quirks(harmless_env={"CLAUDECODE": "1"}),
        "It sets this variable for every command, to identify itself. Seen in 0.16.2.",
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
        "Its file and command tools, which use the client, are called `mcp__acp__…`. Seen in 0.16.2.",
    ),
    Entry(
        "qwen|qwen-code",
        Quirks(tool_name_in_meta=("toolName",)),
        "It names the tool of a call there; its titles are the arguments. Seen in 0.24.4.",
    ),
    Entry(
        ANY,
        Quirks(history_method=QWEN_HEARTBEAT),
        "`qwen serve`, which does not say its name. Over a WebSocket it joins a loaded session to the "
        "connection with the next request: else its history would come with the next prompt, as part of the "
        "answer. Seen in 0.24.4.",
        method=QWEN_HEARTBEAT,
    ),
    Entry(
        "codex-acp",
        Quirks(mcp_in_input=True),
        "It names server and tool of an MCP call in the raw input, and its title is `mcp.server.tool`. Seen "
        "in 2.6.0.",
    ),
    Entry(
        "gemini|gemini-cli|kimi|kimi-code|opencode",
        Quirks(mcp_in_title=True),
        "It names an MCP tool only in the title, with a name of its own, and the kind is other; commands and "
        "files have other kinds. Seen in gemini-cli 0.61.0, kimi-code 2.1.0, opencode 1.18.33.",
    ),
    Entry(
        "opencode|kilo|kilocode",
        Quirks(servers_by_name=True),
        "An MCP server of a second session replaces the first session's server of the same name, and gets "
        "the first session's calls; with another name, both sessions see both. Seen in opencode 1.18.33.",
    ),
    Entry(
        "copilot|copilot-cli",
        Quirks(mcp_http_only=True),
        "It rejects stdio servers of a client, and only logs that. Seen in 1.0.102.",
    ),
    Entry(
        "copilot|copilot-cli",
        Quirks(mcp_in_title=True, mcp_title_by_server=True),
        "A call's title is `server-tool` until it asks; then it is the tool's title, which any server may "
        "choose. So our server has a name that none can guess, and titles of that form. Seen in 1.0.102.",
    ),
    Entry(
        "kimi|kimi-code",
        Quirks(forks_lack_servers=True),
        "It answers session/fork, but connects none of the servers, not even if the open fork is loaded or "
        "resumed. Seen in 2.1.0.",
    ),
    Entry(
        "kimi|kimi-code",
        Quirks(harmless_env={"SHELL": "/bin/bash"}, input_in_text=True),
        "It names the shell for every command. Its question has no raw input and truncates the command after "
        "50 characters, but the text of the preceding call is the whole input as JSON. Seen in 2.1.0.",
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
        "It passes the id of the session to every command. Seen in 1.50.0.",
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
        Quirks(
            bookkeeping=(
                *("call_id", "turn_id", "process_id", "started_at_ms", "source", "status"),
                *("parsed_cmd", "proposed_execpolicy_amendment", "available_decisions"),
            )
        ),
        "It sends its whole event as raw input: ids and times that differ for each call, the command once "
        "more, and the answers that it offers. Seen in 2.6.0.",
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
        "If this variable is set, it refuses to start a session. Claude Code sets it in every shell that it "
        "opens, and so in the kernels of a JupyterLab that was started from one. Seen in 0.16.2.",
    ),
)


def before_start(command: Sequence[str]) -> Quirks:
    """The quirks of an agent of which only the command is known yet."""
    return _matching(bare_names(command), None)


def for_agent(
    command: Sequence[str], name: str | None, version: str | None, methods: Collection[str] = ()
) -> Quirks:
    """The quirks of an agent that has been initialized. `methods`: what it offers beyond the protocol."""
    return _matching([*bare_names(command), *bare_names([name or ""])], version, methods)


def environment(
    inherited: Mapping[str, str], command: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """The variables to start an agent with; those that the user gave are not changed."""
    needed = {name: it for name, it in before_start(command).env.items() if name not in given}
    return {name: it for name, it in {**inherited, **needed}.items() if it is not None}


def version_of(text: str | None) -> Version:
    """The numbers at the beginning: "0.61.0-preview.1" is (0, 61, 0); empty if there are none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text or "")
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _matching(names: Sequence[str], version: str | None, methods: Collection[str] = ()) -> Quirks:
    quirks = Quirks()
    for entry in TABLE:
        if entry.applies_to(names, version, methods):
            quirks |= entry.quirks
    return quirks


def bare_names(words: Sequence[str]) -> list[str]:
    """The bare name in each word: x for /usr/bin/x, @someone/x@1.2 and x.js."""
    short = (word.rstrip("/").rpartition("/")[2] for word in words)
    return [re.sub(r"@.*|\.(js|mjs|py|exe)$", "", it) or it for it in short]
