"""A form, or an address, put as text: field by field, by `input()`.

Knows neither the session nor who asked. Enter takes the default, or leaves out what is not needed; what
does not fit is asked again.
"""

from __future__ import annotations

import getpass
from typing import Any

from ..core.elicitation import Action
from ..core.forms import KINDS, Field, Misfit, fitting
from ..core.snapshot import Elicitation
from ..core.visible import shown

LONG = 2000
"""Characters of what an agent may say in one go."""


def fill_in(asked: Elicitation) -> tuple[Action, dict[str, Any]]:
    """What the user answers."""
    print(f"The agent asks: {shown(asked.message, chars=LONG)}")
    if asked.problem is not None:
        print(f"It can only be declined: {asked.problem}.")
    if asked.url is not None:
        print(
            f"Open this address yourself, if you trust {asked.host}:\n  {shown(asked.url, chars=10 * LONG)}"
        )
    said = input("Answer it? (y: yes, n: decline, c: cancel): ").strip().lower()
    if said.startswith("c"):
        return "cancel", {}
    if not said.startswith("y") or asked.problem is not None:
        return "decline", {}
    return "accept", {field.name: _asked(field) for field in asked.fields if field.type in KINDS}


def _asked(field: Field) -> Any:
    for about in filter(None, (field.description, field.pattern)):
        print(f"  {shown(about, chars=LONG)}")
    for number, choice in enumerate(field.choices, 1):
        about = f": {shown(choice.description)}" if choice.description else ""
        print(f"  {number}  {shown(choice.name)}{about}")
    while True:
        said = _input(field, f"{shown(field.label)}{_hint(field)}: ")
        if not said and not field.required:
            return field.default
        if not said and field.default is not None:
            return field.default
        try:
            return fitting(field, _read(field, said))
        except Misfit as misfit:
            print(f"  {shown(str(misfit), chars=200)}")


def _input(field: Field, prompt: str) -> str:
    return getpass.getpass(prompt) if field.secret else input(prompt).strip()


def _hint(field: Field) -> str:
    kinds = {"boolean": "y/n", "multiselect": "numbers, with commas", "select": "a number"}
    needed = "" if field.required else "optional"
    default = "" if field.default is None else f"Enter: {shown(str(field.default))}"
    parts = ", ".join(filter(None, [kinds.get(field.type, ""), default or needed]))
    return f" ({parts})" if parts else ""


def _read(field: Field, said: str) -> Any:
    match field.type:
        case "number" | "integer":
            return _number(said)
        case "boolean":
            return {"y": True, "n": False}.get(said[:1].lower(), said)
        case "select":
            return _choice(field, said)
        case "multiselect":
            return [_choice(field, word.strip()) for word in said.split(",") if word.strip()]
    return said


def _number(said: str) -> Any:
    for read in (int, float):
        try:
            return read(said)
        except ValueError:
            continue
    return said


def _choice(field: Field, said: str) -> str:
    """By its number, or by its name."""
    if said.isdecimal() and 1 <= int(said) <= len(field.choices):
        return field.choices[int(said) - 1].value
    return next((it.value for it in field.choices if it.name == said), said)
