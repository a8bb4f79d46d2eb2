"""A small repository of a user, with uncommitted work, for fan-outs to copy."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(*words: str, cwd: Path) -> str:
    who = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    done = subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


def make_repository(folder: Path) -> Path:
    """Committed a.py, uncommitted changes in it, a new file, and ignored data."""
    folder.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", "main", cwd=folder)
    (folder / "a.py").write_text("one = 1\n\n\n\n\ntwo = 2\n")
    (folder / ".gitignore").write_text("data/\n")
    git("add", "-A", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    (folder / "a.py").write_text("one = 1\n\n\n\n\ntwo = 'dirty'\n")
    (folder / "new.txt").write_text("not committed\n")
    (folder / "data").mkdir()
    (folder / "data" / "big.csv").write_text("1,2,3\n")
    return folder


def state(folder: Path) -> tuple[str, str, str, bytes]:
    """What a fan-out must not touch: status, branches, worktrees, index."""
    return (
        git("status", "--porcelain", cwd=folder),
        git("for-each-ref", cwd=folder),
        git("worktree", "list", cwd=folder),
        (folder / ".git" / "index").read_bytes(),
    )
