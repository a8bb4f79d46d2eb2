"""Who changed a file is decided by evidence: examples of each rule, and what holds for any evidence."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.attribution import (
    REPORT_NS,
    TICK_NS,
    UNKNOWN,
    UNLISTED,
    Call,
    Difference,
    Other,
    Verdict,
    allowed_by,
    attribute,
    calls_of,
    command_line,
)
from acp_notebook.core.records import Diff, Location, Option, Terminal
from acp_notebook.core.snapshot import Question, TerminalRun, ToolCall

S = 1_000_000_000
EDIT = Call("edit", named=frozenset({"/w/a.py"}), began=10 * S, ended=11 * S)
BLACK = Call("black", command="black .", words=("/w/black", "/w"), began=20 * S, ended=30 * S)
SERVER = Call("server", command="npm start", began=25 * S)
CLEAN = Call(
    "clean",
    command="rm -rf build *.log",
    words=("/w/build", "/w/*.log", "/w"),
    root="/w",
    began=40 * S,
    ended=41 * S,
)


def who(change: Difference, *calls: Call, own_state: tuple[str, ...] = ()) -> Verdict:
    [verdict] = attribute([change], calls, own_state)
    return verdict


def test_files_that_a_call_names_are_the_agents() -> None:
    assert who(Difference("/w/a.py", changed_at=10 * S), EDIT, BLACK) == Verdict("agent", "edit")
    assert who(Difference("/w/a.py", deleted=True, gone="/w/a.py"), EDIT) == Verdict("agent", "edit")
    assert who(Difference("/w/b.py", changed_at=10 * S), EDIT) == UNKNOWN


def test_files_changed_before_the_call_started_are_not_the_agents() -> None:
    """The user saved it; then the agent should have edited it, but did not."""
    assert who(Difference("/w/a.py", changed_at=EDIT.began - 2 * REPORT_NS), EDIT) == UNKNOWN  # type: ignore[operator]
    assert who(Difference("/w/a.py", changed_at=EDIT.began - REPORT_NS // 2), EDIT).who == "agent"  # type: ignore[operator]


def test_writes_by_client_methods_are_accounted_for() -> None:
    """A formatter or the user changed the file, too. A call that deletes it is stronger evidence."""
    change = Difference("/w/a.py", changed_at=10 * S, written=True)
    assert who(change, EDIT) == UNKNOWN
    gone = Difference("/w/a.py", deleted=True, gone="/w/a.py", written=True)
    delete = Call("delete", removes=frozenset({"/w/a.py"}), began=12 * S)
    assert who(gone, EDIT) == UNKNOWN and who(gone, EDIT, delete) == Verdict("agent", "delete")


def test_deleted_and_moved_folders_contain_only_what_went_with_them() -> None:
    """Others create and edit files in the same folders."""
    clean = Call("clean", removes=frozenset({"/w/build", "/w/x"}))
    assert who(Difference("/w/build/o", deleted=True, gone="/w/build/o"), clean).who == "agent"
    assert who(Difference("/w/build/mine", changed_at=10 * S), clean) == UNKNOWN
    assert who(Difference("/w/x", changed_at=10 * S), clean) == UNKNOWN, "somebody wrote it again"

    def moved(source: str, target: str, gone: str, *new: str) -> list[str]:
        call = Call("move", removes=frozenset({source, target}), moves=True)
        found = [Difference(gone, deleted=True, gone=gone), *(Difference(it, changed_at=S) for it in new)]
        verdicts = attribute(found, [call])
        assert verdicts[0].who == "agent"
        return [it.path for it, verdict in zip(found, verdicts, strict=True) if verdict.who == "agent"][1:]

    assert moved("/w/a", "/w/b", "/w/a", "/w/b", "/w/mine") == ["/w/b"]
    assert moved("/w/a", "/w/b", "/w/b", "/w/a") == ["/w/a"]
    assert moved("/w/a", "/w/d", "/w/a", "/w/d/a", "/w/d/mine") == ["/w/d/a"]
    assert moved("/w/c", "/w/d", "/w/c/x/a", "/w/d/x/a", "/w/d/x/mine", "/w/c/mine") == ["/w/d/x/a"]
    assert moved("/w/c", "/w/d", "/w/c/a", "/w/d/c/a", "/w/d/c/mine") == ["/w/d/c/a"]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (19 * S, UNKNOWN),
        (20 * S - TICK_NS, Verdict("command", "black")),
        (24 * S, Verdict("command", "black")),
        (30 * S + 1, Verdict("command", "server")),  # it is still running
        (None, UNKNOWN),
    ],
)
def test_files_changed_while_a_command_ran_belong_to_it(at: int | None, expected: Verdict) -> None:
    assert who(Difference("/w/b.py", changed_at=at), BLACK, SERVER) == expected


def test_of_two_commands_the_one_that_names_the_file_counts() -> None:
    lint = Call("lint", command="ruff --fix b.py", words=("/w/ruff", "/w/b.py"), began=20 * S, ended=30 * S)
    assert who(Difference("/w/b.py", changed_at=26 * S), lint, SERVER) == Verdict("command", "lint")
    assert who(Difference("/w/c.py", changed_at=26 * S), lint, SERVER) == Verdict("command", "server")


def test_a_deleted_file_belongs_to_a_command_that_names_it() -> None:
    """Nothing says when it was deleted, only that its folder has not changed since."""

    def deleted(path: str, gone: str | None = None, at: int = 40 * S) -> Verdict:
        return who(Difference(path, deleted=True, changed_at=at, gone=gone or path), CLEAN)

    assert deleted("/w/build/x/o.js", gone="/w/build") == Verdict("command", "clean")
    assert deleted("/w/a.log") == Verdict("command", "clean")
    assert deleted("/w/sub/a.log") == UNKNOWN, "a wildcard does not reach into folders"
    assert deleted("/w/build/o.js") == Verdict("command", "clean"), "its folder was changed just then"
    assert deleted("/w/build/o.js", at=50 * S) == UNKNOWN, "the folder that it names was changed later"
    assert deleted("/w/mine.txt") == UNKNOWN
    assert deleted("/w/a.log", at=39 * S) == UNKNOWN


def test_jupyters_saves_and_the_agents_own_sessions_are_not_listed() -> None:
    saved = Difference("/w/n.ipynb", changed_at=25 * S, saved=True)
    assert who(saved, BLACK) == UNLISTED
    convert = Call("nb", command="jupyter nbconvert --inplace n.ipynb", words=("/w/n.ipynb",), began=20 * S)
    assert who(saved, convert) == Verdict("command", "nb")
    assert who(saved, Call("edit", named=frozenset({"/w/n.ipynb"}))) == Verdict("agent", "edit")
    state = Difference("/w/.fast-agent/sessions/1.json", changed_at=25 * S)
    assert who(state, BLACK, own_state=("/w/.fast-agent/sessions",)) == UNLISTED
    assert who(Difference("/w/.fast-agent/config"), own_state=("/w/.fast-agent/sessions",)) == UNKNOWN


@pytest.mark.parametrize(
    ("change", "own", "others", "expected"),
    [
        (Difference("/w/a.py", changed_at=10 * S), (), (EDIT,), Verdict("other", other="kimi")),
        (Difference("/w/a.py", changed_at=10 * S), (EDIT,), (EDIT,), Verdict("agent", "edit", "kimi")),
        (Difference("/w/a.py", changed_at=21 * S), (BLACK,), (EDIT,), Verdict("other", other="kimi")),
        (Difference("/w/b.py", changed_at=21 * S), (), (BLACK,), Verdict("other", other="kimi")),
        (Difference("/w/b.py", changed_at=26 * S), (SERVER,), (BLACK,), Verdict("unknown", other="kimi")),
        (Difference("/w/b.py", changed_at=35 * S), (SERVER,), (BLACK,), Verdict("command", "server")),
        (Difference("/w/b.py", changed_at=5 * S), (), (BLACK,), UNKNOWN),
        (
            Difference("/w/x.log", True, 40 * S, "/w/x.log"),
            (SERVER,),
            (CLEAN,),
            Verdict("other", other="kimi"),
        ),
        (
            Difference("/w/x.log", True, 40 * S, "/w/x.log"),
            (CLEAN,),
            (CLEAN,),
            Verdict("unknown", other="kimi"),
        ),
        (Difference("/w/black", changed_at=21 * S), (BLACK,), (SERVER,), Verdict("command", "black")),
    ],
)
def test_another_session_that_worked_at_the_same_time_counts(
    change: Difference, own: tuple[Call, ...], others: tuple[Call, ...], expected: Verdict
) -> None:
    assert attribute([change], own, (), [Other("kimi", others)]) == [expected]


def test_a_replay_uses_the_recorded_attribution() -> None:
    assert who(Difference("/w/b.py", during="black"), BLACK) == Verdict("command", "black")
    assert who(Difference("/w/a.py", during="black"), EDIT, BLACK) == Verdict("agent", "edit")


paths = st.sampled_from([f"/w/{it}" for it in ("a", "b", "d/a", "d/b", "n.ipynb", ".state/x")])
times = st.one_of(st.none(), st.integers(0, 60 * S))
calls = st.builds(
    Call,
    key=st.sampled_from(["k1", "k2", "k3"]),
    named=st.frozensets(paths, max_size=2),
    command=st.sampled_from([None, "make"]),
    words=st.lists(paths, max_size=2).map(tuple),
    began=times,
    ended=times,
)
differences = st.builds(
    Difference,
    path=paths,
    deleted=st.booleans(),
    changed_at=times,
    saved=st.booleans(),
)


@given(st.lists(differences), st.lists(calls, max_size=4))
def test_attribution_requires_evidence(found: list[Difference], made: list[Call]) -> None:
    verdicts = attribute(found, made, ("/w/.state",))
    assert len(verdicts) == len(found)
    for change, verdict in zip(found, verdicts, strict=True):
        call = [it for it in made if it.key == verdict.call]
        match verdict.who:
            case "agent":
                assert any(change.path in it.named for it in call)
            case "command":
                ran = [
                    it for it in call if it.command and it.began is not None and change.changed_at is not None
                ]
                assert any(it.began - TICK_NS <= change.changed_at for it in ran)  # type: ignore[operator]
            case "unlisted":
                assert change.saved or change.path.startswith("/w/.state/")
            case "unknown":
                assert verdict.call is None


@given(st.lists(differences), st.lists(calls, max_size=4), st.lists(calls, max_size=4).map(tuple))
def test_another_session_never_adds_to_what_is_the_agents(
    found: list[Difference], made: list[Call], theirs: tuple[Call, ...]
) -> None:
    alone = attribute(found, made)
    shared = attribute(found, made, (), [Other("kimi", theirs)])
    for one, both in zip(alone, shared, strict=True):
        if both.who in ("agent", "command", "unlisted"):
            assert (one.who, one.call) == (both.who, both.call)


# ---- evidence from the transcript -----------------------------------------------------------------

ALLOW = (Option("yes", "Allow", "allow_once"), Option("no", "Reject", "reject_once"))


def tool(id: str, kind: str = "edit", **more: object) -> ToolCall:
    return ToolCall(f"k-{id}", "t", id, more.pop("title", id), kind, more.pop("status", "completed"), **more)  # type: ignore[arg-type]


def asked(id: str, answer: str | None) -> Question:
    return Question("q", "t", "q1", f"k-{id}", ALLOW, "answered", answer, "user")


def evidence(
    *items: object, spans: dict[str, tuple[int | None, int | None]] | None = None
) -> dict[str, Call]:
    found = calls_of(items, lambda it: os.path.normpath(os.path.join("/w", it)), spans or {}, "/w")
    return {it.key: it for it in found}


def test_calls_name_files_in_diffs_locations_and_raw_input() -> None:
    found = evidence(
        tool("a", content=(Diff("a.py", "new"),), locations=(Location("/w/sub/../b.py"),)),
        tool("b", "other", raw_input={"file_path": "c.py", "content": "/w/no.py"}),
        tool("c", "edit", raw_input={"changes": {"d.py": {}}}),
        tool("r", "read", locations=(Location("/w/read.py"),)),
        tool("f", "edit", status="failed", locations=(Location("/w/failed.py"),)),
        tool("d", "delete", locations=(Location("sub"),)),
    )
    assert found["k-a"].named == {"/w/a.py", "/w/b.py"}
    assert found["k-b"].named == {"/w/c.py"} and found["k-c"].named == {"/w/d.py"}
    assert "k-r" not in found and not found["k-f"].named
    assert found["k-d"].removes == {"/w/sub"} and not found["k-d"].named
    for whole in (".", "..", "/", "/w"):
        call = evidence(tool("m", "move", raw_input={"source": "a", "destination": whole}))["k-m"]
        assert call.moves and call.removes == {"/w/a"}, (
            "the session's folder, or one above it, is no evidence"
        )


def test_a_rejected_call_is_not_evidence() -> None:
    edit = tool("a", locations=(Location("/w/a.py"),))
    assert evidence(edit, asked("a", "yes"))["k-a"].named
    assert "k-a" not in evidence(edit, asked("a", "no")) and "k-a" not in evidence(edit, asked("a", None))
    assert allowed_by(edit, [asked("a", "yes")]) == "user"
    assert allowed_by(edit, [asked("a", "no")]) is None and allowed_by(edit, []) is None


def test_commands_have_their_line_their_words_and_their_time() -> None:
    run = TerminalRun("k-term", "t", "term", "/bin/sh -c 'rm -r out; touch x'")
    own = tool("a", "execute", title="`something`", content=(Terminal("term"),))
    card = tool("b", "execute", raw_input={"command": "rm -r out; touch x"}, content=(Terminal("term"),))
    spans: dict[str, tuple[int | None, int | None]] = {"a": (1, 9), "b": (5, 8), "term": (6, 20)}
    found = evidence(own, card, run, spans=spans)
    assert list(found) == ["k-a"], "the agent's call, and ours that asked about it, are one command"
    call = found["k-a"]
    assert (call.command, call.began, call.ended) == ("rm -r out; touch x", 5, 20)
    assert {"/w/out", "/w/x"} <= set(call.words)
    alone = evidence(TerminalRun("k-term", "t", "term", "make"), spans={"term": (6, None)})
    assert (alone["k-term"].command, alone["k-term"].ended) == ("make", None)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({"command": "ls"}, "ls"),
        ({"command": ["bash", "-lc", "ls -l"]}, "ls -l"),
        ({"cmd": ["ls", "a b"]}, "ls 'a b'"),
        ({"command": "sh -c 'a; b'"}, "a; b"),
        ({"command": "/bin/sh -c a; b"}, "a; b"),
        (None, "title"),
    ],
)
def test_the_line_of_a_command(raw: object, line: str) -> None:
    assert command_line(tool("a", "execute", title="`title`", raw_input=raw)) == line
