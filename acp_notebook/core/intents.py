"""Intents: what a page asks of the kernel, parsed and validated.

Knows no widget and executes nothing. A message from a page is untrusted input: an invalid one is refused with
a reason. `js/src/types.ts` is generated from these classes; a `written` default marks a field that every page
sends.
"""

from __future__ import annotations

import binascii
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from .records import Record, build, written

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Image types that agents accept, and that a page can show without executing anything."""

MOST_FRAGMENT = 500
"""Characters of an unfinished @-name: longer than any real one."""


class Hello(Struct, frozen=True, tag_field="t", tag="hello"):
    """A page shows the session's model. `document`: it has access to the notebook that it is part of."""

    view: str
    document: bool = written(False)
    host: Literal["jupyterlab", "notebook", "other"] = written("other")
    live: bool = written(False)
    """It answers requests about the open document: see `core.document_protocol`."""
    path: str | None = written(None)
    """The notebook's path in the server's contents API."""
    person: str | None = written(None)
    """Who uses the page, as it claims; only where several people share the document."""


class Bye(Struct, frozen=True, tag_field="t", tag="bye"):
    view: str


class Resync(Struct, frozen=True, tag_field="t", tag="resync"):
    """The page missed something after `have`: send the whole state."""

    have: int
    view: str = ""


class Ack(Struct, frozen=True, tag_field="t", tag="ack"):
    """The page has received everything up to `seq`."""

    seq: int
    view: str = written("")


class Answer(Struct, frozen=True, tag_field="t", tag="answer"):
    """Answer a question: `question` is the key of its item, `option` the id of the chosen answer."""

    question: str
    option: str
    view: str = ""
    """The page that sent it."""


class Elicit(Struct, frozen=True, tag_field="t", tag="elicit"):
    """Answer an elicitation; `elicitation` is the key of its item."""

    elicitation: str
    action: Literal["accept", "decline", "cancel"]
    values: dict[str, str | int | float | bool | list[str] | None] = {}
    view: str = ""
    """The page that sent it."""


class Cancel(Struct, frozen=True, tag_field="t", tag="cancel"):
    """Cancel the turn with this id; None: the running turn."""

    turn: str | None = written(None)
    view: str = ""


class Picture(Struct, frozen=True):
    """An image that the user put into a prompt; `data` is base64."""

    data: str
    mime_type: str

    def __post_init__(self) -> None:
        if self.mime_type not in PICTURES:
            raise ValueError(f"{self.mime_type!r} is not an image type that can be sent")
        try:
            binascii.a2b_base64(self.data, strict_mode=True)
        except ValueError:  # also raised for non-ASCII characters
            raise ValueError("an image is not base64") from None


class Prompt(Struct, frozen=True, tag_field="t", tag="prompt"):
    text: str
    images: tuple[Picture, ...] = ()
    mentions: tuple[str, ...] | None = None
    """What to attach, if the text quotes what others may have written; None: what the text mentions."""
    view: str = ""

    def __post_init__(self) -> None:
        if not self.images and not self.text.strip():
            raise ValueError("the prompt is empty")


class Edit(Struct, frozen=True, tag_field="t", tag="edit"):
    """Change the text of a queued prompt; `turn` is the id that its turn will have."""

    turn: str
    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("the prompt is empty")


class SendNow(Struct, frozen=True, tag_field="t", tag="send_now"):
    """Cancel the running turn, and send this prompt next."""

    turn: str
    view: str = ""


class Move(Struct, frozen=True, tag_field="t", tag="move"):
    """Move a queued prompt to another position; 0 is the next."""

    turn: str
    to: int


class Complete(Struct, frozen=True, tag_field="t", tag="complete"):
    """Complete an unfinished @-name. `rid` and `view` identify the request and the page."""

    rid: str
    fragment: str
    view: str = ""

    def __post_init__(self) -> None:
        if not self.fragment.startswith("@") or len(self.fragment) > MOST_FRAGMENT:
            raise ValueError("that is not the beginning of an @-name")


