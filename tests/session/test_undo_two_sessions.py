"""Two agents that work in one folder at the same time are told apart, and undoing one leaves the other's."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import acp_notebook as acp
from tests.session.helpers import LIMIT_S
from tests.waiting import wait_until

SCRIPTED = Path(__file__).parents[1] / "agents/scripted.py"
WORDS = ["red", "green", "blue", "white", "black", "brown", "pink", "grey"]

Steps = list[list[Any]]


class Pair:
    """Sessions of two agents, kimi and goose, in one folder, whose turns do what a test says when it says."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "project"
        self._signs = base / "signs"
        self._programs = base / "bin"
        for it in (self.folder, self._signs, self._programs):
            it.mkdir()
        self.kimi, self.goose = self._open("kimi"), self._open("goose")
        self._ids = 0

    def _open(self, name: str) -> acp.Session:
        program = self._programs / name
        program.symlink_to(sys.executable)
        return acp.connect([str(program), str(SCRIPTED)], cwd=self.folder, permissions="allow")

    def close(self) -> None:
        for it in (self.kimi, self.goose):
            it.agent.close()

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    # ---- what an agent does

    def by_client(self, name: str, text: str) -> Steps:
        return [["call", "fs/write_text_file", {"path": self.path(name), "content": text}]]

    def by_itself(self, name: str, text: str | None) -> Steps:
        return self._call("edit", {"file_path": self.path(name)}, ["write", self.path(name), text])

    def by_command(self, line: str) -> Steps:
        return self._call("execute", {"command": line}, ["run", line])

    def _call(self, kind: str, given: dict[str, str], step: list[Any]) -> Steps:
        self._ids += 1
        call = {"toolCallId": f"c{self._ids}", "title": kind, "kind": kind, "rawInput": given}
        done = {"sessionUpdate": "tool_call_update", "toolCallId": f"c{self._ids}", "status": "completed"}
        began = {"sessionUpdate": "tool_call", "status": "in_progress", **call}
        return [["update", began], step, ["update", done]]

    # ---- when

    def wait(self, sign: str) -> Steps:
        """The agent waits until this was given."""
        return [["await", str(self._signs / sign)]]

    def give(self, sign: str) -> Steps:
        return [["write", str(self._signs / sign), ""]]

    def given(self, sign: str) -> None:
        wait_until((self._signs / sign).exists, sign, LIMIT_S)

    def go(self, sign: str) -> None:
        (self._signs / sign).touch()

    def start(self, session: acp.Session, *steps: Steps) -> acp.Turn:
        return session.start(json.dumps([it for part in steps for it in part]))

    def prompt(self, session: acp.Session, *steps: Steps) -> acp.Turn:
        return self.start(session, *steps).wait(LIMIT_S)

    def together(self, *actions: tuple[str, Steps], whole: bool = True) -> tuple[acp.Turn, acp.Turn]:
        """Both have a turn, in which their actions follow each other in this order.

        `whole`: both turns last for all actions; else each from its first action to its last.
        """
        sessions, turns = {"kimi": self.kimi, "goose": self.goose}, {}
        own = {name: [at for at, (who, _) in enumerate(actions) if who == name] for name in sessions}
        for name, numbers in own.items():
            if whole or not numbers:
                turns[name] = self._begin(name, sessions[name], actions, numbers, whole=whole)
        for at, (name, _) in enumerate(actions):
            if name not in turns:
                turns[name] = self._begin(name, sessions[name], actions, own[name], whole=False)
            self.go(f"{at}")
            self.given(f"{at} done")
            if not whole and at == own[name][-1]:
                turns[name].wait(LIMIT_S)
        self.go("over")
        return turns["kimi"].wait(LIMIT_S), turns["goose"].wait(LIMIT_S)

    def _begin(
        self,
        name: str,
        session: acp.Session,
        actions: Sequence[tuple[str, Steps]],
        numbers: Sequence[int],
        *,
        whole: bool,
    ) -> acp.Turn:
        done = [[*self.wait(f"{at}"), *actions[at][1], *self.give(f"{at} done")] for at in numbers]
        turn = self.start(session, self.give(f"{name} began"), *done, self.wait("over") if whole else [])
        self.given(f"{name} began")
        return turn


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


def names(changes: acp.ChangesTable) -> list[str]:
    return sorted(os.path.basename(it.path) for it in changes)


def test_files_that_each_writes_through_the_client_are_its_own(pair: Pair) -> None:
    kimi, goose = pair.together(
        ("kimi", pair.by_client("k.txt", "k\n")), ("goose", pair.by_client("g.txt", "g\n"))
    )
    assert (names(kimi.changes), names(goose.changes)) == (["k.txt"], ["g.txt"])
    assert [(it.via, it.by) for it in kimi.also_changed] == [("other", "goose")]
    kimi.revert()
    assert os.listdir(pair.folder) == ["g.txt"]
    kimi.redo()
    goose.revert()
    assert os.listdir(pair.folder) == ["k.txt"]


