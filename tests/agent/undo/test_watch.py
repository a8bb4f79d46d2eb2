"""A watched checkpoint is what a look at everything would have found, whatever happens between two."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from acp_notebook.agent.undo import arming, inotify, quick, watch
from acp_notebook.agent.undo.covers import Mark
from acp_notebook.agent.undo.git import Git
from acp_notebook.agent.undo.git import names as git_names
from acp_notebook.agent.undo.looking import Look, Seen
from acp_notebook.agent.undo.shadow import Shadow
from acp_notebook.agent.undo.watch import Doubt, Watch

LIMIT_S = 30.0


def told_here() -> bool:
    """Whether this system tells of changes where the tests have their folders."""
    with contextlib.suppress(OSError):
        inotify.Inotify().close()
        return sys.platform.startswith("linux") and inotify.is_local(tempfile.gettempdir())
    return False


pytestmark = pytest.mark.skipif(not told_here(), reason="inotify is Linux's, and for disks of its own")

names = st.sampled_from(["a", "b.log", ':(top)ä\n"*\\', "build"])
paths = st.lists(names, min_size=1, max_size=2).map("/".join)
contents = st.sampled_from([b"", b"one\n", b"\0\xff", b"x\n" * 50])
rules = st.sampled_from([b"", b"*.log\n", b"build/\n", b"*.log\n!b.log\n"])
acts = st.one_of(
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("append"), paths),
    st.tuples(st.just("truncate"), paths),
    st.tuples(st.just("replace"), paths, contents),
    st.tuples(st.just("mode"), paths, st.sampled_from([0o644, 0o755, 0o600])),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("folder"), paths),
    st.tuples(st.just("link"), paths, paths),
    st.tuples(st.just("hard link"), paths, paths),
    st.tuples(st.just("mapped"), paths),
    st.tuples(st.just("at once"), paths),
    st.tuples(st.just("rules"), st.one_of(st.just("."), paths), rules),
    st.tuples(st.just("repository"), paths),
)
Act = tuple[object, ...]


def do(root: Path, act: Act) -> None:
    """One act, as far as it goes: what stands in its way stays."""
    kind, path, other = act[0], root / str(act[1]), act[-1]
    with contextlib.suppress(OSError, ValueError, subprocess.CalledProcessError):
        if kind == "remove":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif kind == "mode":
            os.chmod(path, int(str(other)), follow_symlinks=True) if path.is_file() else None
        elif kind == "append":
            with open(path, "ab") as file:
                file.write(b"more\n")
        elif kind == "truncate":
            os.truncate(path, 1)
        elif kind == "mapped":
            with open(path, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
                mapped[0:1] = b"m"
        else:
            make(root, path, act)


def make(root: Path, path: Path, act: Act) -> None:
    kind, other = act[0], act[-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(str(other))
    elif kind == "hard link":
        os.link(path, root / str(other), follow_symlinks=False)
    elif kind == "move":
        path.rename(root / str(other))
    elif kind == "at once":
        script = "mkdir -p x/y build e && echo 1 > x/y/z && echo 2 > x/w && echo 3 > build/o"
        path.mkdir(exist_ok=True)
        subprocess.run(["sh", "-c", script], cwd=path, check=True, capture_output=True)
    elif kind == "rules":
        (path / ".gitignore").write_bytes(bytes(other) if isinstance(other, bytes) else b"")
    elif kind == "repository":
        (path / ".git").mkdir(parents=True)
        (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    elif isinstance(other, bytes):
        spare = path if kind == "write" else path.with_name("spare")
        spare.write_bytes(other)
        spare.replace(path)


@contextlib.contextmanager
def shadows(base: Path, below: str = "") -> Iterator[tuple[Path, Shadow, Shadow]]:
    shutil.rmtree(base, ignore_errors=True)
    root = base / "root"
    (root / below).mkdir(parents=True)
    if below:
        subprocess.run(["git", "init", "-q", root], check=True)
    watched = Shadow(str(root / below), base / "one")
    unwatched = Shadow(str(root / below), base / "two")
    try:
        yield root / below, watched, unwatched
    finally:
        watched.close()
        unwatched.close()


def same(watched: Shadow, unwatched: Shadow) -> None:
    one, other = watched.mark(), unwatched.mark()
    assert one.state.id == other.state.id
    assert one.state.rights == other.state.rights == rights_of(watched, one.state.id)
    assert one.state.large.keys() == other.state.large.keys()
    assert other.empty <= one.empty, "empty folders"
    assert all(os.path.isdir(it) and not os.listdir(it) for it in one.empty)


def rights_of(shadow: Shadow, tree: str) -> dict[str, int]:
    """Of the files in the tree, as they are."""
    kept = git_names(shadow._git.run("ls-tree", "-r", "-z", "--name-only", tree))
    modes = {it: os.lstat(os.path.join(shadow.top, it)).st_mode for it in kept}
    rights = {it: stat.S_IMODE(mode) for it, mode in modes.items() if stat.S_ISREG(mode)}
    return {it: mode for it, mode in rights.items() if mode not in (0o644, 0o755)}


@pytest.mark.parametrize("below", ["", "in/side"])
def test_a_watched_checkpoint_is_what_a_look_at_everything_finds(tmp_path: Path, below: str) -> None:
    @example([[("write", "a/b/c", b"1")], [("move", "a", "x")], [("write", "x/b/c", b"2")]])
    @example([[("write", "a/build/c", b"1")], [("rules", ".", b"build/\n")], [("at once", "a")]])
    @example([[("write", "a/b", b"1")], [("hard link", "a/b", "c")], [("append", "c")], [("append", "a/b")]])
    @example([[("at once", "a")], [("move", "a/x", "b"), ("move", "b", "a/x"), ("append", "a/x/w")]])
    @example([[("at once", "a")], [("repository", "a/x")], [("append", "a/x/w")], [("remove", "a/x")]])
    @example([[("folder", "a/b"), ("write", "c", b"1")], [("move", "c", "a/b/c")], [("remove", "a/b/c")]])
    @example([[("folder", "a/a"), ("repository", "a/build")], [("write", "a/b.log", b"")]])
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.lists(acts, max_size=5), min_size=2, max_size=5))
    def property(rounds: list[list[Act]]) -> None:
        with shadows(tmp_path / "x", below) as (root, watched, unwatched):
            for acts_of_round in rounds:
                same(watched, unwatched)
                watched.reconcile(0, 0)
                assert watched.watched or any(act[0] == "repository" for it in rounds for act in it)
                for act in acts_of_round:
                    do(root, act)
            same(watched, unwatched)
            same(watched, unwatched)

    property()


# ---- what it costs, and when it is not to be trusted --------------------------------------------


def paths_between(shadow: Shadow, work: Path, *acts_of_turn: Act) -> list[str]:
    before = shadow.mark()
    for act in acts_of_turn:
        do(work, act)
    return sorted(os.path.relpath(it.path, work) for it in shadow.compare(before, shadow.mark()))


@pytest.fixture
def shadow(tmp_path: Path) -> Iterator[Shadow]:
    """Of a folder with files in it, and watched."""
    root = tmp_path / "root"
    root.mkdir()
    for act in [("write", "a/b", b"1\n"), ("write", "a/c", b"2\n"), ("write", "d", b"3\n")]:
        do(root, act)
    made = Shadow(str(root), tmp_path / "state")
    made.mark()
    made.reconcile(0, 0)
    assert made.watched
    yield made
    made.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "root"


def test_what_nobody_touched_is_not_looked_at(
    shadow: Shadow, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command that reads the index, or walks the tree: those grow with the files."""
    asked: list[str] = []
    start = Git.start

    def noted(self: Git, *words: str, **more: Iterator[bytes]) -> object:
        asked.append(next(it for it in words if not it.startswith("-")))
        return start(self, *words, **more)

    monkeypatch.setattr(Git, "start", noted)
    assert shadow.mark().state is shadow.mark().state and not asked
    assert paths_between(shadow, work, ("append", "a/b"), ("write", "new", b"")) == ["a/b", "new"]
    assert set(asked) == {"ls-tree", "check-ignore", "fast-import", "diff-tree", "cat-file"}
    assert shadow.watched


