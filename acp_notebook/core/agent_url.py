"""The address of a remote agent, and the headers that may go there: what is accepted, and how it is shown.

Pure: connects to nothing and reads no variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from msgspec import Struct

from .patterns import pattern
from .variables import names_secret_variable

SCHEMES = ("wss", "ws", "https", "http")

HeaderValue = str | Mapping[str, str] | Callable[[], str]
"""A text, {"env": NAME}, or a function that returns the text and is called for each connection."""

Headers = Mapping[str, HeaderValue] | Callable[[], Mapping[str, str]]

_ADDRESS = pattern(r"\s*[A-Za-z][A-Za-z0-9+.-]*://|\s*(?:javascript|data|file|tcp):", re.IGNORECASE)
_LETS_IN = pattern(
    r"(?:^|[-_.])(?:jwt|sig|code|session(?:[-_.]?id)?|ticket|assertion)(?:$|[-_.])", re.IGNORECASE
)
"""Parameters that are as good as a password, besides those that are called so."""
_TOKEN = pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OUR_OWN = pattern(
    r"host|connection|upgrade|content-.*|transfer-encoding|accept|accept-encoding|te|trailer|expect"
    r"|last-event-id|acp-.*|sec-websocket-.*",
    re.IGNORECASE,
)
"""Headers that belong to the transport: a value of the user's would break it."""


class AgentUrl(Struct, frozen=True):
    """A checked address."""

    text: str
    """The whole address, with its query: only for the connection."""
    scheme: str
    netloc: str
    host: str
    path: str

    @property
    def is_websocket(self) -> bool:
        return self.scheme in ("ws", "wss")

    @property
    def is_secure(self) -> bool:
        return self.scheme in ("wss", "https")

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def identity(self) -> str:
        """Origin and path: what grants are tied to, and what people read. A query may hold a secret."""
        return f"{self.scheme}://{self.netloc}{self.path}"

    @property
    def name(self) -> str:
        """The name of the agent if the user gives none."""
        return self.netloc + self.path.removesuffix("/").removesuffix("/acp")

    @property
    def without_host(self) -> str:
        """For recordings, which are passed on."""
        return f"{self.scheme}://…{self.path}"


def is_address(text: object) -> bool:
    """Whether the user means an address, even one that is not accepted."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, by its very spelling: nothing is looked up here.

    The connection looks the name up. RFC 6761 reserves localhost and the names that end with .localhost for
    this machine: a resolver that asks others for them, and believes what they say, is broken.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    import ipaddress  # import it only if needed

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def read_url(text: str, *, insecure: bool = False) -> AgentUrl:
    """Check the address of an agent; raises ValueError, whose message contains no part of it but the host.

    `insecure`: also without TLS to another machine.
    """
    try:
        parts = urlsplit(text)
        port = parts.port  # raises ValueError if it is not a number
    except ValueError:
        raise ValueError("the agent's address cannot be read: is its port a number?") from None
    if not text.isascii() or any(char <= " " or char == "\\" or char == "\x7f" for char in text):
        raise ValueError("the agent's address contains a space or another character that no address has")
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        raise ValueError(
            f"{scheme}: is not an address of an agent; it begins with wss:// or https://, "
            "on this machine also with ws:// or http://"
        )
    if "@" in parts.netloc:
        raise ValueError("the agent's address contains a user or a password: give them in headers=")
    host = (parts.hostname or "").rstrip(".")
    if not host:
        raise ValueError("the agent's address has no host: write it as wss://host/acp")
    if port == 0:
        raise ValueError("the agent's address has port 0, on which nothing can listen")
    if ":" not in host and (len(host) > 253 or not all(0 < len(it) < 64 for it in host.split("."))):
        raise ValueError("the agent's address has a host that cannot exist: check its dots and its length")
    if parts.fragment or text.endswith("#"):
        raise ValueError("the agent's address has a part after #, which no server gets: leave it out")
    url = AgentUrl(text, scheme, _netloc(host, port, scheme), host, parts.path or "/")
    if not (url.is_secure or url.is_loopback or insecure):
        raise ValueError(
            f"{scheme}:// to {host} is not encrypted: anybody on the way can read the headers and change the "
            f"conversation. Use {_secure(scheme)}://, or insecure=True if the network itself is private"
        )
    return url


def secrets_in_query(url: AgentUrl) -> list[str]:
    """The values in the query whose names say that they are secrets."""
    pairs = parse_qsl(_split(url).query, keep_blank_values=False)
    return [value for name, value in pairs if names_secret_variable(name) or _LETS_IN.search(name)]


def check_header(name: Any, value: Any) -> None:
    """Raise ValueError if this header cannot be sent. The message never contains the value."""
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise ValueError(
            "a name in headers= is not the name of a header: it has a colon, a space or another character "
            'that no name has. Write {"Authorization": "Bearer …"}'
        )
    if _OUR_OWN.fullmatch(name):
        raise ValueError(f"the header {name} is set by the connection itself: leave it out")
    if not isinstance(value, str):
        raise ValueError(
            f'the header {name} must be a text, {{"env": "NAME"}} or a function that returns a text'
        )
    if not value.isprintable() or not value.isascii():
        raise ValueError(f"the header {name} contains a line break or another character that it cannot have")
    if value != value.strip():
        raise ValueError(f"the header {name} begins or ends with a space: take it off")


def check_headers(headers: Any) -> None:
    """Check the headers as the user wrote them, as far as that is possible without calling functions."""
    if headers is None or callable(headers):
        return
    if not isinstance(headers, Mapping):
        raise ValueError("headers is a mapping from names to texts, or a function that returns one")
    for name, value in headers.items():
        variable = variable_of(value)
        check_header(name, "" if variable is not None or callable(value) else value)


def variable_of(value: Any) -> str | None:
    """The name in {"env": NAME}, or None."""
    if isinstance(value, Mapping) and set(value) == {"env"} and isinstance(value["env"], str):
        return value["env"] or None
    return None


def is_absolute(path: str) -> bool:
    """Whether the path is absolute on some operating system: the server's may differ from ours."""
    return path.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:[\\/]", path) is not None


def _split(url: AgentUrl) -> SplitResult:
    return urlsplit(url.text)


def _netloc(host: str, port: int | None, scheme: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    default = {"http": 80, "ws": 80, "https": 443, "wss": 443}.get(scheme)
    return shown if port is None or port == default else f"{shown}:{port}"


def _secure(scheme: str) -> str:
    return {"ws": "wss", "http": "https"}.get(scheme, scheme)