def test_files_that_each_writes_by_itself_are_its_own(pair: Pair) -> None:
    kimi, goose = pair.together(
        ("goose", pair.by_itself("g.txt", "g\n")), ("kimi", pair.by_itself("k.txt", "k\n"))
    )
    assert (names(kimi.changes), names(goose.changes)) == (["k.txt"], ["g.txt"])
    for turn, agent in ((kimi, "goose"), (goose, "kimi")):
        [change] = turn.also_changed
        assert (change.by, change.undoable) == (agent, False)
        assert change.why == f"{agent} changed it in another session: undo it there"
        with pytest.raises(acp.Conflict, match="undo it there"):
            change.revert()
    goose.revert()
    assert os.listdir(pair.folder) == ["k.txt"]


def test_what_a_command_of_one_writes_is_no_change_of_the_other(pair: Pair) -> None:
    kimi, goose = pair.together(
        ("goose", pair.by_command("echo 1 > one; echo 2 > two")), ("kimi", pair.by_itself("k", "k"))
    )
    assert names(goose.also_changed.where(command="echo 1 > one; echo 2 > two")) == ["one", "two"]
    assert [it.by for it in kimi.also_changed] == ["goose", "goose"]
    kimi.revert()
    assert sorted(os.listdir(pair.folder)) == ["one", "two"]


def test_a_file_that_one_writes_while_a_command_of_the_other_runs_is_not_the_commands(pair: Pair) -> None:
    waits = f"while [ ! -e {pair._signs}/written ]; do sleep 0.01; done"
    line = f"touch {pair._signs}/running; echo 1 > out; {waits}"
    kimi = pair.start(pair.kimi, pair.by_command(line))
    pair.given("running")
    goose = pair.prompt(pair.goose, pair.by_client("a.txt", "a\n"), pair.by_itself("b.txt", "b\n"))
    pair.go("written")
    kimi.wait(LIMIT_S)
    assert names(goose.changes) == ["a.txt", "b.txt"]
    assert {(os.path.basename(it.path), it.via) for it in kimi.also_changed} == {
        ("out", "command"),
        ("a.txt", "other"),
        ("b.txt", "other"),
    }
    kimi.revert(command=line)
    assert sorted(os.listdir(pair.folder)) == ["a.txt", "b.txt"]


def test_what_changes_while_both_run_commands_belongs_to_neither(pair: Pair) -> None:
    """The commands do not name it, so that nobody can say which wrote it: no bulk undo contains it."""
    lines = {
        it: f"touch {pair._signs}/{it}; while [ ! -e {pair._signs}/over ]; do sleep 0.01; done; : {it}"
        for it in ("kimi", "goose")
    }
    turns = [
        pair.start(session, pair.by_command(lines[name]))
        for name, session in (("kimi", pair.kimi), ("goose", pair.goose))
    ]
    pair.given("kimi")
    pair.given("goose")
    (pair.folder / "somebodys").write_text("x\n")
    pair.go("over")
    for turn in turns:
        turn.wait(LIMIT_S)
        [change] = turn.also_changed
        assert change.via == "unknown" and "may have changed it in another session" in (change.note or "")
        assert any("another session" in it for it in turn.also_changed.notes)


def test_a_file_that_both_write_through_the_client_is_merged(pair: Pair) -> None:
    (pair.folder / "f").write_text("\n".join(WORDS))
    texts = [
        "\n".join([it.upper() if it in changed else it for it in WORDS])
        for changed in (["red"], ["red", "grey"])
    ]
    kimi, goose = pair.together(
        ("kimi", pair.by_client("f", texts[0])), ("goose", pair.by_client("f", texts[1]))
    )
    assert names(kimi.changes) == names(goose.changes) == ["f"]
    kimi.revert()
    assert pair.text("f").split() == [*WORDS[:-1], "GREY"]
    goose.revert()
    assert pair.text("f").split() == WORDS


def test_a_write_through_the_client_is_cut_out_of_what_the_other_wrote_by_itself(pair: Pair) -> None:
    (pair.folder / "f").write_text("\n".join(WORDS))
    texts = [
        "\n".join([it.upper() if it in changed else it for it in WORDS])
        for changed in (["red"], ["red", "grey"], ["red", "grey", "white"])
    ]
    kimi, goose = pair.together(
        ("kimi", pair.by_itself("f", texts[0])),
        ("goose", pair.by_client("f", texts[1])),
        ("kimi", pair.by_itself("f", texts[2])),
    )
    assert {it.note for it in kimi.changes} == {"goose changed this file, too"}
    kimi.revert()
    assert pair.text("f").split() == [*WORDS[:-1], "GREY"]
    kimi.redo()
    goose.revert()
    assert pair.text("f").split() == ["RED", "green", "blue", "WHITE", *WORDS[4:]]


