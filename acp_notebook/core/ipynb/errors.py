"""The reasons why a notebook cannot be read or written: `Invalid` and `Conflict`.

The messages are for the agent (and for people): what is wrong, where, and what to do next. Code that raises
one of these has written nothing. Messages for an agent name a cell by its id or as cells[2] in the JSON;
messages for people count cells from 1.
"""

from __future__ import annotations

from msgspec import Struct

MOST_NAMED = 5
"""How many conflicts a message names: an agent has to read the notebook again anyway, and sees the rest."""

SINCE_READ = "since you read it"
"""The end of every reason that is about a change since the agent's last read."""

SINCE = f" was changed {SINCE_READ}"

FIRST_LINE = 60
"""Characters of a cell's first line in a message: enough to recognise the cell."""


class Invalid(ValueError):
    """The text is not a valid notebook. `line` and `column` (from 1) or `cell` say where."""

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, cell: int | None = None
    ) -> None:
        super().__init__(message)
        self.line, self.column, self.cell = line, column, cell


class Clash(Struct, frozen=True):
    """One thing that both sides changed. `id` and `index` are None if it does not concern a single cell."""

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
        """What the clash concerns, for people."""
        if self.index is None:
            return self.why.removesuffix(SINCE)
        return f"cell {self.index + 1} ({self.first_line or 'empty'})"


class Conflict(ValueError):
    """The agent's changes contradict those of the user; `clashes` names each cell."""

    def __init__(self, clashes: tuple[Clash, ...]) -> None:
        named = "; ".join(map(str, clashes[:MOST_NAMED]))
        more = f"; and {len(clashes) - MOST_NAMED} more" if len(clashes) > MOST_NAMED else ""
        super().__init__(f"nothing was written: {named}{more}. Read the notebook again, then write.")
        self.clashes = clashes

    @property
    def both_changed(self) -> bool:
        """Whether it is due to a change since the agent's read, not to something that is never allowed."""
        return any(it.why.endswith(SINCE_READ) for it in self.clashes)

    @property
    def places(self) -> str:
        """What both sides changed, for people."""
        named = ", ".join(it.place for it in self.clashes[:MOST_NAMED])
        more = len(self.clashes) - MOST_NAMED
        return f"{named} and {more} more" if more > 0 else named


def first_line(source: str) -> str:
    """The shortened first line of a source, by which people recognise a cell."""
    line = source.strip().partition("\n")[0].rstrip()
    return line if len(line) <= FIRST_LINE else f"{line[: FIRST_LINE - 1]}…"
