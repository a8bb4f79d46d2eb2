"""No path leads out of the session's roots, however it is spelled and whatever is swapped in between."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from acp_notebook.agent.files import roots, safe_open
from acp_notebook.agent.files.roots import (
    BadRequest,
    FileTrouble,
    NotFound,
    Outside,
    Refused,
    ResolvedPath,
    Roots,
    visible,
)
from acp_notebook.agent.files.unfinished import LEFTOVER
from tests.agent.files.served import peek, read_text, write_text

SECRET = "the outside's secret"
INSIDE = "inside\n"
NEW = "new\n"

Trouble = type[FileTrouble]


@dataclass(frozen=True)
class World:
    """A root with everything odd in it, and an outside that must not change."""

    base: Path

    @property
    def proj(self) -> Path:
        return self.base / "proj"

    @property
    def out(self) -> Path:
        return self.base / "out"

    def path(self, template: str) -> str:
        return template.replace("{proj}", str(self.proj)).replace("{base}", str(self.base))


def snapshot(folder: Path) -> dict[bytes, object]:
    """Everything below the folder: kind, mode, inode, contents, modification time."""
    seen: dict[bytes, object] = {}
    for holder, folders, names in os.walk(os.fsencode(folder)):
        for name in (*folders, *names, b"."):
            path = os.path.join(holder, name)
            status = os.lstat(path)
            content = b""
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            seen[path] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
    return seen


def outside(world: World) -> dict[bytes, object]:
    return snapshot(world.out) | snapshot(world.base / "proj-evil") | {b"": sorted(os.listdir(world.base))}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    for folder in ("proj/sub/deep", "proj/empty", "out/dir", "proj-evil"):
        (tmp_path / folder).mkdir(parents=True)
    for name in (
        "a.txt",
        "sub/b.txt",
        "sub/deep/c.txt",
        "...",
        "-rf",
        "~",
        "a\\b",
        "a\nb",
        "x\u202ey",
        "z\u200b",
    ):
        (world.proj / name).write_text(INSIDE)
    Path(os.fsdecode(os.fsencode(world.proj) + b"/\xff.txt")).write_text(INSIDE)
    for name in ("out/secret.txt", "out/dir/secret.txt", "proj-evil/secret.txt"):
        (tmp_path / name).write_text(SECRET)
    for name, target in LINKS.items():
        (world.proj / name).symlink_to(world.path(target))
    os.mkfifo(world.proj / "fifo")
    os.mknod(world.proj / "socket", stat.S_IFSOCK | 0o600)
    before = outside(world)
    yield world
    assert outside(world) == before


LINKS = {
    "link-in": "a.txt",
    "link-out": "../out/secret.txt",
    "link-abs": "{base}/out/secret.txt",
    "chain": "sub/../link-out",
    "dir-in": "sub",
    "dir-out": "../out",
    "up": "..",
    "slash": "/",
    "evil": "{base}/proj-evil",
    "loop": "loop",
    "loop-a": "loop-b",
    "loop-b": "{proj}/loop-a",
    "dangling-in": "sub/not-yet.txt",
    "dangling-deep": "{proj}/not/yet.txt",
    "dangling-out": "../out/not-yet.txt",
    "dangling-dir": "../out/not-yet/",
    "null": "/dev/null",
    "environ": "/proc/self/environ",
    "back": "{proj}/../proj/a.txt",
    "to-fifo": "fifo",
    "to-folder": "sub",
}

# The path, what a read gives, what a write gives (None: it is written).
CASES: list[tuple[str, str | Trouble, Trouble | None]] = [
    # inside, however it is written
    ("{proj}/a.txt", INSIDE, None),
    ("/{proj}//sub///b.txt", INSIDE, None),
    ("{proj}/./sub/./b.txt", INSIDE, None),
    ("{proj}/sub/../a.txt", INSIDE, None),
    ("{proj}/missing/../a.txt", INSIDE, None),
    ("{proj}/../proj/a.txt", INSIDE, None),
    ("{proj}/../../../../../../../../../../../..{proj}/a.txt", INSIDE, None),
    ("{proj}/link-in", INSIDE, None),
    ("{proj}/dir-in/b.txt", INSIDE, None),
    ("{proj}/dir-in/../a.txt", INSIDE, None),
    ("{proj}/up/proj/a.txt", INSIDE, None),
    ("{proj}/slash{proj}/a.txt", INSIDE, None),
    ("{proj}/back", INSIDE, None),
    ("{base}/out/../proj/a.txt", INSIDE, None),
    ("{proj}/...", INSIDE, None),
    ("{proj}/-rf", INSIDE, None),
    ("{proj}/~", INSIDE, None),
    ("{proj}/a\\b", INSIDE, None),
    ("{proj}/a\nb", INSIDE, None),
    ("{proj}/x\u202ey", INSIDE, None),
    ("{proj}/z\u200b", INSIDE, None),
    ("{proj}/\udcff.txt", INSIDE, None),
    # not there yet
    ("{proj}/new.txt", NotFound, None),
    ("{proj}/new\n\u202e\u200b\udcfe.txt", NotFound, None),
    ("{proj}/new/and/deep.txt", NotFound, None),
    ("{proj}/" + "n" * 255, NotFound, None),
    ("{proj}/dangling-in", NotFound, None),
    ("{proj}/dangling-deep", NotFound, None),
    ("{proj}/" + "d/" * 65 + "x", NotFound, Refused),
    # outside
    ("{base}/out/secret.txt", Outside, Outside),
    ("{base}/proj-evil/secret.txt", Outside, Outside),
    ("{base}/proj-evil/new.txt", Outside, Outside),
    ("{base}/pro", Outside, Outside),
    ("{base}/new.txt", Outside, Outside),
    ("{base}", Outside, Outside),
    ("/", Outside, Outside),
    ("//", Outside, Outside),
    ("/etc/passwd", Outside, Outside),
    ("/..", Outside, Outside),
    ("{proj}/../out/secret.txt", Outside, Outside),
    ("{proj}/sub/../../out/new.txt", Outside, Outside),
    ("{proj}/missing/../../out/new.txt", Outside, Outside),
    ("{proj}/..", Outside, Outside),
    ("{proj}/a.txt/../../out/secret.txt", Outside, Outside),
    ("{proj}/link-out", Outside, Outside),
    ("{proj}/link-abs", Outside, Outside),
    ("{proj}/chain", Outside, Outside),
    ("{proj}/dir-out/secret.txt", Outside, Outside),
    ("{proj}/dir-out/dir/secret.txt", Outside, Outside),
    ("{proj}/dir-out/new.txt", Outside, Outside),
    ("{proj}/dir-out/new/new.txt", Outside, Outside),
    ("{proj}/dir-out/../proj-evil/secret.txt", Outside, Outside),
    ("{proj}/dir-in/../../out/secret.txt", Outside, Outside),
    ("{proj}/up/out/secret.txt", Outside, Outside),
    ("{proj}/slash/etc/passwd", Outside, Outside),
    ("{proj}/evil/secret.txt", Outside, Outside),
    ("{proj}/dangling-out", Outside, Outside),
    ("{proj}/dangling-dir/new.txt", Outside, Outside),
    ("/proc/self/environ", Outside, Outside),
    ("/proc/self/cwd/pyproject.toml", Outside, Outside),
    ("/proc/self/fd/0", Outside, Outside),
    ("/proc/self/root/etc/passwd", Outside, Outside),
    ("/dev/null", Outside, Outside),
    ("/dev/zero", Outside, Outside),
    ("/dev/stdin", Outside, Outside),
    ("{proj}/null", Outside, Outside),
    ("{proj}/environ", Outside, Outside),
    # no file
    ("{proj}", Refused, Refused),
    ("{proj}/", Refused, Refused),
    ("{proj}/.", Refused, Refused),
    ("{proj}/sub", Refused, Refused),
    ("{proj}/sub/", Refused, Refused),
    ("{proj}/sub/..", Refused, Refused),
    ("{proj}/to-folder", Refused, Refused),
    ("{proj}/a.txt/", Refused, Refused),
    ("{proj}/new/", Refused, Refused),
    ("{proj}/a.txt/x", Refused, Refused),
    ("{proj}/a.txt/x/y", Refused, Refused),
    ("{proj}/fifo", Refused, Refused),
    ("{proj}/to-fifo", Refused, Refused),
    ("{proj}/socket", Refused, Refused),
    ("{proj}/loop", Refused, Refused),
    ("{proj}/loop/x", Refused, Refused),
    ("{proj}/loop-a", Refused, Refused),
    ("{proj}/missing/../loop-b/../x", Refused, Refused),
    # no path
    ("", BadRequest, BadRequest),
    ("a.txt", BadRequest, BadRequest),
    ("./a.txt", BadRequest, BadRequest),
    ("../out/secret.txt", BadRequest, BadRequest),
    ("~/a.txt", BadRequest, BadRequest),
    ("file://{proj}/a.txt", BadRequest, BadRequest),
    (" {proj}/a.txt", BadRequest, BadRequest),
    ("C:\\a.txt", BadRequest, BadRequest),
    ("{proj}/a.txt\0", BadRequest, BadRequest),
    ("{proj}/a.txt\0/../../out/secret.txt", BadRequest, BadRequest),
    ("\0", BadRequest, BadRequest),
    ("{proj}/\ud800", BadRequest, BadRequest),
    ("{proj}/" + "n" * 256, BadRequest, BadRequest),
    ("{proj}/" + "ü" * 128, BadRequest, BadRequest),
    ("{proj}/" + "n" * 256 + "/x", BadRequest, BadRequest),
    ("{proj}/" + "x/../" * 100_000 + "a.txt", BadRequest, BadRequest),
]


def case_name(case: object) -> str:
    return visible(case) if isinstance(case, str) else getattr(case, "__name__", "written")


@pytest.mark.parametrize(("template", "read", "_write"), CASES, ids=case_name)
def test_reading_a_hostile_path(world: World, template: str, read: str | Trouble, _write: object) -> None:
    before, path = snapshot(world.proj), world.path(template)
    if isinstance(read, str):
        assert read_text(Roots([str(world.proj)]), path) == read
        assert peek(Roots([str(world.proj)]), path) == read
    else:
        with pytest.raises(FileTrouble) as caught:
            read_text(Roots([str(world.proj)]), path)
        assert type(caught.value) is read
        assert_readable(str(caught.value))
    assert snapshot(world.proj) == before


@pytest.mark.parametrize(("template", "_read", "write"), CASES, ids=case_name)
def test_writing_to_a_hostile_path(world: World, template: str, _read: object, write: Trouble | None) -> None:
    before, path = snapshot(world.proj), world.path(template)
    if write is None:
        written = write_text(Roots([str(world.proj)]), path, NEW)
        assert written.path.startswith(f"{world.proj}/")
        assert written.created is (_read is NotFound)
        assert read_text(Roots([str(world.proj)]), path) == NEW
        assert os.path.realpath(path.replace("/missing/..", "")) == written.path
        return
    with pytest.raises(FileTrouble) as caught:
        write_text(Roots([str(world.proj)]), path, NEW)
    assert type(caught.value) is write
    assert_readable(str(caught.value))
    assert without_times(snapshot(world.proj)) == without_times(before)  # folders made on the way are gone


def without_times(seen: dict[bytes, object]) -> dict[bytes, object]:
    return {path: (it[0], it[1], it[3]) for path, it in seen.items() if isinstance(it, tuple)}


def assert_readable(message: str) -> None:
    assert message.isprintable() and len(message) < 1200
    message.encode()


def test_no_path_leaves_a_descriptor_open(world: World) -> None:
    count = len(os.listdir("/dev/fd"))
    for template, _, _ in CASES:
        for work in (read_text, lambda its, path: write_text(its, path, NEW)):
            with contextlib.suppress(FileTrouble):
                work(Roots([str(world.proj)]), world.path(template))
    assert len(os.listdir("/dev/fd")) == count


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/a\nb\tc", "/a‹U+000A›b‹U+0009›c"),  # noqa: RUF001
        ("/a\x1b[31m", "/a‹U+001B›[31m"),  # noqa: RUF001
        ("/x\u202ey\u200bz\u2066", "/x‹U+202E›y‹U+200B›z‹U+2066›"),  # noqa: RUF001
        ("/\u3164\ufe0f\u00a0\ufeff\U000e0041", "/‹U+3164›‹U+FE0F›‹U+00A0›‹U+FEFF›‹U+E0041›"),  # noqa: RUF001
        ("/\udcff\ud800", "/‹0xFF›‹U+D800›"),  # noqa: RUF001
        ("/plain ü 文", "/plain ü 文"),
    ],
)
def test_every_character_of_a_path_is_visible_in_a_message(world: World, path: str, shown: str) -> None:
    assert visible(path) == shown
    with pytest.raises(FileTrouble, match=r".") as caught:
        read_text(Roots([str(world.proj)]), path)
    assert shown in str(caught.value)


def test_a_message_says_what_to_do(world: World) -> None:
    with pytest.raises(Outside, match=r"outside of the session's folders \(.*proj\): add it to roots="):
        read_text(Roots([str(world.proj)]), str(world.out / "secret.txt"))
    with pytest.raises(BadRequest, match=r"must be absolute, and a\.txt is relative"):
        read_text(Roots([str(world.proj)]), "a.txt")


# ---- the roots themselves -----------------------------------------------------------------------


def test_a_root_may_be_a_symlink_or_written_oddly(world: World) -> None:
    for root in (world.proj / "dir-in", f"{world.proj}/sub/", f"{world.proj}//./sub/deep/.."):
        assert read_text(Roots([str(root)]), str(world.proj / "sub/b.txt")) == INSIDE
        assert read_text(Roots([str(root)]), str(world.proj / "dir-in/b.txt")) == INSIDE
        with pytest.raises(Outside):
            read_text(Roots([str(root)]), str(world.proj / "a.txt"))


def test_a_redirected_root_does_not_give_access_to_its_new_target(world: World) -> None:
    its = Roots([str(world.proj / "dir-in")])
    (world.proj / "dir-in").unlink()
    (world.proj / "dir-in").symlink_to(world.out)
    with pytest.raises(Outside):
        read_text(its, str(world.proj / "dir-in/secret.txt"))
    with pytest.raises(Outside):
        write_text(its, str(world.proj / "dir-in/secret.txt"), NEW)


def test_several_roots_are_accessible_but_nothing_between_them(world: World) -> None:
    its = Roots([str(world.proj / "sub"), str(world.proj / "empty"), str(world.proj / "sub/deep")])
    assert read_text(its, str(world.proj / "sub/deep/c.txt")) == INSIDE
    assert write_text(its, str(world.proj / "empty/x"), NEW).created
    with pytest.raises(Outside):
        read_text(its, str(world.proj / "a.txt"))


def test_without_roots_everything_is_outside(world: World) -> None:
    with pytest.raises(Outside, match=r"\(none\)"):
        read_text(Roots([]), str(world.proj / "a.txt"))


def test_a_root_that_is_missing_is_not_created(world: World) -> None:
    its = Roots([str(world.proj / "gone")])
    with pytest.raises(NotFound, match="the folder gone is missing"):
        write_text(its, str(world.proj / "gone/x/y.txt"), NEW)
    assert not (world.proj / "gone").exists()


def test_a_root_that_is_relative_is_an_error() -> None:
    with pytest.raises(BadRequest, match="absolute"):
        Roots(["proj"])


def test_the_whole_disk_as_a_root_excludes_system_folders(world: World) -> None:
    its = Roots(["/"])
    assert read_text(its, str(world.proj / "a.txt")) == INSIDE
    for path in (
        "/proc/self/environ",
        "/proc/self/mem",
        "/sys/kernel",
        "/dev/zero",
        str(world.proj / "environ"),
    ):
        with pytest.raises(Outside, match="operating system"):
            read_text(its, path)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty", "/dev/full"])
def test_a_device_is_refused_without_being_opened(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(roots, "SYSTEM", ())
    opened: list[object] = []
    real = os.open

    def note(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        opened.append(path)
        return real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", note)
    monkeypatch.setattr(os, "supports_dir_fd", {os.open})
    for work in (read_text, lambda its, path: write_text(its, path, NEW)):
        with pytest.raises(Refused, match="device"):
            work(Roots(["/dev"]), device)
    assert opened == ["/", "dev"] * 2


def test_contains_works_for_folders(world: World) -> None:
    its = Roots([str(world.proj)])
    inside = ("", "/", "/sub", "/sub/", "/dir-in", "/a.txt", "/not/yet")
    assert all(its.contains(f"{world.proj}{it}") for it in inside)
    out = (
        f"{world.proj}/dir-out",
        f"{world.proj}-evil",
        f"{world.proj}/..",
        "/",
        "",
        "sub",
        f"{world.proj}/\0",
    )
    assert not any(map(its.contains, out))


def test_without_folder_descriptors_nothing_is_served(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(Refused, match="Windows"):
        read_text(Roots([str(world.proj)]), str(world.proj / "a.txt"))


# ---- swapped between the check and the opening --------------------------------------------------


class SwappedAfterwards(Roots):
    """Run something right after a path was checked."""

    def __init__(self, folder: Path, happens: Callable[[], object]) -> None:
        super().__init__([str(folder)])
        self.happens = happens

    def resolve(self, path: str) -> ResolvedPath:
        place = super().resolve(path)
        self.happens()
        return place


def put_link(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SWAPS: dict[str, tuple[str, Callable[[World], object]]] = {
    "the file": ("sub/b.txt", lambda w: put_link(w.proj / "sub/b.txt", w.out / "secret.txt")),
    "a file that was missing": (
        "sub/secret.txt",
        lambda w: put_link(w.proj / "sub/secret.txt", w.out / "secret.txt"),
    ),
    "a file, by a link to the inside": (
        "sub/b.txt",
        lambda w: put_link(w.proj / "sub/b.txt", w.proj / "a.txt"),
    ),
    "its folder": ("sub/secret.txt", lambda w: put_link(w.proj / "sub", w.out)),
    "a folder above": ("sub/dir/secret.txt", lambda w: put_link(w.proj / "sub", w.out)),
    "a folder that was missing": ("later/secret.txt", lambda w: put_link(w.proj / "later", w.out)),
    "the target of a link": ("dir-in/b.txt", lambda w: put_link(w.proj / "sub", w.out)),
    "by a pipe": ("sub/b.txt", lambda w: put_fifo(w.proj / "sub/b.txt")),
    "by a folder": ("sub/b.txt", lambda w: put_folder(w.proj / "sub/b.txt")),
}


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("doing", ["read", "peek", "write"])
def test_swapping_a_path_after_the_check_does_not_escape(world: World, swap: str, doing: str) -> None:
    name, happens = SWAPS[swap]
    its = SwappedAfterwards(world.proj, lambda: happens(world))
    with pytest.raises(Refused) as caught:
        do(doing, its, str(world.proj / name))
    assert SECRET not in str(caught.value)


def do(doing: str, its: Roots, path: str) -> object:
    match doing:
        case "read":
            return read_text(its, path)
        case "peek":
            return peek(its, path)
        case _:
            return write_text(its, path, NEW)


@pytest.mark.parametrize("doing", ["read", "write"])
def test_swapping_a_root_after_the_check_does_not_escape(world: World, doing: str) -> None:
    root = world.proj / "sub"
    its = SwappedAfterwards(root, lambda: put_link(root, world.out))
    with pytest.raises(Refused, match="changed while it was opened"):
        do(doing, its, str(root / "secret.txt"))


@pytest.mark.parametrize("doing", ["read", "write"])
@pytest.mark.parametrize(
    "happens",
    [
        lambda path, w: put_link(path, w.out / "secret.txt"),
        lambda path, w: put_fifo(path),
        lambda path, w: put_folder(path),
    ],
    ids=["link", "pipe", "folder"],
)
def test_swapping_a_path_at_the_last_moment_does_not_escape(
    world: World, monkeypatch: pytest.MonkeyPatch, doing: str, happens: Callable[[Path, World], None]
) -> None:
    path, real, calls = world.proj / "a.txt", safe_open._check_kind, []

    def check(*given: object) -> None:
        real(*given)  # type: ignore[arg-type]
        calls.append(given)
        if len(calls) == 1:
            happens(path, world)

    monkeypatch.setattr(safe_open, "_check_kind", check)
    count = len(os.listdir("/dev/fd"))
    with pytest.raises(FileTrouble):
        do(doing, Roots([str(world.proj)]), str(path))
    assert len(os.listdir("/dev/fd")) == count
    assert not [it for it in os.listdir(world.proj) if LEFTOVER.fullmatch(it)]


ROUNDS = 400


@pytest.mark.parametrize("doing", ["read", "write"])
def test_a_racing_thread_cannot_escape(world: World, doing: str) -> None:
    """Swap a folder with a link to the outside and back, as fast as possible."""
    folder, real, link = world.proj / "sub", world.proj / "real", world.proj / "link"
    (folder / "secret.txt").write_text(INSIDE)
    link.symlink_to(world.out)
    over = threading.Event()

    def turn() -> None:
        while not over.is_set():
            shutil.rmtree(real, ignore_errors=True)
            # A write recreates the folder while it is missing: then a rename fails.
            with contextlib.suppress(OSError):
                folder.rename(real)
                link.rename(folder)
            if folder.is_symlink():
                folder.rename(link)
            with contextlib.suppress(OSError):
                real.rename(folder)

    racer = threading.Thread(target=turn)
    racer.start()
    its, done = Roots([str(world.proj)]), []
    try:
        for _ in range(ROUNDS):
            with contextlib.suppress(FileTrouble):
                done.append(do(doing, its, str(folder / "secret.txt")))
    finally:
        over.set()
        racer.join(30)
    assert not racer.is_alive()
    assert not [it for it in done if doing == "read" and it != INSIDE]
    assert do(doing, its, str(folder / "secret.txt"))  # and afterwards everything works
