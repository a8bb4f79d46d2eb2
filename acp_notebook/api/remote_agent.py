"""Turns an address, or an agent of the settings that has one, into an agent that can be connected to.

Connects to nothing. Everything above the transport learns from its `Reach` what is different.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ..agent.backends import Backends, live
from ..agent.launch import Launch
from ..agent.tap import Tap
from ..agent.transport import Reach, Transport
from ..core.agent_url import (
    AgentUrl,
    Headers,
    check_headers,
    is_address,
    read_url,
    secrets_in_query,
)
from ..core.mcp import expanded
from ..core.records import Guarded
from ..core.redaction import Redactor
from ..core.settings import OwnAgent
from ..errors import AgentNotFound, UsageError
from .agent import remote_folder

EXTRA = "pip install 'acp-notebook[remote]'"

TOKEN_IN_ADDRESS = (
    "The agent's address contains a token. Servers and proxies write addresses to their logs: give the token "
    "in headers= instead."
)


class RemoteOptions(Guarded, frozen=True, kw_only=True):
    """The arguments of `connect` that only concern an address."""

    _unshown: ClassVar[tuple[str, ...]] = ("headers",)
    headers: Headers | None = None
    ca: str | Path | None = None
    insecure: bool = False
    shared: bool = False

    @property
    def given(self) -> list[str]:
        """The names of those that were given."""
        values = {"headers": self.headers, "ca": self.ca, "insecure": self.insecure, "shared": self.shared}
        return [f"{name}=" for name, value in values.items() if value]


class RemoteAgent(Guarded, frozen=True):
    """A checked address, with everything that the call and the settings say about it."""

    _unshown: ClassVar[tuple[str, ...]] = ("headers",)
    name: str
    url: AgentUrl
    headers: Headers
    ca: str | None
    shared: bool
    cwd: str
    mcp_servers: tuple[str, ...] = ()

    @property
    def reach(self) -> Reach:
        wire = "WebSocket" if self.url.is_websocket else "HTTP"
        return Reach(is_ours=False, is_local=self.shared, wire=wire)

    @property
    def notices(self) -> tuple[str, ...]:
        return (TOKEN_IN_ADDRESS,) if secrets_in_query(self.url) else ()

    def launch(self, redactor: Redactor, start_timeout: float, auth: str | None) -> Launch:
        redactor.learn(secrets_in_query(self.url))
        return Launch(
            self.name,
            self.url.identity,
            start_timeout=start_timeout,
            auth=auth,
            redactor=redactor,
            reach=self.reach,
        )

    def backends(self, redactor: Redactor, *, undo: bool, tap: Tap | None) -> Backends:
        return live(_Transports(self, redactor), env={}, undo=undo and self.shared, tap=tap, reach=self.reach)


def check_shares_folders(agent: object, agents: Mapping[str, OwnAgent]) -> None:
    """Refuse an agent on another machine, which does not have the folders of this one. Raises UsageError."""
    entry = agents.get(agent) if isinstance(agent, str) else None
    is_remote = is_address(agent) if entry is None else entry.url is not None
    if is_remote and (entry is None or not entry.shared):
        name = "a remote agent" if entry is None else entry.name
        raise UsageError(
            f"{name} does not have the copies of the folder that the runs work in: fan-out takes an address "
            "only from your settings, as an agent with shared = true, if it really has the folders of this "
            "machine"
        )


def find_remote(
    agent: object,
    agents: Mapping[str, OwnAgent],
    options: RemoteOptions,
    cwd: str | Path | None,
    args: Sequence[str],
) -> RemoteAgent | None:
    """The remote agent that the call means; None if it means a command. Raises UsageError."""
    entry = agents.get(agent) if isinstance(agent, str) else None
    if entry is not None and entry.url is not None:
        url, name = entry.url, entry.name
    elif is_address(agent):
        entry, url, name = None, str(agent).strip(), ""
    else:
        if options.given:
            raise UsageError(f"{options.given[0]} is only for an agent with an address (wss:// or https://)")
        return None
    if args:
        raise UsageError("args= are for a command; a remote agent has an address and no arguments")
    shared = options.shared or (entry is not None and entry.shared)
    headers = options.headers if options.headers is not None else _headers_of(entry)
    try:
        checked = read_url(url, insecure=options.insecure or (entry is not None and entry.insecure))
        check_headers(headers)
    except ValueError as error:
        raise UsageError(str(error)) from None
    ca = options.ca if options.ca is not None else entry.ca if entry is not None else None
    own = entry.cwd if entry is not None else None
    return RemoteAgent(
        name=name or checked.name,
        url=checked,
        headers=headers,
        ca=None if ca is None else _ca(ca),
        shared=shared,
        cwd=_folder(cwd if cwd is not None else own, shared=shared),
        mcp_servers=() if entry is None else entry.mcp_servers,
    )


def _folder(path: str | Path | None, *, shared: bool) -> str:
    if path is None:
        if shared:
            return os.getcwd()
        raise UsageError('cwd= is missing: the folder on the agent\'s machine, such as cwd="/srv/project"')
    return remote_folder(path)


def _headers_of(entry: OwnAgent | None) -> Headers:
    if entry is None:
        return {}
    try:
        texts = {name: it for name, it in entry.headers.items() if isinstance(it, str)}
        return {**entry.headers, **expanded(texts, os.environ, f"the agent {entry.name}")}
    except ValueError as error:
        raise UsageError(str(error)) from None


def _ca(path: str | Path) -> str:
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(absolute):
        raise UsageError(f"ca= is {absolute}, which does not exist: give a file of certificates (PEM)")
    return absolute


class _Transports:
    """Makes a transport for each connection to one server."""

    def __init__(self, agent: RemoteAgent, redactor: Redactor) -> None:
        from importlib.util import find_spec  # import it only if needed

        needed = "websockets" if agent.url.is_websocket else "httpx"
        if find_spec(needed) is None or (needed == "httpx" and find_spec("h2") is None):
            raise AgentNotFound(f"a remote agent needs libraries that are not installed: {EXTRA}")
        from ..agent.remote.server import Server

        self._server = Server(agent.url, agent.headers, redactor, agent.ca)

    def __call__(self) -> Transport:
        if self._server.url.is_websocket:
            from ..agent.remote.ws_transport import WebSocketTransport

            return WebSocketTransport(self._server)
        from ..agent.remote.http_transport import HttpTransport

        return HttpTransport(self._server)