def test_the_watch_ends_with_the_session_and_no_child_has_it(tmp_path: Path) -> None:
    def open_ones() -> list[int]:
        found = [int(it) for it in os.listdir("/proc/self/fd")]
        return [fd for fd in found if "inotify" in _target(fd)]

    with shadows(tmp_path / "x") as (_, made, _):
        of_others = open_ones()  # sessions of other tests, in this process
        made.mark()
        made.reconcile(0, 0)
        [mine] = set(open_ones()) - set(of_others)
        assert not os.get_inheritable(mine)
        made.close()
        assert mine not in open_ones()


def _target(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def test_a_queue_that_was_too_short_is_no_hindrance(
    shadow: Shadow, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inotify.Inotify, "drain", lambda _: [inotify.Event(-1, inotify.OVERFLOW, "")])
    assert paths_between(shadow, work, ("append", "a/b"), ("remove", "d")) == ["a/b", "d"]
    assert not shadow.watched
    monkeypatch.undo()
    shadow.reconcile(0, 0)
    assert shadow.watched


@pytest.mark.parametrize("limit", ["NOTED", "PATHS", "BYTES"])
def test_too_much_at_once_is_looked_at_as_a_whole(
    shadow: Shadow, work: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch if limit == "NOTED" else quick, f"MOST_{limit}", 1)
    assert paths_between(shadow, work, ("append", "a/b"), ("at once", "x")) == [
        "a/b",
        "x/build/o",
        "x/x/w",
        "x/x/y/z",
    ]
    assert not shadow.watched


@pytest.mark.parametrize("why", ["a foreign disk", "no inotify", "too many folders", "a disk within"])
def test_where_it_cannot_be_trusted_nothing_is_watched(
    tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: object) -> None:
        raise OSError("there is none")

    match why:
        case "a foreign disk":
            monkeypatch.setattr(inotify, "LOCAL", frozenset())
        case "no inotify":
            monkeypatch.setattr(inotify.Inotify, "__init__", refused)
        case "too many folders":
            monkeypatch.setattr(watch, "MOST_FOLDERS", 1)
        case _:
            monkeypatch.setattr(arming, "mounts_below", lambda _: ("x",))
    with shadows(tmp_path / "x") as (root, made, _):
        do(root, ("write", "a/b", b"1\n"))
        made.mark()
        made.reconcile(0, 0)
        assert not made.watched
        assert paths_between(made, root, ("append", "a/b"), ("write", "c", b"")) == ["a/b", "c"]


def test_a_folder_that_was_put_in_place_of_the_watched_one_is_seen(shadow: Shadow, work: Path) -> None:
    before = shadow.mark()
    work.rename(work.with_name("elsewhere"))
    work.mkdir()
    do(work, ("write", "a/b", b"other\n"))
    found = sorted(os.path.relpath(it.path, work) for it in shadow.compare(before, shadow.mark()))
    assert found == ["a/b", "a/c", "d"]


def test_a_folder_above_that_was_moved_is_noticed(tmp_path: Path) -> None:
    root = tmp_path / "above" / "root"
    do(root, ("write", "a", b"1\n"))
    made = Shadow(str(root), tmp_path / "state")
    try:
        made.mark()
        made.reconcile(0, 0)
        assert made.watched
        before = made.mark()
        root.parent.rename(tmp_path / "elsewhere")
        do(root, ("write", "b", b"2\n"))
        found = sorted(os.path.relpath(it.path, root) for it in made.compare(before, made.mark()))
        assert found == ["a", "b"]
    finally:
        made.close()


def test_rules_above_the_folder_count(tmp_path: Path) -> None:
    with shadows(tmp_path / "x", "in/side") as (root, made, unwatched):
        do(root, ("write", "a.log", b"1\n"))
        same(made, unwatched)
        made.reconcile(0, 0)
        assert made.watched
        (tmp_path / "x" / "root" / ".gitignore").write_text("b.log\n")
        do(root, ("write", "b.log", b"1\n"))
        same(made, unwatched)


# ---- what the system does not tell --------------------------------------------------------------


def test_what_stays_mapped_is_found_when_nobody_waits(shadow: Shadow, work: Path) -> None:
    """And neither what was written so before the turn nor what the user wrote since counts as the turn's."""
    with (
        open(work / "d", "r+b") as theirs,
        open(work / "a/b", "r+b") as opened,
        mmap.mmap(theirs.fileno(), 0) as early,
        mmap.mmap(opened.fileno(), 0) as mapped,
    ):
        early[0:1] = b"u"
        before = wait_for_tick(shadow)
        mapped[0:1] = b"m"
        after = wait_for_tick(shadow)
        do(work, ("append", "a/c"))
        [found] = shadow.reconcile(before, after)
        assert found.path == str(work / "a/b") and found.after is not None and found.after.data == b"m\n"
        assert shadow.watched and shadow.reconcile(before, after) == []


def wait_for_tick(shadow: Shadow) -> int:
    """A mark's time, with no file dated at it: the clock of files ticks every few milliseconds."""
    at = shadow.mark().at
    while (later := shadow.mark().at) < at + 50_000_000:
        pass
    return later


def test_a_name_outside_is_looked_at_by_its_status(tmp_path: Path) -> None:
    with shadows(tmp_path / "x") as (root, made, _):
        do(root, ("write", "a/b", b"1\n"))
        outside = tmp_path / "outside"
        os.link(root / "a/b", outside)
        made.mark()
        made.reconcile(0, 0)
        assert made.watched
        before = made.mark()
        with open(outside, "ab") as file:
            file.write(b"more\n")
        [found] = made.compare(before, made.mark())
        assert found.after is not None and found.after.data == b"1\nmore\n" and made.watched


def test_the_look_that_nobody_waits_for_holds_up_no_mark(
    shadow: Shadow, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, real = threading.Event(), Look.all

    def until_ended(self: Look) -> Seen:
        begun.set()
        while not self._git.closed:
            time.sleep(0.001)
        return real(self)

    monkeypatch.setattr(Look, "all", until_ended)
    do(work, ("append", "a/b"))
    before = shadow.mark()
    looking = threading.Thread(target=lambda: shadow.reconcile(0, 0), daemon=True)
    looking.start()
    assert begun.wait(LIMIT_S)
    do(work, ("append", "a/c"))
    [found] = shadow.compare(before, shadow.mark())  # it would wait for ever
    assert found.path == str(work / "a/c") and shadow.watched
    looking.join(LIMIT_S)
    assert not looking.is_alive()


def noted_since(shadow: Shadow, work: Path, before: Mark) -> list[str]:
    return sorted(os.path.relpath(it.path, work) for it in shadow.compare(before, shadow.mark()))


def test_a_doubt_that_comes_up_when_nobody_waits_is_not_forgotten(
    shadow: Shadow, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told along with it is read, and nobody is told it again."""
    before, real = shadow.mark(), Look.all

    def beside(self: Look) -> Seen:
        monkeypatch.setattr(Look, "all", real)
        do(work, ("write", "new", b"1\n"))
        seen = real(self)
        do(work, ("rules", ".", b"*.log\n"))
        do(work, ("append", "d"))
        return seen

    monkeypatch.setattr(Look, "all", beside)
    shadow.reconcile(0, 0)
    assert noted_since(shadow, work, before) == [".gitignore", "d", "new"]


def test_a_doubt_counts_also_where_the_look_was_given_up(
    shadow: Shadow, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = shadow.mark(), Watch.read

    def given_up(self: Watch) -> None:
        monkeypatch.setattr(Watch, "read", real)
        shadow._hurry()
        real(self)

    do(work, ("rules", ".", b"*.log\n"))
    do(work, ("append", "d"))
    monkeypatch.setattr(Watch, "read", given_up)
    shadow.reconcile(0, 0)
    assert noted_since(shadow, work, before) == [".gitignore", "d"]


def test_a_write_by_another_name_is_not_lost_with_a_look_that_was_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "RACY_NS", -(10**12))  # no file is too new to be trusted
    with shadows(tmp_path / "x") as (root, made, _):
        do(root, ("write", "a/b", b"1\n"))
        os.link(root / "a/b", outside := tmp_path / "outside")
        made.mark()
        made.reconcile(0, 0)
        before, real = made.mark(), quick.QuickLook._relinked

        def given_up(self: quick.QuickLook, at: int) -> set[str]:
            monkeypatch.setattr(quick.QuickLook, "_relinked", real)
            made._hurry()
            return real(self, at)

        outside.write_bytes(b"1\nmore\n")
        monkeypatch.setattr(quick.QuickLook, "_relinked", given_up)
        made.reconcile(0, 0)
        assert made.watched and noted_since(made, root, before) == ["a/b"]


def test_a_file_that_is_being_written_is_named_and_seen_the_next_time(
    shadow: Shadow, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = quick._bytes_of

    def growing(path: str) -> bytes:
        data = real(path)
        if path.endswith("/d"):
            with open(path, "ab") as file:
                file.write(b"more\n")
        return data

    before = shadow.mark()
    monkeypatch.setattr(quick, "_bytes_of", growing)
    do(work, ("append", "d"))
    do(work, ("append", "a/b"))
    after = shadow.mark()
    found = {os.path.relpath(it.path, work): it.why_not for it in shadow.compare(before, after)}
    assert found["a/b"] is None and "being written" in str(found["d"])
    monkeypatch.undo()
    after = shadow.mark()
    assert not after.state.large
    found = {os.path.relpath(it.path, work): it.why_not for it in shadow.compare(before, after)}
    assert found == {"a/b": None, "d": None}


# ---- the bookkeeping ----------------------------------------------------------------------------


class Told:
    """A system that says what it is told to."""

    def __init__(self) -> None:
        self.events: list[inotify.Event] = []
        self.folders: dict[str, int] = {}
        self.removed: list[int] = []

    def add(self, folder: str) -> int:
        return self.folders.setdefault(folder, len(self.folders) + 1)

    def remove(self, watch: int) -> None:
        self.removed.append(watch)

    def drain(self) -> list[inotify.Event]:
        told, self.events = self.events, []
        return told

    def close(self) -> None:
        pass


def book() -> tuple[Told, Watch]:
    told = Told()
    made = Watch("/top", "", told)
    for folder in ("", "a", "a/b", "c"):
        assert made.enter(folder)
    return told, made


def test_a_folder_that_is_moved_takes_what_was_below_with_it() -> None:
    told, made = book()
    told.events = [
        inotify.Event(1, inotify.MOVED_FROM | inotify.IS_FOLDER, "a"),
        inotify.Event(1, inotify.MOVED_TO | inotify.IS_FOLDER, "x"),
        inotify.Event(3, inotify.MODIFY, "f"),
    ]
    made.read()
    assert made.noted.trees == {"a", "x"} and not made.noted.files and made.noted.folders == {""}
    assert sorted(told.removed) == [2, 3] and "a/b" not in made and "c" in made


@pytest.mark.parametrize(
    ("event", "word"),
    [
        (inotify.Event(-1, inotify.OVERFLOW, ""), "lost count"),
        (inotify.Event(2, inotify.UNMOUNT, ""), "lost count"),
        (inotify.Event(1, inotify.MOVE_SELF, ""), "elsewhere"),
        (inotify.Event(1, inotify.IGNORED, ""), "elsewhere"),
        (inotify.Event(2, inotify.CLOSE_WRITE, ".gitignore"), "gitignore"),
        (inotify.Event(3, inotify.CREATE | inotify.IS_FOLDER, ".git"), "git has"),
    ],
)
def test_what_cannot_be_told_is_in_doubt(event: inotify.Event, word: str) -> None:
    told, made = book()
    told.events = [event]
    with pytest.raises(Doubt, match=word):
        made.read()


def test_a_repository_within_tells_of_itself_alone() -> None:
    told, made = book()
    made.enter("c", closed_off=True)
    told.events = [inotify.Event(4, inotify.MODIFY, "f")]
    made.read()
    assert not made.noted and "c" not in made
    told.events = [inotify.Event(1, inotify.DELETE | inotify.IS_FOLDER, "c")]
    with pytest.raises(Doubt):
        made.read()
