"""A command to start."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Command(Struct, frozen=True):
    """What to start, where, and with which environment (complete: only our marker is added)."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
