"""Undo touches only what the agent did; the user's and other programs' changes stay, to the byte."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.demo.scenes.changes import BEFORE, FOLDER
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.session.test_notebook_files import book, code
from tests.session.test_undo import command_of, picture
from tests.waiting import wait_until

EDITOR = Path(__file__).parents[1] / "agents/editor.py"
WAITS = "touch begun; while [ ! -e go ]; do sleep 0.05; done; rm begun go"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def during_command(session: acp.Session, folder: Path, command: str, act: Callable[[], object]) -> acp.Turn:
    """Run this command in a turn, and do something in the folder in the meantime."""
    turn = session.start(f"/sh {WAITS}; {command}")
    wait_until((folder / "begun").exists, "the command has begun", LIMIT_S)
    act()
    (folder / "go").touch()
    return turn.wait(LIMIT_S)


def names(changes: acp.ChangesTable) -> list[str]:
    return sorted(Path(it.path).name for it in changes)


def test_a_file_created_by_the_user_during_a_turn_is_not_deleted(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    turn = during_command(
        session, folder, "echo out > out.txt", lambda: (folder / "mine.txt").write_text("mine\n")
    )
    assert not turn.changes and not session.changes
    assert "2 other files changed during the turn, see turn.also_changed" in repr(turn.revert())
    session.changes.revert()
    assert (folder / "mine.txt").read_text() == "mine\n" and (folder / "out.txt").exists()
    # It changed while the command ran, so it is listed with it, and each file can be undone separately.
    assert names(turn.also_changed) == ["mine.txt", "out.txt"]
    turn.also_changed.where(path="out.txt").revert()
    assert (folder / "mine.txt").exists() and not (folder / "out.txt").exists()


def test_changes_without_a_command_have_no_bulk_action(demo: Demo, folder: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_text("old\n")

    def user(request: acp.PermissionRequest) -> str:
        (folder / "a.txt").write_text("mine\n")
        (folder / "b.txt").unlink()
        return "allow"

    session = demo(cwd=folder, permissions=user)
    turn = session.prompt("/rework c.txt", timeout=LIMIT_S)
    assert [(Path(it.path).name, it.allowed_by) for it in turn.changes] == [("c.txt", "policy")]
    assert {(Path(it.path).name, it.via, it.allowed_by) for it in turn.also_changed} == {
        ("a.txt", "unknown", None),
        ("b.txt", "unknown", None),
    }
    with pytest.raises(acp.UsageError, match="one by one"):
        turn.also_changed.revert()
    turn.revert()
    assert [(it.name, it.read_text()) for it in sorted(folder.iterdir())] == [
        ("a.txt", "mine\n"),
        ("c.txt", "old\n"),
    ]
    turn.also_changed.where(path="b.txt")[0].revert()
    assert (folder / "b.txt").read_text() == "old\n"


def test_changes_by_a_command_that_outlives_its_call_belong_to_it(demo: Demo, folder: Path) -> None:
    """A background command: later changes are not known to be its own."""
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt("/sh (sleep 0.2; echo late > late.txt) & echo now > now.txt", timeout=LIMIT_S)
    wait_until((folder / "late.txt").exists, "it has written", LIMIT_S)
    found = {Path(it.path).name: it.command for it in turn.also_changed}
    assert found["now.txt"] is not None and found.get("late.txt") in (None, found["now.txt"])
    assert not turn.changes


def test_old_dates_do_not_hide_a_commands_changes(demo: Demo, folder: Path) -> None:
    """`cp -p`, `mv` and `tar` keep the time of modification."""
    source = folder.parent / "source"
    source.mkdir()
    (source / "f").write_text("old\n")
    os.utime(source / "f", (1, 1))
    (folder / "dir").mkdir()
    (folder / "dir" / "in").write_text("text\n")
    time.sleep(0.05)  # its dates are older than the turn
    session = demo(cwd=folder, permissions="allow")
    turn = session.prompt(f"/sh cp -p {source}/f copied; mv dir moved", timeout=LIMIT_S)
    assert {(it.action, it.via) for it in turn.also_changed} == {("created", "command"), ("moved", "command")}
    turn.revert(command=command_of(turn))
    assert sorted(os.listdir(folder)) == ["dir"] and (folder / "dir/in").exists()


def test_undoing_our_write_keeps_changes_by_others(demo: Demo, folder: Path) -> None:
    lines = [f"{number}\n" for number in range(20)]
    file = folder / "a.txt"
    file.write_text("".join(lines))

    def user(request: acp.PermissionRequest) -> str:
        file.write_text(file.read_text().replace("10\n", "mine\n"))
        return "allow"

    session = demo(cwd=folder, permissions=user)
    turn = session.prompt("/edit other.txt x", timeout=LIMIT_S)
    turn = session.prompt("/rework a.txt", timeout=LIMIT_S)
    [change] = turn.changes
    assert len(change.hunks) == 2 and "mine" not in change.diff
    turn.revert()
    assert file.read_text() == "".join(lines).replace("10\n", "mine\n")


def test_an_allowed_edit_by_a_relative_path_says_who_allowed_it(folder: Path) -> None:
    """The agent writes directly, and names the file with a relative path."""
    (folder / "a.txt").write_text("old\n")
    with acp.connect([sys.executable, str(EDITOR)], cwd=folder, permissions="allow") as session:
        turn = session.prompt("a.txt new", timeout=LIMIT_S)
        assert (folder / "a.txt").read_text() == "new\n"
        [change] = turn.changes
        assert (change.via, change.allowed_by) == ("agent", "policy")
        turn.revert()
    assert (folder / "a.txt").read_text() == "old\n"


@pytest.mark.parametrize(("name", "listed"), [("fast-agent-acp", []), ("another", ["history.json"])])
def test_session_files_that_an_agent_keeps_are_left_alone(folder: Path, name: str, listed: list[str]) -> None:
    """Undoing these would lose the conversation. Those of an unknown agent are listed."""
    with acp.connect([sys.executable, str(EDITOR), name], cwd=folder, permissions="allow") as session:
        for number in (1, 2):
            turn = session.prompt(f"{number}.txt new", timeout=LIMIT_S)
            assert names(turn.changes) == [f"{number}.txt"] and names(turn.also_changed) == listed
            turn.revert()
            assert not (folder / f"{number}.txt").exists()
    assert len((folder / ".fast-agent/sessions/one/history.json").read_text().splitlines()) == 2


def test_a_rejected_edit_attributes_nothing_to_the_agent(demo: Demo, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("old\n")

    def user(request: acp.PermissionRequest) -> str:
        file.write_text("mine\n")
        return "reject"

    turn = demo(cwd=folder, permissions=user).prompt("/rework a.txt", timeout=LIMIT_S)
    assert not turn.changes and [it.allowed_by for it in turn.also_changed] == [None]
    turn.revert()
    assert file.read_text() == "mine\n"


def test_autosaves_of_three_notebooks_during_a_test_run(demo: Demo, folder: Path) -> None:
    out = {"output_type": "stream", "name": "stdout", "text": "out"}
    books = [folder / f"{name}.ipynb" for name in "abc"]
    for it in books:
        it.write_text(book(code("a", "one"), code("b", "two")))

    def user() -> None:
        for it in books:
            it.write_text(book(code("a", "one", out), code("b", "two", out)))

    session = demo(cwd=folder, permissions="allow")
    turn = during_command(session, folder, "echo ok > report.xml", user)
    saved = [it.read_bytes() for it in books]
    assert names(turn.also_changed) == ["report.xml"]
    turn.revert(command=command_of(turn))
    assert [it.read_bytes() for it in books] == saved and not (folder / "report.xml").exists()


# ---- whatever happens -----------------------------------------------------------------------------

others = st.sampled_from(
    ["mine.txt", "b.py", f"{FOLDER}/mine.py", f"{FOLDER}/lib/mine.py", f"{FOLDER}/old.txt~", "n.ipynb", "d/e"]
)
contents = st.sampled_from([b"", b"mine\n", b"\0\xff", BEFORE["helper.py"].encode(), b"x\n" * 40])
acts = st.one_of(
    st.tuples(st.just("write"), others, contents),
    st.tuples(st.just("delete"), others, st.just(b"")),
    st.tuples(st.just("move"), others, others.map(str.encode)),
    st.tuples(st.just("mode"), others, st.just(b"")),
)
Act = tuple[str, str, bytes]


def do(folder: Path, act: Act) -> None:
    """As far as possible: what is in its way stays."""
    kind, name, data = act
    path = folder / name
    with contextlib.suppress(OSError):
        if kind == "delete":
            path.unlink()
        elif kind == "mode":
            path.chmod(0o700)
        else:
            target = path if kind == "write" else folder / data.decode()
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target) if kind == "move" else path.write_bytes(data)


def of_others(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Every file that no tool call names."""
    named = {f"{FOLDER}/{it}" for it in (*BEFORE, "chart.py", "lib/helper.py")}
    found = picture(folder)
    return {
        path: it
        for path, it in found.items()
        if it[0] != "folder" and os.path.relpath(path, folder) not in named
    }


