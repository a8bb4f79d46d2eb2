"""Validates the settings of a TOML file: agents, MCP servers, permission rules, defaults.

Pure: reads no file and no variable. A project's file has the same format, with restrictions: it cannot
grant anything, or redefine the name of an existing agent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Protocol, cast

from msgspec import Struct, field
from msgspec.structs import replace

from .agent_url import check_headers, is_absolute, read_url
from .kernel_tools.options import ToolOptions, read_options
from .mcp import KEYS as SERVER_KEYS
from .mcp import McpServer, read_server
from .patterns import pattern
from .policy import TOOL_KINDS, WORDS, Word
from .records import Guarded
from .rules import NO_RULES, Rule, Rules

TABLES = ("agents", "mcp_servers", "permissions", "defaults")
AGENT_KEYS = (
    *("command", "args", "npx", "uvx", "env", "cwd", "mcp_servers"),
    *("url", "headers", "ca", "insecure", "shared"),
)
URL_KEYS = ("headers", "ca", "insecure", "shared")
COMMAND_KEYS = ("command", "args", "npx", "uvx", "env")
RULE_KEYS = ("say", "kind", "path", "command", "agent", "server", "tool")
NO_PATTERNS = {
    "path": "it is a file, or a folder with all that is below it",
    "agent": "it is one agent's name; left out, the rule is for all",
    "server": "it is one MCP server's name",
}
"""Keys in which a * would silently match nothing, and what they take instead."""

_NPM = pattern(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*(@[0-9A-Za-z^~][0-9A-Za-z.^~+-]*)?")
_PYPI = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?((==|@)[0-9A-Za-z][0-9A-Za-z.+!-]*)?")
_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class PathResolver(Protocol):
    """Interprets the paths in a settings file."""

    def path(self, text: str) -> str:
        """Return the path, absolute and resolved."""

    def command(self, text: str) -> str:
        """Return a name unchanged, a path absolute but not resolved: programs depend on their own name."""


class Problem(ValueError):
    """An error in the settings; `keys` lead to its place in the file."""

    def __init__(self, text: str, *keys: str) -> None:
        super().__init__(text)
        self.keys = keys


class OwnAgent(Guarded, frozen=True, kw_only=True):
    """An agent from the settings: a command, a package for npx or uvx with its command, or an address."""

    _unshown: ClassVar[tuple[str, ...]] = ("env", "headers")
    name: str
    command: tuple[str, ...] = ()
    npx: str | None = None
    uvx: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Not in the repr: it often holds secrets."""
    cwd: str | None = None
    mcp_servers: tuple[str, ...] = ()
    source: str = "yours"
    """Where it comes from, as shown to the user: "yours", "imported", "the project's"."""
    url: str | None = None
    """The address of a remote agent; then there is no command, and `cwd` is a folder of its machine."""
    headers: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    ca: str | None = None
    insecure: bool = False
    shared: bool = False
    by_hand: str | None = None
    """Why it cannot be started, and what to do, if it is a binary that must be installed first."""


class Settings(Struct, frozen=True, kw_only=True):
    agents: Mapping[str, OwnAgent] = field(default_factory=dict)
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    """The names of the MCP servers that every agent gets."""
    rules: Rules = NO_RULES
    agent: str | None = None
    """The default agent of `connect()`."""
    tools: ToolOptions | None = None
    """Whether agents get the kernel's tools; None: not set."""


def read_settings(value: Mapping[str, Any], places: PathResolver, *, taken: Collection[str] = ()) -> Settings:
    """Validate the settings; raises Problem. `taken`: names that agents here must not use."""
    _known(value, TABLES, "the file")
    servers, always = _servers(_table(value, "mcp_servers"), places)
    agents = {name: _agent(name, it, servers, taken, places) for name, it in _table(value, "agents").items()}
    defaults = _table(value, "defaults")
    _known(defaults, ("agent", "tools"), "defaults", "defaults")
    agent = defaults.get("agent")
    if agent is not None and not (isinstance(agent, str) and agent):
        raise Problem("agent is a name: what acp.connect() starts", "defaults", "agent")
    rules = _rules(_table(value, "permissions"), places)
    tools = _tools(defaults)
    return Settings(agents=agents, servers=servers, always=always, rules=rules, agent=agent, tools=tools)


def _tools(defaults: Mapping[str, Any]) -> ToolOptions | None:
    try:
        return read_options(defaults["tools"]) if "tools" in defaults else None
    except ValueError as error:
        raise Problem(str(error), "defaults", "tools") from None


def allowing(rules: Rules) -> list[str]:
    """Where the rules allow something, which a project's file must not do."""
    found = ["permissions.default"] if rules.default == "allow" else []
    found += [f"permissions.kinds.{kind}" for kind, word in rules.kinds.items() if word == "allow"]
    numbers = [at for at, it in enumerate(rules.rules, 1) if it.say == "allow"]
    return found + [f"permissions.rules, rule {at}" for at in numbers]


