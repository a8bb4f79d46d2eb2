"""Undo and redo of what an agent changed, through a whole session."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.undo.backend import Checkpoint
from acp_notebook.agent.undo.git import GitTrouble
from acp_notebook.agent.undo.git_backend import GitBackend
from acp_notebook.agent.undo.scan import FullScan
from acp_notebook.core.changes import FileChange, PathChange
from acp_notebook.core.snapshot import Changes, ToolCall
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def act(session: acp.Session, deed: str, *of: str) -> None:
    """Do what a click in the page does."""
    session._loop.call(session._conversation.undoing.act(deed, *of))  # type: ignore[arg-type]


def items(session: acp.Session) -> list[Changes]:
    return [item for item in session.transcript.items if isinstance(item, Changes)]


def the_file(session: acp.Session) -> FileChange:
    [item] = items(session)
    [file] = item.files
    return file


def command_of(turn: acp.Turn) -> ToolCall:
    """The agent's own call; there may also be ours, which asked about it."""
    return next(it for it in turn.tool_calls if it.kind == "execute")


def of_command(turn: acp.Turn) -> list[acp.Change]:
    """The files changed while the turn's command ran; the agent itself changed none."""
    assert not turn.changes
    found = turn.also_changed.where(command=command_of(turn))
    assert len(found) == len(turn.also_changed)
    return [*found]


def test_a_write_by_a_client_method_is_undone_and_redone(demo: Demo, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\n")
    os.chmod(file, 0o640)
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write a.txt new", timeout=LIMIT_S)
    written = file.read_bytes()
    change = the_file(session)
    assert (change.action, change.state, change.via) == ("modified", "applied", "client")
    assert change.allowed_by == "policy"
    tools = {it.key for it in session.transcript.items if isinstance(it, ToolCall)}
    assert change.tool in tools
    act(session, "undo", "t1")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"one\r\ntwo\r\n", 0o640)
    assert the_file(session).state == "undone"
    act(session, "redo", "t1", change.id)
    assert file.read_bytes() == written
    assert the_file(session).state == "applied"


