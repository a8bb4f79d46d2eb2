"""The open document, as the kernel and a page speak of it: what is asked, answered, and can go wrong.

Pure: no widget and no clock. A request names its page (`view`), itself (`rid`) and the moment, by the
page's own clock, after which it must not be carried out any more (`until`); every change names by hash the
text that it is based on. A page carries out no request twice: one that comes again gets the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from .ipynb import Operation
from .records import Json

State = Literal["open", "perhaps", "closed"]
"""Whether a page has a file open. "perhaps": it cannot be proved now, so nobody writes behind its back."""

Refreshed = Literal["same", "reloaded", "unsaved"]
"""What became of a tab whose file may have changed on disk; unsaved: it has edits, and was left alone."""


class Unreachable(Exception):
    """No page answers now; what was asked may or may not have been done."""


class Stale(Exception):
    """The document is not what the request was based on, or the request is too old; nothing was done."""


class Failed(Exception):
    """The page cannot do it; nothing was done."""


class FileFacts(Struct, frozen=True):
    """A file as the server tells of it."""

    last_modified: str
    size: int | None = None
    hash: str | None = None
    hash_algorithm: str | None = None


class Located(Struct, frozen=True):
    """Where the document is: its path in the server's contents, and the file there as it is now."""

    path: str
    dirty: bool = False
    file: FileFacts | None = None
    known: FileFacts | None = None
    """The file as it was when the page last loaded or saved it."""


class Described(Struct, frozen=True):
    """The document as it is in the page, what is not saved included."""

    path: str
    dirty: bool
    notebook: dict[str, Any]
    active: str | None = None
    """The id of the cell that the user is at."""


class Applied(Struct, frozen=True):
    """What a page did beyond the operations themselves."""

    unrendered: tuple[str, ...] = ()
    """Markdown cells that would load something from elsewhere: left as they are written, until the user
    runs them."""


class OpenNotebooks(Protocol):
    """The notebooks that pages have open, by their real paths on this machine."""

    async def state_of(self, path: str) -> State: ...

    async def read(self, path: str) -> dict[str, Json]:
        """The notebook as it is in the page; raises Unreachable."""

    async def apply(
        self, path: str, operations: Sequence[Operation], *, holds: str | None = None
    ) -> Applied | None:
        """All of them or none; raises Stale, Failed, Unreachable.

        `holds`: the hash of a file whose changes these are; from then on the page counts it as known.
        """

    async def open_files(self) -> tuple[str, ...]:
        """Those of which it is proved."""

    async def known(self, path: str) -> FileFacts | None:
        """The file as it was when its page last loaded or saved it; raises Failed, Unreachable."""

    async def refresh(self, path: str) -> Refreshed:
        """The file may have changed on disk; raises Failed, Unreachable."""


class _Error(Struct, frozen=True):
    code: str
    message: str


class _Answer(Struct, frozen=True):
    result: Any = None
    error: _Error | None = None


def read_answer(text: str) -> Any:
    """What a page answered; raises Stale, Failed."""
    try:
        # Not msgspec's: a document may hold half a surrogate pair, and is read all the same.
        answer = msgspec.convert(json.loads(text), _Answer)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Failed(f"the page's answer cannot be read ({error})") from None
    if answer.error is None:
        return answer.result
    kind = Stale if answer.error.code in ("stale", "expired") else Failed
    raise kind(answer.error.message)


def converted(result: Any, kind: Any) -> Any:
    """The result as that record; raises Failed."""
    try:
        return msgspec.convert(result, kind)
    except msgspec.ValidationError as error:
        raise Failed(f"the page's answer cannot be used ({error})") from None


def plain(operation: Operation) -> dict[str, Any]:
    """As it goes to the page."""
    made: dict[str, Any] = msgspec.to_builtins(operation)
    return {"op": operation.op, **made}
