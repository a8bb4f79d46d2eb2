"""Changes by an agent's own tools and commands are recorded and replayed."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.recordings import file_changes as taping
from acp_notebook.agent.undo.backend import CheckpointUnavailable
from acp_notebook.agent.undo.git_backend import GitBackend
from acp_notebook.api.changes import Change, ChangesTable, SessionBook
from tests.session.test_cassettes import LIMIT_S, ask, exports, own_config, recorded, there

__all__ = ["own_config", "there"]

State = tuple[str, str, bytes]


def states(folder: str | Path) -> dict[str, State]:
    """The folder's contents: files with their modes, links, and empty folders."""
    return {os.path.relpath(path, folder): _state(path) for path in Path(folder).rglob("*") if _counts(path)}


def _counts(path: Path) -> bool:
    return path.is_symlink() or not path.is_dir() or not any(path.iterdir())


def _state(path: Path) -> State:
    if path.is_symlink():
        return "link", "", os.fsencode(os.readlink(path))
    if path.is_dir():
        return "folder", "", b""
    return "file", stat.filemode(path.stat().st_mode), path.read_bytes()


def found_in(session: acp.Session) -> ChangesTable:
    """All changes, by the agent or others."""
    session._loop.call(session._conversation.undoing.wait_settled(LIMIT_S))
    book = SessionBook(session._conversation)
    turns = book.log.turns.values()
    return ChangesTable(book, [Change(book, it) for turn in turns for it in turn.all])


def rows(changes: ChangesTable) -> list[dict[str, str]]:
    return changes.to_dicts()


def lines(tape: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tape.read_text().splitlines()]


def recorded_turns(tape: Path) -> list[dict[str, Any]]:
    """The recorded changes of each turn."""
    return [it["msg"] for it in lines(tape) if it.get("dir") == "did" and it["msg"]["what"] == "changed"]


def rewrite_turns(tape: Path, change: Any) -> None:
    """Edit the recorded changes of the turns."""
    entries = lines(tape)
    for entry in entries:
        if entry.get("dir") == "did" and entry["msg"]["what"] == "changed":
            change(entry["msg"])
    tape.write_text("\n".join(map(json.dumps, entries)))


MAKE = "echo one > made.sh; chmod 750 made.sh; mkdir -p deep/er hollow; printf 'ü\\r\\n' > deep/er/x.txt"
MIX = "printf '\\000\\377bin' > data.bin; ln -s deep/er/x.txt link; rm gone.txt; mv old.txt new.txt"
SWAP = "rm -r deep; echo file > deep; rmdir hollow; chmod 644 made.sh; rm link; mkdir link; echo > link/in"
PROMPTS = (f"/sh {MAKE}; {MIX}", "/write made.sh two", "hello", f"/sh {SWAP}", "/write new.txt three")


@pytest.fixture
def work(there: Path) -> Path:
    (there / "gone.txt").write_text("to be deleted\n")
    (there / "old.txt").write_text("to be moved\n" * 5)
    return there


def test_a_replay_has_the_same_files_and_shows_the_same_changes(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = work.parent / "tape.jsonl"
    with acp.connect("demo", cwd=work, permissions="allow", record=tape) as session:
        after = []
        for prompt in PROMPTS:
            ask(session, prompt)
            after.append(states(work))
        made, changes = exports(session), rows(found_in(session))
    assert [it["turn"] for it in recorded_turns(tape)] == [1, 2, 3, 4, 5]
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))  # no git and no shell
    with acp.connect(cassette=tape, permissions="allow") as session:
        for prompt, expected in zip(PROMPTS, after, strict=True):
            ask(session, prompt)
            assert states(session.cwd) == expected
        assert exports(session) == made
        assert rows(found_in(session)) == changes
        assert {it["action"] for it in changes} == {"created", "deleted", "moved", "modified", "mode"}


def test_replayed_changes_can_be_undone_and_redone(work: Path) -> None:
    tape, _ = recorded(work, *PROMPTS)
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, PROMPTS[0])
        done = states(session.cwd)
        session.turns[0].revert(command=f"{MAKE}; {MIX}")
        undone = states(session.cwd)
        assert {*undone} == {"gone.txt", "old.txt"}
        assert undone["gone.txt"][2] == b"to be deleted\n"
        session.turns[0].redo(command=f"{MAKE}; {MIX}")
        assert states(session.cwd) == done


def test_a_notebook_changed_on_disk_or_by_a_client_method(there: Path) -> None:
    cells = [
        {"cell_type": "code", "id": "a", "execution_count": 1, "metadata": {}, "source": "1", "outputs": []},
        {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "two"},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (there / "n.ipynb").write_text(json.dumps(notebook))
    prompts = ("/nb edit n.ipynb b three", "/nb disk n.ipynb a 1 + 1", "/nb edit n.ipynb b four")
    tape, made = recorded(there, *prompts)
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, *prompts)
        assert states(session.cwd) == states(there)
        assert exports(session) == made
        assert [it["via"] for it in rows(found_in(session))] == ["client", "agent", "client"]


