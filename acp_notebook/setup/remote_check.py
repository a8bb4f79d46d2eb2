"""What `doctor` reports about remote agents: whether their servers answer, how, and how fast.

Sends no header and no message: it opens a connection, sets up TLS, and closes it.
"""

from __future__ import annotations

import socket
import ssl
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from .. import timeouts
from ..agent.remote import failures
from ..agent.remote.server import Server
from ..core.agent_url import AgentUrl, read_url
from ..core.settings import OwnAgent

PORTS = {"ws": 80, "http": 80, "wss": 443, "https": 443}


@dataclass(frozen=True, slots=True)
class Reached:
    """What was found out about one server."""

    text: str
    is_problem: bool = False
    advice: str = ""


def check(agent: OwnAgent) -> Reached:
    """Whether the server of an agent in the settings can be reached. Blocks."""
    try:
        url = read_url(agent.url or "", insecure=agent.insecure)
    except ValueError as error:
        return Reached(str(error), True, "correct the url in your settings")
    if _proxied(url):
        return Reached(f"{url.identity}: behind a proxy, so not checked here")
    began = time.monotonic()
    try:
        tls = _connect(url, agent.ca)
    except (OSError, ssl.SSLError) as error:
        return Reached(f"{url.identity}: not reachable", True, failures.of_exception(error).reason)
    took = 1000 * (time.monotonic() - began)
    return Reached(f"{url.identity}: reachable in {took:.0f} ms, {tls or 'no TLS'}")


def _connect(url: AgentUrl, ca: str | None) -> str | None:
    """Connect, and return the version of TLS."""
    port = int(url.netloc.rpartition(":")[2]) if _has_port(url) else PORTS[url.scheme]
    with socket.create_connection((url.host, port), timeouts.get().doctor_connect) as plain:
        if not url.is_secure:
            return None
        with Server(url, ca=ca).tls().wrap_socket(plain, server_hostname=url.host) as secure:
            return secure.version()


def _has_port(url: AgentUrl) -> bool:
    return url.netloc.rpartition("]")[2].rpartition(":")[1] == ":"


def _proxied(url: AgentUrl) -> bool:
    proxies: Mapping[str, str] = urllib.request.getproxies()
    wanted = ("https", "all") if url.is_secure else ("http", "all")
    is_used = any(name in proxies for name in wanted) and not urllib.request.proxy_bypass(url.host)
    return is_used and not url.is_loopback
