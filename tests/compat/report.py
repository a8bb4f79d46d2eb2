"""Outcomes -> the table, as markdown. Pure: the same outcomes give the same text, without dates and times."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Column:
    """One agent's."""

    agent: str
    version: str | None = None
    cells: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.agent} {self.version}" if self.version else self.agent


def failed(columns: Sequence[Column]) -> list[str]:
    """The cells that are our fault."""
    return [
        f"{it.title}: {probe}: {cell.note}"
        for it in columns
        for probe, cell in it.cells.items()
        if cell.word == "FAIL"
    ]


def table(columns: Sequence[Column], probes: Sequence[str]) -> str:
    """Probes down, agents across, notes below."""
    notes: dict[str, int] = {}
    lines = [_row(["", *(it.title for it in columns)]), _row(["---"] * (len(columns) + 1))]
    for probe in probes:
        lines.append(_row([probe, *(_cell(it.cells.get(probe), notes) for it in columns)]))
    used = {cell.word for it in columns for cell in it.cells.values()}
    legend = [f"- **{word}**: {text}" for word, text in LEGEND.items() if word in used]
    numbered = [f"{number}. {_plain(note)}" for note, number in notes.items()]
    blocks = ["\n".join(lines), "\n".join(legend), *(["\n".join(numbered)] if numbered else [])]
    return "\n\n".join(blocks) + "\n"


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
    """No note breaks the table, or becomes markup."""
    return text.replace("|", "\\|").replace("<", "&lt;")
