"""Agents that change files with their own tools, while others change files as well: undo loses nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.agent.files import file_state, text_writer
from acp_notebook.core.attribution import TICK_NS
from tests.session.helpers import LIMIT_S
from tests.waiting import wait_until

SCRIPTED = Path(__file__).parents[1] / "agents/scripted.py"
PAUSE = "pause"

Step = list[Any] | Callable[[], object]


class Scripted:
    """An agent that sends what a test tells it to; the test itself changes the files, for the agent, too."""

    def __init__(self, folder: Path) -> None:
        self._waiting: list[Callable[[], object]] = []
        command = [sys.executable, str(SCRIPTED)]
        self.session = acp.connect(command, cwd=folder, permissions=self._answer)

    def _answer(self, request: acp.PermissionRequest) -> str:
        if request.tool.title == PAUSE:
            self._waiting.pop(0)()
        return "allow"

    def turn(self, *steps: Step) -> acp.Turn:
        """Functions are called in between, while the agent waits."""
        script: list[Any] = []
        for number, step in enumerate(steps):
            if callable(step):
                self._waiting.append(step)
                script.append(["ask", {"toolCallId": f"{PAUSE}{number}", "title": PAUSE, "kind": "think"}])
            else:
                script.append(step)
        return self.session.prompt(json.dumps(script), timeout=LIMIT_S)


def call(kind: str, *, id: str = "c", **raw_input: str) -> list[Any]:
    begun = {"title": kind, "kind": kind, "status": "in_progress", "rawInput": raw_input}
    return ["update", {"sessionUpdate": "tool_call", "toolCallId": id, **begun}]


def done(id: str = "c") -> list[Any]:
    return ["update", {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"}]


def wrote(path: Path, text: str = "mine\n") -> Callable[[], object]:
    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


def names(changes: acp.ChangesTable) -> list[tuple[str, str]]:
    return sorted((it.action, Path(it.path).name) for it in changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in ("a.txt", "src/b.txt", "src/c.txt"):
        wrote(project / name, f"{name}\n")()
    return project


@pytest.fixture
def agent(folder: Path) -> Iterator[Scripted]:
    agent = Scripted(folder)
    yield agent
    agent.session.agent.close()


def test_a_file_moved_into_a_folder_leaves_the_others_in_it_alone(agent: Scripted, folder: Path) -> None:
    turn = agent.turn(
        call("move", source="a.txt", destination="src"),
        lambda: (folder / "a.txt").rename(folder / "src/a.txt"),
        wrote(folder / "src/mine.txt"),
        wrote(folder / "src/b.txt"),
        done(),
    )
    assert names(turn.changes) == [("moved", "a.txt")]
    assert names(turn.also_changed) == [("created", "mine.txt"), ("modified", "b.txt")]
    turn.revert()
    assert (folder / "a.txt").exists() and not (folder / "src/a.txt").exists()
    assert (folder / "src/mine.txt").read_text() == (folder / "src/b.txt").read_text() == "mine\n"


def test_new_files_in_a_deleted_or_moved_folder_stay(agent: Scripted, folder: Path) -> None:
    moved = agent.turn(
        call("move", source="src", destination="lib"),
        lambda: (folder / "src").rename(folder / "lib"),
        wrote(folder / "lib/mine.txt"),
        done(),
    )
    assert names(moved.changes) == [("moved", "b.txt"), ("moved", "c.txt")]
    moved.revert()
    assert os.listdir(folder / "lib") == ["mine.txt"] and (folder / "src/b.txt").exists()
    deleted = agent.turn(
        call("delete", path="src"),
        lambda: shutil.rmtree(folder / "src"),
        wrote(folder / "src/mine.txt"),
        done(),
    )
    assert names(deleted.changes) == [("deleted", "b.txt"), ("deleted", "c.txt")]
    deleted.revert()
    assert sorted(os.listdir(folder / "src")) == ["b.txt", "c.txt", "mine.txt"]


@pytest.mark.parametrize("whole", [".", "..", "/"])
def test_a_call_that_names_the_whole_folder_is_no_evidence(agent: Scripted, folder: Path, whole: str) -> None:
    turn = agent.turn(
        call("move", source="a.txt", destination=whole),
        wrote(folder / "mine.txt"),
        (folder / "src/b.txt").unlink,
    )
    assert not turn.changes and len(turn.also_changed) == 2
    turn.revert()
    assert (folder / "mine.txt").exists() and not (folder / "src/b.txt").exists()


def test_edits_by_others_after_a_write_through_the_client_stay(agent: Scripted, folder: Path) -> None:
    """The agent's own call names the file, but the write is not linked to it."""
    path = str(folder / "a.txt")
    wrote(folder / "a.txt", "one\ntwo\nthree\n")()
    turn = agent.turn(
        ["call", "fs/write_text_file", {"path": path, "content": "ONE\ntwo\nthree\n"}],
        wrote(folder / "a.txt", "ONE\ntwo\nmine\n"),
        call("edit", file_path=path),
        done(),
    )
    assert [it.via for it in turn.changes] == ["client"] and names(turn.also_changed) == [
        ("modified", "a.txt")
    ]
    turn.revert()
    assert (folder / "a.txt").read_text() == "one\ntwo\nmine\n"