def test_paths_in_files_and_links_are_mapped(there: Path, tmp_path: Path) -> None:
    command = '/sh pwd > where.txt; ln -s "$PWD/where.txt" link; ln -s /etc/hostname out; ln -s ../.. up'
    tape, _ = recorded(there, command)
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, command)
        here = Path(session.cwd)
        assert (here / "where.txt").read_text() == f"{here}\n" == (here / "link").read_text()
        assert {it.name for it in here.iterdir()} == {"where.txt", "link"}
        left = {Path(it.path).name: it for it in found_in(session) if not it.undoable}
        assert {*left} == {"out", "up"}
        assert "leads out" in str(left["out"].why)


def test_a_folder_named_by_a_link_is_found(there: Path, tmp_path: Path) -> None:
    (tmp_path / "by-link").symlink_to(there)
    (tmp_path / "here").mkdir()
    (tmp_path / "also-by-link").symlink_to(tmp_path / "here")
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path / "by-link", permissions="allow", record=tape) as session:
        ask(session, "/sh echo x > x.txt")
    with acp.connect(cassette=tape, cwd=tmp_path / "also-by-link", permissions="allow") as session:
        ask(session, "/sh echo x > x.txt")
        assert [it.path for it in found_in(session)] == [str(tmp_path / "also-by-link" / "x.txt")]
    assert states(tmp_path / "here") == states(there)


def test_in_a_given_folder_the_original_files_can_be_restored(work: Path, tmp_path: Path) -> None:
    tape, _ = recorded(work, "/sh rm gone.txt; echo new > old.txt")
    here = tmp_path / "here"
    here.mkdir()
    (here / "gone.txt").write_text("mine\n")
    (here / "old.txt").write_text("my own\n")
    with acp.connect(cassette=tape, cwd=here, permissions="allow") as session:
        ask(session, "/sh rm gone.txt; echo new > old.txt")
        assert states(here) == states(work)
        session.turns[0].revert(command="rm gone.txt; echo new > old.txt")
    assert (here / "gone.txt").read_text() == "mine\n"
    assert (here / "old.txt").read_text() == "my own\n"


def test_several_sessions_and_a_dead_agent_keep_changes_separate(there: Path) -> None:
    tape = there.parent / "tape.jsonl"

    def talk(session: acp.Session) -> list[list[dict[str, str]]]:
        other = session.agent.new_session()  # in the same folder, and scanned for the first time at once
        ask(session, "/sh echo 1 > one.txt")
        ask(other, "/sh echo 2 > two.txt", "/sh echo 3 > three.txt")
        with pytest.raises(acp.AgentDied):
            ask(session, "/die 7")
        ask(session, "/sh echo 4 > four.txt")
        return [rows(found_in(session)), rows(found_in(other))]

    with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
        made = talk(session)
    with acp.connect(cassette=tape, permissions="allow") as session:
        assert talk(session) == made
        assert states(session.cwd) == states(there)


# ---- what is not there ------------------------------------------------------------------------------


def test_a_file_too_large_for_a_recording_is_reported(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taping, "MOST_STATE", 100)
    (there / "gone.txt").write_text("x" * 200)
    command = "/sh seq 1000 > large.txt; rm gone.txt; echo small > small.txt"
    tape, _ = recorded(there, command)
    with acp.connect(cassette=tape, permissions="allow") as session:
        (Path(session.cwd) / "gone.txt").write_text("x" * 200)
        ask(session, command)
        assert {*states(session.cwd)} == {"small.txt"}
        found = {Path(it.path).name: it for it in found_in(session)}
        assert [found[it].action for it in ("large.txt", "gone.txt")] == ["created", "deleted"]
        assert "too large to be kept in a recording" in str(found["large.txt"].why)
        assert not found["large.txt"].undoable and found["small.txt"].undoable
        assert "too large to be kept in a recording" in session.to_text()


def test_the_total_size_of_a_turns_changes_is_bounded(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taping, "MOST_TURN", 10)
    tape, _ = recorded(there, "/sh echo 1234567 > a.txt; echo 1234567 > b.txt", "/sh echo 1234567 > c.txt")
    kept = [[("text" in it["after"]) for it in turn["files"]] for turn in recorded_turns(tape)]
    assert kept == [[True, False], [True]]


