"""The server of a remote agent, as each connection to it needs it: address, headers, TLS and cookies.

Opens no connection. One object for an agent: its cookies outlive a connection, its tokens do not have to.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import ssl
import urllib.request
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.cookiejar import CookieJar
from typing import Any, cast

from ... import timeouts
from ..._version import __version__
from ...core.agent_url import AgentUrl, Headers, check_header, variable_of
from ...core.redaction import Redactor
from ..threads import WorkEnded, on_a_thread
from . import proxies
from .failures import CaUnreadable

USER_AGENT = f"acp_notebook/{__version__}"


class HeadersFailed(Exception):
    """A connection cannot be prepared: a variable is missing, the user's function failed, or the proxy of the
    environment cannot be used."""


@dataclass(slots=True)
class Server:
    """Makes what a connection to one server needs."""

    url: AgentUrl
    headers: Headers = field(default_factory=dict, repr=False)
    redactor: Redactor = field(default_factory=Redactor, repr=False)
    ca: str | None = None
    """A file or folder with certificates to trust besides those of the system."""
    cookies: CookieJar = field(default_factory=CookieJar, repr=False)
    """In memory only; kept over reconnects, because servers route by them."""

    async def fresh_headers(self) -> dict[str, str]:
        """The headers for a connection, with every function called; their values are secrets from now on.

        Raises HeadersFailed, also if the proxy of the environment cannot be used.
        """
        if (problem := proxies.problem(self.url)) is not None:
            raise HeadersFailed(problem.reason)
        try:
            async with asyncio.timeout(timeouts.get().remote_token):
                headers = await self._headers()
        except TimeoutError:
            limit = timeouts.get().remote_token
            raise HeadersFailed(f"your function for headers= did not return within {limit:g} s") from None
        self.redactor.learn_variables(headers.items())  # the token in "Bearer …", too
        self.redactor.learn(part for name, value in headers.items() for part in _secrets(name, value))
        return headers

    async def _headers(self) -> dict[str, str]:
        made = await _called(self.headers) if callable(self.headers) else self.headers
        if not isinstance(made, Mapping):
            raise HeadersFailed("your function for headers= must return a mapping from names to texts")
        found = {}
        for name, value in made.items():
            found[name] = await self._value(str(name), value)
            try:
                check_header(name, found[name])
            except ValueError as error:
                raise HeadersFailed(str(error)) from None
        return found

    async def _value(self, name: str, value: Any) -> str:
        if callable(value):
            return cast(str, await _called(value))
        if (variable := variable_of(value)) is None:
            return cast(str, value)
        if variable not in os.environ:
            raise HeadersFailed(f"the header {name} needs the variable {variable}, which is not set")
        if not os.environ[variable]:
            raise HeadersFailed(f"the header {name} needs the variable {variable}, which is empty")
        return os.environ[variable]

    @property
    def calls_functions(self) -> bool:
        """Whether the headers come from functions of the user's."""
        return callable(self.headers) or any(map(callable, self.headers.values()))

    @property
    def uses_proxy(self) -> bool:
        """Whether the proxies of the environment apply: never to this machine itself."""
        return not self.url.is_loopback

    @property
    def proxy(self) -> str | None:
        """The variable with the proxy that this server is reached through."""
        return proxies.variable(self.url)

    def tls(self) -> ssl.SSLContext:
        """A context for one connection: the libraries change it. Raises CaUnreadable."""
        context = ssl.create_default_context()  # the system's store, or SSL_CERT_FILE and SSL_CERT_DIR
        if self.ca is not None:
            is_folder = os.path.isdir(self.ca)
            try:
                context.load_verify_locations(
                    cafile=None if is_folder else self.ca, capath=self.ca if is_folder else None
                )
            except OSError:
                raise CaUnreadable from None
        return context

    def with_cookies(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers with all cookies in one: of equal names, the server's newest wins, not the user's."""
        own = next((value for name, value in headers.items() if name.lower() == "cookie"), "")
        request = self._as_request()
        self.cookies.add_cookie_header(request)
        merged = {it.partition("=")[0]: it for it in _cookies(own)}
        for it in _cookies(request.get_header("Cookie") or ""):
            merged.pop(it.partition("=")[0], None)
            merged[it.partition("=")[0]] = it
        rest = {name: value for name, value in headers.items() if name.lower() != "cookie"}
        return rest | ({"Cookie": "; ".join(merged.values())} if merged else {})

    def keep_cookies(self, headers: Iterable[tuple[str, str]]) -> None:
        """Keep the cookies of a response."""
        message = Message()
        for name, value in headers:
            if name.lower() in ("set-cookie", "set-cookie2"):
                message.add_header(name, value)
        self.cookies.extract_cookies(_Response(message), self._as_request())  # type: ignore[arg-type]

    def _as_request(self) -> urllib.request.Request:
        """The address as the cookie jar takes it: it knows only http and https."""
        scheme = "https" if self.url.is_secure else "http"
        return urllib.request.Request(f"{scheme}://{self.url.netloc}{self.url.path}")


@dataclass(frozen=True, slots=True)
class _Response:
    """A response as a cookie jar reads it."""

    headers: Message

    def info(self) -> Message:
        return self.headers


def _cookies(header: str) -> list[str]:
    return [stripped for it in header.split(";") if (stripped := it.strip())]


def _secrets(name: str, value: str) -> list[str]:
    """A header's value, and those of its cookies."""
    cookies = value.split(";") if name.lower() == "cookie" else []
    return [value, *(it.partition("=")[2].strip() for it in cookies)]


async def _called(function: Any) -> Any:
    """Call the user's function on a thread of its own: it may ask a server for a token, and block."""

    def call() -> Any:
        made = function()
        return asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made

    try:
        return await on_a_thread(call, "acp-headers")
    except WorkEnded as ended:
        raise HeadersFailed(f"your function for headers= failed: {ended}") from None
    except Exception as error:
        # Only the type: the message of a failed sign-in may contain the token.
        raise HeadersFailed(f"your function for headers= failed: {type(error).__name__}") from error


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made