def test_a_file_that_both_wrote_by_themselves_is_undone_by_neither(pair: Pair) -> None:
    (pair.folder / "f").write_text("old\n")
    kimi, goose = pair.together(
        ("kimi", pair.by_itself("f", "k\n")), ("goose", pair.by_itself("f", "k\ng\n"))
    )
    for turn, agent in ((kimi, "goose"), (goose, "kimi")):
        [change] = turn.changes
        assert change.why == f"{agent} changed it at the same time: which part is whose is not known"
        turn.revert()
    assert pair.text("f") == "k\ng\n"


@pytest.mark.parametrize("own", [False, True])
def test_a_turn_within_a_turn_is_undone_alone(pair: Pair, own: bool) -> None:
    """One agent asks another, which changes the same files and its own."""
    write = pair.by_itself if own else pair.by_client
    (pair.folder / "f").write_text("\n".join(WORDS))
    texts = [
        "\n".join([it.upper() if it in changed else it for it in WORDS])
        for changed in (["red"], ["red", "grey"], ["red", "grey", "white"])
    ]
    kimi = pair.start(
        pair.kimi,
        [*write("f", texts[0]), *write("mine", "1\n")],
        [*pair.give("asks"), *pair.wait("answered")],
        write("f", texts[2]),
    )
    pair.given("asks")
    goose = pair.prompt(
        pair.goose, [*write("f", texts[1]), *write("theirs", "2\n")], pair.by_command("echo 3 > made")
    )
    pair.go("answered")
    kimi.wait(LIMIT_S)
    assert sorted(set(names(kimi.changes))) == ["f", "mine"] and names(goose.changes) == ["f", "theirs"]
    assert sorted(names(kimi.also_changed)) == ["made", "theirs"]
    kimi.revert()
    assert pair.text("f").split() == [*WORDS[:-1], "GREY"]
    assert sorted(os.listdir(pair.folder)) == ["f", "made", "theirs"]
    kimi.redo()
    goose.revert()
    assert pair.text("f").split() == ["RED", "green", "blue", "WHITE", *WORDS[4:]]
    assert sorted(os.listdir(pair.folder)) == ["f", "made", "mine"]


def test_undoing_a_turn_while_another_runs_is_no_change_of_that_one(pair: Pair) -> None:
    (pair.folder / "f").write_text("\n".join(WORDS))
    first = pair.prompt(pair.goose, pair.by_itself("f", "\n".join([*WORDS[:-1], "GREY"])))
    kimi = pair.start(
        pair.kimi,
        [*pair.give("began"), *pair.wait("undone")],
        pair.by_itself("f", "\n".join(["RED", *WORDS[1:]])),
    )
    pair.given("began")
    first.revert()
    pair.go("undone")
    kimi.wait(LIMIT_S)
    kimi.revert()
    assert pair.text("f").split() == WORDS


def test_a_session_in_another_folder_is_not_concerned(pair: Pair, tmp_path: Path) -> None:
    kimi = pair.start(pair.kimi, pair.give("began"), pair.wait("done"))
    pair.given("began")
    away = tmp_path / "away"
    away.mkdir()
    with acp.connect("demo", cwd=away, permissions="allow") as elsewhere:
        elsewhere.prompt("/write a.txt hello", timeout=LIMIT_S)
    pair.go("done")
    kimi.wait(LIMIT_S)
    assert not kimi.also_changed and not kimi.changes.notes


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["kimi", "goose"]), st.sampled_from(["client", "itself"]), st.sampled_from(range(8))
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda it: it[2],
)


@pytest.mark.parametrize("reverted", ["kimi", "goose"])
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(actions=ACTIONS, one_file=st.booleans(), whole=st.booleans())
@example(
    actions=[("goose", "client", 3), ("kimi", "itself", 1), ("goose", "itself", 4)], one_file=True, whole=True
)
@example(
    actions=[("kimi", "client", 3), ("goose", "itself", 1), ("kimi", "itself", 4)], one_file=True, whole=True
)
def test_undoing_one_leaves_every_byte_of_the_other(
    tmp_path_factory: pytest.TempPathFactory,
    reverted: str,
    actions: list[tuple[str, str, int]],
    one_file: bool,
    whole: bool,
) -> None:
    pair = Pair(tmp_path_factory.mktemp("pair"))
    try:
        words = list(WORDS)
        (pair.folder / "f").write_text("\n".join(words))
        plan: list[tuple[str, Steps]] = []
        for name, how, at in actions:
            words[at] = f"{words[at]} by {name}"
            file, text = ("f", "\n".join(words)) if one_file else (f"{at}.txt", f"{name}\n")
            write = pair.by_client if how == "client" else pair.by_itself
            plan.append((name, write(file, text)))
        turns = dict(zip(("kimi", "goose"), pair.together(*plan, whole=whole), strict=True))
        with contextlib.suppress(acp.Conflict):  # then nothing of that file was undone
            if turns[reverted].changes:
                turns[reverted].revert()
        for name, _, at in actions:
            if name != reverted:
                assert f"by {name}" in pair.text("f") if one_file else pair.text(f"{at}.txt") == f"{name}\n"
                assert not one_file or f"{WORDS[at]} by {name}" in pair.text("f")
    finally:
        pair.close()
