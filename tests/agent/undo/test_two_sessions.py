"""Two sessions in one folder share a private repository without getting in each other's way."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.undo import repository, scan
from acp_notebook.agent.undo.backend import Checkpoint, CheckpointUnavailable
from acp_notebook.agent.undo.checkpoints import Checkpoints, FolderCheckpoints
from acp_notebook.agent.undo.git import Git
from acp_notebook.agent.undo.git_backend import GitBackend

LIMIT_S = 30.0


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def two(tmp_path: Path, work: Path) -> Iterator[tuple[GitBackend, GitBackend]]:
    made = GitBackend(str(work), tmp_path / "state"), GitBackend(str(work), tmp_path / "state")
    yield made
    for it in made:
        it.close()


def changed(shadow: GitBackend, before: Checkpoint) -> dict[str, str | None]:
    """The changes since then, and why one cannot be undone."""
    found = shadow.compare(before, shadow.mark())
    return {os.path.relpath(it.path, shadow.root): it.why_not for it in found}


def before_git(patch: pytest.MonkeyPatch, word: str, then: Any) -> None:
    """Do something once, just before git runs with this argument."""
    run = Git.run

    def first(self: Git, *words: str, **more: Any) -> bytes:
        if word in words:
            patch.setattr(Git, "run", run)
            then()
        return run(self, *words, **more)

    patch.setattr(Git, "run", first)


def test_another_session_may_be_creating_the_repository(
    two: tuple[GitBackend, GitBackend], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two

    def change_in_between() -> None:
        other.mark()
        place = other._repository.exclude.parent.parent
        (place / "config.lock").touch()  # as git does while it makes one

    before_git(monkeypatch, "init", change_in_between)
    before = one.mark()
    (work / "a.txt").write_text("new\n")
    assert changed(one, before) == {"a.txt": None}
    assert not [it for it in os.listdir(one._repository.store.folder) if it.startswith("git.")]


def test_an_unfinished_repository_is_completed(two: tuple[GitBackend, GitBackend], work: Path) -> None:
    one, _ = two
    (one._repository.store.folder / "git" / "refs").mkdir(parents=True)
    before = one.mark()
    (work / "a.txt").write_text("new\n")
    assert changed(one, before) == {"a.txt": None}


def test_a_failed_first_scan_does_not_lose_the_checkpoint(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn started in between, so it makes its own scan."""
    asked, real_mark, real_task = threading.Event(), GitBackend.mark, FolderCheckpoints.mark
    tasks: list[Any] = []

    def mark(self: GitBackend) -> Checkpoint:
        monkeypatch.setattr(GitBackend, "mark", real_mark)
        assert asked.wait(LIMIT_S)
        raise CheckpointUnavailable("not now")

    def task(self: FolderCheckpoints) -> Any:
        tasks.append(real_task(self))
        if len(tasks) == 2:
            assert tasks[0] is tasks[1]
            asked.set()
        return tasks[-1]

    timeouts.replace(checkpoint_start=LIMIT_S)
    monkeypatch.setattr(GitBackend, "mark", mark)
    monkeypatch.setattr(FolderCheckpoints, "mark", task)

    async def turn() -> tuple[dict[str, str], list[str]]:
        made = Checkpoints([str(work)])
        made.warm()
        marks = await made.before()
        (work / "a.txt").write_text("new\n")
        found: list[str] = []
        await made.after(marks, lambda it: found.append(it.path))
        await made.close()
        return marks.missing, found

    assert asyncio.run(turn()) == ({}, [str(work / "a.txt")])


def test_sessions_never_share_an_index(
    two: tuple[GitBackend, GitBackend], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both of one process, at the same time."""
    one, other = (it._repository for it in two)
    (work / "a.txt").write_text("1\n")
    two[0].mark()
    (work / "b.txt").write_text("2\n")
    two[1].mark()
    copy = shutil.copy2

    def do(it: repository.Repository) -> None:
        it.hand_on({"of": it is one})

    def copy_and_change(source: Path, target: Path) -> None:
        monkeypatch.setattr(shutil, "copy2", copy)
        copy(source, target)
        do(other)

    mine, theirs = one._index.read_bytes(), other._index.read_bytes()
    assert mine != theirs
    monkeypatch.setattr(shutil, "copy2", copy_and_change)
    do(one)
    assert (one._index.read_bytes(), other._index.read_bytes()) == (mine, theirs)
    assert (one.store.folder / "index").read_bytes() == mine
    assert other.take_over() == {"of": 1}


@pytest.mark.parametrize("is_open", [False, True])
def test_a_large_file_is_known_while_another_session_scans(
    two: tuple[GitBackend, GitBackend], work: Path, is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ignore file would be shared by both."""
    one, other = two
    if is_open:
        other.mark()
    monkeypatch.setattr(scan, "ONE_BY_ONE", 0)
    monkeypatch.setattr(scan, "MOST_FILE", 10)
    for name in ("a.txt", "large", ":(top)*\n [l]\\", "nested/.git/HEAD", "nested/b.txt"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("1\n" if name == "a.txt" else "more than it may be\n")
    others: list[Checkpoint] = []
    before_git(monkeypatch, "add", lambda: others.append(other.mark()))
    marks = [one.mark(), *others]
    assert [it.state.large.keys() for it in marks] == [{"large", ":(top)*\n [l]\\"}] * 2
    assert [it._git.run("ls-files", "-z") for it in two] == [b"a.txt\0"] * 2
    assert [it.notes for it in two] == [("nested repositories are not covered: nested/",)] * 2
