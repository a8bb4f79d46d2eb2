"""Intents: what the browser wants of the kernel, parsed and checked.

Knows no widget and carries nothing out. A message from a page is input like any other: what does not
fit is refused with a reason, never guessed.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct


class Hello(Struct, frozen=True, tag_field="t", tag="hello"):
    """A page shows the session's model. `document`: it can reach the notebook that it stands in."""

    view: str
    document: bool = False
    host: str = "other"


class Bye(Struct, frozen=True, tag_field="t", tag="bye"):
    view: str


class Resync(Struct, frozen=True, tag_field="t", tag="resync"):
    """Something was missed after `have`: send the whole state."""

    have: int


class Ack(Struct, frozen=True, tag_field="t", tag="ack"):
    """Everything up to `seq` has arrived."""

    seq: int


class Answer(Struct, frozen=True, tag_field="t", tag="answer"):
    """`question` is the key of the question's item, `option` the id of the chosen option."""

    question: str
    option: str


class Cancel(Struct, frozen=True, tag_field="t", tag="cancel"):
    """Stop the turn of this id; without one, the running turn."""

    turn: str | None = None


class Prompt(Struct, frozen=True, tag_field="t", tag="prompt"):
    text: str


Intent = Hello | Bye | Resync | Ack | Answer | Cancel | Prompt


class BadIntent(ValueError):
    """Not an intent; says why."""


def parse(message: Any) -> Intent:
    """The intent that a message from the browser stands for; raises BadIntent."""
    try:
        intent: Intent = msgspec.convert(message, Intent)
        return intent
    except msgspec.ValidationError as error:
        raise BadIntent(str(error)) from None
