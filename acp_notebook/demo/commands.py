"""The slash commands: a registry that the scenes enter themselves into, and how a prompt finds its scene.

It knows no scene by name; importing the package ``scenes`` fills it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from .rpc import Json
from .turn import Turn

Scene = Callable[[Turn, str], Awaitable[str | None]]
"""Plays a command with the text behind its name; returns the stop reason, None for ``end_turn``."""


class Misuse(Exception):
    """The arguments make no sense; the agent answers with the command's usage."""


class Command(NamedTuple):
    name: str
    description: str
    hint: str | None
    scene: Scene

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.hint}" if self.hint else f"/{self.name}"


COMMANDS: dict[str, Command] = {}

FAILED = "This cell failed."
"""How the prompt of the button below a failed cell begins (js/lab/src/prompts.ts)."""


def command(name: str, description: str, hint: str | None = None) -> Callable[[Scene], Scene]:
    """Enter a scene into the registry."""

    def enter(scene: Scene) -> Scene:
        COMMANDS[name] = Command(name, description, hint, scene)
        return scene

    return enter


def advertised() -> list[Json]:
    """The commands as ``available_commands_update`` lists them."""
    listed: list[Json] = []
    for _, found in sorted(COMMANDS.items()):
        entry: Json = {"name": found.name, "description": found.description}
        if found.hint:
            entry["input"] = {"hint": found.hint}
        listed.append(entry)
    return listed


def split(blocks: list[Json]) -> tuple[str, str] | None:
    """The slash word of the first text block and what follows it, if it begins with one, or asks for one."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if texts and texts[0].startswith(FAILED):
        return "mend", texts[0]
    words = texts[0].split(maxsplit=1) if texts else []
    if not words or not words[0].startswith("/"):
        return None
    return words[0][1:], words[1].rstrip() if len(words) > 1 else ""


def number(args: str, default: int | None = None, *, position: int = 0) -> int:
    """The whole number at a position of the arguments, not below zero."""
    words = args.split()
    if position >= len(words):
        if default is None:
            raise Misuse
        return default
    if not (words[position].isascii() and words[position].isdigit()):
        raise Misuse
    return int(words[position])


def waiting(args: str, *, position: int) -> bool:
    """Whether “wait” stands at a position of the arguments: the scene then ends only when it is stopped."""
    words = args.split()[position:]
    if words not in ([], ["wait"]):
        raise Misuse
    return words == ["wait"]
