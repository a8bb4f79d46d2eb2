"""A write that is killed, or runs out of rights or space, leaves the old text or the new one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.agent.files.roots import Roots
from acp_notebook.agent.files.unfinished import LEFTOVER
from tests.agent.files.file_writer import NOBODY, PIECES, version
from tests.agent.files.served import write_text

ROOT = Path(__file__).parents[3]
KILLS = 80
LONGEST_PAUSE_S = 0.03
"""The duration of a few writes, on any disk."""


class Writer:
    """The other process: sends a command, returns its answer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def order(self, **order: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture
def writer() -> Iterator[Writer]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.agent.files.file_writer"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Writer(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def sweep(folder: Path, *known: str) -> list[str]:
    """Remove the leftovers of a crash, recognised by their names."""
    left = sorted(set(os.listdir(folder)) - set(known))
    assert all(LEFTOVER.fullmatch(name) for name in left)
    for name in left:
        (folder / name).unlink()
    return left


def test_a_kill_at_any_step_leaves_the_old_text_or_the_new_one(writer: Writer, tmp_path: Path) -> None:
    path, seen, leftovers, sizes = tmp_path / "a.txt", set(), 0, set()
    for step in range(1000):
        path.write_text(version("A"))
        path.chmod(0o640)
        killed = writer.order(do="kill at", step=step, root=str(tmp_path), path=str(path))
        text = path.read_text()
        assert text in (version("A"), version("B"))
        assert path.stat().st_mode & 0o777 == 0o640
        sizes |= {(tmp_path / name).stat().st_size for name in os.listdir(tmp_path) if name != path.name}
        leftovers += len(sweep(tmp_path, path.name))
        seen.add(text[0])
        if not killed:
            break
    else:
        raise AssertionError("the write was never done")
    assert seen == {"A", "B"} and text == version("B")
    assert leftovers and len(sizes) > PIECES  # it was killed in the middle of the text more than once


def test_a_kill_during_a_first_write_leaves_nothing_or_the_whole_file(writer: Writer, tmp_path: Path) -> None:
    path, seen = tmp_path / "new" / "folder" / "a.txt", set()
    for step in range(1000):
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        killed = writer.order(do="kill at", step=step, root=str(tmp_path), path=str(path))
        assert not path.exists() or path.read_text() == version("B")
        seen.add(path.exists())
        if path.parent.exists():
            sweep(path.parent, path.name)
        if not killed:
            break
    else:
        raise AssertionError("the write was never done")
    assert seen == {True, False} and path.exists()


def test_kills_at_random_moments_leave_one_complete_version(writer: Writer, tmp_path: Path) -> None:
    path, chance = tmp_path / "a.txt", random.Random(20)
    for _ in range(KILLS):
        pause = chance.uniform(0, LONGEST_PAUSE_S)
        assert writer.order(do="kill after", pause=pause, root=str(tmp_path), path=str(path))
        assert path.read_text() in (version("A"), version("B"))
        assert len(sweep(tmp_path, path.name)) <= 1
    assert write_text(Roots([str(tmp_path)]), str(path), "and on it goes").before in (
        version("A"),
        version("B"),
    )


# ---- without space ------------------------------------------------------------------------------


def test_a_full_disk_keeps_the_old_text(writer: Writer, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    writer.order(do="limit size", size=1000)
    for target in (path, tmp_path / "new" / "b.txt"):
        reply = writer.order(do="write", root=str(tmp_path), path=str(target), text="x" * 5000)
        assert (
            reply["error"] == "Failed" and f"{target} cannot be written (File too large)" in reply["message"]
        )
    assert os.listdir(tmp_path) == ["a.txt"] and path.read_text() == "old"
    assert writer.order(do="write", root=str(tmp_path), path=str(path), text="short") == {"created": False}


# ---- without rights -----------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that the unprivileged user can reach (pytest's own are private)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for holder, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                os.chmod(holder, 0o755)


def give(path: Path, mode: int) -> None:
    """Give it to the unprivileged user: "nobody" if we are root, else ourselves."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    path.chmod(mode)


def test_permissions_are_respected(writer: Writer, shared: Path) -> None:
    open_folder, closed_folder, sealed = shared / "open", shared / "closed", shared / "sealed"
    for folder in (open_folder, closed_folder, sealed):
        folder.mkdir()
        for name, mode in (("plain", 0o644), ("read-only", 0o444), ("secret", 0o000), ("blind", 0o200)):
            (folder / name).write_text("old")
            give(folder / name, mode)
    give(open_folder, 0o755)
    give(closed_folder, 0o555)
    give(sealed, 0o311)  # may be entered, not listed
    writer.order(do="drop rights")

    def read(path: Path) -> Any:
        reply = writer.order(do="read", root=str(shared), path=str(path))
        return reply.get("text", reply.get("error"))

    def write(path: Path) -> Any:
        reply = writer.order(do="write", root=str(shared), path=str(path), text="new")
        return reply.get("created", reply.get("error"))

    assert [read(open_folder / name) for name in ("plain", "read-only", "secret", "blind")] == [
        "old",
        "old",
        "Failed",
        "Failed",
    ]
    refused = ("read-only", "secret", "blind")
    assert [write(open_folder / name) for name in refused] == ["Refused"] * 3
    assert [write(open_folder / "plain"), write(open_folder / "n" / "new")] == [False, True]
    assert [write(closed_folder / name) for name in ("plain", "new", "n/new")] == ["Failed"] * 3
    assert [read(sealed / "plain"), write(sealed / "plain"), write(sealed / "n/new")] == ["old", False, True]
    give(open_folder, 0o000)
    assert [read(open_folder / "plain"), write(open_folder / "plain")] == ["Failed", "Failed"]
    give(open_folder, 0o755)
    for folder, names in ((open_folder, refused), (closed_folder, ("plain",))):
        for name in names:
            (folder / name).chmod(0o600)
            assert (folder / name).read_text() == "old"
    closed_folder.chmod(0o755)
    assert sorted(os.listdir(closed_folder)) == ["blind", "plain", "read-only", "secret"]


def test_no_group_gains_access_to_a_file_of_another_group(writer: Writer, shared: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a file of a group that the writer is not in")
    folder, path = shared / "f", shared / "f" / "a.txt"
    folder.mkdir()
    give(folder, 0o755)
    path.write_text("old")
    os.chown(path, NOBODY, 0)
    path.chmod(0o4764)
    writer.order(do="drop rights")
    assert writer.order(do="write", root=str(shared), path=str(path), text="new") == {"created": False}
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (NOBODY, NOBODY, 0o744)
