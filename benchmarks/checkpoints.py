"""The cost of a checkpoint relative to git in the same tree, and how it grows with the number of files.

Measures the first scan of a tree (which runs in the background) and a turn that changed ten files (a mark
before, one after, and their comparison), relative to one `git add -A` and `git write-tree`, and a scan
without changes, relative to `git status`. Run:
`python -m benchmarks.checkpoints [FILES]`, with at least 10,000.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from acp_notebook.agent.undo.git_backend import GitBackend

from .table import Line

RUNS = 7
"""The median counts, because the machine does other work, too."""

FILES = 50_000
TABLE_FILES = 20_000
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


FIRST, FIRST_PEER = "the first checkpoint", "the first git add -A, write-tree"
NOTHING, STATUS = "a checkpoint, nothing changed", "git status"
TEN, TEN_PEER = "a turn that changed ten", "git add -A, write-tree, ten changed"
PEERS = {FIRST: FIRST_PEER, NOTHING: STATUS, TEN: TEN_PEER}
AIM = 3.0


def kept(root: Path, *where: str) -> None:
    """`where`: options that name another repository than that of the tree."""
    git(root, *where, "add", "-A")
    git(root, *where, "write-tree")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def measured(files: int) -> dict[str, float]:
    """Seconds of each step in a tree with this many files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "tree"
        root.mkdir()
        tree(root, files)
        git(root, "init", "-q")
        kept(root)
        found = first_scans(root, Path(folder))
        backend = GitBackend(str(root), Path(folder) / "state")
        try:
            backend.mark()
            found[STATUS] = statistics.median(seconds(lambda: git(root, "status")) for _ in range(RUNS))
            return found | turns(backend, root)
        finally:
            backend.close()


def first_scans(root: Path, folder: Path) -> dict[str, float]:
    """Seconds of the first scan of a tree whose repository has all files, each time into a new repository.

    Both sides are first once: the files have been read before, but not all that is known of them is cached.
    """
    costs: dict[str, list[float]] = {FIRST: [], FIRST_PEER: []}
    for run, order in enumerate(((FIRST, FIRST_PEER), (FIRST_PEER, FIRST))):
        for side in order:
            place = folder / f"first-{run}-{side}"
            costs[side].append((_first if side == FIRST else _first_of_git)(root, place))
    return {side: min(each) for side, each in costs.items()}


def _first(root: Path, place: Path) -> float:
    backend = GitBackend(str(root), place)
    try:
        return seconds(backend.mark)
    finally:
        backend.close()


def _first_of_git(root: Path, place: Path) -> float:
    git(root, "init", "-q", str(place))
    return seconds(lambda: kept(root, f"--git-dir={place / '.git'}", f"--work-tree={root}"))


def turns(backend: GitBackend, root: Path) -> dict[str, float]:
    """Seconds of a checkpoint without changes, and of a turn that changes ten files."""
    nothing = statistics.median(seconds(backend.mark) for _ in range(RUNS))
    costs, peers = [], []
    for run in range(RUNS):
        began = time.perf_counter()
        start = backend.mark()
        cost = time.perf_counter() - began
        for number in range(10):
            (root / f"d0/p{number * A_FOLDER}/f1.py").write_text(f"changed {run}\n")
        cost += seconds(lambda start=start: list(backend.compare(start, backend.mark())))  # type: ignore[misc]
        costs.append(cost)
        peers.append(seconds(lambda: kept(root)))
    return {NOTHING: nothing, TEN: statistics.median(costs), TEN_PEER: statistics.median(peers)}


def rows() -> Iterator[Line]:
    found = measured(TABLE_FILES)
    for name, peer in PEERS.items():
        cost, its = found[name], found[peer]
        yield (
            f"{name}, of {TABLE_FILES:,}",
            f"{cost * 1e3:.0f} ms",
            f"git {its * 1e3:.0f} ms",
            cost / its,
            AIM,
        )


def main() -> int:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    small, large = measured(files // 10), measured(files)
    print(f"{'':<36}{f'{files // 10:,} files':>16}{f'{files:,} files':>16}{'growth':>9}{'of git':>9}")
    for name, cost in large.items():
        ratio = f"{cost / large[PEERS[name]]:.2f}" if name in PEERS else ""
        growth = cost / small[name]
        print(f"{name:<36}{small[name] * 1e3:>13.1f} ms{cost * 1e3:>13.1f} ms{growth:>9.1f}{ratio:>9}")
    missed = [name for name, peer in PEERS.items() if large[name] > AIM * large[peer]]
    print(f"more than {AIM:g} times git: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
