"""The undo of a turn that changed many files, relative to git's for the same files.

`git add -A` and `git write-tree` find and keep the changes, `git checkout-index` writes the files back; ours
also merges with what changed since, and a crash in the middle leaves no half-written file.
Run: `python -m benchmarks.undo [FILES]`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import acp_notebook as acp

from .checkpoints import git, kept, seconds, tree
from .table import Line

FILES = 10_000
TABLE_FILES = 3_000
AIM = 3.0
LIMIT_S = 600.0
SOURCE = Path(__file__).with_name("source.py")


def measured(files: int) -> dict[str, float]:
    """Seconds of each step, with this many files."""
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
            edited = session.start(f"edit {files}")
            found = {"the turn": seconds(lambda: edited.wait(LIMIT_S))}
            assert len(edited.changes) == files, len(edited.changes)
            found["git add -A, write-tree"] = seconds(lambda: kept(root))
            found["undo"] = seconds(edited.revert)
            assert all(change.state == "undone" for change in edited.changes)
            found["redo"] = seconds(edited.redo)
            edited.revert()
            found["git checkout-index"] = seconds(lambda: git(root, "checkout-index", "-f", "-a"))
        return found


def rows() -> Iterator[Line]:
    found = measured(TABLE_FILES)
    ours, peer = found["undo"], found["git checkout-index"]
    yield (
        f"undo of {TABLE_FILES:,} files",
        f"{ours:.2f} s",
        f"git checkout-index {peer:.2f} s",
        ours / peer,
        AIM,
    )


def main() -> int:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    found = measured(files)
    for name, cost in found.items():
        print(f"{name:<28}{cost:>9.2f} s{cost / files * 1e6:>9.0f} µs a file")
    ratio = found["undo"] / found["git checkout-index"]
    print(f"undo of {files:,} files relative to git checkout-index: {ratio:.1f} (aim ≤ {AIM:g})")
    return 0 if ratio <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
