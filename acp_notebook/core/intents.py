"""Intents: what the browser wants of the kernel, parsed and checked.

Knows no widget and carries nothing out. A message from a page is input like any other: what does not
fit is refused with a reason, never guessed.
"""

from __future__ import annotations

import binascii
from typing import Any, Literal

import msgspec
from msgspec import Struct

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What agents take, and what a page can show without running anything in it."""

MOST_FRAGMENT = 500
"""Characters of a name that is being written: longer than any that one completes."""


class Hello(Struct, frozen=True, tag_field="t", tag="hello"):
    """A page shows the session's model. `document`: it can reach the notebook that it stands in."""

    view: str
    document: bool = False
    host: str = "other"
    live: bool = False
    """It answers what is asked of the notebook: see `core.document_protocol`."""
    path: str | None = None
    """The notebook's, as the server's contents call it."""


class Bye(Struct, frozen=True, tag_field="t", tag="bye"):
    view: str


class Resync(Struct, frozen=True, tag_field="t", tag="resync"):
    """Something was missed after `have`: send the whole state."""

    have: int
    view: str = ""


class Ack(Struct, frozen=True, tag_field="t", tag="ack"):
    """Everything up to `seq` has arrived."""

    seq: int
    view: str = ""


class Answer(Struct, frozen=True, tag_field="t", tag="answer"):
    """`question` is the key of the question's item, `option` the id of the chosen option."""

    question: str
    option: str


class Elicit(Struct, frozen=True, tag_field="t", tag="elicit"):
    """The answer to a form, or to an address: `elicitation` is the key of its item."""

    elicitation: str
    action: Literal["accept", "decline", "cancel"]
    values: dict[str, str | int | float | bool | list[str] | None] = {}


class Cancel(Struct, frozen=True, tag_field="t", tag="cancel"):
    """Stop the turn of this id; without one, the running turn."""

    turn: str | None = None


class Picture(Struct, frozen=True):
    """An image that the user put into a prompt; `data` is base64."""

    data: str
    mime_type: str

    def __post_init__(self) -> None:
        if self.mime_type not in PICTURES:
            raise ValueError(f"{self.mime_type!r} is no image that can be sent")
        try:
            binascii.a2b_base64(self.data, strict_mode=True)
        except ValueError:  # also of characters beyond ASCII
            raise ValueError("an image is not base64") from None


class Prompt(Struct, frozen=True, tag_field="t", tag="prompt"):
    text: str
    images: tuple[Picture, ...] = ()

    def __post_init__(self) -> None:
        if not self.images and not self.text.strip():
            raise ValueError("the prompt is empty")


class Edit(Struct, frozen=True, tag_field="t", tag="edit"):
    """Other words for a prompt that waits; `turn` is the id that its turn will have."""

    turn: str
    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("the prompt is empty")


class SendNow(Struct, frozen=True, tag_field="t", tag="send_now"):
    """Stop the running turn, and send this prompt next."""

    turn: str


class Move(Struct, frozen=True, tag_field="t", tag="move"):
    """A prompt that waits takes another place; 0 is the next."""

    turn: str
    to: int


class Complete(Struct, frozen=True, tag_field="t", tag="complete"):
    """What can the @-name become that is being written? `rid` and `view` tell whose the answer is."""

    rid: str
    fragment: str
    view: str = ""

    def __post_init__(self) -> None:
        if not self.fragment.startswith("@") or len(self.fragment) > MOST_FRAGMENT:
            raise ValueError("that is no beginning of an @-name")


class Again(Struct, frozen=True, tag_field="t", tag="again"):
    """Send the prompt of a turn that failed once more."""

    turn: str


class Mode(Struct, frozen=True, tag_field="t", tag="mode"):
    """Switch the agent to this mode."""

    mode: str


class Config(Struct, frozen=True, tag_field="t", tag="config"):
    """Set the agent's option of this id."""

    id: str
    value: str | bool


class Restart(Struct, frozen=True, tag_field="t", tag="restart"):
    """Start the agent again, if it is gone."""


class Reopen(Struct, frozen=True, tag_field="t", tag="reopen"):
    """Open the session again that the agent has lost; `new`: another one, in its place."""

    new: bool = False


class _OfChanges(Struct, frozen=True):
    """Of which change it speaks: a hunk of a file of a turn, or all of a file, a turn, the session."""

    turn: str | None = None
    """The id of the turn, or its item's key."""
    file: str | None = None
    hunk: str | None = None
    files: tuple[str, ...] | None = None
    """Several files of the turn, as they were listed."""

    def __post_init__(self) -> None:
        named = self.file is not None or self.files is not None
        if (self.hunk is not None and self.file is None) or (named and self.turn is None):
            raise ValueError("a hunk is one of a file, and a file one of a turn: name them all")
        if self.file is not None and self.files is not None:
            raise ValueError("one file, or several: not both")


class Undo(_OfChanges, frozen=True, tag_field="t", tag="undo"):
    """Take back what the agent changed."""


class Redo(_OfChanges, frozen=True, tag_field="t", tag="redo"):
    """Do again what was undone."""


class Keep(_OfChanges, frozen=True, tag_field="t", tag="keep"):
    """The user has seen it, and it stays."""


class SignIn(Struct, frozen=True, tag_field="t", tag="sign_in"):
    """Sign in by this method; None: stop the one that is under way."""

    method: str | None = None


class SignedIn(Struct, frozen=True, tag_field="t", tag="signed_in"):
    """It was done elsewhere: try again what waits for it."""


class SignOut(Struct, frozen=True, tag_field="t", tag="sign_out"):
    pass


class Sessions(Struct, frozen=True, tag_field="t", tag="sessions"):
    """List sessions that the agent keeps, from this cursor on. `rid` names the request in its answer."""

    rid: str
    cursor: str | None = None


class Open(Struct, frozen=True, tag_field="t", tag="open"):
    """Open a session beside this one; `id` names the one to load, resume or fork."""

    rid: str
    how: Literal["new", "load", "resume", "fork"]
    id: str | None = None

    def __post_init__(self) -> None:
        if self.how != "new" and not self.id:
            raise ValueError(f"{self.how}: which session?")


class Delete(Struct, frozen=True, tag_field="t", tag="delete"):
    """Have the agent forget this session."""

    rid: str
    id: str


MOST_PARTS = 4096
"""Of one answer: a gigabyte. A page that counts further is broken."""


class Doc(Struct, frozen=True, tag_field="t", tag="doc"):
    """A part of an answer of the open document; all parts together are JSON (`core.document_protocol`)."""

    view: str
    rid: str
    text: str
    part: int = 0
    of: int = 1
    now: float = 0.0
    """Milliseconds, by the page's clock."""

    def __post_init__(self) -> None:
        if not 0 <= self.part < self.of <= MOST_PARTS:
            raise ValueError(f"there is no part {self.part} of {self.of}")


Queueing = Edit | SendNow | Move

OfChanges = Undo | Redo | Keep

OfSignIn = SignIn | SignedIn | SignOut

Picked = Sessions | Open | Delete

Setting = Mode | Config | Restart | Reopen

OfSession = Prompt | Again | Complete | Queueing | Setting | OfChanges | OfSignIn | Picked

Intent = Hello | Bye | Resync | Ack | Answer | Elicit | Cancel | Doc | OfSession


class BadIntent(ValueError):
    """Not an intent; says why."""


def parse(message: Any) -> Intent:
    """The intent that a message from the browser stands for; raises BadIntent."""
    try:
        intent: Intent = msgspec.convert(message, Intent)
        return intent
    except msgspec.ValidationError as error:
        raise BadIntent(str(error)) from None
