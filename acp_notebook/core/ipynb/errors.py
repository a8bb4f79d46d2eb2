"""Why a notebook cannot be read or written: `Invalid` and `Conflict`.

Knows nothing of notebooks. The messages are for the agent (and for people): what is wrong, where, and
what to do next. Whoever raises one of these has written nothing. An agent finds a cell by its id, or as
cells[2] in the JSON; people count from 1.
"""

from __future__ import annotations

from msgspec import Struct

MOST_NAMED = 5
"""Of conflicts in one message: an agent reads the notebook again anyway, and sees the rest."""

MEANWHILE = "since you read it"
"""How the reasons end that are about what somebody did meanwhile."""

SINCE = f" was changed {MEANWHILE}"

FIRST_LINE = 60
"""Characters of a cell's first line in a message: enough to find it by."""


class Invalid(ValueError):
    """Not a notebook, or not one that can be kept. `line` and `column` (from 1) or `cell` say where."""

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, cell: int | None = None
    ) -> None:
        super().__init__(message)
        self.line, self.column, self.cell = line, column, cell


class Clash(Struct, frozen=True):
    """One thing that two sides changed. `id` and `index` are None where it is not about one cell."""

    why: str
    id: str | None = None
    index: int | None = None
    first_line: str = ""

    def __str__(self) -> str:
        if self.index is None:
            return self.why
        return f"cells[{self.index}] (id {self.id}, {self.first_line!r}): {self.why}"

    @property
    def place(self) -> str:
        """What it is about, for people."""
        if self.index is None:
            return self.why.removesuffix(SINCE)
        return f"cell {self.index + 1} ({self.first_line or 'empty'})"


class Conflict(ValueError):
    """What the agent wrote and what is there now cannot both be had; `clashes` names each cell."""

    def __init__(self, clashes: tuple[Clash, ...]) -> None:
        named = "; ".join(map(str, clashes[:MOST_NAMED]))
        more = f"; and {len(clashes) - MOST_NAMED} more" if len(clashes) > MOST_NAMED else ""
        super().__init__(f"nothing was written: {named}{more}. Read the notebook again, then write.")
        self.clashes = clashes

    @property
    def both_changed(self) -> bool:
        """Whether it is about what somebody did meanwhile, and not about what may not be done at all."""
        return any(it.why.endswith(MEANWHILE) for it in self.clashes)

    @property
    def places(self) -> str:
        """What both sides changed, for people."""
        named = ", ".join(it.place for it in self.clashes[:MOST_NAMED])
        more = len(self.clashes) - MOST_NAMED
        return f"{named} and {more} more" if more > 0 else named


def first_line(source: str) -> str:
    """What a person knows a cell by."""
    line = source.strip().partition("\n")[0].rstrip()
    return line if len(line) <= FIRST_LINE else f"{line[: FIRST_LINE - 1]}…"
