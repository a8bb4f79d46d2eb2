"""What real agents change is undone to the byte and redone, whether through us or directly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.agents.mock_model import say, script
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S
from tests.session.test_undo import filled, git, picture

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]


@pytest.fixture(params=["claude", "claude_agent", "kimi"])
def each(request: pytest.FixtureRequest) -> Starter:
    """Two agents that write through the client, and one that writes files itself."""
    starter = request.getfixturevalue(request.param)
    assert isinstance(starter, Starter)
    return starter


def test_exactly_the_agents_changes_are_listed_and_undone(
    each: Starter, request: pytest.FixtureRequest
) -> None:
    folder = each.cwd
    filled(folder)
    (folder / "code.py").write_bytes(b"one = 1\ntwo = 2\n" + b"# more\n" * 20 + b"end = 3\n")
    git(folder, "add", "a.txt")
    before, status = picture(folder), git(folder, "status", "--porcelain")
    session = each(permissions="allow")
    command = "rm gone.txt empty; mkdir moved; mv sub/deep/x.py moved/; chmod 600 run.sh; ln -sf run.sh link"
    steps = (
        each.read(folder / "code.py"),
        each.edit(folder / "code.py", "two = 2", "two = 22"),
        each.write(folder / "new/file.txt", "new\n"),
        each.run(command),
    )
    turn = session.prompt(script(*steps, say("done")), timeout=LIMIT_S)
    assert turn.text == "done"
    after = picture(folder)
    via = "agent" if "[claude_agent]" in request.node.name else "client"
    found = {os.path.relpath(it.path, folder): (it.action, it.via) for it in turn.changes}
    assert found == {"code.py": ("modified", via), "new/file.txt": ("created", via)}
    assert {it.allowed_by for it in turn.changes} == {"policy"}
    also = {os.path.relpath(it.path, folder): (it.action, it.undoable) for it in turn.also_changed}
    assert also == {
        "empty": ("deleted", True),
        "gone.txt": ("deleted", True),
        "link": ("link", True),
        "moved/x.py": ("moved", True),
        "run.sh": ("mode", True),
    }
    assert {it.command for it in turn.also_changed} == {command}
    # The user's own, made when nothing ran: nobody takes it for the agent's.
    (folder / "mine.txt").write_text("mine\n")
    turn.revert()
    assert (folder / "mine.txt").read_text() == "mine\n" and not (folder / "new").exists()
    (folder / "mine.txt").unlink()
    turn.revert(command=command)
    assert picture(folder) == before
    assert git(folder, "status", "--porcelain") == status
    turn.redo()
    turn.redo(command=command)
    assert picture(folder) == after
    _protected(turn, folder)


def _protected(turn: acp.Turn, folder: Path) -> None:
    """What the user did later stays: merged where it merges, else a conflict."""
    code = folder / "code.py"
    code.write_bytes(code.read_bytes() + b"mine = 4\n")
    (folder / "new/file.txt").write_text("mine\n")
    with pytest.raises(acp.Conflict, match=r"new/file\.txt"):
        turn.revert()
    assert code.read_bytes() == b"one = 1\ntwo = 2\n" + b"# more\n" * 20 + b"end = 3\nmine = 4\n"
    assert (folder / "new/file.txt").read_text() == "mine\n"
