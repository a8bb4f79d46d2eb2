"""Messages between the kernel and the pages that show a fan-out's table, in both directions.

Declares them and sends nothing. `js/src/types.ts` is generated from these classes. A message from a page is
untrusted input: an invalid one is refused. Messages to pages may be lost: a page notices that by the gap in
the numbers, or when it says what it has, and gets the whole table.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..changes import FileChange
from ..intents import BadIntent
from ..page_messages import PageMessage, Places
from ..records import Json, build, written
from .rows import Progress, Row

MOST_OPEN = 20
"""Rows that one page may have open at once: each is rendered again while its run goes on. The same as in
js/src/view/runs.tsx."""


class TableState(PageMessage, frozen=True, tag="table"):
    """The whole table, or its beginning: more rows may follow."""

    seq: int
    rows: tuple[Row, ...]
    progress: Progress


class TableRows(PageMessage, frozen=True, tag="rows"):
    """Rows that are new or have changed; none: only the progress has."""

    seq: int
    rows: tuple[Row, ...]
    progress: Progress


class RunDetails(PageMessage, frozen=True, tag="details"):
    """What an open row shows, as safe HTML. Sent again while the run goes on."""

    run: int
    html: str
    changes: tuple[FileChange, ...] | None = None
    """The files that were applied to the user's folder, and their states; None: the run was not applied."""


class TableStatic(PageMessage, frozen=True, tag="table_static"):
    """What the file keeps of the table, as a MIME bundle, and where the table is: models and cells."""

    bundle: dict[str, Json]
    places: Places = written([])


class ApplyEnded(PageMessage, frozen=True, tag="apply_ended"):
    """The changes of a run were applied or undone; if not, `error` says why."""

    run: int
    error: str | None = None


RunsMessage = TableState | TableRows | RunDetails | TableStatic | ApplyEnded


class TableSync(Struct, frozen=True, tag_field="t", tag="table_sync"):
    """A page shows the table and has everything up to `have`; 0: nothing yet."""

    view: str
    have: int = written(0)
    document: bool = written(False)
    """The page has access to the notebook, and writes the static form into the file."""
    open: tuple[int, ...] = written(())
    """The runs whose rows are open."""

    def __post_init__(self) -> None:
        if len(self.open) > MOST_OPEN:
            raise ValueError(f"at most {MOST_OPEN} rows can be open")


class TableBye(Struct, frozen=True, tag_field="t", tag="table_bye"):
    """A page does not show the table any more."""

    view: str


class StopRuns(Struct, frozen=True, tag_field="t", tag="stop_runs"):
    """Cancel all runs that have not ended."""


class ApplyRun(Struct, frozen=True, tag_field="t", tag="apply_run"):
    """Bring the changes of a run to the user's folder."""

    run: int

    def __post_init__(self) -> None:
        _check_run(self.run)


class ChangeRun(Struct, frozen=True, tag_field="t", tag="change_run"):
    """Undo, redo or keep changes that were applied: all of a run, a file, or a hunk of it."""

    run: int
    operation: Literal["undo", "redo", "keep"]
    file: str | None = None
    hunk: str | None = None

    def __post_init__(self) -> None:
        _check_run(self.run)
        if self.hunk is not None and self.file is None:
            raise ValueError("a hunk is one of a file: name both")


def _check_run(run: int) -> None:
    if run < 0:
        raise ValueError("there is no such run")


RunsIntent = TableSync | TableBye | StopRuns | ApplyRun | ChangeRun
build(RunsIntent)


def parse(message: Any) -> RunsIntent:
    """Parse a message from a page; raises BadIntent."""
    try:
        intent: RunsIntent = msgspec.convert(message, RunsIntent)
        return intent
    except msgspec.ValidationError as error:
        raise BadIntent(str(error)) from None
