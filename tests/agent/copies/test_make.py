"""Snapshots and copies: the folder as it is, the user's repository untouched, and exactly what changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from acp_notebook.agent.copies import git_copies, make, plain_copies
from acp_notebook.agent.copies.copy import Copy, CopyFailed
from acp_notebook.errors import UsageError
from tests.api.fan_out.repository import git, make_repository, state


def change(copy: Copy) -> None:
    top = Path(copy.top)
    (top / "a.py").write_text("agent\n")
    (top / "sub").mkdir()
    (top / "sub" / "bin").write_bytes(b"\0\1\2")
    (top / "new.txt").unlink()
    (top / "link").symlink_to("a.py")
    (top / "run.sh").write_text("echo\n")
    (top / "run.sh").chmod(0o755)


CHANGED = ["a.py", "link", "new.txt", "run.sh", "sub/bin"]


def test_a_copy_of_a_repository_has_the_uncommitted_work_and_leaves_the_user_alone(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    before = state(folder)
    base = make.snapshot(str(folder))
    copy = make.copy(base.spec)
    try:
        assert Path(copy.top, "a.py").read_text().endswith("two = 'dirty'\n")
        assert Path(copy.top, "new.txt").exists() and not Path(copy.top, "data").exists()
        assert git("status", "--porcelain", cwd=Path(copy.top)) == ""
        assert "first" in git("log", cwd=Path(copy.top)), "agents see the history"
        change(copy)
        git("add", "-A", cwd=Path(copy.top))
        git("commit", "-q", "-m", "by the agent", cwd=Path(copy.top))
        files, patch = copy.changes()
    finally:
        copy.remove()
        base.close()
    assert [it.path for it in files] == CHANGED
    assert state(folder) == before
    assert not os.path.exists(copy.top) and not os.path.exists(base.spec.source)
    subprocess.run(["git", "apply", "--check"], input=patch, cwd=folder, check=True)


def test_a_folder_below_the_top_is_the_working_directory(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.py").write_text("b\n")
    base = make.snapshot(str(folder / "sub"))
    copy = make.copy(base.spec)
    assert copy.cwd == os.path.join(copy.top, "sub") and Path(copy.top, "a.py").exists()
    copy.remove()
    base.close()


def test_shared_paths_are_linked_and_no_change(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    base = make.snapshot(str(folder), ["data"])
    copy = make.copy(base.spec)
    assert Path(copy.top, "data", "big.csv").read_text() == "1,2,3\n"
    assert copy.changes() == ((), b"")
    copy.remove()
    base.close()
    assert (folder / "data" / "big.csv").exists(), "removing a copy does not follow its links"
    with pytest.raises(UsageError, match="does not exist"):
        make.snapshot(str(folder), ["nothing"])
    with pytest.raises(UsageError, match="is not below"):
        make.snapshot(str(folder), [".."])


@pytest.mark.parametrize("by_git", [True, False])
def test_a_packed_snapshot_gives_the_same_changes(by_git: bool, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    if by_git:
        make_repository(folder)
    else:
        folder.mkdir()
        (folder / "a.py").write_text("one\n")
        (folder / "new.txt").write_text("two\n")
    base = make.snapshot(str(folder))
    unpack = git_copies.unpack if by_git else plain_copies.unpack
    (tmp_path / "elsewhere").mkdir()
    there = unpack(base.spec, base.pack(), tmp_path / "elsewhere")
    results = []
    for spec in (base.spec, there):
        copy = make.copy(spec)
        change(copy)
        results.append(copy.changes())
        copy.remove()
    base.close()
    assert results[0] == results[1] and [it.path for it in results[0][0]] == CHANGED


def test_a_worker_without_the_folder_says_so_once_and_takes_a_packed_one(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    base = make.snapshot(str(folder))
    strange = msgspec.structs.replace(base.spec, nonce="another")
    with pytest.raises(make.FolderMissing):
        make.available(strange, None)
    there = make.available(strange, base.pack())
    assert there.source != base.spec.source and make.available(strange, None) == there
    make.copy(there).remove()
    base.close()


def test_a_folder_without_git_is_copied_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("x" * 100)
    (tmp_path / "__pycache__").mkdir()
    base = make.snapshot(str(tmp_path))
    (tmp_path / "a.txt").write_text("changed since")
    copy = make.copy(base.spec)
    assert Path(copy.top, "a.txt").read_text() == "x" * 100, "every run starts from the same state"
    assert os.listdir(copy.top) == ["a.txt"]
    copy.remove()
    base.close()
    monkeypatch.setattr(plain_copies, "MOST_BYTES", 10)
    with pytest.raises(UsageError, match="too large to be copied"):
        make.snapshot(str(tmp_path))


def test_what_programs_made_read_only_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    base = make.snapshot(str(tmp_path))
    copy = make.copy(base.spec)
    locked = Path(copy.top, "cache")
    locked.mkdir()
    (locked / "file").write_text("x")
    locked.chmod(0o500)
    copy.remove()
    base.close()
    assert not os.path.exists(copy.top)


def test_a_damaged_repository_is_reported(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    base = make.snapshot(str(folder))
    copy = make.copy(base.spec)
    Path(base.spec.source, "HEAD").unlink()
    with pytest.raises(CopyFailed, match="cannot be determined"):
        copy.changes()
    copy.remove()
    base.close()


def test_changes_can_be_asked_for_again(tmp_path: Path) -> None:
    base = make.snapshot(str(make_repository(tmp_path / "project")))
    copy = make.copy(base.spec)
    try:
        assert copy.changes() == ((), b"")
        change(copy)
        first = copy.changes()
        assert [it.path for it in first[0]] == CHANGED and copy.changes() == first
    finally:
        copy.remove()
        base.close()


@pytest.mark.parametrize("name", ["data[1]", "what?", "a*b", "back\\slash", "!not", "#no", "end "])
def test_any_name_can_be_shared(name: str, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    (folder / name).mkdir()
    (folder / name / "big.csv").touch()
    base = make.snapshot(str(folder), [name])
    copy = make.copy(base.spec)
    try:
        assert Path(copy.top, name, "big.csv").exists()
        assert copy.changes() == ((), b"")
    finally:
        copy.remove()
        base.close()


def test_a_small_file_that_is_shared_is_copied(tmp_path: Path) -> None:
    """A link would lead out of the copy, where an agent may not read through us."""
    folder = make_repository(tmp_path / "project")
    (folder / ".gitignore").write_text("data/\n.env\n")
    (folder / ".env").write_text("KEY=1\n")
    base = make.snapshot(str(folder), [".env"])
    copy = make.copy(base.spec)
    try:
        shared = Path(copy.top, ".env")
        assert shared.read_text() == "KEY=1\n" and not shared.is_symlink()
        shared.write_text("changed")
        assert copy.changes() == ((), b"") and (folder / ".env").read_text() == "KEY=1\n"
    finally:
        copy.remove()
        base.close()
