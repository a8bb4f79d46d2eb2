"""connect(): from an agent's name to a session on it.

Chooses what to start and how; the work is done on the loop thread.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .agent import loop, quirks, recording
from .agent.audit_file import AuditFile
from .agent.catalog import Found
from .agent.environment import agent_environment
from .agent.host import AgentHost, Launch
from .agent.process import Command, ProcessTransport
from .agent.replay import ReplayTransport
from .cassette import Cassette
from .choosing import choose, completed
from .core.policy import Policy
from .core.redaction import Redactor, Secret
from .errors import AgentDied, RecordingError, UsageError
from .notebook import kernel
from .presenting import Show, sign_in_shown
from .running_agent import Agent, folder, policy_of
from .session import Session

if TYPE_CHECKING:
    from .notebook.static import Redact

loop.wait_for = kernel.wait  # clicks are handled while a cell waits for an agent

START_TIMEOUT_S = 60.0
"""For an agent to introduce itself: npx and uvx may have to install it first."""


def connect(
    agent: str | Sequence[str] | None = None,
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    inherit_env: bool | Iterable[str] = True,
    permissions: Policy = "ask",
    roots: Iterable[str | Path] = (),
    mcp_servers: Iterable[Mapping[str, Any]] = (),
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
    read_notebooks: Literal["elided", "raw"] = "elided",
    notebook_outputs: Literal["drop", "keep"] = "drop",
    undo: bool = True,
    start_timeout: float = START_TIMEOUT_S,
    install: bool | None = None,
) -> Session:
    """Start an agent and open a session on it.

    `agent` is a known name ("demo", "gemini"; `acp.agents()` lists them), a command line ("gemini --acp")
    or a list of words. One that is not installed is fetched and run by npx or uvx only with your consent:
    `install=True`, or your answer where you can be asked; `install=False` never asks. It runs in
    `cwd` (by default here), with this process's environment less Jupyter's own secrets, plus `env`;
    `inherit_env` may be False, or the names to pass on. `permissions` is "ask", "allow", "reject", a
    mapping from tool kind to one of these, or a function of the request; a question that nobody answers
    within `question_timeout` seconds (by default it waits) is answered no. `record` writes every
    message to a file; `cassette` plays such a file back instead of starting an agent (`acp.Cassette` says
    how): what was recorded as a person's answer is the answer to "ask", files are written to a fresh
    folder unless you name a `cwd`, commands are not run. `redact` is a function from text to text that
    sees all text before it is put into the notebook's file. `secrets` are texts and regular expressions
    that appear nowhere: neither in the transcript nor in any file; nor do the values of `env`.

    `load` and `resume` open a session that the agent keeps, with and without its history, instead of a new
    one. An agent that wants a sign-in shows its ways below the cell, which waits; `auth` names the one to
    take. Where nobody can be asked, `acp.AuthenticationRequired` says what to do.

    The agent's file requests are served inside `cwd` and `roots` only, and its commands run there;
    `fs=False` and `terminal=False` leave these things to the agent. `audit` appends what it asked for,
    who allowed it and what was done to a file, a JSON object a line; `session.audit` is the same as a table.

    Notebooks are read without what fills an agent's context: outputs are named, not shown, unless
    `read_notebooks` is "raw". What an agent writes to one is merged, cell by cell, with what is there by
    then; a cell that it changes loses its outputs, unless `notebook_outputs` is "keep". The notebook that
    is open in the page is read and changed in the page.

    The folders are marked before and after each turn, in a private place outside of them, so that what the
    agent changes can be undone, also what it changes by itself: `session.changes`, `turn.revert()`. With
    `undo=False` only what is written through us can be.
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

    def opened(launch: Launch, where: str, more_roots: Sequence[str] = ()) -> Session:
        ready = replace(
            launch,
            fs=fs,
            terminal=terminal,
            audit=None if audit is None else AuditFile(audit),
            question_timeout=question_timeout,
            raw_notebooks=raw,
            keep_outputs=keep,
            start_timeout=start_timeout,
            redactor=redactor,
            auth=auth,
            undo=undo and launch.replay is None,
        )
        folders = tuple(roots) or tuple(more_roots)
        return loop.call(_opened(ready, how, where, policy, tuple(mcp_servers), folders, redact, shows))

    if tape is not None and not tape.records:
        return opened(*_recorded(tape, None if cwd is None else folder(cwd)))
    where = folder(cwd if cwd is not None else os.getcwd())
    environment = _environment(env, inherit_env)
    found = choose(_named(agent), environment.get("PATH"), cwd=where, install=install)
    try:
        return opened(_process(found, where, environment, env, tape or record, redactor), where)
    except AgentDied as died:
        if found.older is None or not _refuses_arguments(died):
            raise
    return opened(_process(found.older, where, environment, env, tape or record, redactor), where)


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


def _one_of(name: str, value: str, *allowed: str) -> str:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; it can be {' or '.join(map(repr, allowed))}")
    return value


async def _opened(
    launch: Launch,
    how: tuple[str, str | None],
    cwd: str,
    policy: Policy,
    mcp_servers: tuple[Mapping[str, Any], ...],
    roots: tuple[str | Path, ...],
    redact: Redact | None,
    shows: Show | None,
) -> Session:
    host = AgentHost(launch)
    await host.start()
    try:
        agent = Agent(host, cwd=cwd, policy=policy, redact=redact)
        return await agent._open(*how, None, None, mcp_servers, roots, shows=shows)
    except BaseException:
        await host.close()
        raise


def _recorded(tape: Cassette, cwd: str | None) -> tuple[Launch, str, list[str]]:
    recorded = tape.opened()
    replay, where, roots = tape.replay(recorded, cwd)
    name = recorded.agent or tape.file.stem
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
    found: Found,
    cwd: str,
    environment: Mapping[str, str],
    env: Mapping[str, str] | None,
    record: str | Path | Cassette | None,
    redactor: Redactor,
) -> Launch:
    whole = quirks.environment(completed(found, environment, env or {}), found.argv, env or {})
    redactor.learn(found.secrets.values())
    tap = _recorder(record, found.name, redactor)
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
    record: str | Path | Cassette | None, agent: str, redactor: Redactor
) -> recording.Recorder | None:
    if record is None:
        return None
    if not isinstance(record, Cassette):
        return recording.Recorder(record, agent=agent, redactor=redactor)
    try:
        record.file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"cannot record to {record.file}: {error.strerror}") from None
    return recording.Recorder(record.draft, agent=agent, redactor=redactor, becomes=record.file)