def test_the_recorded_changes_contain_no_secrets(there: Path) -> None:
    tape, secret = there.parent / "tape.jsonl", "very-secret-4711"
    command = "/sh echo key=$KEY > key.txt; printf '\\000%s' $KEY > key.bin; printf '\\000text' > other.bin"
    with acp.connect("demo", cwd=there, env={"KEY": secret}, permissions="allow", record=tape) as session:
        ask(session, command)
    assert secret in (there / "key.txt").read_text()
    [turn] = recorded_turns(tape)
    by_name = {Path(it["path"]).name: it["after"] for it in turn["files"]}
    assert by_name["key.txt"] == {"text": "key=[redacted]\n"}
    assert by_name["key.bin"] == {"not_kept": taping.SECRET}
    assert "base64" in by_name["other.bin"]
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, command)
        assert {*states(session.cwd)} == {"key.txt", "other.bin"}


def test_binary_files_are_kept_despite_secrets_and_folder_names(there: Path) -> None:
    """A short secret or path occurs in any long base64 text by chance."""
    (there / "make.py").write_text(
        "import random\nopen('x.bin', 'wb').write(b'\\0' + random.Random(1).randbytes(200_000))\n"
    )
    tape = there.parent / "tape.jsonl"
    env = {"A": "7f0a", "B": "AbCd"}
    with acp.connect("demo", cwd=there, env=env, permissions="allow", record=tape) as session:
        ask(session, "/sh python3 make.py")
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh python3 make.py")
        assert (Path(session.cwd) / "x.bin").read_bytes() == (there / "x.bin").read_bytes()


def test_a_file_name_that_is_not_text_is_reported(there: Path) -> None:
    command = "/sh printf x > $(printf 'a\\377b'); echo fine > fine.txt"
    tape, _ = recorded(there, command)
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, command)
        assert {*states(session.cwd)} == {"fine.txt"}
        assert [it.why for it in found_in(session) if not it.undoable] == [taping.NO_NAME]


def test_an_old_recording_is_replayed_as_before(there: Path) -> None:
    tape, _ = recorded(there, "/sh echo x > x.txt", "/write y.txt y")
    older = [it for it in lines(tape) if it.get("msg", {}).get("what") != "changed"]
    for it in older:
        it.get("msg", {}).pop("covered", None)
    tape.write_text("\n".join(map(json.dumps, older)))
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo x > x.txt", "/write y.txt y")
        assert {*states(session.cwd)} == {"y.txt"}
        assert [Path(it.path).name for it in found_in(session)] == ["y.txt"]
        assert session.changes.notes == ()


def test_a_recording_without_its_changes_is_reported(there: Path) -> None:
    tape, _ = recorded(there, "/sh echo x > x.txt", "/sh echo y > y.txt")
    entries = lines(tape)
    last = max(at for at, it in enumerate(entries) if it.get("msg", {}).get("what") == "changed")
    tape.write_text("\n".join(map(json.dumps, entries[:last])))
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo x > x.txt", "/sh echo y > y.txt")
        assert {*states(session.cwd)} == {"x.txt"}
        assert session.changes.notes == (taping.CUT_OFF,)
        assert taping.CUT_OFF in session.to_text()


