"""Which key an agent wants, by its name: from what the list of known agents says about its sign-in."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.patterns import pattern
from .catalog_data import AGENTS
from .quirks import bare_names

ENV_VAR = "env_var"
"""The type of sign-in methods that consist in giving the agent keys."""

_KEY = pattern(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN)\b")


def sign_in_of(command: Sequence[str]) -> str:
    """How the agent with this command identifies its user, for people; "" if it is not known."""
    names = set(bare_names(command))
    known = (it for it in AGENTS if names & {it.name, *it.aliases, *(words[0] for words in it.commands)})
    return next((it.sign_in for it in known), "")


def keys_of(command: Sequence[str]) -> tuple[str, ...]:
    """The environment variables that hold the key of the agent with this command."""
    return tuple(_KEY.findall(sign_in_of(command)))
