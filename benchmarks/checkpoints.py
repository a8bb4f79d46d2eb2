"""The cost of a checkpoint, as a ratio to `git status` in the same tree, and how it grows with the files.

Measures the first scan of a tree (which runs in the background), a later scan without changes, and one after
ten files changed. Run: `python -m benchmarks.checkpoints [FILES]`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from acp_notebook.agent.undo.git_backend import GitBackend

RUNS = 7
"""The median counts, because the machine does other work, too."""

FILES = 50_000
A_FOLDER = 100


def tree(root: Path, files: int) -> None:
    for number in range(0, files, A_FOLDER):
        folder = root / f"d{number // 5_000}" / f"p{number}"
        folder.mkdir(parents=True)
        for index in range(A_FOLDER):
            (folder / f"f{index}.py").write_text(f"# file {number} {index}\n" * 20)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def measured(files: int) -> dict[str, float]:
    """Seconds of each step in a tree with this many files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "tree"
        root.mkdir()
        tree(root, files)
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, "status")
        backend = GitBackend(str(root), Path(folder) / "state")
        try:
            found = {"first": seconds(backend.mark)}
            found["git status"] = statistics.median(seconds(lambda: git(root, "status")) for _ in range(RUNS))
            return found | turns(backend, root)
        finally:
            backend.close()


def turns(backend: GitBackend, root: Path) -> dict[str, float]:
    """Seconds of a checkpoint without changes, and of one after ten files changed, with the comparison."""
    nothing = statistics.median(seconds(backend.mark) for _ in range(RUNS))
    costs = []
    for run in range(RUNS):
        start = backend.mark()
        for number in range(10):
            (root / f"d0/p{number * A_FOLDER}/f1.py").write_text(f"changed {run}\n")
        costs.append(seconds(lambda start=start: list(backend.compare(start, backend.mark()))))  # type: ignore[misc]
    return {"nothing changed": nothing, "a turn that changed ten": statistics.median(costs)}


def main() -> int:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    small, large = measured(files // 10), measured(files)
    print(f"{'':<36}{f'{files // 10:,} files':>16}{f'{files:,} files':>16}{'of git status':>16}{'growth':>9}")
    for name, cost in large.items():
        ratio, growth = cost / large["git status"], cost / small[name]
        print(f"{name:<36}{small[name] * 1e3:>13.1f} ms{cost * 1e3:>13.1f} ms{ratio:>16.3f}{growth:>9.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
