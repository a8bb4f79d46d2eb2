"""Decides which variables hold secrets: by their name, or by a value that looks random.

Pure; `redaction` removes the secrets. Everything else is a setting (`USER`, `MODEL_PROVIDER`, a model's
name, an address): redacting it would protect nothing, and damage texts, diffs and file names that contain
the same word.
"""

from __future__ import annotations

import re

from .patterns import pattern

SHORTEST_SECRET = 4
"""Shorter values occur in any text, and protect nothing."""

SHORTEST_RANDOM = 16
"""Letters and digits of the shortest key; names of this length consist of words with separators."""

LONGEST_WORD = 24
"""A longer run of letters without separators is not a word."""

MOST_CHANGES = 3
"""Changes between letters and digits, or from lower to upper case, in a name: `gpt-4o-mini-2024-07-18` has
one, `Qwen2.5-Coder-32B` two, a key of sixteen characters about eight."""

_NO_SECRETS = frozenset({"true", "false", "none", "null"})

_SETTINGS = frozenset(
    ["model", "models", "provider", "name", "user", "username", "logname", "host", "hostname"]
)
"""Last words of names whose value is never a secret, whatever it looks like."""

_SECRET_FIELD = pattern(
    r"token|secret|password|passwd|credential|api[-_]?key|authorization|cookie", re.IGNORECASE
)

_SECRET_VARIABLE = pattern(
    r"passphrase|(?:^|[-_.])"
    r"(?:keys?|pass|pw|pwd|auth|bearer|pat|pin|otp|creds?|private|salt|seed|signature|dsn|sid|license)"
    r"(?:$|[-_.])|[a-z](?:Key|Pass|Auth)s?(?![a-z])|(?<=[A-Z])(?:KEY|PASS)$",
)

_PIECES = pattern(r"[A-Za-z0-9]+")
_CHANGE = pattern(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def names_secret(name: str) -> bool:
    """Whether a field with this name usually holds a secret."""
    return _SECRET_FIELD.search(name) is not None


def names_secret_variable(name: str) -> bool:
    """Whether a variable, a header or a parameter with this name holds a secret."""
    return names_secret(name) or any(_SECRET_VARIABLE.search(it) for it in (name, name.lower()))


def can_hold_key(name: str) -> bool:
    """Whether an agent may ask for a key in this variable: not one that changes how programs start."""
    return re.fullmatch(r"[A-Z][A-Z0-9_]{0,98}", name) is not None and names_secret_variable(name)


def holds_secret(name: str, value: str) -> bool:
    """Whether the variable's value is a secret."""
    if not can_be_hidden(value):
        return False
    return names_secret_variable(name) or (not _names_setting(name) and looks_random(value))


def can_be_hidden(value: str) -> bool:
    """Whether the value can be redacted: it is neither very short nor a word that occurs in every text."""
    return len(value) >= SHORTEST_SECRET and value.lower() not in _NO_SECRETS


def looks_random(value: str) -> bool:
    """Whether it looks like a key: long, with letters and digits mixed more than in any name."""
    if "://" in value:  # an address: `secret_forms` checks its parts
        return False
    pieces = _PIECES.findall(value)
    if any(_is_key(piece) for piece in pieces):
        return True
    length = sum(map(len, pieces))
    changes = sum(len(_CHANGE.findall(piece)) for piece in pieces)
    if not any(map(str.isdigit, value)) and 4 * changes < length:  # words, possibly inCamelCase
        return False
    return length >= SHORTEST_RANDOM and changes > MOST_CHANGES


def _is_key(piece: str) -> bool:
    """Whether one run of letters and digits is a key."""
    if piece.isalpha():
        return len(piece) > LONGEST_WORD
    if len(piece) < SHORTEST_RANDOM:
        return False
    return piece.isdigit() or len(_CHANGE.findall(piece)) > 1


def _names_setting(name: str) -> bool:
    return re.split(r"[-_.]", name.lower())[-1] in _SETTINGS
