"""Two kernels in one folder: each turn hears that another one ran beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acp_notebook.agent.undo import concurrent_turns
from acp_notebook.agent.undo.concurrent_turns import TurnLease

OTHER = """
import sys
from pathlib import Path
from acp_notebook.agent.undo.concurrent_turns import TurnLease
word = TurnLease("other" + sys.argv[2], [sys.argv[2]], Path(sys.argv[1]))
print("begun", flush=True)
if sys.stdin.readline():
    print(word.end(), flush=True)
"""


def other(base: Path, folder: str) -> subprocess.Popen[str]:
    """Another process, in the middle of a turn."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(base), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    return process


def ends(process: subprocess.Popen[str]) -> str:
    return process.communicate("end\n", timeout=60)[0].strip()


def test_turns_that_overlap_know_of_each_other(tmp_path: Path) -> None:
    long, inner = other(tmp_path, "/work"), other(tmp_path, "/work/below")
    assert ends(inner) == "True"
    assert ends(long) == "True"  # though the other one was over, and its process gone


def test_turns_one_after_the_other_or_elsewhere_do_not(tmp_path: Path) -> None:
    first = other(tmp_path, "/work")
    elsewhere = TurnLease("me", ["/works"], tmp_path)
    assert ends(first) == "False" and not elsewhere.end()
    assert not TurnLease("me", ["/work"], tmp_path).end()


def test_a_session_is_not_its_own_neighbour(tmp_path: Path) -> None:
    """The changes of a turn may still be looked for when the next one begins."""
    first, second = TurnLease("me", ["/work"], tmp_path), TurnLease("me", ["/work"], tmp_path)
    assert not first.end() and not second.end()


def test_a_turn_that_was_killed_before_is_no_neighbour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent_turns, "JUST_S", 0.0)
    killed = other(tmp_path, "/work")
    killed.kill()
    killed.communicate(timeout=60)
    assert not TurnLease("me", ["/work"], tmp_path).end()


def test_what_nobody_needs_is_removed_and_what_is_broken_is_no_hindrance(tmp_path: Path) -> None:
    running = TurnLease("them", ["/elsewhere"], tmp_path)
    TurnLease("me", ["/work"], tmp_path).end()
    folder = tmp_path / concurrent_turns.FOLDER
    assert len(list(folder.iterdir())) == 2
    for name, text in (("a", ""), ("b", "[]"), ("c", '{"began": "x", "ended": 1, "folders": [2]}')):
        (folder / name).write_text(text)
    assert not running.end()
    assert sorted(it.name for it in folder.iterdir()) == ["a", "b", "c"]


def test_without_a_place_for_it_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not TurnLease("me", ["/work"], tmp_path / "file").end()
