"""What the environment asks of the demo agent.

It reads nothing but the mapping it is given, and keeps no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

STORED = frozenset({"load", "resume", "list", "delete", "fork"})
"""Capabilities that need a store; closing a session works without."""


class Settings(NamedTuple):
    """The switches, parsed."""

    home: str | None = None
    capabilities: frozenset[str] = frozenset({"close"})
    login: str = ""
    """"1": a sign-in comes first; "trouble": with ways that go wrong, too; "key": by a key."""
    key: str = ""
    """The key that it was given."""
    options: str = "config"
    """"config", "modes", or "models": what older agents have."""
    pace_s: float = 0.0
    text_only: bool = False
    """Prompts may have no images and sounds."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        home = environment.get("ACP_DEMO_HOME") or None
        possible = STORED | {"close"} if home else frozenset({"close"})
        wanted = environment.get("ACP_DEMO_CAPS")
        if wanted is not None:
            possible &= {name.strip() for name in wanted.split(",")}
        return cls(
            home=home,
            capabilities=possible,
            login=_one_of(environment.get("ACP_DEMO_AUTH"), "1", "trouble", "key") or "",
            key=environment.get("ACP_DEMO_API_KEY", ""),
            options={"0": "modes", "models": "models"}.get(environment.get("ACP_DEMO_CONFIG", ""), "config"),
            pace_s=float(environment.get("ACP_DEMO_PACE") or 0),
            text_only=environment.get("ACP_DEMO_PROMPT") == "text",
        )


def _one_of(value: str | None, *known: str) -> str | None:
    return value if value in known else None
