"""For any tree and any edits, undo restores every byte, and redo brings the edits back."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from acp_notebook.agent.files.blob_store import BlobStore
from acp_notebook.agent.files.roots import Roots
from acp_notebook.agent.undo.attributor import Attributor, keep
from acp_notebook.agent.undo.backend import CheckpointBackend
from acp_notebook.agent.undo.change_log import Change, ChangeLog, Folders
from acp_notebook.agent.undo.copy_backend import CopyBackend
from acp_notebook.agent.undo.evidence import Evidence
from acp_notebook.agent.undo.git_backend import GitBackend
from acp_notebook.agent.undo.operations import Restorer, in_order

names = st.sampled_from(["a", "b.txt", "ä ö", "c\nd", "-rf", "*", "x"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.sampled_from([b"", b"one\n", b"one\r\ntwo", b"\0\xff", b"x\n" * 50, b"$Id$\r\n", b"\xfe\xffa"])
modes = st.sampled_from([0o644, 0o755, 0o600, 0o640, 0o444, 0o700])
targets = st.sampled_from(["a", "../a", "nowhere", "/etc"])

acts = st.one_of(
    st.tuples(st.just("write"), paths, contents, modes),
    st.tuples(st.just("link"), paths, targets),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("mode"), paths, modes),
    st.tuples(st.just("folder"), paths),
)


def do(root: Path, act: tuple[object, ...]) -> None:
    """Do one operation as far as possible: what is in its way stays."""
    kind, path = act[0], root / str(act[1])
    with contextlib.suppress(OSError):
        if kind == "remove":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif kind == "mode":
            if path.is_file() and not path.is_symlink():
                os.chmod(path, int(str(act[2])))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "folder":
                path.mkdir()
            elif kind == "link":
                path.symlink_to(str(act[2]))
            elif kind == "move":
                path.rename(root / str(act[2]))
            elif not path.is_symlink():
                assert isinstance(act[2], bytes)
                path.unlink(missing_ok=True)
                path.write_bytes(act[2])
                os.chmod(path, int(str(act[3])))


def picture(root: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for place, folders, files in os.walk(os.fsencode(root)):
        for name in [*folders, *files]:
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[os.fsdecode(path)] = ("link", os.readlink(path))
            elif stat.S_ISDIR(mode):
                found[os.fsdecode(path)] = ("folder",)
            else:
                found[os.fsdecode(path)] = ("file", stat.S_IMODE(mode), Path(os.fsdecode(path)).read_bytes())
    return found


def check(
    root: Path, cover: CheckpointBackend, before: list[tuple[object, ...]], turn: list[tuple[object, ...]]
) -> None:
    for act in before:
        do(root, act)
    was, start = picture(root), cover.mark()
    for act in turn:
        do(root, act)
    became, end = picture(root), cover.mark()
    log = ChangeLog(BlobStore())
    finds = [keep(log, found) for found in cover.compare(start, end)]
    of_turn = log.turn("t1", "k1")
    Attributor(log, of_turn, Evidence((), {}, str(root))).enter(finds)
    assert not [it.why_not for it in of_turn.also if it.why_not] and not of_turn.changes
    restorer = Restorer(Roots([str(root)]), log)
    folders = [Folders(set(start.empty - end.empty), set(end.empty - start.empty))]

    def bring(changes: list[Change], undo: bool) -> None:
        log.survey(changes)
        there = start if undo else end
        restorer.clear_folders(folders, there.empty, undo=undo)
        for change in in_order(changes, "undo" if undo else "redo"):
            wanted = change.everything if undo else frozenset[int]()
            assert restorer.restore(change, wanted, there.empty) is None
            change.undone = wanted
        restorer.make_folders(folders, undo=undo)

    bring(of_turn.also, True)
    assert picture(root) == was
    bring(of_turn.also, False)
    assert picture(root) == became


Make = Callable[[str, Path], CheckpointBackend]


def run(base: Path, make: Make, before: list[tuple[object, ...]], turn: list[tuple[object, ...]]) -> None:
    shutil.rmtree(base, ignore_errors=True)
    root = base / "root"
    root.mkdir(parents=True)
    cover = make(str(root), base / "state")
    try:
        check(root, cover, before, turn)
    finally:
        cover.close()


@pytest.mark.parametrize(
    ("make", "examples"), [(GitBackend, 12), (lambda root, _: CopyBackend(root), 60)], ids=["git", "no git"]
)
def test_undo_is_exact_and_so_is_redo(tmp_path: Path, make: Make, examples: int) -> None:
    @example([("write", "a", b"", 0o644)], [("remove", "a"), ("folder", "a")])
    @example([("folder", "b/a")], [("write", "b/b", b"", 0o644)])
    @example([("write", "b/a", b"x", 0o600)], [("move", "b/a", "c"), ("write", "b/d/e", b"", 0o444)])
    @example(
        [("write", "a", b"one\n", 0o644)], [("move", "a", "b"), ("folder", "a/c"), ("link", "a/d", "..")]
    )
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(acts, max_size=8), st.lists(acts, max_size=8))
    def property(before: list[tuple[object, ...]], turn: list[tuple[object, ...]]) -> None:
        run(tmp_path / "x", make, before, turn)

    property()
