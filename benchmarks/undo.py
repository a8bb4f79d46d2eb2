"""The undo of a turn that changed many files, relative to the least that is safe, and to git.

The least is a loop that writes each file beside the old one, syncs it to the disk and renames it, as many at
a time as ours: a crash leaves no half-written file. `git checkout-index` does not sync. Ours also checks each
file and merges it with what changed since. Before each step, everything is synced: otherwise the first one
that syncs a file pays for all that was written before. Run: `python -m benchmarks.undo [FILES]`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import acp_notebook as acp
from acp_notebook.agent.undo.operations import SIDE_BY_SIDE

from .checkpoints import git, kept, seconds, tree
from .table import Line

FILES = 10_000
TABLE_FILES = 3_000
AIM = 3.0
LEAST, GIT = "write, sync, rename", "git checkout-index"

RUNS = 2
"""The best counts."""

LIMIT_S = 600.0
SOURCE = Path(__file__).with_name("source.py")


def measured(files: int) -> dict[str, tuple[float, float]]:
    """Seconds of the undo and of each peer, with this many files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "tree"
        root.mkdir()
        tree(root, files)
        git(root, "init", "-q")
        git(root, "add", "-A")
        with acp.connect([sys.executable, str(SOURCE)], cwd=str(root)) as session:
            session.prompt("chunks 1")
            while session._conversation.undoing.skipped:  # the first checkpoint is made in the background
                session.prompt("chunks 1")
            turn = session.start(f"edit {files}")
            turn.wait(LIMIT_S)
            assert len(turn.changes) == files, len(turn.changes)
            kept(root)
            edited = {path: path.read_bytes() for path in root.rglob("*.py")}
            peers: dict[str, Callable[[], object]] = {
                LEAST: lambda: write_synced(edited),
                GIT: lambda: git(root, "checkout-index", "-f", "-a"),
            }
            rounds = [[_both(turn, peer) for peer in peers.values()] for _ in range(RUNS)]
            assert all(path.read_bytes() == data for path, data in edited.items())
    best = ([min(each) for each in zip(*pairs, strict=True)] for pairs in zip(*rounds, strict=True))
    return {name: (ours, its) for name, (ours, its) in zip(peers, best, strict=True)}


def _both(turn: Any, peer: Callable[[], object]) -> tuple[float, float]:
    """Seconds to undo the turn, and of the peer, which writes the same files as the turn left them."""
    os.sync()
    ours = seconds(turn.revert)
    assert all(change.state == "undone" for change in turn.changes)
    os.sync()
    its = seconds(peer)
    turn.redo()  # finds all files as the peer wrote them
    assert all(change.state != "undone" for change in turn.changes)
    return ours, its


def write_synced(files: Mapping[Path, bytes]) -> None:
    def write(path: Path, data: bytes) -> None:
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        list(threads.map(write, files.keys(), files.values()))


def rows() -> Iterator[Line]:
    for peer, (ours, its) in measured(TABLE_FILES).items():
        row = f"undo of {TABLE_FILES:,} files"
        yield row, f"{ours:.2f} s", f"{peer} {its:.2f} s", ours / its, AIM if peer == LEAST else None


def main() -> int:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    found = measured(files)
    for peer, (ours, its) in found.items():
        print(f"undo of {files:,} files: {ours:.2f} s, {peer}: {its:.2f} s, ratio {ours / its:.2f}")
    ours, its = found[LEAST]
    return 0 if ours <= AIM * its else 1


if __name__ == "__main__":
    sys.exit(main())
