"""What a network failure means, in a sentence: what happened and what to do next.

Knows no library but by the names of its exceptions' causes. The sentences contain neither the host nor
headers: they are written to recordings. `agent_link` puts the agent's name before them.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus

BODY_CHARS = 300
"""How much of an error's body is shown: proxies answer with whole pages."""

GONE = frozenset({401, 403, 404, 410})
"""Statuses that end the connection. With any other status, only the request fails."""

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that a later attempt may not get."""

SUSPICIOUS_BYTES = 1_000_000
"""No server refuses less than this: the smallest limits are those of proxies."""

NO_TOKEN = "give a valid token in headers=, or a function that returns the headers and is called again"
RESTARTED = "the server no longer knows this connection: it was probably restarted"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed."""

    reason: str
    is_passing: bool = False
    """Whether another attempt may succeed without the user doing anything."""
    unsent: bool = False
    """Whether the server certainly has not got the message."""


RESTARTED_FAILURE = Failure(RESTARTED, True)
INTERRUPTED = Failure("the connection was interrupted", True)
UNFINISHED = Failure("the server did not finish its answer in time", True)
GIVEN_UP = Failure("the server no longer answers: the connection was given up", True)
NO_TLS = Failure(
    "the connection was interrupted while TLS was set up: does the server speak TLS there?", True
)


class CaUnreadable(OSError):
    """What the user gave in ca= has no certificates."""


CA_UNREADABLE = Failure(
    "ca= has no certificate that can be read: give a file in the PEM format, which begins with "
    "-----BEGIN CERTIFICATE-----",
    unsent=True,
)

IN_USE = frozenset({"ReadError", "ReadTimeout", "WriteError", "WriteTimeout", "RemoteProtocolError"})
"""What httpx raises when there was a connection: the request may have been written, whatever broke it."""


def of_exception(error: BaseException, proxy: str | None = None) -> Failure:
    """The failure behind an exception of a library, by its causes.

    `proxy`: the variable with the proxy that the server is reached through.
    """
    causes = list(_causes(error))
    names = {type(it).__name__ for it in causes}
    if "CaUnreadable" in names:
        return CA_UNREADABLE
    # Through a proxy, everything below TLS happens between it and us: it says itself what it cannot reach.
    peer = "server" if proxy is None else f"proxy in {proxy}"
    connecting = causes if not IN_USE & names else []
    for cause in connecting:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure(_certificate(cause), unsent=True)
    for cause in connecting:
        if isinstance(cause, ssl.SSLError):
            what = (getattr(cause, "reason", None) or "unknown").lower().replace("_", " ")
            return Failure(
                f"TLS to the server failed ({what}): does it speak TLS on this port?",
                unsent="ConnectError" in names,
            )
        if isinstance(cause, socket.gaierror):
            return Failure(
                f"the {peer}'s name cannot be resolved (DNS): check its spelling and the network", True, True
            )
        if isinstance(cause, ConnectionRefusedError) or getattr(cause, "errno", 0) == errno.ECONNREFUSED:
            return Failure(f"the {peer} refused the connection: is it running, on this port?", True, True)
        if getattr(cause, "errno", 0) in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN):
            return Failure(f"the {peer} cannot be reached: is this machine online?", True, True)
    said = " ".join(str(it) for it in causes)
    if "ProxyError" in names or "InvalidProxyStatus" in names:
        status = re.search(r"\b[345]\d\d\b", said)
        return Failure(
            f"the proxy refused the connection{f' ({status[0]})' if status else ''}: "
            "check HTTPS_PROXY and NO_PROXY",
            True,
            True,
        )
    if "ConnectTimeout" in names:
        return Failure(f"the {peer} did not accept the connection in time", True, True)
    if "ConnectError" in names:  # several addresses were tried, and each error is only in the text
        return Failure(f"no connection to the {peer} could be made", True, True)
    if any("Timeout" in name for name in names):
        return Failure("the server did not answer in time", True)
    if any(isinstance(it, EOFError | ConnectionError) for it in causes):
        return INTERRUPTED
    if {"InvalidHandshake", "InvalidMessage", "InvalidHeader", "InvalidUpgrade", "NegotiationError"} & names:
        return Failure("what answers there is not a WebSocket server: check the address")
    if "LocalProtocolError" in names or "SecurityError" in names:
        return Failure("the server's answer breaks the rules of HTTP")
    return INTERRUPTED


