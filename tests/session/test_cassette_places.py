"""A finished recording reveals nothing of its machine, and replays in any home."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.recordings import path_scrubbing
from tests.session.test_cassettes import ask, exports, own_config, there

__all__ = ["own_config", "there"]


def homes(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "home" / "ada", tmp_path / "users" / "bob"
    one.mkdir(parents=True)
    other.mkdir(parents=True)
    return one, other


def prompts(home: Path | str, tmp: Path | str) -> tuple[str, ...]:
    return (
        f"look into {home}/data.csv, then {home}",
        '/sh echo ~/found; cd ~; pwd; echo $TMPDIR/x; echo ~/kept > "$OLDPWD/kept.txt"',
        f"/write where.txt {home}/notes and {tmp}/scratch",
        "/cwd",
    )


def test_a_recording_contains_no_known_folder_and_works_in_another_home(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = homes(tmp_path)
    tape, link = tmp_path / "tape.jsonl", tmp_path / "by-link"
    link.symlink_to(there)
    tmps = tmp_path / "tmp-of-ada", tmp_path / "tmp-of-bob"
    for tmp in tmps:
        tmp.mkdir()
    outputs = []
    for home, tmp in ((one, tmps[0]), (other, tmps[1])):
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("TMPDIR", str(tmp))
        monkeypatch.setattr(tempfile, "tempdir", None)
        how: dict[str, Any] = {"cassette": tape} if tape.exists() else {"cwd": link, "record": tape}
        agent = () if tape.exists() else ("demo",)
        with acp.connect(*agent, permissions="allow", **how) as session:
            ask(session, *prompts(home, tmp))
            made = json.dumps([*exports(session), session.changes.diff]).replace(session.cwd, "CWD")
            outputs.append(made.replace(str(home), "HOME").replace(str(tmp), "TMP"))
            if tape.exists():
                assert (Path(session.cwd) / "kept.txt").read_text() == f"{home}/kept\n"
                assert (Path(session.cwd) / "where.txt").read_text() == f"{home}/notes and {tmp}/scratch\n"
    assert outputs[0] == outputs[1] and "HOME/found" in outputs[0] and "TMP/x" in outputs[0]
    text = tape.read_text()
    assert not [it for it in (one, there, link, tmps[0]) if str(it) in text]
    assert "/recorded/home/data.csv" in text and "/recorded/folder/by-link" in text


def test_the_home_that_env_gave_the_agent(there: Path, tmp_path: Path) -> None:
    one, other = homes(tmp_path)
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=there, permissions="allow", env={"HOME": str(one)}, record=tape) as session:
        ask(session, "/sh echo ~/found")
    assert str(one) not in tape.read_text()
    with acp.connect(cassette=tape, permissions="allow", env={"HOME": str(other)}) as session:
        ask(session, "/sh echo ~/found")
        assert session.turns[0].terminals[0].output == f"{other}/found\n"
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/sh echo ~/found")
        assert session.turns[0].terminals[0].output == f"{os.path.expanduser('~')}/found\n"


def test_an_unclosed_recording_is_replayed(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = homes(tmp_path)
    monkeypatch.setenv("HOME", str(one))
    tape, left = tmp_path / "tape.jsonl", tmp_path / "left.jsonl"
    with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
        ask(session, "/sh pwd; echo ~/x; echo y > y.txt")
        shutil.copy(tape, left)  # as a kernel leaves it that is killed
    assert str(there) in left.read_text() and str(there) not in tape.read_text()
    monkeypatch.setenv("HOME", str(other))
    for which in (tape, left):
        with acp.connect(cassette=which, permissions="allow") as session:
            ask(session, "/sh pwd; echo ~/x; echo y > y.txt")
            assert session.turns[0].terminals[0].output == f"{session.cwd}\n{other}/x\n"
            assert os.listdir(session.cwd) == ["y.txt"]


def test_paths_that_are_the_same_everywhere_stay(there: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=there, env={"TMPDIR": "/tmp"}, record=tape) as session:
        ask(session, "write /tmp/out.txt, not /var/tmp/x")
    assert "write /tmp/out.txt, not /var/tmp/x" in tape.read_text()


@pytest.mark.parametrize("content", ["", "no json\n", '["a", "list"]\n', "\x00\xff", '{"dir": 3}\n'])
def test_a_file_that_is_not_a_recording_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_text(content)
    path_scrubbing.hide(path)
    assert path.read_text() == content
    assert [it.name for it in tmp_path.iterdir() if it.suffix == ".tmp"] == []
    path_scrubbing.hide(tmp_path / "nothing")
    path_scrubbing.hide(tmp_path)


def test_notes_and_field_names_are_mapped_too(tmp_path: Path) -> None:
    path, home = tmp_path / "tape.jsonl", "/home/ada"
    lines = [
        {"acp_recording": 1, "agent": f"{home}/bin/agent", "home": home},
        {"t": 0, "dir": "note", "msg": f"in {home}"},
        {"t": 0, "dir": "a2c", "line": f"a log line of {home}/x"},
        {"t": 0, "dir": "a2c", "msg": {"method": "x", "params": {"files": {f"{home}/a": "b"}}}},
        {"t": 0, "dir": "a2c", "msg": {"method": "x", "params": {"other": f"{home}sick /x{home}"}}},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    path.chmod(0o600)
    path_scrubbing.hide(path)
    made = path.read_text()
    assert (
        made
        == "\n".join(json.dumps(it, separators=(",", ":")) for it in lines)
        .replace(f"{home}/", "/recorded/home/")
        .replace(f'"{home}"', '"/recorded/home"')
        .replace(f"in {home}", "in /recorded/home")
        + "\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600
