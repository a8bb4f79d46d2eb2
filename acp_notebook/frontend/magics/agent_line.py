"""The line behind %acp_agent -> the session that it asks for.

Knows no shell: what name the session gets is only read here.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from ...api.connect import connect
from ...api.session import Session
from ...errors import UsageError
from .completion import POLICIES

DEFAULT = "session"
"""The variable that an agent's session gets, and that a prompt goes to."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%acp_agent: {message}")


class AgentRequest(argparse.Namespace):
    """The parsed line of %acp_agent."""

    agent: str
    name: str
    cwd: str | None
    mode: str | None
    config: list[str]
    permissions: str
    resume: str | None
    load: str | None
    install: bool | None
    args: list[str]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%acp_agent", add_help=False, allow_abbrev=False)
    parser.add_argument("agent", metavar="NAME")
    parser.add_argument("--as", dest="name", metavar="VAR", default=DEFAULT)
    parser.add_argument("--cwd", metavar="DIR")
    parser.add_argument("--mode", metavar="M")
    parser.add_argument("--config", metavar="K=V", action="append", default=[])
    parser.add_argument("--permissions", metavar="P", default="ask")
    parser.add_argument("--install", action="store_true", default=None)
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--resume", metavar="ID")
    kept.add_argument("--load", metavar="ID")
    return parser


def words_of(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%acp_agent: the line cannot be read: {error}") from None


def wish_of(words: list[str]) -> AgentRequest:
    at = words.index("--") if "--" in words else len(words)
    wish = _parser().parse_args(words[:at], AgentRequest())
    wish.args = words[at + 1 :]
    for setting in wish.config:
        if "=" not in setting:
            raise UsageError(f"--config {setting}: write K=V, such as --config model=fast")
    return wish


def _policy(text: str) -> Any:
    if "=" in text:
        return dict(it.partition("=")[::2] for it in text.split(","))
    if text not in POLICIES:
        raise UsageError(f"--permissions {text}: say {', '.join(POLICIES)}, or kinds: edit=ask,read=allow")
    return text


def opened(wish: AgentRequest) -> Session:
    """The session, with all that was asked for; none is left behind where that cannot be had."""
    policy = _policy(wish.permissions)
    session = connect(wish.agent, args=wish.args, cwd=wish.cwd, permissions=policy, install=wish.install)
    try:
        session = _continued(session, wish)
        for setting in wish.config:
            _configure(session, *setting.split("=", 1))
        if wish.mode is not None:
            session.mode = wish.mode
    except BaseException:
        session.agent.close()
        raise
    return session


def _continued(session: Session, wish: AgentRequest) -> Session:
    """An earlier session of the agent's in the place of the new one, which only served to start it."""
    if wish.resume is None and wish.load is None:
        return session
    agent = session.agent
    earlier = agent.resume(wish.resume) if wish.resume is not None else agent.load(str(wish.load))
    session.close()
    return earlier


def _configure(session: Session, id: str, value: str) -> None:
    option = next((it for it in session.config.options if it.id == id), None)
    truth = {"true": True, "false": False}.get(value.lower())
    is_truth = option is not None and option.type == "boolean" and truth is not None
    session.config[id] = bool(truth) if is_truth else value