MOST_PREVIEWED = 20_000
"""Characters of a prompt whose @-names are previewed."""


class Preview(Struct, frozen=True, tag_field="t", tag="preview"):
    """Preview what the @-names of an unsent prompt will attach."""

    rid: str
    text: str
    view: str = ""

    def __post_init__(self) -> None:
        if len(self.text) > MOST_PREVIEWED:
            raise ValueError("the prompt is too long to be previewed")


class Examples(Struct, frozen=True, tag_field="t", tag="examples"):
    """Suggest prompts that fit what the user has defined."""

    rid: str
    view: str = ""


class Again(Struct, frozen=True, tag_field="t", tag="again"):
    """Send the prompt of a failed turn again."""

    turn: str
    view: str = ""


class Mode(Struct, frozen=True, tag_field="t", tag="mode"):
    """Switch the agent to this mode."""

    mode: str


class Config(Struct, frozen=True, tag_field="t", tag="config"):
    """Set the config option with this id."""

    id: str
    value: str | bool


class Tools(Struct, frozen=True, tag_field="t", tag="tools"):
    """Let the agent use the kernel's tools, or not any more."""

    on: bool


class Restart(Struct, frozen=True, tag_field="t", tag="restart"):
    """Start the agent again, if it has ended."""


class Reopen(Struct, frozen=True, tag_field="t", tag="reopen"):
    """Reopen a session that the agent has lost; `new`: open a new one in its place."""

    new: bool = written(False)


class _OfChanges(Record, frozen=True):
    """Selects changes: a hunk of a file of a turn, or a whole file, a whole turn, or the whole session."""

    _nullable: ClassVar = ("turn", "file", "hunk")
    turn: str | None = written(None)
    """The id of the turn, or the key of its item."""
    file: str | None = written(None)
    hunk: str | None = written(None)
    files: tuple[str, ...] | None = None
    """Several files of the turn, as listed."""
    view: str = ""

    def __post_init__(self) -> None:
        named = self.file is not None or self.files is not None
        if (self.hunk is not None and self.file is None) or (named and self.turn is None):
            raise ValueError("a hunk is one of a file, and a file one of a turn: name them all")
        if self.file is not None and self.files is not None:
            raise ValueError("one file, or several: not both")


class Undo(_OfChanges, frozen=True, tag_field="t", tag="undo"):
    """Undo the agent's changes."""


class Redo(_OfChanges, frozen=True, tag_field="t", tag="redo"):
    """Redo changes that were undone."""


class Keep(_OfChanges, frozen=True, tag_field="t", tag="keep"):
    """Keep changes: the user has reviewed them."""


class SignIn(Struct, frozen=True, tag_field="t", tag="sign_in"):
    """Sign in with this method; None: stop the sign-in in progress."""

    method: str | None = written(None)


class UseKey(Struct, frozen=True, tag_field="t", tag="use_key"):
    """Sign in with a key that the user typed: restart the agent with it as this environment variable."""

    name: str
    key: str

    def __repr__(self) -> str:
        return f"UseKey(name={self.name!r})"


class SignedIn(Struct, frozen=True, tag_field="t", tag="signed_in"):
    """The user signed in elsewhere: retry what waits for it."""


class SignOut(Struct, frozen=True, tag_field="t", tag="sign_out"):
    pass


class Sessions(Struct, frozen=True, tag_field="t", tag="sessions"):
    """List the agent's stored sessions from this cursor on. `rid` identifies the request."""

    rid: str
    cursor: str | None = written(None)


class Open(Struct, frozen=True, tag_field="t", tag="open"):
    """Open another session; `id` is the one to load, resume or fork."""

    rid: str
    how: Literal["new", "load", "resume", "fork"]
    id: str | None = None

    def __post_init__(self) -> None:
        if self.how != "new" and not self.id:
            raise ValueError(f"{self.how}: which session?")


class Delete(Struct, frozen=True, tag_field="t", tag="delete"):
    """Ask the agent to delete this session."""

    rid: str
    id: str


class Settings(Struct, frozen=True, tag_field="t", tag="settings"):
    """Send the settings again: grants also change in other kernels."""