def while_sending(failure: Failure, size: int) -> Failure:
    """The failure of a connection that broke while a message of this size was sent.

    Some servers close the connection instead of saying that a message is too large.
    """
    if size < SUSPICIOUS_BYTES:
        return failure
    hint = f"the message of {size / 1e6:.0f} MB may be larger than this server takes: send less at once"
    return replace(failure, reason=f"{failure.reason}; {hint}")


def of_status(status: int, body: str = "", *, websocket: bool = False) -> Failure:
    """The failure of a request that the server answered with this status."""
    said = f"{status} {_phrase(status)}".strip()
    text = f" {shortened}" if (shortened := _shortened(body)) else ""
    if 300 <= status < 400:
        return Failure(
            f"the server answered {said} with a redirect, which is not followed: headers could "
            "go to another server. Use the address that it redirects to, if you trust it"
        )
    if status in (401, 407):
        return Failure(f"the server does not accept the headers ({said}): {NO_TOKEN}.{text}")
    if status == 403:
        return Failure(f"the server refuses access ({said}): the token lacks a permission.{text}")
    if status == 413:
        return Failure(f"the message is larger than this server takes ({said}): send less at once.{text}")
    if status == 429:
        return Failure(f"the server is limiting requests, too many requests ({said}).{text}", True)
    if status in (404, 405, 426) and not websocket:
        return Failure(
            f"the server takes no agent messages at this path ({said}): check the path, which is often /acp, "
            f"or try WebSocket (wss:// instead of https://).{text}"
        )
    if status == 404:
        return Failure(f"the server has nothing at this path ({said}): it is often /acp.{text}")
    if websocket and status < 400:
        return Failure(
            f"what answers there is not a WebSocket server ({said}): try https:// instead of wss://"
        )
    if status >= 500:
        return Failure(f"the server, or a proxy before it, failed ({said}).{text}", status in PASSING)
    return Failure(f"the server answered {said}.{text}", status in PASSING)


def seconds_to_wait(value: str) -> float | None:
    """What Retry-After asks for; its other form, a date, depends on two clocks and is ignored."""
    return float(value) if value.isascii() and value.isdigit() and len(value) < 7 else None


def of_close(code: int, reason: str) -> Failure:
    """The failure of a WebSocket that the server closed."""
    said = f"{code}{f' {shortened}' if (shortened := _shortened(reason)) else ''}"
    if code == 1009:
        return Failure(
            f"a message was larger than the other side takes ({said}): send less at once, or a smaller file"
        )
    if code in (1008, 3000, 3003, 4401, 4403):
        return Failure(f"the server ended the connection by its rules ({said}): {NO_TOKEN}")
    if code == 1006:
        return INTERRUPTED
    if code == 1011 and "ping timeout" in reason:
        return GIVEN_UP
    return Failure(f"the server closed the connection ({said})", True)


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    what = error.verify_message or "certificate verify failed"
    if error.verify_code == 10:
        return f"the server's certificate has expired ({what}): its operator has to renew it"
    if error.verify_code in (18, 19, 20, 21):
        return (
            f"the server's certificate is not trusted ({what}): for a private CA, give its file in ca= "
            "or in the variable SSL_CERT_FILE"
        )
    if error.verify_code in (62, 64):
        return f"the server's certificate is for another name ({_without_names(what)}): check the address"
    return f"the server's certificate is not valid ({what})"


def _without_names(text: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "…", text)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and all that led to it, groups included; each once."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        it = left.pop(0)
        if it is None or id(it) in seen:
            continue
        seen.add(id(it))
        yield it
        left += [it.__cause__, it.__context__]
        if isinstance(it, BaseExceptionGroup):
            left += it.exceptions


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _shortened(body: str) -> str:
    """The beginning of a body as one line, without markup."""
    text = " ".join(re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", body, flags=re.S | re.I).split())
    text = "".join(char for char in text if char.isprintable())
    return text if len(text) <= BODY_CHARS else f"{text[:BODY_CHARS]}…"
