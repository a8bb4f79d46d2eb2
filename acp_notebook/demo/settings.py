"""What the environment asks of the demo agent.

It reads nothing but the mapping it is given, and keeps no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

STORED = frozenset({"load", "resume", "list", "delete"})
"""Capabilities that need a store; closing a session works without."""


class Settings(NamedTuple):
    """The switches, parsed."""

    home: str | None = None
    capabilities: frozenset[str] = frozenset({"close"})
    needs_login: bool = False
    has_config: bool = True
    pace_s: float = 0.0

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
            needs_login=environment.get("ACP_DEMO_AUTH") == "1",
            has_config=environment.get("ACP_DEMO_CONFIG") != "0",
            pace_s=float(environment.get("ACP_DEMO_PACE") or 0),
        )