class Permissions(Struct, frozen=True, tag_field="t", tag="permissions"):
    """Who answers permission questions; edits: ask, but not about edits in the session's folders; given: as
    Python has set it."""

    policy: Literal["ask", "edits", "allow", "reject", "given"]


class Revoke(Struct, frozen=True, tag_field="t", tag="revoke"):
    """Revoke the grant with this id."""

    grant: str


class Checkpoints(Struct, frozen=True, tag_field="t", tag="checkpoints"):
    """Make checkpoints from the next turn on, so that it can be undone, or not any more."""

    on: bool


class Agents(Struct, frozen=True, tag_field="t", tag="agents"):
    """List the agents that can be started. `rid` identifies the request."""

    rid: str


class StartAgent(Struct, frozen=True, tag_field="t", tag="start_agent"):
    """Start an agent, in a new session.

    `way`: the package that the page showed and the user allowed to be fetched and run, such as "npx NAME";
    None: none. `always`: the user allowed it permanently.
    """

    rid: str
    agent: str
    way: str | None = written(None)
    always: bool = written(False)


MOST_PARTS = 4096
"""Parts of one answer, about a gigabyte. A page that sends more is broken."""


class Doc(Struct, frozen=True, tag_field="t", tag="doc"):
    """A part of an answer about the open document; all parts together are JSON (`core.document_protocol`)."""

    view: str
    rid: str
    text: str
    part: int = written(0)
    of: int = written(1)
    now: float = written(0.0)
    """Milliseconds, by the page's clock."""

    def __post_init__(self) -> None:
        if not 0 <= self.part < self.of <= MOST_PARTS:
            raise ValueError(f"there is no part {self.part} of {self.of}")


ExportForm = Literal["markdown", "html", "notebook"]


class Export(Struct, frozen=True, tag_field="t", tag="export"):
    """Send a part of the conversation as a file; part 0 makes the file. `rid` identifies the request."""

    rid: str
    form: ExportForm
    part: int = written(0)
    view: str = ""


MOST_TABS = 200
"""How many documents with unsaved changes a page reports: more than anyone has open."""

MOST_PATH = 4096
"""Characters of a path."""


class Tabs(Struct, frozen=True, tag_field="t", tag="tabs"):
    """The other documents of the page with unsaved changes, by their paths in the server's contents API."""

    notebooks: tuple[str, ...]
    texts: tuple[str, ...]
    view: str = ""

    def __post_init__(self) -> None:
        paths = (*self.notebooks, *self.texts)
        if len(paths) > MOST_TABS or any(len(path) > MOST_PATH for path in paths):
            raise ValueError("these are more tabs than a page has")


class GoOn(Struct, frozen=True, tag_field="t", tag="go_on"):
    """What to do with the earlier conversation of the panel's cell: send it with the next prompt (context),
    resume it, or neither; "noted" dismisses the reminder that a prompt is sent again."""

    how: Literal["resume", "context", "fresh", "noted"]


Queueing = Edit | SendNow | Move

OfChanges = Undo | Redo | Keep

OfSignIn = SignIn | SignedIn | SignOut | UseKey

Listed = Sessions | Open | Delete

Choosing = Agents | StartAgent

Picked = Listed | Choosing

Looking = Complete | Preview | Examples

Setting = Mode | Config | Tools | Restart | Reopen | Permissions | Revoke | Checkpoints

OfConversation = Prompt | Again | GoOn | Queueing | Setting | OfChanges | OfSignIn

OfSession = OfConversation | Looking | Picked | Export | Settings | Tabs

Intent = Hello | Bye | Resync | Ack | Answer | Elicit | Cancel | Doc | OfSession
build(Intent)


class BadIntent(ValueError):
    """The message is not a valid intent; the error says why."""


def parse(message: Any) -> Intent:
    """Parse a message from a page; raises BadIntent."""
    try:
        intent: Intent = msgspec.convert(message, Intent)
        return intent
    except msgspec.ValidationError as error:
        raise BadIntent(str(error)) from None
