"""Notebook changes are undone by cell: other outputs survive, open pages apply it themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.files.notebook_files import NotebookFiles
from acp_notebook.core.document_protocol import FileFacts, Refreshed, State
from acp_notebook.core.ipynb import Operation, Replace
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.session.test_notebook_files import book, cells_of, code, image
from tests.session.test_undo import command_of
from tests.waiting import wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    made = folder / "a.ipynb"
    made.write_text(book(code("a", "one", image()), code("b", "two", image()), code("c", "three")))
    return made


def sources(path: Path) -> list[str]:
    return ["".join(it["source"]) for it in cells_of(path)]


def changed(path: Path, *cells: dict[str, Any]) -> str:
    """A command that rewrites the notebook without us."""
    other = path.parent.parent / "other.ipynb"
    other.write_text(book(*cells))
    return f"/sh cp {other} {path}"


def test_an_untouched_notebook_is_restored_to_the_byte(demo: Demo, path: Path) -> None:
    before = path.read_bytes()
    session = demo(cwd=path.parent, permissions="allow")
    command = changed(path, code("a", "one"), code("b", "TWO"), code("new", "four"))
    turn = session.prompt(command, timeout=LIMIT_S)
    [change] = turn.also_changed
    assert [it.title for it in change.hunks] == [
        "cell 2, code: changed",
        "cell 3, code: added",
        "cell 3, code: deleted",
    ]
    assert change.hunks[0].lines == ("-two", "+TWO")
    turn.revert(command=command_of(turn))
    assert path.read_bytes() == before
    turn.redo(command=command_of(turn))
    assert sources(path) == ["one", "TWO", "four"]


def test_the_users_outputs_and_edits_survive_an_undo(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    turn = session.prompt(
        changed(path, code("a", "one"), code("b", "TWO"), code("c", "three")), timeout=LIMIT_S
    )
    ran = {"output_type": "stream", "name": "stdout", "text": "ran"}
    path.write_text(book(code("a", "ONE", ran), code("b", "TWO"), code("c", "three", ran)))
    turn.revert(command=command_of(turn))
    assert sources(path) == ["ONE", "two", "three"]
    assert [len(it["outputs"]) for it in cells_of(path)] == [1, 1, 1], "what comes back has its own again"
    turn.redo(command=command_of(turn))
    assert sources(path) == ["ONE", "TWO", "three"]
    assert [len(it["outputs"]) for it in cells_of(path)] == [1, 0, 1]
    path.write_text(book(code("a", "one"), code("b", "mine"), code("c", "three")))
    with pytest.raises(acp.Conflict, match=r"it was changed since, in cell 2 \(mine\)$"):
        turn.revert(command=command_of(turn))
    assert sources(path) == ["one", "mine", "three"]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_one_cell_is_undone_and_redone(demo: Demo, path: Path, number: int) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    command = changed(path, code("a", "one"), code("b", "TWO"), code("new", "four"))
    change = session.prompt(command, timeout=LIMIT_S).also_changed[0]
    change.hunks[number].revert()
    assert (
        sources(path)
        == [
            ["one", "two", "four"],
            ["one", "TWO"],
            ["one", "TWO", "four", "three"],
        ][number]
    )
    assert [it.undone for it in change.hunks] == [it == number for it in range(3)]
    change.hunks[number].redo()
    assert sources(path) == ["one", "TWO", "four"] and change.state == "applied"


class Pages:
    """Simulates a page that has the notebook open with unsaved text."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self.notebook: dict[str, Any] = json.loads(path.read_text())
        self.facts: FileFacts | None = None

    def texts(self) -> list[str]:
        return [it["source"] for it in self.notebook["cells"]]

    async def state_of(self, path: str) -> State:
        return "open" if path == self._path else "closed"

    async def read(self, path: str) -> dict[str, Any]:
        copied: dict[str, Any] = json.loads(json.dumps(self.notebook))
        return copied

    async def apply(self, path: str, operations: Sequence[Operation], *, holds: str | None = None) -> None:
        for operation in operations:
            assert isinstance(operation, Replace)
            cell = next(it for it in self.notebook["cells"] if it["id"] == operation.id)
            cell["source"] = operation.source

    async def open_files(self) -> tuple[str, ...]:
        return (self._path,)

    async def known(self, path: str) -> FileFacts | None:
        return self.facts

    async def refresh(self, path: str) -> Refreshed:
        return "same" if self.facts is None else "unsaved"


