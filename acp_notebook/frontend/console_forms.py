"""Fills in a form with `input()`, field by field, or shows a URL to open.

Knows no session. Enter takes the default or skips an optional field; after an invalid value it asks again.
"""

from __future__ import annotations

import getpass
from typing import Any

from ..core.elicitation import Action
from ..core.forms import KINDS, Field, Misfit, fitting
from ..core.snapshot import Elicitation
from ..core.visible import shown
from .console_input import fresh_input, read_line

LONG = 2000
"""The most characters of one text of the agent to print."""


def fill_in(asked: Elicitation) -> tuple[Action, dict[str, Any]]:
    """Ask the user, and return the action and the values."""
    who = "The agent asks" if asked.who is None else shown(asked.who, chars=200)
    print(f"{who}: {shown(asked.message, chars=LONG)}")
    if asked.problem is not None:
        print(f"You can only decline: {shown(asked.problem, chars=LONG)}.")
    if asked.url is not None:
        print(f"If you trust {shown(str(asked.host), chars=200)}, open this address:")
        print(f"  {shown(asked.url, chars=10 * LONG)}")
    reply = fresh_input("Answer it? (y: yes, n: decline, c: cancel): ").lower()
    if reply.startswith("c"):
        return "cancel", {}
    if not reply.startswith("y") or asked.problem is not None:
        return "decline", {}
    return "accept", {field.name: _ask(field) for field in asked.fields if field.type in KINDS}


def _ask(field: Field) -> Any:
    for about in filter(None, (field.description, field.pattern)):
        print(f"  {shown(about, chars=LONG)}")
    for number, choice in enumerate(field.choices, 1):
        about = f": {shown(choice.description)}" if choice.description else ""
        print(f"  {number}  {shown(choice.name)}{about}")
    while True:
        reply = _input(field, f"{shown(field.label)}{_hint(field)}: ")
        if not reply and not field.required:
            return field.default
        if not reply and field.default is not None:
            return field.default
        try:
            return fitting(field, _read(field, reply))
        except Misfit as misfit:
            print(f"  {shown(str(misfit), chars=200)}")


def _input(field: Field, prompt: str) -> str:
    return getpass.getpass(prompt) if field.secret else read_line(prompt)


def _hint(field: Field) -> str:
    kinds = {"boolean": "y/n", "multiselect": "numbers, with commas", "select": "a number"}
    needed = "" if field.required else "optional"
    default = "" if field.default is None else f"Enter: {shown(str(field.default))}"
    parts = ", ".join(filter(None, [kinds.get(field.type, ""), default or needed]))
    return f" ({parts})" if parts else ""


def _read(field: Field, reply: str) -> Any:
    match field.type:
        case "number" | "integer":
            return _number(reply)
        case "boolean":
            return {"y": True, "n": False}.get(reply[:1].lower(), reply)
        case "select":
            return _choice(field, reply)
        case "multiselect":
            return [_choice(field, word.strip()) for word in reply.split(",") if word.strip()]
    return reply


def _number(reply: str) -> Any:
    for read in (int, float):
        try:
            return read(reply)
        except ValueError:
            continue
    return reply


def _choice(field: Field, reply: str) -> str:
    """The value of a choice, given by number or name."""
    if reply.isdecimal() and 1 <= int(reply) <= len(field.choices):
        return field.choices[int(reply) - 1].value
    return next((it.value for it in field.choices if it.name == reply), reply)