def test_an_edit_right_after_a_write_through_the_client_stays(
    agent: Scripted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A formatter, say, which is faster than we are: the write ends with a sync of its folder."""
    path = folder / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    monkeypatch.setattr(text_writer, "_sync", lambda _: path.write_text("ONE\ntwo\nmine\n"))
    content = {"path": str(path), "content": "ONE\ntwo\nthree\n"}
    turn = agent.turn(["call", "fs/write_text_file", content])
    assert [it.after for it in turn.changes] == [content["content"]]
    assert names(turn.also_changed) == [("modified", "a.txt")]
    turn.revert()
    assert path.read_text() == "one\ntwo\nmine\n"


def test_a_name_is_not_followed_through_a_link_that_appeared_in_the_turn(
    agent: Scripted, folder: Path
) -> None:
    def swap() -> None:
        (folder / "a.txt").unlink()
        (folder / "a.txt").symlink_to("src/b.txt")
        (folder / "src").rename(folder / "real")
        (folder / "src").symlink_to("real")
        wrote(folder / "real/b.txt")()
        wrote(folder / "real/c.txt")()

    edits = [call("edit", id=it, path=it) for it in ("a.txt", "src/c.txt")]
    turn = agent.turn(*edits, swap, done("a.txt"), done("src/c.txt"))
    assert "real" not in {Path(it.path).parent.name for it in turn.changes}
    with contextlib.suppress(acp.Conflict):  # a link is where the folder was
        turn.revert()
    assert (folder / "real/b.txt").read_text() == (folder / "real/c.txt").read_text() == "mine\n"


@pytest.mark.parametrize("rules", ["", "*.log\n!.env\n", None])
@pytest.mark.parametrize("path", [".env", "data/deep/x"])
def test_a_file_that_was_ignored_before_is_not_deleted(
    agent: Scripted, folder: Path, rules: str | None, path: str
) -> None:
    """It looks new when the rules change, but it may be older, and nobody has its old content."""
    ignored = folder / path
    (folder / ".gitignore").write_text(".env\ndata/\n")
    wrote(ignored, "secret\n")()

    def edit() -> None:
        if rules is None:
            (folder / ".gitignore").unlink()
        else:
            (folder / ".gitignore").write_text(rules)
        ignored.write_text("new secret\n")
        (folder / "new.txt").write_text("new\n")

    edits = [call("edit", id=it, path=it) for it in (".gitignore", path, "new.txt")]
    turn = agent.turn(*edits, edit, *(done(it) for it in (".gitignore", path, "new.txt")))
    if found := [it for it in turn.changes if it.path == str(ignored)]:
        assert not found[0].undoable and "ignored it before" in str(found[0].why)
    turn.revert()
    assert ignored.read_text() == "new secret\n" and not (folder / "new.txt").exists()
    assert (folder / ".gitignore").read_text() == ".env\ndata/\n"


def test_the_files_of_a_nested_repository_are_not_deleted(agent: Scripted, folder: Path) -> None:
    """Without its .git they look new."""
    subprocess.run(["git", "init", "-q", folder / "src"], check=True)
    turn = agent.turn(
        call("execute", command="rm -r src/.git; touch new"),
        lambda: shutil.rmtree(folder / "src/.git"),
        (folder / "new").touch,
        done(),
    )
    assert {(Path(it.path).name, it.undoable) for it in turn.also_changed} == {
        *(("b.txt", False), ("c.txt", False)),
        ("new", True),
    }
    turn.revert(command="rm -r src/.git; touch new")
    assert sorted(os.listdir(folder / "src")) == ["b.txt", "c.txt"] and not (folder / "new").exists()


def test_a_move_that_cannot_be_undone_leaves_the_file(
    agent: Scripted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, say: the old file cannot be written, so the new one must stay."""
    turn = agent.turn(
        call("move", source="src/b.txt", destination="b.txt"),
        lambda: (folder / "src/b.txt").rename(folder / "b.txt"),
        done(),
    )

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patches:
        patches.setattr(file_state, "_new_file", full)
        with pytest.raises(acp.Conflict, match="No space left"):
            turn.revert()
    assert (folder / "b.txt").exists() and not (folder / "src/b.txt").exists()
    turn.revert()
    assert (folder / "src/b.txt").exists() and not (folder / "b.txt").exists()


def test_a_command_that_runs_twice_is_undone_once_or_twice(agent: Scripted, folder: Path) -> None:
    def later() -> None:
        began = time.time_ns()
        wait_until(lambda: time.time_ns() > began + 5 * TICK_NS, "the clock of the file system has moved")

    runs: list[Step] = []
    for name in ("first", "second"):
        runs += [call("execute", id=name, command="make"), (folder / name).touch, done(name), later]
    turn = agent.turn(*runs)
    first = next(it for it in turn.tool_calls if it.id == "first")
    turn.revert(command=first)
    assert not (folder / "first").exists() and (folder / "second").exists()
    turn.redo(command=first)
    turn.revert(command="make")
    assert not (folder / "first").exists() and not (folder / "second").exists()


# ---- whatever happens -----------------------------------------------------------------------------

paths = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "f/a"])
folders = st.sampled_from(["d", "d/e", "f"])
agents_acts = st.one_of(
    st.tuples(st.just("edit"), paths, st.just("")),
    st.tuples(st.just("delete"), paths | folders, st.just("")),
    st.tuples(st.just("move"), paths | folders, paths | folders),
)
users_acts = st.one_of(
    st.tuples(st.just("edit"), paths, st.just("")),
    st.tuples(st.just("delete"), paths, st.just("")),
    st.tuples(st.just("move"), paths, paths),
)
Act = tuple[str, str, str]


