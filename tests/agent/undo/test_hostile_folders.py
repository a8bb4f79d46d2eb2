"""In a hostile folder or on a slow disk, undo runs nothing, never hangs, and always closes."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.undo import checkpoints, git
from acp_notebook.agent.undo.backend import Checkpoint, CheckpointUnavailable
from acp_notebook.agent.undo.checkpoints import Checkpoints
from acp_notebook.agent.undo.git_backend import GitBackend
from acp_notebook.agent.undo.repository import MOST_RULES, rules_in

LIMIT_S = 30.0


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "work"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "a.txt").write_text("one\n")
    return folder


def replaced(file: Path, kind: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    match kind:
        case "device":
            file.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(file)
        case "huge":
            with open(file, "wb") as made:
                made.truncate(20 * 2**30)
        case "folder":
            file.mkdir()


KINDS = ["device", "pipe", "huge", "folder"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["info/exclude", "core.excludesFile"])
def test_endless_ignore_files_are_skipped(work: Path, tmp_path: Path, kind: str, which: str) -> None:
    file = work / ".git" / "info" / "exclude" if which == "info/exclude" else tmp_path / "rules"
    replaced(file, kind)
    if which != "info/exclude":
        subprocess.run(["git", "config", "core.excludesFile", file], cwd=work, check=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    backend = GitBackend(str(work), tmp_path / "state")
    try:
        before = backend.mark()
        (work / "a.txt").write_text("two\n")
        assert [it.path for it in backend.compare(before, backend.mark())] == [str(work / "a.txt")]
    finally:
        backend.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown < 200_000, "kilobytes"


@pytest.mark.parametrize("kind", KINDS)
def test_only_small_regular_files_are_read_as_ignore_rules(tmp_path: Path, kind: str) -> None:
    replaced(tmp_path / "rules", kind)
    assert rules_in(str(tmp_path / "rules")) is None
    (tmp_path / "good").write_bytes(b"*.log\n\xff\n")
    assert (rules_in(str(tmp_path / "good")) or "").startswith("*.log\n")
    (tmp_path / "long").write_bytes(b"#" * (MOST_RULES + 1))
    assert rules_in(str(tmp_path / "long")) is None


@pytest.fixture
def project_git(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A `./git` in the current folder, and a PATH that would find it."""
    fake = work / "git"
    fake.write_text(f"#!/bin/sh\ntouch {work}/ran\nexit 1\n")
    os.chmod(fake, 0o755)
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    git.program.cache_clear()
    yield fake
    git.program.cache_clear()


def test_a_git_program_in_the_project_is_not_run(project_git: Path, tmp_path: Path) -> None:
    found = git.program()
    assert found is not None and os.path.isabs(found) and not os.path.samefile(found, project_git)
    backend = GitBackend(str(project_git.parent), tmp_path / "state")
    try:
        backend.mark()
    finally:
        backend.close()
    assert not (project_git.parent / "ran").exists()


def test_ignore_files_that_block_git_delay_neither_turn_nor_close(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(work / ".gitignore")
    timeouts.replace(checkpoint_start=0.2)
    monkeypatch.setattr(checkpoints, "backend_for", lambda path: GitBackend(path, tmp_path / "state"))

    async def turn() -> dict[str, str]:
        made = Checkpoints([str(work)])
        made.warm()
        marks = await made.before()
        await made.close()
        return marks.missing

    began = time.monotonic()
    assert list(asyncio.run(turn()).values()) == [checkpoints.LATE]
    assert time.monotonic() - began < LIMIT_S / 2


class Hangs:
    """A backend on a disk that does not answer."""

    root, notes, description = "", (), "by nothing"

    def __init__(self) -> None:
        self.answers = threading.Event()

    def mark(self) -> Checkpoint:
        self.answers.wait(LIMIT_S)
        raise CheckpointUnavailable("the disk answered too late")

    compare = None

    def kill(self) -> None: ...

    def close(self) -> None:
        self.answers.wait(LIMIT_S)


def test_closing_returns_even_if_the_disk_does_not_respond(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = Hangs()
    timeouts.replace(checkpoint_start=0.05, checkpoint_close=0.05)
    monkeypatch.setattr(checkpoints, "backend_for", lambda path: hangs)

    async def session() -> dict[str, str]:
        made = Checkpoints([str(work)])
        marks = await made.before()
        await made.close()
        return marks.missing

    began = time.monotonic()
    try:
        assert list(asyncio.run(session()).values()) == [checkpoints.LATE]
        assert time.monotonic() - began < LIMIT_S / 2
    finally:
        hangs.answers.set()
