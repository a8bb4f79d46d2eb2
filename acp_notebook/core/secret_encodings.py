"""The forms of a secret: encoded for a URL or a header, and the secret parts of a longer value.

Pure. `variables` decides which values are secrets, `redaction` finds and removes them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from .patterns import pattern
from .variables import holds_secret, looks_random, names_secret_variable

SHORTEST_ENCODED = 6
"""The encoded forms of a shorter secret occur in any text by chance."""

SHORTEST_BASE64 = 8
"""Fewer characters of base64 inside a longer text occur by chance."""

_SCHEME = pattern(r"(?:bearer|basic|token|apikey)\s+(\S+)", re.IGNORECASE)
"""The value of an Authorization header."""


def encoded_forms(secret: str) -> Iterator[str]:
    """Yield the secret as URL, hexadecimal and base64 text (alone, or inside a text like `user:secret`)."""
    if len(secret) < SHORTEST_ENCODED:
        return
    data = secret.encode(errors="replace")
    yield from (quote(secret, safe="", errors="replace"), quote(secret, errors="replace"))
    yield quote_plus(secret, errors="replace")
    yield re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="", errors="replace"))
    yield from (data.hex(), data.hex().upper())
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(data).decode().rstrip("=")
        for before in range(3):
            inner = _inner(encode(bytes(before) + data).decode(), before, before + len(data))
            if len(inner) >= SHORTEST_BASE64:
                yield inner


def _inner(text: str, start: int, end: int) -> str:
    """The base64 characters that depend on these bytes only, not on those before and after them."""
    return text[-(-start * 8 // 6) : end * 8 // 6]


def secret_parts(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in the value of a variable or a header: the value itself, or parts of it."""
    if holds_secret(name, value):
        yield value
    if scheme := _SCHEME.fullmatch(value.strip()):
        yield scheme[1]
        yield from _of_basic(scheme[1])
    if "://" in value:
        yield from url_secrets(value)


def _of_basic(credentials: str) -> Iterator[str]:
    """Yield the password of `Basic base64(user:password)`."""
    try:
        _user, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return
    if colon and password:
        yield password


def url_secrets(url: str) -> Iterator[str]:
    """Yield the password, parameters and path segments that grant access, as written and decoded."""
    try:
        parts = urlsplit(url)
    except ValueError:  # not a valid address
        return
    userinfo, at, _host = parts.netloc.rpartition("@")
    user, _colon, password = userinfo.partition(":")
    found = [password] if password else [user] if at and looks_random(user) else []
    found += [step for step in parts.path.split("/") if looks_random(step)]
    pairs = parse_qsl(parts.query) + parse_qsl(parts.fragment)
    found += [text for key, text in pairs if names_secret_variable(key) or looks_random(text)]
    for text in found:
        yield from {text, unquote(text)}