def files(folder: Path) -> dict[str, bytes]:
    return {str(it.relative_to(folder)): it.read_bytes() for it in folder.rglob("*") if it.is_file()}


def do(folder: Path, act: Act, text: str) -> set[str]:
    """As far as possible, like the shell; returns the files that changed."""
    kind, name, other = act
    path, target = folder / name, folder / other
    before = files(folder)
    with contextlib.suppress(OSError, shutil.Error):
        if kind == "edit":
            wrote(path, text)()
        elif kind == "delete":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        else:
            shutil.move(path, target)
    after = files(folder)
    return {it for it in {*before, *after} if before.get(it) != after.get(it)}


def test_a_revert_keeps_every_file_that_the_agent_did_not_change(agent: Scripted, folder: Path) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        present=st.sets(paths),
        acts=st.lists(st.tuples(st.booleans(), agents_acts, users_acts), min_size=1, max_size=5),
    )
    def holds(present: set[str], acts: list[tuple[bool, Act, Act]]) -> None:
        for it in folder.iterdir():
            shutil.rmtree(it) if it.is_dir() else it.unlink()
        for name in present:
            wrote(folder / name, f"{name}\n")()
        agents: set[str] = set()
        steps: list[Step] = []

        def noted(made: Callable[[], set[str]]) -> None:
            agents.update(made())

        for number, (by_agent, agents_act, users_act) in enumerate(acts):
            kind, name, other = agents_act
            if by_agent:
                id = str(number)
                agents |= {name} if kind == "edit" else set()
                named = {"source": name, "destination": other} if kind == "move" else {"path": name}
                made = partial(do, folder, agents_act, f"agent {number}\n")
                steps += [call(kind, id=id, **named), partial(noted, made), done(id)]
            else:
                steps.append(partial(do, folder, users_act, f"mine {number}\n"))
        turn = agent.turn(*steps)
        left = {path: it for path, it in files(folder).items() if path not in agents}
        if turn.changes:
            with contextlib.suppress(acp.Conflict):
                turn.revert()
        now = files(folder)
        assert {path: now.get(path) for path in left} == left

    holds()
