"""connect(): from an agent's name to a session on it.

Chooses what to start and how; the work is done on the loop thread.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..agent import loop
from ..agent.audit_file import AuditFile
from ..agent.host import AgentHost, Launch
from ..agent.known_agents import quirks
from ..agent.known_agents.catalog import BUILT_IN, ResolvedCommand
from ..agent.mcp_servers import Servers
from ..agent.processes.environment import agent_environment
from ..agent.processes.process_transport import Command, ProcessTransport
from ..agent.recordings import path_scrubbing, recording
from ..agent.recordings.replay import ReplayTransport
from ..core import events as ev
from ..core.elicitation import ElicitationPolicy, checked_policy
from ..core.limits import Limits, retries_of
from ..core.mcp import expanded
from ..core.policy import Policy
from ..core.redaction import Redactor, Secret
from ..core.settings import Settings
from ..errors import AgentDied, RecordingError, UsageError
from ..frontend.display import Show, may_be_asked, sign_in_shown
from ..notebook import kernel
from ..setup.config import NOTHING, ActiveSettings, in_force, own_settings
from ..setup.resolve import choose, completed
from .agent import Agent, GivenServers, folder, policy_of
from .cassette import Cassette
from .session import Session

if TYPE_CHECKING:
    from ..notebook.static import Redact

loop.wait_for = kernel.wait  # clicks are handled while a cell waits for an agent

START_TIMEOUT_S = 60.0
"""For an agent to introduce itself: the slow ones need half of it on a busy machine."""

FETCH_TIMEOUT_S = 300.0
"""The same, where npx or uvx may have to fetch it first."""


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
    resume: str | None = None,
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
    start_timeout: float = START_TIMEOUT_S,
    install: bool | None = None,
    trust_project: bool | str | None = None,
) -> Session:
    """Start an agent and open a session on it.

    `agent` is a known name ("demo", "gemini"; `acp.agents()` lists them), a command line ("gemini --acp")
    or a list of words; `args` are more arguments for its command. One that is not installed is fetched
    and run by npx or uvx only with your consent: `install=True`, or your answer where you can be asked;
    `install=False` never asks. It runs in
    `cwd` (by default here), with this process's environment less Jupyter's own secrets, plus `env`;
    `inherit_env` may be False, or the names to pass on. `permissions` is "ask", "allow", "reject", a
    mapping from tool kind to one of these, or a function of the request; a question that nobody answers
    within `question_timeout` seconds (by default it waits) is answered no. `record` writes every
    message to a file; `cassette` plays such a file back instead of starting an agent (`acp.Cassette` says
    how): what was recorded as a person's answer is the answer to "ask", files are written to a fresh
    folder unless you name a `cwd`, commands are not run. `redact` is a function from text to text that
    sees all text before it is put into the notebook's file. `secrets` are texts and regular expressions
    that appear nowhere: neither in the transcript nor in any file. Nor do the values of `env`, but for short
    ones that read as a setting and whose names say that they are one (`AWS_REGION=us-east-1`).

    `load` and `resume` open a session that the agent keeps, with and without its history, instead of a new
    one. An agent that wants a sign-in shows its ways below the cell, which waits; `auth` names the one to
    take. Where nobody can be asked, `acp.AuthenticationRequired` says what to do.

    `elicitation` says who answers what the agent asks beside permissions (a form to fill in, an address to
    open): "ask", "decline", or a function of the request (`message`, `mode`, `fields`, `url`) that returns
    a mapping from field names to values, "decline" or "cancel". Where nobody can be asked, it is declined.

    `max_seconds`, `max_tool_calls` and `max_cost` (in the agent's currency, where it tells what it costs)
    are the limits of every turn: one that goes beyond is cancelled, and `turn.limit` says why. A turn that
    fails because of the agent's rate limit is sent again, after the wait that the agent asks for, else
    after longer and longer ones, only with `retry_rate_limits`: True (up to 5 times) or how often.

    The agent's file requests are served inside `cwd` and `roots` only, and its commands run there;
    `fs=False` and `terminal=False` leave these things to the agent. `audit` appends what it asked for,
    who allowed it and what was done to a file, a JSON object a line; `session.audit` is the same as a table.

    Notebooks are read without what fills an agent's context: images and other bulky outputs are named, not
    shown, and of text outputs the first 2,000 characters are, unless `read_notebooks` is "raw". What an
    agent writes to one is merged, cell by cell, with what is there by then; a cell that it changes loses its
    outputs, unless `notebook_outputs` is "keep". The notebook that is open in the page is read and changed in
    the page.

    The folders are marked before and after each turn, in a private place outside of them, so that what the
    agent changes can be undone, also what it changes by itself: `session.changes`, `turn.revert()`. With
    `undo=False` only what is written through us can be.

    `mcp_servers` are handed on to the agent: names of servers in your file, mappings with a name and a
    command (args, env) or a url (headers, type), or a mapping from names to these. Without any it gets those
    of your file that are marked `always`; None means none at all.

    Your file (config.toml in ~/.config/acp_notebook) has agents, MCP servers and permission rules of yours. A
    project's file (.acp_notebook.toml) is not used before you have trusted its content, see `acp.trust`; in
    headless runs only with `trust_project=True` (or the content's sha256) besides, and never to allow
    anything. `trust_project=False` leaves it alone.
    """
    raw = _one_of("read_notebooks", read_notebooks, "elided", "raw") == "raw"
    keep = _one_of("notebook_outputs", notebook_outputs, "drop", "keep") == "keep"
    tape = None if cassette is None else cassette if isinstance(cassette, Cassette) else Cassette(cassette)
    if tape is not None and record is not None:
        raise UsageError("record= writes a recording and cassette= plays one: give one of them")
    policy = policy_of(permissions)
    how = _how_to_open(load, resume)
    redactor = _redactor(env, secrets)
    shows = sign_in_shown()
    answers = _elicitation(elicitation)
    limits = _limits(max_seconds, max_tool_calls, max_cost, retry_rate_limits)

    def opened(
        launch: Launch,
        where: str,
        more_roots: Sequence[str] = (),
        servers: Any = (),
        now: ActiveSettings = NOTHING,
    ) -> Session:
        ready = replace(
            launch,
            limits=limits,
            elicitation=answers,
            elicits=callable(answers) or (answers == "ask" and may_be_asked()),
            fs=fs,
            terminal=terminal,
            audit=None if audit is None else AuditFile(audit),
            question_timeout=question_timeout,
            raw_notebooks=raw,
            keep_outputs=keep,
            start_timeout=launch.start_timeout if start_timeout == START_TIMEOUT_S else start_timeout,
            redactor=redactor,
            auth=auth,
            undo=undo and launch.replay is None,
            judge=replace(now.judge, agent=launch.name),
        )
        folders = tuple(roots) or tuple(more_roots)
        return loop.call(_opened(ready, how, where, policy, servers, folders, redact, shows, now.notices))

    if tape is not None and not tape.records:
        home = (env or {}).get("HOME")
        return opened(*_recorded(tape, None if cwd is None else folder(cwd), home), mcp_servers)
    own, broken = _own_settings(agent)
    agent = agent if agent is not None else own.agent
    where = folder(cwd or _own_folder(own, agent) or os.getcwd())
    now = in_force(where, own, trust_project, broken)
    agent = agent if agent is not None else now.agent
    environment = _environment(env, inherit_env)
    found = choose(
        _named(agent), environment.get("PATH"), args=args, cwd=where, own=now.agents, install=install
    )
    servers = Servers(
        now.servers,
        tuple(dict.fromkeys((*now.always, *found.mcp_servers))),
        learn=lambda variables: redactor.learn_variables(it for it in variables if not _is_path(it[1])),
    )
    chosen = servers.chosen(mcp_servers) or None

    def process(found: ResolvedCommand) -> Launch:
        launch = _process(found, where, environment, env, tape or record, redactor)
        fetched = found.how in ("npx", "uvx")
        return replace(launch, servers=servers, start_timeout=FETCH_TIMEOUT_S if fetched else START_TIMEOUT_S)

    try:
        return opened(process(found), where, servers=chosen, now=now)
    except AgentDied as died:
        if found.older is None or not _refuses_arguments(died):
            raise
    return opened(process(found.older), where, servers=chosen, now=now)


def _own_settings(agent: str | Sequence[str] | None) -> tuple[Settings, str | None]:
    """The user's, and what is wrong with them. The built-in agent starts all the same, and tells it."""
    try:
        return own_settings(), None
    except UsageError as error:
        if agent not in BUILT_IN:
            raise
        return Settings(), f"Your settings are not used: {error}"


def _own_folder(own: Settings, agent: str | Sequence[str] | None) -> str | None:
    entry = own.agents.get(agent) if isinstance(agent, str) else None
    return entry.cwd if entry is not None else None


def _expanded(found: ResolvedCommand) -> dict[str, str]:
    """The variables of the user's file, with "${NAME}" put in."""
    try:
        return expanded(found.secrets, os.environ, f"the agent {found.name}")
    except ValueError as error:
        raise UsageError(str(error)) from None


def _how_to_open(load: str | None, resume: str | None) -> tuple[str, str | None]:
    if load is not None and resume is not None:
        raise UsageError("load= tells a session's history, resume= does not: name one of them")
    return ("load", load) if load is not None else ("resume", resume) if resume is not None else ("new", None)


def _redactor(env: Mapping[str, str] | None, secrets: Iterable[Secret]) -> Redactor:
    if isinstance(secrets, str | re.Pattern):
        raise UsageError("secrets is a list: secrets=[…]")
    given = list(secrets)
    for secret in given:
        if not isinstance(secret, str | re.Pattern) or not secret:
            raise UsageError(f"a secret is a text or a compiled pattern, not {type(secret).__name__}")
    # A folder that exists is no secret, and taking it out would take it out of every path below it.
    values = {name: it for name, it in (env or {}).items() if isinstance(it, str) and not _is_path(it)}
    return Redactor(values, given)


def _is_path(value: str) -> bool:
    return os.path.isabs(value) and "\0" not in value and os.path.exists(value)


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


async def _opened(
    launch: Launch,
    how: tuple[str, str | None],
    cwd: str,
    policy: Policy,
    mcp_servers: Any,
    roots: tuple[str | Path, ...],
    redact: Redact | None,
    shows: Show | None,
    notices: tuple[str, ...],
) -> Session:
    host = AgentHost(launch)
    await host.start()
    try:
        agent = Agent(host, cwd=cwd, policy=policy, redact=redact, mcp_servers=mcp_servers, roots=roots)
        session = await agent._open(*how, None, None, mcp_servers, roots, shows=shows)
        for text in notices:
            session._conversation.apply(ev.NoticeGiven("warning", "Settings", text, source="client"))
        return session
    except BaseException:
        await host.close()
        raise


def _recorded(tape: Cassette, cwd: str | None, home: str | None) -> tuple[Launch, str, list[str]]:
    replay, where, roots = tape.replay(tape.opened(), cwd, home)
    name = replay.script.agent or tape.file.stem
    return Launch(name, lambda: ReplayTransport(replay), "", replay, replay=replay), where, roots


def _named(agent: str | Sequence[str] | None) -> str | Sequence[str]:
    if agent is None:
        raise UsageError('name an agent: acp.connect("demo"), or a recording: acp.connect(cassette=…)')
    return agent


def _environment(env: Mapping[str, str] | None, inherit_env: bool | Iterable[str]) -> dict[str, str]:
    try:
        return agent_environment(os.environ, env, inherit_env)
    except TypeError as error:
        raise UsageError(str(error)) from None


def _process(
    found: ResolvedCommand,
    cwd: str,
    environment: Mapping[str, str],
    env: Mapping[str, str] | None,
    record: str | Path | Cassette | None,
    redactor: Redactor,
) -> Launch:
    written = _expanded(found)
    needed = replace(found, env={**found.env, **written})
    whole = quirks.environment(completed(needed, environment, env or {}), found.argv, env or {})
    redactor.learn_variables(it for it in written.items() if not _is_path(it[1]))
    tap = _recorder(record, found.name, redactor, whole)
    command = Command(argv=found.argv, cwd=found.folder or cwd, env=whole)
    return Launch(
        found.name,
        lambda: ProcessTransport(command),
        found.identity,
        tap,
        env=whole,
        argv=found.argv,
        cwd=command.cwd or cwd,
    )


def _refuses_arguments(died: AgentDied) -> bool:
    """It did not know the arguments: an older version wants others."""
    return (
        re.search(r"unknown (argument|option)|unrecognized|unexpected argument", str(died), re.I) is not None
    )


def _recorder(
    record: str | Path | Cassette | None, agent: str, redactor: Redactor, env: Mapping[str, str]
) -> recording.Recorder | None:
    if record is None:
        return None
    made = partial(
        recording.Recorder,
        agent=agent,
        redactor=redactor,
        places=path_scrubbing.known(env),
        finish=path_scrubbing.hide,
    )
    if not isinstance(record, Cassette):
        return made(record)
    try:
        record.file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"cannot record to {record.file}: {error.strerror}") from None
    return made(record.draft, becomes=record.file)