def test_the_open_notebook_is_undone_in_its_page_and_not_on_disk(demo: Demo, path: Path) -> None:
    on_disk = path.read_bytes()
    session = demo(cwd=path.parent, permissions="allow")
    pages = Pages(path)
    session._conversation.workspace.open_notebooks = pages
    pages.notebook["cells"][2]["source"] = "not saved"
    written = json.loads(on_disk)
    written["cells"][2]["source"] = "not saved"
    written["cells"][1]["source"] = "TWO"
    request = json.dumps({"path": str(path), "content": json.dumps(written)})
    session.prompt(f"/client fs/read_text_file {json.dumps({'path': str(path)})}", timeout=LIMIT_S)
    turn = session.prompt(f"/client fs/write_text_file {request}", timeout=LIMIT_S)
    assert pages.texts() == ["one", "TWO", "not saved"]
    [change] = turn.changes
    assert [it.title for it in change.hunks] == ["cell 2, code: changed"]
    pages.notebook["cells"][0]["source"] = "mine"
    turn.revert()
    assert pages.texts() == ["mine", "two", "not saved"] and change.state == "undone"
    turn.redo()
    assert pages.texts() == ["mine", "TWO", "not saved"]
    assert path.read_bytes() == on_disk


def test_a_save_by_the_page_is_not_the_agents_change(demo: Demo, path: Path) -> None:
    """While a command runs, outputs have changed, but no cell's text."""
    session = demo(cwd=path.parent, permissions="allow")
    turn = session.start("/sh touch begun; while [ ! -e go ]; do sleep 0.05; done; rm go")
    wait_until((path.parent / "begun").exists, "the command has begun", LIMIT_S)
    path.write_text(book(code("a", "one"), code("b", "two"), code("c", "three", image())))
    saved = path.read_bytes()
    (path.parent / "go").touch()
    turn.wait(LIMIT_S)
    assert not turn.changes and [Path(it.path).name for it in turn.also_changed] == ["begun"]
    turn.revert()
    turn.revert(command=command_of(turn))
    assert path.read_bytes() == saved


@pytest.mark.parametrize("loaded", [False, True])
def test_a_save_that_is_under_way_when_the_turn_ends_is_not_listed(
    demo: Demo, path: Path, loaded: bool
) -> None:
    """Jupyter has written the file, but not removed its copy, nor told the page. `loaded`: the page knows the
    file as it was when the turn began, so that its own save looks like a change on disk."""
    session = demo(cwd=path.parent, permissions="allow")
    pages = Pages(path)
    if loaded:
        pages.facts = FileFacts("", hash=sha256(path.read_bytes()).hexdigest(), hash_algorithm="sha256")
    session._conversation.workspace.open_notebooks = pages
    turn = session.start("/sh touch begun; while [ ! -e go ]; do sleep 0.05; done; rm go")
    wait_until((path.parent / "begun").exists, "the command has begun", LIMIT_S)
    pages.notebook["cells"][0]["source"] = "mine"
    (path.parent / f".~{path.name}").write_bytes(path.read_bytes())
    path.write_text(json.dumps(pages.notebook))
    (path.parent / "go").touch()
    turn.wait(LIMIT_S)
    assert not turn.changes and [Path(it.path).name for it in turn.also_changed] == ["begun"]
    assert not session.notices
    pages.facts, pages.notebook["cells"][0]["source"] = None, "typed since"
    turn = session.prompt(changed(path, code("a", "by the command")), timeout=LIMIT_S)
    assert [Path(it.path).name for it in turn.also_changed] == [path.name]


