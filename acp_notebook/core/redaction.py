"""Removes secrets from everything that leaves the kernel: transcripts, audits, recordings, static output.

Pure; the same code for all of them. Knows nothing about the meaning of messages; the caller says which
values are secrets.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from .secret_encodings import encoded_forms, secret_parts
from .variables import can_be_hidden, names_secret

REDACTED = "[redacted]"

_CREDENTIAL_LISTS = ("env", "headers")
"""Fields of MCP servers, terminals and sign-in methods: names are kept, values are redacted."""

_PROTOCOL_FIELDS = frozenset(
    {"jsonrpc", "method", "type", "sessionUpdate", "kind", "status", "stopReason", "outcome"}
)
"""Fields with words of the protocol: a value of `env=` that equals one ("text") is not a secret there."""

_WORD = re.compile(r"[a-z]{1,7}")
"""A secret that is a common word ("load") is not redacted inside another word."""

Secret = str | re.Pattern[str]


class Redactor:
    """Removes secrets from texts and messages: values of `env=`, the user's own, and credential fields."""

    def __init__(self, env: Mapping[str, str] | None = None, secrets: Iterable[Secret] = ()) -> None:
        self._values: set[str] = set()
        self._sorted: list[str] = []
        self._firsts: frozenset[str] = frozenset()
        self._longest = 0
        self._pattern: re.Pattern[str] | None = None
        given = list(secrets)
        self._patterns = [it for it in given if isinstance(it, re.Pattern)]
        self._own = {it for it in given if isinstance(it, str) and it}
        self.idle = not self._patterns
        """Whether there is nothing to remove."""
        self.for_actions = self
        """Removes the user's secrets, but nothing that an agent declared as one: for what the user is asked
        about and what was done."""
        self._learn(self._own)
        self.learn_variables((env or {}).items())

    def learn(self, values: Iterable[str]) -> None:
        """Add secrets, to be removed from now on."""
        found = {value for value in values if can_be_hidden(value)}
        self._learn(found)
        if self.for_actions is not self:
            self.for_actions._learn(found)

    def learn_from_agent(self, values: Iterable[str]) -> None:
        """Add what an agent declares as secret. It could be the command that the agent asks about next."""
        if self.for_actions is self:
            self.for_actions = copy(self)
            self.for_actions.for_actions = self.for_actions
        self._learn({value for value in values if can_be_hidden(value)})

    def learn_variables(self, variables: Iterable[tuple[str, str]]) -> None:
        """Add the secrets among these variables, and the secret parts of other values."""
        self.learn(part for name, value in variables for part in secret_parts(name, value))

    def _learn(self, values: set[str]) -> None:
        values = values | {form for value in values for form in encoded_forms(value)}
        for _ in range(2):  # also as escaped in JSON, and in JSON inside JSON
            values |= {_escaped(value, ascii=ascii) for value in values for ascii in (False, True)}
        if values <= self._values:
            return
        self._values = self._values | values  # a new set: `for_actions` may share the old one
        # Longest first, so that a secret inside another one does not leave the rest of it.
        longest_first = sorted(self._values, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(self._one, longest_first)))
        self.idle = False
        self._sorted = sorted(self._values)
        self._firsts = frozenset(value[0] for value in self._values)
        self._longest = len(longest_first[0])

    def _one(self, value: str) -> str:
        is_word = value not in self._own and _WORD.fullmatch(value)
        return rf"(?<![A-Za-z]){value}(?![A-Za-z])" if is_word else re.escape(value)

    @property
    def count(self) -> int:
        """How many values it removes; it grows as secrets become known."""
        return len(self._values)

    def text(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub(REDACTED, text)
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def finds_in(self, data: bytes) -> bool:
        """Whether binary data contains a secret, as UTF-8 or UTF-16."""
        spelled = (
            data.decode(errors="replace"),
            *(data[at:].decode("utf-16-le", "replace") for at in (0, 1)),
        )
        return any(self.text(it) != it for it in spelled)

    def tail(self, text: str) -> int:
        """How many characters at the end may be the start of a secret."""
        for at in range(max(0, len(text) - self._longest + 1), len(text)):
            if text[at] not in self._firsts:
                continue
            end = text[at:]
            found = bisect(self._sorted, end)  # only the next one in order can start with it
            if found < len(self._sorted) and self._sorted[found].startswith(end):
                return len(end)
        return 0

    def plain(self, value: Any) -> Any:
        """Remove secrets from every text in plain JSON."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if isinstance(value, dict):
            return {self._name(name): self.plain(item) for name, item in value.items()}
        return value

    def clean(self, value: Any) -> Any:
        """Remove secrets from a message: like `plain`, and also the values of fields for credentials."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.clean(item) for item in value]
        if isinstance(value, dict):
            return {self._name(name): self._field(name, item) for name, item in value.items()}
        return value

    def _name(self, name: Any) -> Any:
        if not isinstance(name, str) or (name.isalpha() and len(name) < 25):
            return name  # a field, not a secret
        return self.text(name)

    def _field(self, name: str, value: Any) -> Any:
        if name in _PROTOCOL_FIELDS and isinstance(value, str) and value.isascii() and len(value) < 40:
            return value
        if isinstance(value, str) and names_secret(name):
            return REDACTED
        if name in _CREDENTIAL_LISTS and isinstance(value, list):
            return [
                {**self.clean(it), "value": REDACTED} if isinstance(it, dict) else REDACTED for it in value
            ]
        if name in _CREDENTIAL_LISTS and isinstance(value, dict):
            return dict.fromkeys(map(self.text, value), REDACTED)
        return self.clean(value)


class StreamRedactor:
    """Redacts a text that arrives in pieces: what may be the start of a secret is held back."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        """Add a piece, and return the text that is safe to show."""
        text = self._redactor.text(self._held + piece)
        end = len(text) - self._redactor.tail(text)
        self._held = text[end:]
        return text[:end]

    def rest(self) -> str:
        """Return the text held back, at the end of the stream."""
        held, self._held = self._held, ""
        return held


def _escaped(value: str, *, ascii: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii)[1:-1]
