"""A command to start.

Knows nothing of how that is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """What to start, where, with which environment (all of it: nothing is added but our marker)."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