class SavingPages(Pages):
    """Simulates a page whose own save is under way while its user goes on typing.

    The page learns what its file is like when it is asked the third time; never, if somebody else wrote it.
    """

    def __init__(self, path: Path, *, own: bool) -> None:
        super().__init__(path)
        self._file, self._own, self._looks = path, own, 0
        self.facts = _facts_of(path)

    async def known(self, path: str) -> FileFacts | None:
        if self.facts != _facts_of(self._file):
            self._looks += 1
        if self._own and self._looks > 2:
            self.facts = _facts_of(self._file)
        return self.facts


def _facts_of(path: Path) -> FileFacts:
    return FileFacts("", hash=sha256(path.read_bytes()).hexdigest(), hash_algorithm="sha256")


@pytest.mark.parametrize("own", [True, False])
def test_only_a_change_that_the_page_did_not_save_conflicts_with_what_the_user_types(
    demo: Demo, path: Path, own: bool
) -> None:
    timeouts.replace(own_save=LIMIT_S if own else 0.1)
    session = demo(cwd=path.parent, permissions="allow")
    pages = SavingPages(path, own=own)
    session._conversation.workspace.open_notebooks = pages
    turn = session.start("/sh touch begun; while [ ! -e go ]; do sleep 0.05; done; rm go")
    wait_until((path.parent / "begun").exists, "the command has begun", LIMIT_S)
    pages.notebook["cells"][0]["source"] = "mine"
    path.write_text(json.dumps(pages.notebook))
    pages.notebook["cells"][0]["source"] = "mine, and more"
    (path.parent / "go").touch()
    turn.wait(LIMIT_S)
    assert [it.title for it in session.notices if "conflicts" in it.title] == ([] if own else [CONFLICTS])


CONFLICTS = "a.ipynb was changed on disk, and the change conflicts with unsaved edits in the tab"


def test_a_cell_that_is_saved_just_before_the_agents_write_stays(
    demo: Demo, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    written = path.read_text().replace('"two"', '"TWO"')
    original = NotebookFiles.write

    async def write(self: NotebookFiles, *given: Any) -> Any:
        path.write_text(book(code("a", "one"), code("b", "two"), code("c", "mine")))
        return await original(self, *given)

    session.prompt(f"/client fs/read_text_file {json.dumps({'path': str(path)})}", timeout=LIMIT_S)
    monkeypatch.setattr(NotebookFiles, "write", write)
    request = json.dumps({"path": str(path), "content": written})
    turn = session.prompt(f"/client fs/write_text_file {request}", timeout=LIMIT_S)
    assert sources(path) == ["one", "TWO", "mine"]
    assert [hunk.title for it in turn.changes for hunk in it.hunks] == ["cell 2, code: changed"]
    turn.revert()
    assert sources(path) == ["one", "two", "mine"]


def test_a_notebook_whose_folder_became_a_link_is_a_conflict(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    session._conversation.workspace.open_notebooks = Pages(path)
    inner, other = path.parent / "in/n.ipynb", path.parent / "other.txt"
    turn = session.prompt(f"/sh mkdir in; cp {path.name} in/n.ipynb; touch other.txt", timeout=LIMIT_S)
    inner.parent.rename(path.parent.parent / "outside")
    inner.parent.symlink_to("../outside")
    with pytest.raises(acp.Conflict, match="outside of the session's folders"):
        turn.revert(command=command_of(turn))
    assert inner.exists() and not other.exists()


def test_outputs_written_by_a_command_to_a_named_notebook_are_listed(demo: Demo, path: Path) -> None:
    """Like `jupyter nbconvert --inplace`."""
    before = path.read_bytes()
    session = demo(cwd=path.parent, permissions="allow")
    ran = code("c", "three", {"output_type": "stream", "name": "stdout", "text": "ran"})
    turn = session.prompt(
        changed(path, code("a", "one", image()), code("b", "two", image()), ran), timeout=LIMIT_S
    )
    [change] = turn.also_changed
    assert change.note == "no cell's text: outputs or metadata only" and change.command is not None
    turn.revert(command=change.command)
    assert path.read_bytes() == before