def test_a_revert_keeps_every_byte_that_others_wrote(demo: Demo, folder: Path) -> None:
    queue: list[list[Act]] = []

    def act_and_allow(request: acp.PermissionRequest) -> str:
        for act in queue.pop(0) if queue else ():
            do(folder, act)
        return "allow"

    session = demo(cwd=folder, permissions=act_and_allow)

    # The user deletes a file of the same content as one that the agent moves, or makes.
    @example(
        before=[("write", "b.py", BEFORE["helper.py"].encode())], during=[[], [], [("delete", "b.py", b"")]]
    )
    @example(before=[], during=[[("write", "mine.txt", b"mine\n")], [("move", "mine.txt", b"b.py")], []])
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        before=st.lists(acts, max_size=4),
        during=st.lists(st.lists(acts, max_size=4), min_size=3, max_size=3),
    )
    def holds(before: list[Act], during: list[list[Act]]) -> None:
        for it in folder.iterdir():
            shutil.rmtree(it) if it.is_dir() else it.unlink()
        (folder / FOLDER).mkdir()
        for name, text in BEFORE.items():
            (folder / FOLDER / name).write_text(text)
        for act in before:
            do(folder, act)
        queue[:] = during
        turn = session.prompt("/refactor", timeout=LIMIT_S)
        assert len(turn.changes) == 4
        left = of_others(folder)
        turn.revert()
        assert of_others(folder) == left
        assert {it: (folder / FOLDER / it).read_text() for it in BEFORE} == BEFORE
        assert not (folder / FOLDER / "chart.py").exists()

    holds()