def test_the_replay_reports_a_skipped_checkpoint(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = there.parent / "tape.jsonl"
    with monkeypatch.context() as patched:

        def refuses(shadow: GitBackend, *, first: bool = False) -> Any:
            raise CheckpointUnavailable("the disk is on fire")

        patched.setattr(GitBackend, "mark", refuses)
        with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
            ask(session, "/sh echo x > x.txt")
            made = exports(session)
    assert "the disk is on fire" in made[0]
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo x > x.txt")
        assert exports(session) == made
        assert states(session.cwd) == {}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The scan after a turn waits for this event; nothing waits for the scan."""
    go = threading.Event()
    compare = GitBackend.compare

    def waits(shadow: GitBackend, *marks: Any) -> Any:
        assert go.wait(LIMIT_S)
        return compare(shadow, *marks)

    monkeypatch.setattr(GitBackend, "compare", waits)
    timeouts.replace(changes_settle=0.01)
    yield go
    go.set()


def test_changes_found_late_belong_to_their_turn(there: Path, held: threading.Event) -> None:
    tape = there.parent / "tape.jsonl"
    prompts = ("/sh echo x > x.txt", "hello")
    with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
        ask(session, prompts[0])
        timeouts.replace(checkpoint_start=0.01)  # the next turn does not wait for them either
        ask(session, prompts[1])
        held.set()
        changes = rows(found_in(session))
    order = [it["msg"].get("method", it["msg"].get("what")) for it in lines(tape)[1:] if it["dir"] != "a2c"]
    assert order.index("changed") > max(at for at, it in enumerate(order) if it == "session/prompt")
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, prompts[0])
        assert {*states(session.cwd)} == {"x.txt"}
        ask(session, prompts[1])
        assert [it["path"] for it in rows(found_in(session))] == [it["path"] for it in changes] == ["x.txt"]


def test_a_session_closed_too_early_notes_it_in_its_recording(there: Path, held: threading.Event) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
        ask(session, "/sh echo x > x.txt")
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo x > x.txt")
        assert states(session.cwd) == {}
        assert len(session.changes.notes) == 1  # how far it got is unknown


def test_changes_overlooked_at_first_belong_to_their_turn(there: Path) -> None:
    prompts = ("/sh echo x > x.txt", "hello")
    tape, _ = recorded(there, *prompts)
    [first, _] = recorded_turns(tape)
    after = {name: {"path": str(there / name), "after": {"text": name}} for name in ("x.txt", "y.txt")}
    path = first["files"][0]["path"]
    for name, it in after.items():
        it["path"] = path.replace("x.txt", name)
    late = {"t": 9, "dir": "did", "msg": {**first, "late": True, "files": [*after.values()]}}
    tape.write_text("\n".join(map(json.dumps, [*lines(tape), late])))
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, prompts[0])
        assert {name: it[2] for name, it in states(session.cwd).items()} == {
            "x.txt": b"x.txt",
            "y.txt": b"y.txt",
        }
        assert [(it.action, it.turn) for it in found_in(session)] == [("created", "t1"), ("created", "t1")]


# ---- recordings that lie ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/etc/acp-x", "{cwd}/../acp-x", "{cwd}/out/acp-x", "{cwd}/.git/x", "acp-x", "\0"],
)
def test_nothing_is_written_outside(there: Path, path: str) -> None:
    tape, _ = recorded(there, "/sh echo x > x.txt")

    def lie(turn: dict[str, Any]) -> None:
        turn["files"][0]["path"] = path.replace("{cwd}", str(there))

    rewrite_turns(tape, lie)
    outside = there.parent / "outside"
    outside.mkdir()
    with acp.connect(cassette=tape, permissions="allow") as session:
        (Path(session.cwd) / "out").symlink_to(outside)
        ask(session, "/sh echo x > x.txt")
        assert {*states(session.cwd)} == {"out"} and states(outside) == {}
        assert not any(it.undoable for it in found_in(session))
        assert not os.path.exists(os.path.join(os.path.dirname(session.cwd), "acp-x"))


@pytest.mark.parametrize("target", ["/etc", "..", "../..", "sub/../..", "/", "sub/../sub", "a/../../b"])
def test_no_link_leads_outside_even_after_other_links_change(there: Path, target: str) -> None:
    tape, _ = recorded(there, "/sh ln -s x y")
    rewrite_turns(tape, lambda turn: turn["files"][0]["after"].update(link=target))
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh ln -s x y")
        assert states(session.cwd) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"files": "none"},
        {"files": [1, {}, {"path": 3}], "notes": [1], "missing": [{}, 2, {"path": 5}], "emptied": {"a": 1}},
        {"files": [{"path": "{x}", "after": {"base64": "%%%"}}]},
        {"files": [{"path": "{x}", "after": {"text": "x", "mode": "9z"}}]},
        {"files": [{"path": "{x}", "after": {"text": "\ud800"}}]},
        {"files": [{"path": "{x}", "after": [1]}]},
        {"files": [{"path": "{x}", "after": {"link": "a\0b"}}]},
        {"emptied": ["/etc/acp-x", "relative"], "filled": ["/etc", "{x}"]},
        {"turn": "one"},
    ],
)
def test_invalid_entries_in_a_recording_do_no_harm(there: Path, change: dict[str, Any]) -> None:
    tape, _ = recorded(there, "/sh echo x > x.txt")
    there_x = json.dumps(str(there / "x.txt"))[1:-1]
    made = json.loads(json.dumps(change).replace("{x}", there_x))
    rewrite_turns(tape, lambda turn: (turn.pop("files"), turn.update(made)))
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo x > x.txt")
        assert states(session.cwd) == {}
        assert not any(it.undoable for it in found_in(session))


def test_a_setuid_bit_is_not_replayed(there: Path) -> None:
    tape, _ = recorded(there, "/sh echo x > x.txt")
    rewrite_turns(tape, lambda turn: turn["files"][0]["after"].update(mode="6755"))
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo x > x.txt")
        assert states(session.cwd)["x.txt"][1] == "-rwxr-xr-x"


def test_a_turn_that_diverged_changes_nothing(there: Path) -> None:
    tape, _ = recorded(there, "/sh echo x > x.txt")
    with acp.connect(cassette=tape, permissions="allow") as session:
        with pytest.raises(acp.CassetteMismatch):
            ask(session, "/sh echo y > y.txt")
        assert states(session.cwd) == {} and len(found_in(session)) == 0
