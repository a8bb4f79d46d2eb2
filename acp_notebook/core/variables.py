"""Which variables hold secrets: by their name, and by the shape and the length of their value.

Pure. Knows nothing of where a secret is taken out (`redaction`). In doubt it is one: only a short value that
reads as a setting (`us-east-1`, `8080`), of a variable whose name says that it is one (`REGION`, `PORT`), is
none, and a few words that stand in every text. To take those out would hide nothing and spoil much.
"""

from __future__ import annotations

import re

SHORTEST_SECRET = 4
"""Values that are shorter would be found in any text, and hide nothing."""

LONGEST_SETTING = 15
"""Whatever is longer counts as a secret, however it reads."""

LONGEST_WORD = 12
"""Of letters alone ("development"); of a longer one nobody knows whether it is a word."""

MOST_DIGITS = 5
"""Of a number that is a setting: a port has five. Codes that are sent to a phone have six."""

_NO_SECRETS = frozenset({"true", "false", "none", "null"})

_COMMON = frozenset(
    [
        "auto",
        "default",
        "always",
        "never",
        "debug",
        "info",
        "warn",
        "warning",
        "error",
        "verbose",
        "quiet",
        "test",
        "testing",
        "local",
        "development",
        "production",
        "staging",
        "utf8",
        "utf-8",
    ]
)
"""Words that stand in every text; secrets only where the name says so."""

_SETTINGS = frozenset(
    [
        "mode",
        "level",
        "region",
        "zone",
        "port",
        "lang",
        "language",
        "locale",
        "timezone",
        "model",
        "env",
        "environment",
        "theme",
        "color",
        "colors",
        "format",
        "version",
        "python",
        "features",
        "shell",
        "term",
        "editor",
        "encoding",
        "timeout",
        "retries",
        "workers",
        "threads",
    ]
)
"""The last words of names that say: a setting."""

_SECRET_FIELD = re.compile(
    r"token|secret|password|passwd|credential|api[-_]?key|authorization|cookie", re.IGNORECASE
)

_SECRET_VARIABLE = re.compile(
    r"passphrase|(?:^|[-_.])"
    r"(?:keys?|pass|pw|pwd|auth|bearer|pat|pin|otp|creds?|private|salt|seed|signature|dsn|sid|license)"
    r"(?:$|[-_.])|[a-z](?:Key|Pass|Auth)s?(?![a-z])|(?<=[A-Z])(?:KEY|PASS)$",
)

_WORD = re.compile(r"[A-Za-z]?[a-z]*|[A-Z]*")
"""In one case; a secret has its letters mixed."""

_BETWEEN = re.compile(r"[-_./:, ]+")


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret, most of the time."""
    return _SECRET_FIELD.search(name) is not None


def holds_secret(name: str, value: str) -> bool:
    """Whether the variable's value must not be seen."""
    if not can_be_hidden(value):
        return False
    if names_secret(name) or _names_secret_variable(name):
        return True
    return not (value.lower() in _COMMON or (_names_setting(name) and _is_setting(value)))


def can_be_hidden(value: str) -> bool:
    """There is something to hide: neither a few characters, nor a word that stands in every text."""
    return len(value) >= SHORTEST_SECRET and value.lower() not in _NO_SECRETS


def _names_secret_variable(name: str) -> bool:
    return any(_SECRET_VARIABLE.search(it) for it in (name, name.lower()))


def _names_setting(name: str) -> bool:
    return re.split(r"[-_.]", name.lower())[-1] in _SETTINGS


def _is_setting(value: str) -> bool:
    """Words in one case and short numbers, in a row; one of them may be a name such as "gpt4"."""
    if len(value) > LONGEST_SETTING or sum(map(str.isdigit, value)) > MOST_DIGITS:
        return False
    others = [it for it in _BETWEEN.split(value) if not (_is_word(it) or it.isdecimal())]
    return len(others) <= 1 and all(len(it) <= 4 and it.isascii() and it.isalnum() for it in others)


def _is_word(part: str) -> bool:
    return len(part) <= LONGEST_WORD and _WORD.fullmatch(part) is not None
