"""Outcomes -> the table, as markdown. Pure: the same outcomes give the same text, without dates and times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.compat.outcome import Outcome

LEGEND = {
    "ok": "works through this client",
    "not offered": "the agent does not say that it can",
    "by itself": "the agent does it alone, without asking the client",
    "no model": "needs a model, and the agent's cannot be replaced by the mock one here",
    "sign-in": "the agent wants an account first",
    "absent": "it could not be installed or started here",
    "defect": "the agent's own fault; the note says which",
    "FAIL": "a fault of this client",
}


_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Column:
    """The results of one agent."""

    agent: str
    version: str | None = None
    cells: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.agent} {self.version}" if self.version else self.agent


def failed(columns: Sequence[Column]) -> list[str]:
    """The cells with failures that are our fault."""
    return [
        f"{it.title}: {probe}: {cell.note}"
        for it in columns
        for probe, cell in it.cells.items()
        if cell.word == "FAIL"
    ]


def table(columns: Sequence[Column], probes: Sequence[str]) -> str:
    """Format the table: a row per probe, a column per agent, notes below."""
    notes: dict[str, int] = {}
    lines = [_row(["", *(it.title for it in columns)]), _row(["---"] * (len(columns) + 1))]
    for probe in probes:
        lines.append(_row([probe, *(_cell(it.cells.get(probe), notes) for it in columns)]))
    used = {cell.word for it in columns for cell in it.cells.values()}
    legend = [f"- **{word}**: {text}" for word, text in LEGEND.items() if word in used]
    numbered = [f"{number}. {_plain(note)}" for note, number in notes.items()]
    blocks = ["\n".join(lines), "\n".join(legend), *(["\n".join(numbered)] if numbered else [])]
    return "\n\n".join(blocks) + "\n"


def read(text: str) -> list[Column]:
    """Read the columns of an existing table, with their notes."""
    rows = [[_read(it) for it in _CELL.split(line)[1:-1]] for line in text.splitlines() if line[:1] == "|"]
    notes = {int(it[1]): _read(it[2]) for it in re.finditer(r"^(\d+)\. (.*)$", text, re.MULTILINE)}
    titles = [it.rpartition(" ") for it in rows[0][1:]] if rows else []
    return [
        Column(
            name or version,
            version if name else None,
            {row[0]: _outcome(row[at], notes) for row in rows[2:] if row[at]},
        )
        for at, (name, _, version) in enumerate(titles, start=1)
    ]


def merged(before: Sequence[Column], new: Sequence[Column]) -> list[Column]:
    """Replace the columns of the agents that were tested now; others stay."""
    found = {it.agent: it for it in (*before, *new)}
    return list(found.values())


def _outcome(cell: str, notes: Mapping[int, str]) -> Outcome:
    word, _, number = cell.removesuffix("]").partition(" [")
    assert word in LEGEND
    return Outcome(word, notes[int(number)] if number else "")  # type: ignore[arg-type]


def _read(text: str) -> str:
    return text.strip().replace("\\|", "|").replace("&lt;", "<")


def _cell(outcome: Outcome | None, notes: dict[str, int]) -> str:
    if outcome is None:
        return ""
    if not outcome.note:
        return outcome.word
    number = notes.setdefault(outcome.note, len(notes) + 1)
    return f"{outcome.word} [{number}]"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Escape a note so that it cannot break the table or become markup."""
    return text.replace("|", "\\|").replace("<", "&lt;")