def tightening(rules: Rules) -> Rules:
    """The rules without those that allow something, for a project's file."""
    kinds: dict[str, Word] = {kind: word for kind, word in rules.kinds.items() if word != "allow"}
    default = None if rules.default == "allow" else rules.default
    return Rules(default=default, kinds=kinds, rules=tuple(it for it in rules.rules if it.say != "allow"))


def check_package(value: Any, launcher: str, *keys: str) -> str:
    """Return a package's name, possibly with a version; raises Problem for an address, path or option."""
    pattern = _NPM if launcher == "npx" else _PYPI
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Problem(
            f"{value!r} is not a package for {launcher}: write its name, or its name and version", *keys
        )
    return value


# ---- the tables ---------------------------------------------------------------------------------


def _known(table: Mapping[str, Any], keys: Iterable[str], what: str, *where: str) -> None:
    for key in table:
        if key not in keys:
            import difflib  # import it only if needed

            close = difflib.get_close_matches(key, list(keys), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(keys)}"
            raise Problem(f"{what} has no {key!r}; {hint}", *where, key)


def _table(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = value.get(name, {})
    if not isinstance(table, Mapping):
        raise Problem(f"{name} is a table: [{name}]", name)
    return table


def _servers(table: Mapping[str, Any], places: PathResolver) -> tuple[dict[str, McpServer], tuple[str, ...]]:
    servers: dict[str, McpServer] = {}
    always: list[str] = []
    for name, it in table.items():
        at = ("mcp_servers", name)
        if not isinstance(it, Mapping):
            raise Problem(f"a server is a table: [mcp_servers.{name}]", *at)
        _known(it, (*(key for key in SERVER_KEYS if key != "name"), "always"), "an MCP server", *at)
        if not isinstance(it.get("always", False), bool):
            raise Problem("always is true or false: whether every agent gets this server", *at, "always")
        try:
            server = read_server({key: value for key, value in it.items() if key != "always"}, name)
            servers[name] = replace(server, command=places.command(server.command))
        except ValueError as error:
            raise Problem(str(error), *at) from None
        always += [name] if it.get("always") else []
    return servers, tuple(always)


def _agent(
    name: str, value: Any, servers: Collection[str], taken: Collection[str], places: PathResolver
) -> OwnAgent:
    at = ("agents", name)
    if not isinstance(value, Mapping):
        raise Problem(f"an agent is a table: [agents.{name}]", *at)
    if not _NAME.fullmatch(name):
        raise Problem(f"{name!r} is not a name for an agent: use letters, digits, - _ and .", *at)
    if name in taken:
        raise Problem(f"{name!r} is the name of another agent already; take one that is free", *at)
    _known(value, AGENT_KEYS, "an agent", *at)
    if "url" in value:
        return _remote(name, value, _own_servers(value, servers, *at), places, *at)
    for key in URL_KEYS:
        if key in value:
            raise Problem(f"{key} goes with url: a command has none", *at, key)
    ways = [key for key in ("command", "npx", "uvx") if key in value]
    packages = [check_package(value[way], way, *at, way) for way in ways if way != "command"]
    if not ways or len(packages) > 1:
        raise Problem("an agent needs a command, a package for npx or for uvx, or a url", *at)
    mcp = _own_servers(value, servers, *at)
    cwd = value.get("cwd")
    if cwd is not None and not isinstance(cwd, str):
        raise Problem("cwd is a folder: a text", *at, "cwd")
    return OwnAgent(
        name=name,
        command=_command(value, packages, places, *at),
        npx=value.get("npx"),
        uvx=value.get("uvx"),
        env=_env(value.get("env", {}), *at, "env"),
        cwd=None if cwd is None else places.path(cwd),
        mcp_servers=mcp,
    )


def _own_servers(value: Mapping[str, Any], servers: Collection[str], *at: str) -> tuple[str, ...]:
    mcp = _texts(value.get("mcp_servers", []), *at, "mcp_servers")
    for server in mcp:
        if server not in servers:
            raise Problem(f"no server is called {server!r} in [mcp_servers]", *at, "mcp_servers")
    return mcp


def _remote(
    name: str, value: Mapping[str, Any], mcp_servers: tuple[str, ...], places: PathResolver, *at: str
) -> OwnAgent:
    for key in COMMAND_KEYS:
        if key in value:
            raise Problem(f"an agent has a url or a command, not both: leave out {key}", *at, key)
    for key in ("insecure", "shared"):
        if not isinstance(value.get(key, False), bool):
            raise Problem(f"{key} is true or false", *at, key)
    for key in ("url", "cwd", "ca"):
        if key in value and not isinstance(value[key], str):
            raise Problem(f"{key} is a text", *at, key)
    headers, cwd = value.get("headers", {}), value.get("cwd")
    try:
        read_url(value["url"], insecure=value.get("insecure", False))
    except ValueError as error:
        raise Problem(str(error), *at, "url") from None
    try:
        check_headers(headers)
    except ValueError as error:
        raise Problem(str(error), *at, "headers") from None
    if cwd is not None and not is_absolute(cwd):
        raise Problem("cwd is a folder on the agent's machine: an absolute path", *at, "cwd")
    return OwnAgent(
        name=name,
        url=value["url"],
        headers=dict(headers),
        ca=places.path(value["ca"]) if "ca" in value else None,
        insecure=value.get("insecure", False),
        shared=value.get("shared", False),
        cwd=cwd,
        mcp_servers=mcp_servers,
    )


def _command(
    value: Mapping[str, Any], packages: list[str], places: PathResolver, *at: str
) -> tuple[str, ...]:
    command = value.get("command", command_of(packages[0]) if packages else None)
    words = [command] if isinstance(command, str) else command
    words = [*_texts(words, *at, "command"), *_texts(value.get("args", []), *at, "args")]
    if not words or not words[0]:
        raise Problem("command is a program, or a list of words", *at, "command")
    return (places.command(words[0]), *words[1:])


def command_of(package: str) -> str:
    """The usual command of a package: its name without scope, extras and version."""
    return re.sub(r"(?<=.)@.*|\[.*|==.*", "", package).rpartition("/")[2]


def _env(value: Any, *at: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise Problem("env is a table from names to texts", *at)
    for name, text in value.items():
        if not isinstance(text, str) or "\0" in text or not name or "=" in name or "\0" in name:
            raise Problem(f"{name!r} must be a text: variables hold nothing else", *at, str(name))
    return dict(value)


def _texts(value: Any, *at: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(it, str) and "\0" not in it for it in value):
        raise Problem("this is a list of texts", *at)
    return tuple(value)


def _rules(table: Mapping[str, Any], places: PathResolver) -> Rules:
    _known(table, ("default", "kinds", "rules"), "permissions", "permissions")
    default = _word(table["default"], "permissions", "default") if "default" in table else None
    kinds = _table(table, "kinds")
    words = {kind: _word(word, "permissions", "kinds", kind) for kind, word in kinds.items()}
    _known(kinds, TOOL_KINDS, "permissions.kinds", "permissions", "kinds")
    rules = table.get("rules", [])
    if not isinstance(rules, list):
        raise Problem("rules is a list of tables: [[permissions.rules]]", "permissions", "rules")
    return Rules(default=default, kinds=words, rules=tuple(_rule(it, places) for it in rules))


def _rule(value: Any, places: PathResolver) -> Rule:
    at = ("permissions", "rules")
    if not isinstance(value, Mapping):
        raise Problem("a rule is a table: [[permissions.rules]]", *at)
    _known(value, RULE_KEYS, "a rule", *at)
    if "say" not in value:
        raise Problem('a rule needs a word: say = "ask", "allow" or "reject"', *at)
    say = _word(value["say"], *at, "say")
    for key in RULE_KEYS[1:]:
        if key in value and not (isinstance(value[key], str) and value[key].strip()):
            raise Problem(f"{key} is a text", *at, key)
    _known({value["kind"]: 1} if "kind" in value else {}, TOOL_KINDS, "a rule's kind", *at)
    kind, path, command = value.get("kind"), value.get("path"), value.get("command")
    server, tool = value.get("server"), value.get("tool")
    if kind is None and path is None and command is None and server is None and tool is None:
        raise Problem(
            "a rule is about a kind, a path, a command or an MCP server; for all else there is default", *at
        )
    if tool is not None and server is None:
        raise Problem("a tool is one of an MCP server: name that, too", *at, "tool")
    if server is not None and command is not None:
        raise Problem("a rule is about a command or about an MCP server, not both", *at, "server")
    if say == "allow" and "*" in (tool or ""):
        raise Problem("to allow, a tool is named exactly; without tool, all of the server's are", *at, "tool")
    if command is not None:
        if kind not in (None, "execute"):
            raise Problem('a command goes with kind = "execute"', *at, "kind")
        kind = "execute"
        command = _exact(command, *at, "command") if say == "allow" else command
    elif say == "allow" and kind is None and server is None:
        raise Problem("a rule that allows names the kind of tool, too", *at)
    for key, meant in NO_PATTERNS.items():
        if "*" in value.get(key, ""):
            raise Problem(f"* is not a wildcard in {key}: {meant}", *at, key)
    resolved = None if path is None else places.path(path)
    if say == "allow" and resolved == "/":
        raise Problem("this would allow it on the whole machine: name a folder", *at, "path")
    return Rule(
        say=say,
        kind=kind,
        path=resolved,
        command=command,
        agent=value.get("agent"),
        server=server,
        tool=tool,
    )


def _exact(command: str, *at: str) -> str:
    """Return the line of a rule that allows; a pattern is refused, because it would allow any match."""
    literal = command.replace("[*]", "")
    if "*" in literal:
        raise Problem(
            "to allow, a command is the exact line: write a rule for each line that you allow; "
            "a * that is part of the line is written [*]",
            *at,
        )
    return command.replace("[*]", "*")


def _word(value: Any, *at: str) -> Word:
    if value not in WORDS:
        raise Problem(f'{value!r} is none of "ask", "allow", "reject"', *at)
    return cast(Word, value)
