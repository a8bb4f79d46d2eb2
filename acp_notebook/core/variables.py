"""Which variables hold secrets: those whose name says so, and those whose value looks random.

Pure. Knows nothing of where a secret is taken out (`redaction`). Everything else is a setting (`USER`,
`MODEL_PROVIDER`, a model's name, an address): to take it out would hide nothing, and spoil texts, diffs and
file names that have the same word in them.
"""

from __future__ import annotations

import re

SHORTEST_SECRET = 4
"""Values that are shorter would be found in any text, and hide nothing."""

SHORTEST_RANDOM = 16
"""Letters and digits: keys have at least these, and names that are so long are words with separators."""

LONGEST_WORD = 24
"""Of letters alone: whatever is longer, and has no separators, is no word."""

MOST_CHANGES = 3
"""Between letters and digits, or from lower to upper case: `gpt-4o-mini-2024-07-18` has one,
`Qwen2.5-Coder-32B` has two, a key of sixteen characters has about eight."""

_NO_SECRETS = frozenset({"true", "false", "none", "null"})

_SETTINGS = frozenset(
    ["model", "models", "provider", "name", "user", "username", "logname", "host", "hostname"]
)
"""The last words of names that say: this is no secret, whatever the value looks like."""

_SECRET_FIELD = re.compile(
    r"token|secret|password|passwd|credential|api[-_]?key|authorization|cookie", re.IGNORECASE
)

_SECRET_VARIABLE = re.compile(
    r"passphrase|(?:^|[-_.])"
    r"(?:keys?|pass|pw|pwd|auth|bearer|pat|pin|otp|creds?|private|salt|seed|signature|dsn|sid|license)"
    r"(?:$|[-_.])|[a-z](?:Key|Pass|Auth)s?(?![a-z])|(?<=[A-Z])(?:KEY|PASS)$",
)

_PIECES = re.compile(r"[A-Za-z0-9]+")
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret, most of the time."""
    return _SECRET_FIELD.search(name) is not None


def names_secret_variable(name: str) -> bool:
    """Whether a variable, a header or a parameter of this name holds a secret."""
    return names_secret(name) or any(_SECRET_VARIABLE.search(it) for it in (name, name.lower()))


def holds_secret(name: str, value: str) -> bool:
    """Whether the variable's value must not be seen."""
    if not can_be_hidden(value):
        return False
    return names_secret_variable(name) or (not _names_setting(name) and looks_random(value))


def can_be_hidden(value: str) -> bool:
    """There is something to hide: neither a few characters, nor a word that stands in every text."""
    return len(value) >= SHORTEST_SECRET and value.lower() not in _NO_SECRETS


def looks_random(value: str) -> bool:
    """Whether it reads as a key: long, with letters and digits mixed as no name has them."""
    if "://" in value:  # an address: what in it is secret is found part by part
        return False
    pieces = _PIECES.findall(value)
    if any(_is_key(piece) for piece in pieces):
        return True
    length = sum(map(len, pieces))
    changes = sum(len(_CHANGE.findall(piece)) for piece in pieces)
    if not any(map(str.isdigit, value)) and 4 * changes < length:  # words, inCamelCase perhaps
        return False
    return length >= SHORTEST_RANDOM and changes > MOST_CHANGES


def _is_key(piece: str) -> bool:
    """One run of letters and digits that is a key by itself."""
    if piece.isalpha():
        return len(piece) > LONGEST_WORD
    if len(piece) < SHORTEST_RANDOM:
        return False
    return piece.isdigit() or len(_CHANGE.findall(piece)) > 1


def _names_setting(name: str) -> bool:
    return re.split(r"[-_.]", name.lower())[-1] in _SETTINGS
