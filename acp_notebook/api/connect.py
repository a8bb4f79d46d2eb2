"""connect(): starts an agent and opens a session on it.

Reads the arguments and decides what to start; the work runs on the loop thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, structs

from ..agent import loop
from ..agent.audit_file import AuditFile
from ..agent.handler_threads import Handler
from ..agent.host import AgentHost
from ..agent.launch import SessionOptions
from ..agent.lost_session import AS_CONTEXT
from ..core import events as ev
from ..core.agent_url import Headers
from ..core.elicitation import ElicitationPolicy, checked_policy
from ..core.limits import Limits, retries_of
from ..core.origin import resumable_id
from ..core.policy import Policy
from ..core.records import Json, Meta
from ..core.redaction import Redactor, Secret
from ..core.remote_notice import TITLE, remote_notice
from ..core.snapshot import Snapshot
from ..errors import AgentDied, UsageError
from ..frontend.display import Show, may_be_asked, sign_in_shown
from ..notebook import kernel
from ..notebook.namespace import bind_to_free_name
from ..notebook.runtime import where
from ..setup.config import own_settings
from ..timeouts import Timeouts
from .agent import Agent, GivenServers, Wanted, policy_of
from .extensions import checked_handlers, checked_meta, checked_object
from .kernel_access import GivenTools, checked_tools, kernel_access
from .launcher import (
    AgentRequest,
    ReadyAgent,
    agent_commands,
    is_path,
    recorded_agent,
    refuses_arguments,
)
from .remote_agent import RemoteOptions
from .session import Session

if TYPE_CHECKING:
    from ..notebook.static_bundle import Redact
    from .cassette import Cassette

loop.wait_for = kernel.wait  # handles clicks while a cell waits for an agent


class _Opening(Struct, frozen=True):
    """How to open the first session."""

    how: str
    id: str | Snapshot | None
    """A conversation from a notebook has the id that counts for the agent."""
    policy: Policy
    roots: tuple[str | Path, ...]
    redact: Redact | None
    audit: str | Path | None
    shows: Show | None
    tools: GivenTools
    meta: Meta | None
    has_page: bool


def connect(
    agent: str | Sequence[str] | None = None,
    *,
    args: Sequence[str] = (),
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    inherit_env: bool | Iterable[str] = True,
    permissions: Policy = "ask",
    elicitation: ElicitationPolicy = "ask",
    roots: Iterable[str | Path] = (),
    mcp_servers: GivenServers = (),
    record: str | Path | None = None,
    cassette: str | Path | Cassette | None = None,
    redact: Redact | None = None,
    secrets: Iterable[Secret] = (),
    auth: str | None = None,
    load: str | None = None,
    resume: str | Snapshot | None = None,
    audit: str | Path | None = None,
    fs: bool = True,
    terminal: bool = True,
    question_timeout: float | None = None,
    max_seconds: float | None = None,
    max_tool_calls: float | None = None,
    max_cost: float | None = None,
    retry_rate_limits: bool | int = False,
    read_notebooks: Literal["elided", "raw"] = "elided",
    notebook_outputs: Literal["drop", "keep"] = "drop",
    undo: bool = True,
    start_timeout: float = Timeouts().agent_start,
    install: bool | str | None = None,
    trust_project: bool | str | None = None,
    tools: GivenTools = None,
    meta: Meta | None = None,
    capabilities: Mapping[str, Json] | None = None,
    handlers: Mapping[str, Handler] | None = None,
    headers: Headers | None = None,
    ca: str | Path | None = None,
    insecure: bool = False,
    shared: bool = False,
) -> Session:
    """Start an agent, or connect to one that runs elsewhere, and open a session on it.

    `agent` is a known name ("demo", "gemini"; `acp.agents()` lists them), a command line ("gemini --acp"), a
    list of words, or the address of an agent on another machine (see below); `args` are additional arguments.
    An agent that is not installed is fetched and run with npx or uvx only if you consent, with
    `install=True`, for one package with `install="npx PACKAGE"`, or when asked; `install=False` never asks.
    If the agent does not respond within `start_timeout` seconds, `acp.Timeout` is raised.

    The agent runs in `cwd` (by default the current directory), with the environment of this process without
    Jupyter's secrets, plus `env`. `inherit_env=False` passes on only basic variables, a list of names only
    those.

    `permissions` is "ask", "allow", "reject", a mapping from tool kinds to one of these, or a function of the
    request. A question that nobody answers within `question_timeout` seconds (by default there is no limit)
    is rejected. `elicitation` decides who answers forms and URLs that the agent sends: "ask", "decline", or a
    function of the request (`message`, `mode`, `fields`, `url`) that returns a mapping from field names to
    values, "decline" or "cancel". If nobody can be asked, they are declined.

    `load` and `resume` open a session that the agent has stored, with and without its history. `resume` also
    takes a transcript that `acp.load_transcript` read from a notebook: its newest conversation with this
    agent is continued, with its history if the agent can load it. Raises `acp.SessionLost` if the agent no
    longer has that conversation, `acp.UsageError` if it was with another agent.

    If the agent requires a sign-in, the cell shows its methods and waits; `auth` selects a method. If nobody
    can be asked, `acp.AuthenticationRequired` says what to do.

    `record` writes every message to a file. `cassette` replays such a file instead of starting an agent (see
    `acp.Cassette`): recorded answers of the user answer "ask", files are written to a temporary folder unless
    you give a `cwd`, and commands are not run.

    `redact` is a function from text to text, applied to all text before it is saved in the notebook.
    `secrets` are strings and regular expressions that are removed from the transcript and all files. So are
    the values of `env`, except short ones that look like a setting and whose names say so
    (`AWS_REGION=us-east-1`).

    `max_seconds`, `max_tool_calls` and `max_cost` (in the agent's currency, if it reports costs) limit every
    turn: one that exceeds a limit is cancelled, and `turn.limit` says why. With `retry_rate_limits`, a turn
    that fails because of a rate limit is sent again, after the delay that the agent states or else after
    increasing delays: up to 5 times if True, or the given number of times.

    The client serves the agent's file requests only in `cwd` and `roots`, and runs its commands there. With
    `fs=False` and `terminal=False`, the agent uses its own tools for files and commands. `audit` appends the
    agent's requests, the decisions and the actions to a file, one JSON object per line; `session.audit` shows
    them as a table.

    The client serves notebooks without images and other bulky outputs and with at most 2,000 characters of a
    text output, unless `read_notebooks` is "raw". It merges the agent's changes cell by cell with the current
    notebook. A changed cell loses its outputs, unless `notebook_outputs` is "keep". An open notebook is read
    and changed in its page.

    Checkpoints before and after each turn, stored outside your folders, allow you to undo the agent's
    changes, including those made with its own tools: `session.changes`, `turn.revert()`. With `undo=False`,
    you can undo only what the agent wrote through this client.

    `mcp_servers` are passed to the agent: names of servers in your settings, mappings with a name and a
    command (args, env) or a url (headers, type), or a mapping from names to these. By default the agent gets
    the servers in your settings that are marked `always`; None means no servers.

    `tools` lets the agent use this kernel: inspect your variables and the open notebook and, after asking
    you, run code and cells and change cells. By default this is on in a notebook and off in a script; True
    and False set it for this agent. "http" uses a port on this machine, for agents that support nothing
    else. {"hide": [names of variables], "deny": [names of tools]} restricts the tools. Code that you allow
    can see everything.

    Beyond the protocol: `meta` is added to the requests that open the session and those that open it again
    after a restart (`_meta`). `capabilities` are announced to the agent, in `_meta` of the client's
    capabilities. `handlers` maps names of methods to functions that answer the agent's own requests and
    receive its notifications, see `agent.on`; only here can they be set before the agent starts.

    An address is `wss://host/acp` (WebSocket) or `https://host/acp` (HTTP), and needs the libraries of `acp-
    notebook[remote]`; `ws://` and `http://` are for this machine, or with `insecure=True`. `cwd` is then an
    absolute path on that machine, sent as it is. `headers` maps names to texts, {"env": NAME} or functions,
    or is a function that returns such a mapping: functions are called for each connection and when a token
    has expired. Their values are secrets. `ca` is a file of certificates to trust besides the system's. The
    agent uses its own files and commands: `fs`, `terminal`, `undo`, links and kernel tools are off, files of
    a prompt are sent as content, and your MCP servers that are commands are not sent unless you name them
    here. With `shared=True` you say that its folders are those of this machine: then files, links and undo
    are on. Raises `acp.ConnectionLost` if the agent cannot be reached; a turn fails with it if the connection
    breaks.

    Your settings (config.toml in ~/.config/acp_notebook) contain agents, MCP servers and permission rules. A
    project's settings (.acp_notebook.toml) are used only after you have trusted their content, see
    `acp.trust`. Headless runs additionally need `trust_project=True` (or the sha256 of the content), and
    never use them to allow anything. `trust_project=False` ignores them.
    """
    options = SessionOptions(
        fs=fs,
        terminal=terminal,
        elicitation=(answers := _elicitation(elicitation)),
        elicits=callable(answers) or (answers == "ask" and may_be_asked()),
        question_timeout=question_timeout,
        limits=_limits(max_seconds, max_tool_calls, max_cost, retry_rate_limits),
        raw_notebooks=_one_of("read_notebooks", read_notebooks, "elided", "raw") == "raw",
        keep_outputs=_one_of("notebook_outputs", notebook_outputs, "drop", "keep") == "keep",
        capabilities=checked_object(capabilities or {}, "capabilities"),
        handlers=checked_handlers(handlers),
    )
    opening = _Opening(
        *_how_to_open(load, resume),
        policy_of(permissions),
        tuple(roots),
        redact,
        audit,
        sign_in_shown(),
        checked_tools(tools),
        checked_meta(meta),
        where().headless is False,
    )
    request = AgentRequest(
        agent=agent,
        args=args,
        cwd=cwd,
        env=env,
        inherit_env=inherit_env,
        install=install,
        trust_project=trust_project,
        auth=auth,
        mcp_servers=mcp_servers,
        undo=undo,
        start_timeout=start_timeout,
        redactor=_redactor(env, secrets),
        remote=RemoteOptions(headers=headers, ca=ca, insecure=insecure, shared=shared),
    )
    return _first_to_start(_agents(request, _cassette(cassette, record), record), options, opening)


def _agents(request: AgentRequest, tape: Cassette | None, record: str | Path | None) -> Iterator[ReadyAgent]:
    """The agents to try: a recording, or the command and its variants."""
    if tape is not None and not tape.records:
        return iter([recorded_agent(tape, request)])
    return agent_commands(request, tape or record)


def _first_to_start(agents: Iterator[ReadyAgent], options: SessionOptions, opening: _Opening) -> Session:
    """Start the first agent; try the next one only if the agent rejects its arguments."""
    refused: AgentDied | None = None
    for agent in agents:
        try:
            return _start(agent, options, opening)
        except AgentDied as died:
            if not refuses_arguments(died):
                raise
            refused = died
    assert refused is not None
    raise refused


def _start(agent: ReadyAgent, options: SessionOptions, opening: _Opening) -> Session:
    id = _session_id(opening, agent.launch.name)
    reach = agent.launch.reach
    ready = structs.replace(
        options,
        fs=options.fs and reach.is_local,
        terminal=options.terminal and reach.is_local,
        servers=agent.servers,
        judge=structs.replace(agent.settings.judge, agent=agent.launch.name),
        audit=None if opening.audit is None else AuditFile(opening.audit),
        tools=kernel_access(opening.tools, agent.settings.tools, is_recorded=not agent.runs, reach=reach),
    )
    return loop.call(_open(agent, ready, opening, id))


async def _open(ready: ReadyAgent, options: SessionOptions, opening: _Opening, id: str | None) -> Session:
    """Start the agent and open the session. Runs on the loop thread."""
    host = AgentHost(ready.launch, options, ready.backends)
    await host.start()
    roots, servers = opening.roots or tuple(ready.roots), ready.mcp_servers
    try:
        agent = Agent(
            host,
            cwd=ready.cwd,
            policy=opening.policy,
            redact=opening.redact,
            mcp_servers=servers,
            roots=roots,
            meta=opening.meta,
            start_another=_start_for_panel,
        )
        wanted = Wanted(mcp_servers=servers, roots=roots, meta=opening.meta)
        session = await agent._open(opening.how, id, wanted, shows=opening.shows)
        if isinstance(opening.id, Snapshot):
            session._conversation.continues(opening.id)
        reach, left_out = ready.launch.reach, ready.servers.left_out if not ready.mcp_servers else ()
        if ready.runs and not reach.is_ours and (opening.has_page or left_out):
            about = remote_notice(ready.cwd, left_out, shares_files=reach.is_local)
            session._conversation.state.apply(ev.NoticeGiven("info", TITLE, about, source="client"))
        for text in ready.settings.notices:
            session._conversation.state.apply(ev.NoticeGiven("warning", "Settings", text, source="client"))
        return session
    except BaseException:
        await host.close()
        raise


def _start_for_panel(cwd: str, agent: str, install: str | bool) -> Session:
    """Start an agent that the user chose in the panel of another one.

    It asks for every permission: what the user allows one agent is not for another.
    """
    entry = own_settings().agents.get(agent)
    here = cwd if entry is None or entry.url is None else None  # its own folder is not on this machine
    session = connect(agent, cwd=here, install=install)
    name = bind_to_free_name(session.agent.name, session)
    if name is not None:
        session._give_notice(f"In Python, this session is {name}.")
    return session


def _cassette(cassette: str | Path | Cassette | None, record: str | Path | None) -> Cassette | None:
    if cassette is None:
        return None
    if record is not None:
        raise UsageError("record= writes a recording and cassette= replays one: give only one of them")
    from .cassette import Cassette  # import it only if needed

    return cassette if isinstance(cassette, Cassette) else Cassette(cassette)


def _how_to_open(load: str | None, resume: str | Snapshot | None) -> tuple[str, str | Snapshot | None]:
    if load is not None and resume is not None:
        raise UsageError("load= opens a session with its history, resume= without it: give only one of them")
    if isinstance(resume, Snapshot):
        return "stored", resume
    return ("load", load) if load is not None else ("resume", resume) if resume is not None else ("new", None)


def _session_id(opening: _Opening, agent: str) -> str | None:
    """The id of the session to open, if it exists already."""
    if not isinstance(opening.id, Snapshot):
        return opening.id
    try:
        return resumable_id(opening.id.origins, agent)
    except ValueError as error:
        raise UsageError(f"{error}; {AS_CONTEXT}") from None


def _redactor(env: Mapping[str, str] | None, secrets: Iterable[Secret]) -> Redactor:
    if isinstance(secrets, str | re.Pattern):
        raise UsageError("secrets is a list: secrets=[…]")
    given = list(secrets)
    for secret in given:
        if not isinstance(secret, str | re.Pattern) or not secret:
            raise UsageError(f"a secret is a text or a compiled pattern, not {type(secret).__name__}")
    # An existing folder is no secret, and redacting it would redact every path below it.
    values = {name: it for name, it in (env or {}).items() if isinstance(it, str) and not is_path(it)}
    return Redactor(values, given)


def _limits(
    seconds: float | None, tool_calls: float | None, cost: float | None, retries: bool | int
) -> Limits:
    try:
        return Limits(seconds, tool_calls, cost, retries_of(retries))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _elicitation(policy: Any) -> ElicitationPolicy:
    try:
        return checked_policy(policy)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _one_of(name: str, value: str, *allowed: str) -> str:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; it can be {' or '.join(map(repr, allowed))}")
    return value
