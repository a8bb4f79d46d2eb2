"""The compatibility report for two agents matches docs/compat.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat import report, subject
from tests.compat import script as probing
from tests.compat.agents import AGENTS
from tests.compat.probes import cancel, eof, orphans, unknown
from tests.compat.script import ROWS
from tests.compat.trial import ROOT, column, places
from tests.real.conftest import KIMI_NODE, _module

pytestmark = [pytest.mark.real_agent, pytest.mark.slow, pytest.mark.timeout(900)]

PAGE = ROOT / "docs" / "compat.md"


def cells_in_the_page(title: str) -> dict[str, str]:
    """The text of each cell in an agent's column, without footnote numbers."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    head = next(line for line in PAGE.read_text().splitlines() if line.startswith("|  |"))
    at = [it.strip() for it in head.strip("|").split("|")].index(title)
    return {row[0]: row[at].partition(" [")[0] for row in rows if row[0] in ROWS}


LIMITS = {
    subject: ("START_S", "TURN_S"),
    cancel: ("TURN_S",),
    eof: ("START_S", "END_S"),
    orphans: ("TURN_S", "GONE_S"),
    unknown: ("ANSWER_S",),
    probing: ("PROBE_S",),
}
"""What an agent gets in the report: on a slow machine these two need more, and say the same."""


@pytest.mark.parametrize("name", ["claude-agent-acp", "kimi"])
def test_an_agent_is_as_the_report_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, names in LIMITS.items():
        for limit in names:
            monkeypatch.setattr(module, limit, 4 * getattr(module, limit))
    _module(Path(".bin", AGENTS[name].command[0]), node=KIMI_NODE)
    found = column(name, places())
    assert report.failed([found]) == []
    assert {row: cell.word for row, cell in found.cells.items()} == cells_in_the_page(found.title)
