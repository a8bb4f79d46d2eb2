"""What `doctor` reports about remote agents: whether their servers answer `initialize`, how, and how fast.

Connects as `connect` does, with the headers of the settings, asks for nothing else, and closes the
connection.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from dataclasses import dataclass

from .. import timeouts
from .._version import __version__
from ..agent.aside_reader import AsideReader
from ..agent.connection import Connection
from ..agent.remote import failures
from ..agent.remote.http_transport import HttpTransport
from ..agent.remote.server import Server
from ..agent.remote.ws_transport import WebSocketTransport
from ..agent.transport import Reach
from ..core.agent_url import AgentUrl, check_headers, read_url, secrets_in_query
from ..core.mcp import expanded
from ..core.requests import AgentFacts
from ..core.settings import OwnAgent
from ..errors import Error
from ..log import logger
from ..wire import v1

_log = logger(__name__)

PORTS = {"ws": 80, "http": 80, "wss": 443, "https": 443}

LEFT_S = 1.0
"""What the other parts of a report have after the slowest server."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What was found out about one server."""

    text: str
    is_problem: bool = False
    advice: str = ""


def check(agent: OwnAgent) -> Reached:
    """Whether the server of an agent in the settings can be reached, and speaks our protocol. Blocks."""
    began = time.monotonic()
    try:
        server = _server(agent)
    except ValueError as error:
        return Reached(str(error), True, "correct your settings, or set the variable")
    shown = server.url.identity
    try:
        found = "through a proxy"
        if server.proxy is None:
            tls = _connect(server)
            found = f"reachable in {1000 * (time.monotonic() - began):.0f} ms, {tls or 'no TLS'}"
    except (OSError, ValueError) as error:
        return Reached(f"{shown}: not reachable", True, failures.of_exception(error).reason)
    try:
        return asyncio.run(_initialized(server, f"{shown}: {found}", time.monotonic() - began))
    except Exception as error:  # it must not hide what was found out about other servers
        _log.warning("the check of a server failed", exc_info=True)
        return Reached(f"{shown}: {found}", True, f"the check failed: {type(error).__name__}")


def _server(agent: OwnAgent) -> Server:
    """The server as `connect` would use it. Raises ValueError, for the user to read."""
    url = read_url(agent.url or "", insecure=agent.insecure)
    texts = {name: it for name, it in agent.headers.items() if isinstance(it, str)}
    headers = {**agent.headers, **expanded(texts, os.environ, f"the agent {agent.name}")}
    check_headers(headers)
    ca = None if agent.ca is None else os.path.abspath(os.path.expanduser(agent.ca))
    if ca is not None and not os.path.exists(ca):
        raise ValueError(f"ca = {agent.ca!r} does not exist: it is a file of certificates (PEM)")
    server = Server(url, headers, ca=ca)
    server.redactor.learn(secrets_in_query(url))
    return server


def _connect(server: Server) -> str | None:
    """Connect, and return the version of TLS."""
    url = server.url
    port = int(url.netloc.rpartition(":")[2]) if _has_port(url) else PORTS[url.scheme]
    with socket.create_connection((url.host, port), timeouts.get().doctor_connect) as plain:
        if not url.is_secure:
            return None
        with server.tls().wrap_socket(plain, server_hostname=url.host) as secure:
            return secure.version()


async def _initialized(server: Server, found: str, took: float) -> Reached:
    """What the answer to `initialize` says, if it comes while the report can wait for it."""
    limits = timeouts.get()
    limit = max(LEFT_S, limits.doctor - took - limits.remote_close - LEFT_S)
    transport = (WebSocketTransport if server.url.is_websocket else HttpTransport)(server)
    reach = Reach(is_ours=False, wire="WebSocket" if server.url.is_websocket else "HTTP")
    connection = Connection(transport, AsideReader(""), redactor=server.redactor, reach=reach)
    connection.start()
    began = asyncio.get_running_loop().time()
    try:
        call = v1.initialize({}, name="acp_notebook", title="acp_notebook", version=__version__)
        facts = v1.read_initialize(await connection.request(call, limit))
    except TimeoutError:
        return Reached(f"{found}, but it has not answered initialize within {limit:.0f} s")
    except v1.Malformed as error:
        return Reached(found, True, server.redactor.text(f"its answer to initialize cannot be read: {error}"))
    except Error as error:
        return Reached(
            f"{found}, but an agent cannot be reached there", True, server.redactor.text(str(error))
        )
    finally:
        await connection.close()
    wire = getattr(transport, "wire", "") or reach.wire
    return _spoken(facts, f"{found}, {wire}", asyncio.get_running_loop().time() - began)


def _spoken(facts: AgentFacts, found: str, took: float) -> Reached:
    text = f"{found}, protocol {facts.protocol_version}, answered initialize in {1000 * took:.0f} ms"
    if facts.protocol_version == v1.VERSION:
        return Reached(text)
    return Reached(text, True, f"this client speaks version {v1.VERSION}: try other versions of both")


def _has_port(url: AgentUrl) -> bool:
    return url.netloc.rpartition("]")[2].rpartition(":")[1] == ":"
