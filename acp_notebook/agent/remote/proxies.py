"""The proxies of the environment: which one a connection will use, and whether it can.

They are only named by their variables: an address may contain a password, and failures are recorded.
"""

from __future__ import annotations

import urllib.request
from importlib.util import find_spec
from urllib.parse import urlsplit

from ...core.agent_url import AgentUrl
from .failures import Failure

SOCKS = ("socks5", "socks5h")

OF_HTTPX = ("http", "https", *SOCKS)
OF_WEBSOCKETS = (*OF_HTTPX, "socks4", "socks4a")


def variable(url: AgentUrl) -> str | None:
    """The variable with the proxy that this address is reached through, or None."""
    if url.is_loopback or urllib.request.proxy_bypass(url.netloc) or urllib.request.proxy_bypass(url.host):
        return None
    return next(map(_variable, _kinds(url)), None)


def problem(url: AgentUrl) -> Failure | None:
    """Why no connection can be made with the proxies of the environment, or None."""
    if url.is_loopback:
        return None
    found = urllib.request.getproxies()
    if url.is_websocket:
        kinds = _kinds(url)[:1] if variable(url) is not None else []
        return next((_problem(url, it, found[it]) for it in kinds), None)
    # httpx prepares all of them, even for an address that needs none
    is_off = "*" in (it.strip() for it in found.get("no", "").split(","))
    problems = (_problem(url, it, found[it]) for it in ("http", "https", "all") if it in found and not is_off)
    return next(filter(None, problems), None)


def _kinds(url: AgentUrl) -> list[str]:
    """The kinds of proxies that are looked for, by the library's own order; only those that are set."""
    wanted = {
        "wss": ("wss", "socks", "https"),
        "ws": ("ws", "socks", "https", "http"),
        "https": ("https", "all"),
        "http": ("http", "all"),
    }
    found = urllib.request.getproxies()
    return [it for it in wanted[url.scheme] if found.get(it)]


def _variable(kind: str) -> str:
    return f"{kind.upper()}_PROXY"


def _problem(url: AgentUrl, kind: str, proxy: str) -> Failure | None:
    name = _variable(kind)
    if kind == "socks" and proxy.startswith("http://"):  # as systems declare it
        proxy = f"socks5h{proxy[4:]}"
    if "://" not in proxy and url.is_websocket:
        return Failure(f"the proxy in {name} has no http:// before its name")
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_host = False
    if not has_host:
        return Failure(f"the address of the proxy in {name} cannot be read: is its port a number?")
    if parts.scheme not in (OF_WEBSOCKETS if url.is_websocket else OF_HTTPX):
        return Failure(
            f"the proxy in {name} begins with {parts.scheme}://: use one with http:// or socks5h://"
        )
    if not parts.scheme.startswith("socks"):
        return None
    library, extra = ("python_socks", "python-socks[asyncio]") if url.is_websocket else ("socksio", "socksio")
    if find_spec(library) is None:
        return Failure(f"the proxy in {name} is for SOCKS, which needs a library: pip install '{extra}'")
    return None
