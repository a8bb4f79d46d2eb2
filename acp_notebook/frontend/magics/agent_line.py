"""Parses the line after %acp_agent and opens the session that it requests.

Knows no shell: it only reads the name of the session's variable.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from ...agent.known_agents import catalog
from ...api.connect import connect
from ...api.session import Session
from ...errors import UsageError
from ...setup.config import own_names
from .completion import POLICIES

DEFAULT = "session"
"""The default name of the session's variable."""


class _Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%acp_agent: {message}")


class AgentLine(argparse.Namespace):
    """The parsed line of %acp_agent."""

    agent: str
    name: str
    cwd: str | None
    mode: str | None
    config: list[str]
    permissions: str
    resume: str | None
    load: str | None
    install: bool | str | None
    args: list[str]

    def chosen(self, agent: str, install: bool | str) -> AgentLine:
        """The same line for the agent that the user chose; arguments are for the one that it names."""
        args = self.args if agent == missing_agent(self) else []
        return AgentLine(**{**vars(self), "agent": agent, "install": install, "args": args})


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%acp_agent", add_help=False, allow_abbrev=False)
    parser.add_argument("agent", metavar="NAME")
    parser.add_argument("--as", dest="name", metavar="VAR", default=DEFAULT)
    parser.add_argument("--cwd", metavar="DIR")
    parser.add_argument("--mode", metavar="M")
    parser.add_argument("--config", metavar="K=V", action="append", default=[])
    parser.add_argument("--permissions", metavar="P", default="ask")
    parser.add_argument("--install", action="store_true", default=None)
    stored = parser.add_mutually_exclusive_group()
    stored.add_argument("--resume", metavar="ID")
    stored.add_argument("--load", metavar="ID")
    return parser


def split_line(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%acp_agent: cannot parse the line: {error}") from None


def parse_request(words: list[str]) -> AgentLine:
    at = words.index("--") if "--" in words else len(words)
    request = _parser().parse_args(words[:at], AgentLine())
    request.args = words[at + 1 :]
    for setting in request.config:
        if "=" not in setting:
            raise UsageError(f"--config {setting}: write K=V, such as --config model=fast")
    return request


def missing_agent(request: AgentLine) -> str | None:
    """The name by which the list of agents has the line's agent; None if it is a command, or unknown."""
    known = catalog.find_agent(request.agent)
    if request.agent in own_names():
        return request.agent
    return None if known is None else known.name


def _policy(text: str) -> Any:
    if "=" in text:
        return dict(it.partition("=")[::2] for it in text.split(","))
    if text not in POLICIES:
        raise UsageError(
            f"--permissions {text}: use {', '.join(POLICIES)}, or policies by kind: edit=ask,read=allow"
        )
    return text


def open_session(request: AgentLine) -> Session:
    """Open the session with the requested options. If that fails, close the agent."""
    policy = _policy(request.permissions)
    session = connect(
        request.agent, args=request.args, cwd=request.cwd, permissions=policy, install=request.install
    )
    try:
        session = _open_stored(session, request)
        for setting in request.config:
            _configure(session, *setting.split("=", 1))
        if request.mode is not None:
            session.mode = request.mode
    except BaseException:
        session.agent.close()
        raise
    return session


def _open_stored(session: Session, request: AgentLine) -> Session:
    """Replace the new session, which only started the agent, with the requested stored one."""
    if request.resume is None and request.load is None:
        return session
    agent = session.agent
    stored = agent.resume(request.resume) if request.resume is not None else agent.load(str(request.load))
    session.close()
    return stored


def _configure(session: Session, id: str, value: str) -> None:
    option = next((it for it in session.config.options if it.id == id), None)
    boolean = {"true": True, "false": False}.get(value.lower())
    is_boolean = option is not None and option.type == "boolean" and boolean is not None
    session.config[id] = bool(boolean) if is_boolean else value
