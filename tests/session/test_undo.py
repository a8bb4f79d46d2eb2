"""What an agent changed is undone and done again, through a whole session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core.changes import FileChange
from acp_notebook.core.snapshot import Changes, ToolCall
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def act(session: acp.Session, deed: str, *of: str) -> None:
    """What a click in the page does."""
    session._home.call(session._conversation.undoing.act(deed, *of))  # type: ignore[arg-type]


def items(session: acp.Session) -> list[Changes]:
    return [item for item in session.transcript.items if isinstance(item, Changes)]


def the_file(session: acp.Session) -> FileChange:
    [item] = items(session)
    [file] = item.files
    return file


def test_a_write_through_us_is_undone_and_done_again(demo: Demo, folder: Path) -> None:
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


def test_a_new_file_goes_with_the_folders_that_were_made_for_it(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write deep/er/a.txt new", timeout=LIMIT_S)
    assert the_file(session).action == "created"
    act(session, "undo")
    assert not any(folder.iterdir())
    act(session, "redo")
    assert (folder / "deep/er/a.txt").read_text() == "new\n"


def test_what_the_user_changed_since_is_merged_or_a_conflict(demo: Demo, folder: Path) -> None:
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


def test_keep_and_nonsense(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/write a.txt new", timeout=LIMIT_S)
    act(session, "keep", "t1")
    assert the_file(session).state == "kept"
    for nonsense in (("t9",), ("t1", "f9"), ("t1", "f1", "h9")):
        with pytest.raises(acp.UsageError):
            act(session, "undo", *nonsense)