def test_undoing_a_new_file_removes_the_folders_created_for_it(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write deep/er/a.txt new", timeout=LIMIT_S)
    assert the_file(session).action == "created"
    act(session, "undo")
    assert not any(folder.iterdir())
    act(session, "redo")
    assert (folder / "deep/er/a.txt").read_text() == "new\n"


def test_an_empty_folder_stays_whatever_the_order_of_undos(demo: Demo, folder: Path) -> None:
    (folder / "sub").mkdir()
    session = demo(cwd=folder, permissions="allow")
    turns = [session.prompt(f"/write sub/{name}.txt x", timeout=LIMIT_S) for name in "ab"]
    for turn in turns:
        turn.revert()
    assert list((folder / "sub").iterdir()) == []


def test_later_user_changes_are_merged_or_a_conflict(demo: Demo, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("old\n")
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write a.txt new", timeout=LIMIT_S)
    file.write_text("mine\n")
    act(session, "undo", "t1")
    change = the_file(session)
    assert change.state == "conflict" and "changed since" in str(change.why)
    assert file.read_text() == "mine\n"
    file.write_text("new\nand\nmore\nof mine\n")
    act(session, "undo", "t1")
    assert the_file(session).state == "conflict", "a line that touches the change"


def test_hunks_are_kept_one_by_one(demo: Demo, folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"{number}\n" for number in range(20)))
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/rework a.txt", timeout=LIMIT_S)
    change = the_file(session)
    first, last = (hunk.id for hunk in change.hunks)
    act(session, "keep", "t1", change.id, first)
    assert the_file(session).state == "applied"
    assert [hunk.kept for hunk in the_file(session).hunks] == [True, None]
    act(session, "undo", "t1", change.id, last)
    act(session, "keep", "t1", change.id, first)  # again: nothing is left to scan
    assert the_file(session).state == "kept"
    act(session, "undo", "t1", change.id)
    assert the_file(session).state == "undone"


def test_keep_and_invalid_selections(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write a.txt new", timeout=LIMIT_S)
    act(session, "keep", "t1")
    assert the_file(session).state == "kept"
    for nonsense in (("t9",), ("t1", "f9"), ("t1", "f1", "h9")):
        with pytest.raises(acp.UsageError):
            act(session, "undo", *nonsense)


# ---- changes by the agent itself, or by a command ---------------------------------------------


def picture(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Every file and folder: its kind, mode and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if ".git" in path.relative_to(folder).parts:
            continue
        mode = path.lstat().st_mode
        if path.is_symlink():
            found[str(path)] = ("link", 0, os.fsencode(os.readlink(path)))
        elif path.is_dir():
            found[str(path)] = ("folder", 0, b"")
        else:
            found[str(path)] = ("file", mode & 0o7777, path.read_bytes())
    return found


def filled(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (folder / "gone.txt").write_text("".join(f"{n}\n" for n in range(50)))
    os.chmod(folder / "gone.txt", 0o600)
    (folder / "empty").write_bytes(b"")
    (folder / "run.sh").write_text("true\n")
    os.chmod(folder / "run.sh", 0o755)
    (folder / "bin").write_bytes(bytes(range(256)))
    (folder / "link").symlink_to("a.txt")
    (folder / "sub/deep").mkdir(parents=True)
    (folder / "sub/deep/x.py").write_text("x = 1\n")
    (folder / "hollow").mkdir()


COMMAND = (
    "printf four >> a.txt; rm gone.txt empty; mv sub/deep/x.py y.py; rmdir sub/deep sub; chmod 600 run.sh; "
    "printf x > bin; ln -sf run.sh link; mkdir -p new/er; echo n > new/er/n.txt; mkdir nothing; rmdir hollow"
)


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    env |= {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a",
    }
    done = subprocess.run(["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("kind", ["no repository", "repository", "subfolder", "no git"])
def test_a_commands_changes_are_undone_and_redone(
    demo: Demo, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = folder / "below" if kind == "subfolder" else folder
    work.mkdir(exist_ok=True)
    filled(work)
    if kind in ("repository", "subfolder"):
        git(folder, "init", "-q")
        git(folder, "add", "-A")
    if kind == "no git":
        monkeypatch.setattr("acp_notebook.agent.undo.checkpoints.program", lambda: None)
    before = picture(folder)
    session = demo(cwd=work, permissions="allow")
    turn = session.prompt(f"/sh {COMMAND}", timeout=LIMIT_S)
    after = picture(folder)
    [item] = items(session)
    [group] = item.also
    assert not item.files and group.command == COMMAND
    assert group.tool in [it.key for it in turn.tool_calls]
    actions = {os.path.relpath(it.path, work): (it.action, it.via) for it in group.files}
    assert actions == {
        "a.txt": ("modified", "command"),
        "bin": ("modified", "command"),
        "empty": ("deleted", "command"),
        "gone.txt": ("deleted", "command"),
        "link": ("link", "command"),
        "new/er/n.txt": ("created", "command"),
        "run.sh": ("mode", "command"),
        "y.py": ("moved", "command"),
    }
    assert {it.allowed_by for it in group.files} == {None}
    assert all(it.undoable for it in group.files) and not item.notes
    turn.revert()
    assert picture(folder) == after, "nothing says that the agent did it"
    turn.revert(command=COMMAND)
    assert [it.why for it in items(session)[0].also[0].files if it.why] == []
    assert picture(folder) == before
    turn.redo(command=command_of(turn))
    assert picture(folder) == after


def test_a_turn_without_changes_shows_nothing(demo: Demo, folder: Path) -> None:
    filled(folder)
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/sh echo a >> a.txt; printf 'one\\r\\ntwo\\nthree' > a.txt", timeout=LIMIT_S)
    assert not items(session)


def test_the_users_own_repository_is_untouched(demo: Demo, folder: Path) -> None:
    filled(folder)
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("data/\n*.log\n")
    (folder / "kept.log").write_text("tracked though ignored\n")
    git(folder, "add", "-A")
    git(folder, "add", "-f", "kept.log")
    git(folder, "commit", "-qm", "one")
    for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor"):
        file = folder / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\necho {hook} >> {folder}/../hooks-ran\nexit 1\n")
        os.chmod(file, 0o755)
    config = folder / ".git/config"
    config.write_text(config.read_text() + "[core]\n\tfsmonitor = .git/hooks/fsmonitor\n\tautocrlf = true\n")
    (folder / ".gitattributes").write_text("*.bin filter=lfs\n*.txt text eol=crlf ident\n")
    (folder / "x.bin").write_bytes(b"big\r\n")
    nested = folder / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "n.txt").write_text("n\n")
    (folder / "data/more").mkdir(parents=True)
    for number in range(200):
        (folder / f"data/more/{number}.csv").write_text("1\n")
    (folder / "a.txt").write_text("staged\n")
    git(folder, "-c", "core.fsmonitor=", "add", "a.txt")
    (folder / "a.txt").write_text("and dirty\n")
    hooks_ran = folder.parent / "hooks-ran"
    hooks_ran.unlink(missing_ok=True)

    def of_user() -> list[object]:
        files = {it: it.read_bytes() for it in (folder / ".git").rglob("*") if it.is_file()}
        return [files, git(folder, "-c", "core.fsmonitor=", "--no-optional-locks", "status", "--porcelain")]

    before, state = picture(folder), of_user()
    session = demo(cwd=folder, permissions="allow")
    command = "printf 'a\\r\\n' >> x.bin; echo b >> a.txt; echo c >> kept.log; echo d >> new.log; "
    command += "echo e >> data/more/7.csv; echo f >> nested/n.txt"
    turn = session.prompt(f"/sh {command}", timeout=LIMIT_S)
    assert {os.path.relpath(it.path, folder) for it in of_command(turn)} == {"a.txt", "x.bin", "kept.log"}
    assert all(it.undoable for it in turn.also_changed)
    assert turn.also_changed.notes == ("nested repositories are not covered: nested/",)
    turn.revert(command=command_of(turn))
    (folder / "data/more/7.csv").write_text("1\n")
    (nested / "n.txt").write_text("n\n")
    (folder / "new.log").unlink()
    assert picture(folder) == before
    assert of_user() == state
    assert not hooks_ran.exists()


def test_a_submodule_and_a_huge_ignored_folder(demo: Demo, folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.py").write_text("x = 1\n")
    git(library, "add", "-A")
    git(library, "commit", "-qm", "one")
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text("data/\n")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/lib")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    (folder / "vendor/lib/lib.py").write_text("the user's own\n")
    for number in range(100):
        (folder / f"data/{number}").mkdir(parents=True)
        for name in range(30):
            (folder / f"data/{number}/{name}").touch()
    with open(folder / "data/sparse", "wb") as file:
        file.truncate(5 * 2**30)

    def of_user() -> tuple[dict[Path, bytes], str]:
        files = {it: it.read_bytes() for it in (folder / ".git").rglob("*") if it.is_file()}
        return files, git(folder, "--no-optional-locks", "status", "--porcelain=v2")

    before = of_user()
    assert " S.M. " in before[1], "the submodule's state is in it"
    session = demo(cwd=folder, permissions="allow")
    command = "echo two > a.txt; echo more >> vendor/lib/lib.py; echo new > data/7/new"
    turn = session.prompt(f"/sh {command}", timeout=LIMIT_S)
    assert [(os.path.relpath(it.path, folder), it.undoable) for it in of_command(turn)] == [("a.txt", True)]
    assert turn.also_changed.notes == ("nested repositories are not covered: vendor/lib/",)
    turn.revert(command=command_of(turn))
    assert (folder / "a.txt").read_text() == "one\n"
    assert (folder / "vendor/lib/lib.py").read_text() == "the user's own\nmore\n"
    assert of_user() == before


@pytest.mark.parametrize("many", [False, True], ids=["one by one", "many"])
def test_a_pipe_where_a_file_was_hides_nothing_else(
    demo: Demo, folder: Path, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        monkeypatch.setattr("acp_notebook.agent.undo.scan.ONE_BY_ONE", 0)
    (folder / "f").write_text("f\n")
    (folder / "g").write_text("g\n")
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt("/sh rm f; mkfifo f; mkfifo new; echo more >> g", timeout=LIMIT_S)
    assert {Path(it.path).name: it.action for it in of_command(turn)} == {"f": "deleted", "g": "modified"}
    with pytest.raises(acp.Conflict, match="f is not a regular file"):
        turn.revert(command=command_of(turn))
    assert (folder / "g").read_text() == "g\n"
    (folder / "f").unlink()
    turn.revert(command=command_of(turn))
    assert (folder / "f").read_text() == "f\n"


@pytest.mark.parametrize("kind", ["no repository", "repository", "no git"])
def test_a_deleted_folder_is_restored(
    demo: Demo, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder)
    if kind == "repository":
        git(folder, "init", "-q")
    if kind == "no git":
        monkeypatch.setattr("acp_notebook.agent.undo.checkpoints.program", lambda: None)
    before = picture(folder)
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt(f"/sh rm -rf {folder}", timeout=LIMIT_S)
    assert not folder.exists()
    lost = [(Path(it.path).name, it.why) for it in of_command(turn) if not it.undoable]
    assert lost == ([(".git", "the repository itself is not covered")] if kind == "repository" else [])
    turn.revert(command=command_of(turn))
    assert picture(folder) == before
    turn.redo(command=command_of(turn))
    assert not [it for it in picture(folder).values() if it[0] != "folder"]


# ---- when ----------------------------------------------------------------------------------------


def test_a_second_undo_click_keeps_later_changes(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write a.txt new", timeout=LIMIT_S)
    act(session, "undo", "t1")
    (folder / "a.txt").write_text("mine\n")
    act(session, "undo", "t1")
    assert the_file(session).state == "undone" and (folder / "a.txt").read_text() == "mine\n"
    act(session, "redo", "t1")
    assert the_file(session).state == "conflict"


def test_nothing_is_undone_between_the_mark_and_the_prompt(
    demo: Demo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = demo(cwd=folder, permissions="allow")
    first = session.prompt("/edit a.txt a", timeout=LIMIT_S)
    reached, go_on = threading.Event(), threading.Event()
    ready = session._conversation.ready

    async def slow() -> None:
        reached.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        await ready()

    monkeypatch.setattr(session._conversation, "ready", slow)
    turn = session.start("/write b.txt b")
    assert reached.wait(LIMIT_S)
    with pytest.raises(acp.UsageError, match="about to"):
        first.revert()
    go_on.set()
    turn.wait(LIMIT_S)
    assert [Path(it.path).name for it in turn.changes] == ["b.txt"]
    first.revert()
    assert [it.name for it in folder.iterdir()] == ["b.txt"]


def test_a_slow_scan_after_a_turn_neither_delays_nor_misses_the_next(
    demo: Demo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("hello", timeout=LIMIT_S)
    go_on, real = threading.Event(), GitBackend.compare

    def slow(self: GitBackend, before: Checkpoint, after: Checkpoint) -> Iterator[PathChange]:
        assert go_on.wait(LIMIT_S)
        return real(self, before, after)

    monkeypatch.setattr(GitBackend, "compare", slow)
    timeouts.replace(changes_settle=0.05, changes_found=0.05)
    first = session.prompt("/sh echo a > a.txt", timeout=LIMIT_S)
    assert not first.also_changed and "still being determined" in " ".join(first.also_changed.notes)
    timeouts.replace(checkpoint_start=0.05)
    second = session.prompt("/write b.txt b", timeout=LIMIT_S)
    timeouts.replace(changes_found=LIMIT_S)
    go_on.set()
    assert [Path(it.path).name for it in second.changes] == ["b.txt"]
    assert "not ready in time" in " ".join(second.changes.notes)
    assert [Path(it.path).name for it in of_command(first)] == ["a.txt"]
    assert "the next turn began before" in " ".join(first.changes.notes)
    first.revert(command=command_of(first))
    assert [it.name for it in folder.iterdir()] == ["b.txt"]


def test_a_file_that_is_being_written_hides_nothing_else(
    demo: Demo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git fails if a file shrinks while it is being read."""
    real, log = FullScan.update, folder / "log"

    def update(self: FullScan, touched: list[str], *rest: Any) -> None:
        if "log" in touched:
            log.write_text(log.read_text() + "more\n")
            raise GitTrouble("git update-index failed: fatal: failed to read 16384 bytes from 'log'")
        real(self, touched, *rest)

    session = demo(cwd=folder, permissions="allow")
    session.prompt("hello", timeout=LIMIT_S)
    monkeypatch.setattr(FullScan, "update", update)
    turn = session.prompt("/sh echo a > log; echo b > b.txt", timeout=LIMIT_S)
    found = {Path(it.path).name: (it.undoable, it.why) for it in turn.also_changed}
    assert found["b.txt"] == (True, None) and "being written" in str(found["log"][1])
    turn.revert(command=command_of(turn))
    assert [it.name for it in folder.iterdir()] == ["log"]
    monkeypatch.setattr(FullScan, "update", real)
    session.prompt("hello", timeout=LIMIT_S)
    turn = session.prompt("/sh echo c >> log", timeout=LIMIT_S)
    assert [(Path(it.path).name, it.undoable) for it in of_command(turn)] == [("log", True)]


def test_a_stale_git_lock_is_not_a_problem(folder: Path, tmp_path: Path) -> None:
    shadow = GitBackend(str(folder), tmp_path / "state")
    try:
        before = shadow.mark()
        (folder / "a.txt").write_text("a\n")
        shadow._repository.lock_file.touch()
        [found] = shadow.compare(before, shadow.mark())
        assert found.path == str(folder / "a.txt")
    finally:
        shadow.close()


def test_a_hanging_git_is_ended_with_its_children(
    demo: Demo, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "pid"
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {pid_file}.new; mv {pid_file}.new {pid_file}\nwait\n")
    os.chmod(fake, 0o755)
    monkeypatch.setattr("acp_notebook.agent.undo.git.program", lambda: str(fake))
    session = demo(cwd=folder, permissions="allow")
    wait_until(pid_file.exists, "git was started", LIMIT_S)
    session.close()
    wait_until(lambda: not is_alive(int(pid_file.read_text())), "what it started is gone", LIMIT_S)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ---- as it is scripted --------------------------------------------------------------------------


def test_changes_are_a_table_with_diffs_and_undo(demo: Demo, folder: Path) -> None:
    file = folder / "a.txt"
    lines = [f"{number}\n" for number in range(40)]
    file.write_text("".join(lines))
    (folder / "b.txt").write_text("b\n")
    session = demo(cwd=folder, permissions="allow")
    assert repr(session.changes) == "<changes: none yet>"
    turn = session.prompt("/rework a.txt b.txt", timeout=LIMIT_S)
    other = session.prompt("/write c.txt text", timeout=LIMIT_S)
    assert [it.path for it in session.changes] == [str(folder / it) for it in ("a.txt", "b.txt", "c.txt")]
    assert [it.path for it in other.changes] == [str(folder / "c.txt")]
    assert len(session.changes.where(turn=turn)) == 2 and len(session.changes.where(path="c.txt")) == 1
    table = repr(session.changes)
    assert "a.txt" in table and "client" in table and "policy" in table and str(folder) not in table
    assert "<table>" in session.changes._repr_html_()
    change = turn.changes[0]
    assert isinstance(change.before, str) and isinstance(change.after, str)
    assert "-0\n+reworked 0\n" in change.diff and change.before.startswith("0\n")
    assert change.tool_call is not None and change.tool_call.kind == "edit"
    first, second = change.hunks
    lines.insert(20, "mine\n")
    file.write_text(file.read_text().replace("\n20\n", "\nmine\n20\n"))
    second.revert()
    assert (first.undone, second.undone, change.state) == (False, True, "partly")
    changed = ["reworked 0\n", *lines[1:]]
    assert file.read_text() == "".join(changed)
    first.revert()
    assert change.state == "undone" and file.read_text() == "".join(lines)
    first.redo()
    assert change.state == "partly" and file.read_text() == "".join(changed)
    session.changes.revert()
    assert sorted(it.name for it in folder.iterdir()) == ["a.txt", "b.txt"]
    assert file.read_text() == "".join(lines)
    turn.redo()
    assert (folder / "b.txt").read_text() == "reworked b\n" and not (folder / "c.txt").exists()


def test_many_files_of_all_kinds_are_undone_together(
    demo: Demo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_notebook.agent.undo.operations.AT_ONCE", 7)
    filled(folder)
    for number in range(40):
        (folder / f"d{number % 4}").mkdir(exist_ok=True)
        (folder / f"d{number % 4}/f{number}").write_text(f"{number}\n" * 5)
    before = picture(folder)
    session = demo(cwd=folder, permissions="allow")
    command = (
        "for it in d0/* d1/*; do echo more >> $it; done; rm -r d2; mv d3 sub/d3; mkdir d2; "
        "mv a.txt d2/a.txt; rm link; mkdir link; echo new > link/new; chmod 755 bin; "
        "for it in 1 2 3 4 5; do echo $it > n$it; done"
    )
    turn = session.prompt(f"/sh {command}", timeout=LIMIT_S)
    after = picture(folder)
    turn.revert(command=command_of(turn))
    assert picture(folder) == before
    turn.redo(command=command_of(turn))
    assert picture(folder) == after
    (folder / "d0/f0").write_text("mine\n")
    with pytest.raises(acp.Conflict, match="d0/f0"):
        turn.revert(command=command_of(turn))
    (folder / "d0/f0").write_text("0\n" * 5)
    assert picture(folder) == before


def test_a_conflict_is_raised_and_the_rest_is_undone(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt("/sh echo a > a.txt; echo b > b.txt", timeout=LIMIT_S)
    (folder / "a.txt").write_text("mine\n")
    with pytest.raises(acp.Conflict, match=r"a\.txt: it was changed since"):
        turn.revert(command=command_of(turn))
    assert [it.name for it in folder.iterdir()] == ["a.txt"]
    assert [it.state for it in turn.also_changed] == ["conflict", "undone"]
    assert [(it.kind, it.outcome) for it in session.audit][-2:] == [("undo", "failed"), ("undo", "done")]


def test_undo_works_after_the_agent_and_the_session_ended(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt("/sh echo a > a.txt", timeout=LIMIT_S)
    session.close()
    assert [it.after for it in turn.also_changed] == ["a\n"]
    turn.revert(command=command_of(turn))
    assert not any(folder.iterdir())


def test_changes_of_failed_and_cancelled_turns_are_known(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    turn = session.start("/sh echo a > a.txt; sleep 600")
    wait_until((folder / "a.txt").exists, "the command has begun", LIMIT_S)
    with pytest.raises(acp.UsageError, match="running"):
        session.changes.revert()
    turn.cancel()
    turn.wait(LIMIT_S)
    turn.revert(command=command_of(turn))
    assert not any(folder.iterdir())


def test_two_sessions_in_one_folder_are_distinguished_if_possible(demo: Demo, folder: Path) -> None:
    one, other = demo(cwd=folder, permissions="allow"), demo(cwd=folder, permissions="allow")
    turn = one.start("/sh echo a > a.txt; while [ ! -e done ]; do sleep 0.1; done")
    wait_until((folder / "a.txt").exists, "the command has begun", LIMIT_S)
    second = other.prompt("/sh touch done", timeout=LIMIT_S)
    turn.wait(LIMIT_S)
    for it in (turn, second):
        assert any("another session" in note for note in it.changes.notes)


def test_other_roots_are_covered_too(demo: Demo, folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "d.csv").write_text("1\n")
    session = demo(cwd=folder, roots=[data], permissions="allow")
    turn = session.prompt(f"/sh echo 2 >> {data}/d.csv", timeout=LIMIT_S)
    assert [it.path for it in of_command(turn)] == [str(data / "d.csv")]
    turn.revert(command=command_of(turn))
    assert (data / "d.csv").read_text() == "1\n"


def test_sessions_in_one_folder_each_have_their_own_changes(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    sessions = [session, *(session.agent.new_session() for _ in range(3))]
    turns = [
        it.prompt(f"/sh echo {number} > {number}.txt", timeout=LIMIT_S) for number, it in enumerate(sessions)
    ]
    found = [[Path(change.path).name for change in of_command(it)] for it in turns]
    assert found == [[f"{number}.txt"] for number in range(4)]
    assert not any(it.changes.notes for it in sessions)


def test_without_checkpoints_client_method_writes_can_be_undone(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow", undo=False)
    session.prompt("/sh echo a > a.txt", timeout=LIMIT_S)
    assert not items(session)
    session.prompt("/write b.txt text", timeout=LIMIT_S).revert()
    assert [it.name for it in folder.iterdir()] == ["a.txt"]


def test_a_late_checkpoint_is_skipped_and_reported(
    demo: Demo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    real = GitBackend.mark

    def slow(self: GitBackend) -> Checkpoint:
        assert go_on.wait(LIMIT_S)
        return real(self)

    monkeypatch.setattr(GitBackend, "mark", slow)
    timeouts.replace(checkpoint_start=0.05)
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt("/sh echo a > a.txt", timeout=LIMIT_S)
    go_on.set()
    assert not turn.changes and "not ready in time" in " ".join(turn.changes.notes)
    with pytest.raises(acp.Conflict, match="not ready in time"):
        turn.revert()
    timeouts.replace(checkpoint_start=LIMIT_S)
    turn = session.prompt("/sh echo b > b.txt", timeout=LIMIT_S)
    assert [it.path for it in of_command(turn)] == [str(folder / "b.txt")]


def test_the_demo_shows_all_of_it(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    made = session.prompt("/refactor", timeout=LIMIT_S)
    assert {(it.action, it.allowed_by, it.note) for it in made.changes} == {("created", "policy", None)}
    before = picture(folder)
    turn = session.prompt("/refactor", timeout=LIMIT_S)
    found = {Path(it.path).name: (it.action, it.via, it.allowed_by, len(it.hunks)) for it in turn.changes}
    assert found == {
        "report.py": ("modified", "client", "policy", 2),
        "chart.py": ("created", "client", "policy", 1),
        "old.txt": ("deleted", "agent", "policy", 1),
        "helper.py": ("moved", "agent", "policy", 0),
    }
    turn.revert()
    assert picture(folder) == before
    text = turn.to_text()
    assert "4 files changed" in text and "Moved: demo_project/lib/helper.py from" in text
    session.changes.revert()
    assert not any(folder.iterdir())


def test_a_closed_session_leaves_only_what_the_next_one_reuses(
    demo: Demo, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_STATE", str(tmp_path / "state"))
    filled(folder)
    for _ in range(2):
        session = demo(cwd=folder, permissions="allow")
        turn = session.prompt("/sh echo more >> a.txt", timeout=LIMIT_S)
        assert [Path(it.path).name for it in of_command(turn)] == ["a.txt"]
        session.close()
        [store] = (tmp_path / "state/checkpoints").iterdir()
        assert stat.S_IMODE(store.stat().st_mode) == 0o700
        assert sorted(it.name for it in store.iterdir()) == ["git", "index", "lock", "rights.json"]
    assert json.loads((store / "rights.json").read_text())["rights"] == {"gone.txt": 0o600}


def test_a_file_that_is_too_large_is_named_but_cannot_be_undone(
    demo: Demo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_notebook.agent.undo.scan.MOST_FILE", 1000)
    (folder / "big.csv").write_bytes(b"x" * 2000)
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt(
        "/sh echo more >> big.csv; head -c 5000 /dev/zero > new.bin; echo a > a", timeout=LIMIT_S
    )
    found = {Path(it.path).name: (it.undoable, it.why) for it in of_command(turn)}
    assert found["a"] == (True, None)
    assert all(not found[name][0] and "too large" in str(found[name][1]) for name in ("big.csv", "new.bin"))
    with pytest.raises(acp.Conflict, match="too large"):
        turn.also_changed.where(path="big.csv")[0].revert()
    turn.revert(command=command_of(turn))
    assert sorted(it.name for it in folder.iterdir()) == ["big.csv", "new.bin"]
