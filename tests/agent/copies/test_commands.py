"""Commands of the user in a copy: what they print, and that nothing of them is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_notebook.agent.copies.commands import TAIL_BYTES, ShellCommand
from tests.agent.process_helpers import is_running


@pytest.mark.parametrize(
    ("line", "seconds", "code"),
    [
        ("echo $$ > pids; timeout 600 sh -c 'echo $$ >> pids; exec sleep 600'; true", 1.0, None),
        ("setsid sh -c 'echo $$ > pids; exec sleep 600' & until [ -s pids ]; do :; done", 60.0, 0),
        ("sh -c 'echo $$ > pids; exec sleep 600' & until [ -s pids ]; do :; done", 60.0, 0),
    ],
)
def test_no_process_is_left(line: str, seconds: float, code: int | None, tmp_path: Path) -> None:
    outcome = ShellCommand(line, str(tmp_path)).wait(seconds)
    assert outcome.code == code
    assert not [it for it in (tmp_path / "pids").read_text().split() if is_running(int(it))]


def test_the_end_of_the_output_is_kept(tmp_path: Path) -> None:
    outcome = ShellCommand("seq 1000000; echo last >&2; exit 3", str(tmp_path)).wait(60)
    assert outcome.code == 3 and outcome.output.endswith("1000000\nlast\n")
    assert len(outcome.output) == TAIL_BYTES
