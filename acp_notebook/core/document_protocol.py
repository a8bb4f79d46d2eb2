"""The protocol between the kernel and a page about the open document: requests, answers and errors.

Pure: no widget and no clock. A request names its page (`view`), its id (`rid`) and a deadline by the page's
own clock (`until`), after which the page must not execute it. Every change includes the hash of the text that
it is based on. A page executes no request twice: a repeated one gets the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from .ipynb import Operation
from .records import Json, Record, build, written

State = Literal["open", "perhaps", "closed"]
"""Whether a page has a file open. "perhaps": it cannot be ruled out, so the file must not be written."""

Refreshed = Literal["same", "reloaded", "unsaved"]
"""The result of refreshing a tab whose file may have changed; unsaved: it has edits, and was left alone."""


class Unreachable(Exception):
    """No page answers; the request may or may not have been executed."""


class Stale(Exception):
    """The document has changed since, or the request is too old; nothing was done."""


class Failed(Exception):
    """The page cannot do it; nothing was done."""


class FileFacts(Struct, frozen=True):
    """A file as the server reports it."""

    last_modified: str
    size: int | None = None
    hash: str | None = None
    hash_algorithm: str | None = None


class Located(Struct, frozen=True):
    """Where the document is: its path in the server's contents API, and the file there now."""

    path: str
    dirty: bool = False
    file: FileFacts | None = None
    known: FileFacts | None = None
    """The file as it was when the page last loaded or saved it."""


class Described(Struct, frozen=True):
    """The document as the page has it, including unsaved edits."""

    path: str
    dirty: bool
    notebook: dict[str, Any]
    active: str | None = None
    """The id of the active cell."""


class Applied(Struct, frozen=True):
    """Side effects of the operations that a page applied."""

    unrendered: tuple[str, ...] = ()
    """Markdown cells that were not rendered, because they would load something from another server; they
    stay so until the user runs them."""


class RanCell(Struct, frozen=True):
    """A cell that a page executed."""

    id: str
    status: Literal["ok", "error", "skipped"]
    execution_count: int | None = None
    outputs: tuple[dict[str, Any], ...] = ()


class DocRequest(Record, frozen=True, kw_only=True, tag_field="op"):
    """A request about the document to one page."""

    t: Literal["doc"] = written("doc")
    view: str = written("")
    rid: str = written("")
    until: float | None = written(None)
    """Milliseconds, by the page's clock."""
    tab: str | None = written(None)
    """The path of another document of the page in the server's contents API; None: the page's own one."""


class Ping(DocRequest, frozen=True, tag="ping"):
    """Report the time."""


class Describe(DocRequest, frozen=True, tag="describe"):
    """Send the document: `Described`."""


class Locate(DocRequest, frozen=True, tag="locate"):
    """Say where the document is: `Located`."""


class Previous(DocRequest, frozen=True, tag="previous"):
    """Send what this cell showed of all sessions that the page remembers, also those of earlier kernels: the
    data of outputs as files have it, the newest last."""

    cell: str


class Save(DocRequest, frozen=True, tag="save"):
    """Save the document."""


class Refresh(DocRequest, frozen=True, tag="refresh"):
    """Reload the document if its file changed: `Refreshed`."""


class Apply(DocRequest, frozen=True, tag="apply"):
    """Apply all operations or none, as one undo step: `Applied`."""

    operations: tuple[Operation, ...]
    holds: str | None = written(None)
    """The hash of the file that contains these changes, which the page then treats as known."""


class CellSource(Record, frozen=True):
    """A cell and the whole source that the user allowed to run: a hash can be met by another source."""

    id: str
    source: str


class ExecuteCells(DocRequest, frozen=True, tag="run"):
    """Execute these cells, in this order, until one fails: `RanCell` for each."""

    cells: tuple[CellSource, ...]


class ShowOutputs(DocRequest, frozen=True, tag="outputs"):
    """Show the outputs of a cell that the kernel runs without an execute_request."""

    id: str
    based_on: str
    """The hash of the source that the cell must still have."""
    outputs: list[Json]
    execution_count: int | None
    running: bool


class ReadText(DocRequest, frozen=True, tag="text"):
    """Send the text of a tab: `OpenText`."""


class WriteText(DocRequest, frozen=True, tag="write"):
    """Replace the text of a tab, as one undo step, if it still is the one that the user was shown."""

    based_on: str
    text: str


class OpenText(Struct, frozen=True):
    """The text of a tab."""

    text: str
    dirty: bool
    """Whether it has unsaved changes."""


OfNotebook = Describe | Previous | Save | Refresh | Apply | ExecuteCells | ShowOutputs
AnyDocRequest = Ping | Locate | OfNotebook | ReadText | WriteText


class OpenTabs(Protocol):
    """Text files that pages have open with unsaved changes, by their real paths on this machine."""

    async def unsaved_text(self, path: str) -> str | None:
        """The text as its tab has it; None if no tab has unsaved changes. Raises Failed, Unreachable."""

    async def write_unsaved(self, path: str, based_on: str, text: str) -> None:
        """Replace the text in its tab; raises Stale, Failed, Unreachable."""


class OpenNotebooks(Protocol):
    """The notebooks that pages have open, by their real paths on this machine."""

    async def state_of(self, path: str) -> State: ...

    async def read(self, path: str) -> dict[str, Json]:
        """The notebook as the page has it; raises Unreachable."""

    async def apply(
        self, path: str, operations: Sequence[Operation], *, holds: str | None = None
    ) -> Applied | None:
        """Apply all operations or none; raises Stale, Failed, Unreachable.

        `holds`: the hash of the file that already contains these changes, so that the page treats that
        file as known.
        """

    async def open_files(self) -> tuple[str, ...]:
        """The files that are certainly open."""

    async def known(self, path: str) -> FileFacts | None:
        """The file as it was when its page last loaded or saved it; raises Failed, Unreachable."""

    async def refresh(self, path: str) -> Refreshed:
        """Reload the file if it changed on disk; raises Failed, Unreachable."""


class _Error(Struct, frozen=True):
    code: str
    message: str


class _Answer(Struct, frozen=True):
    result: Any = None
    error: _Error | None = None


build(_Answer)


def read_answer(text: str) -> Any:
    """Parse a page's answer; raises Stale, Failed."""
    try:
        # Not msgspec's decoder: a document may contain a lone surrogate, which that refuses.
        answer = msgspec.convert(json.loads(text), _Answer)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Failed(f"the page's answer cannot be read ({error})") from None
    if answer.error is None:
        return answer.result
    kind = Stale if answer.error.code in ("stale", "expired") else Failed
    raise kind(answer.error.message)


def converted(result: Any, kind: Any) -> Any:
    """Convert the result to that record; raises Failed."""
    try:
        return msgspec.convert(result, kind)
    except msgspec.ValidationError as error:
        raise Failed(f"the page's answer cannot be used ({error})") from None
