"""The open notebook in a simulated page: what the agent reads and writes, and what is refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.api.live_notebook import LiveNotebook
from acp_notebook.core.intents import Doc, Hello
from acp_notebook.core.ipynb import source_hash
from acp_notebook.core.snapshot import Question, TurnStart
from acp_notebook.frontend.panel import session_panel as panel_module
from acp_notebook.frontend.panel.session_panel import Panel
from acp_notebook.notebook.open_documents import OpenDocuments
from tests.frontend.panel.test_session_panel import LIMIT_S, Message, Output, TurnWidget, Widget
from tests.session.helpers import notices
from tests.session.test_client_services import ask_client
from tests.waiting import wait_until

BUSY = "open and busy"

STEPS = 20
"""Of the loop: more than a request and its answer take."""


def code(id: str, source: str, *outputs: Any) -> Message:
    fields = {"cell_type": "code", "id": id, "metadata": {}, "source": source}
    return {**fields, "outputs": list(outputs), "execution_count": None}


def book(*cells: Message) -> Message:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


class Page:
    """Simulates a page with an open notebook, like js/src/live.ts."""

    def __init__(self, panel: Panel, file: Path, path: str, view: str = "v") -> None:
        widget: Any = panel._widget
        self.widget: Widget = widget
        self.file, self.path, self.view = file, path, view
        self.notebook = json.loads(file.read_text())
        self.known = self.facts()
        self.dirty = False
        self._mute = False
        self.now = 1_000_000.0
        self.heard: list[Message] = []
        self.before: Callable[[Message], None] = lambda _: None
        documents = panel.documents
        self._send, documents._send = documents._send, self._received

    @property
    def mute(self) -> bool:
        """Make the page silent, with a short timeout for its answers."""
        return self._mute

    @mute.setter
    def mute(self, mute: bool) -> None:
        self._mute = mute
        timeouts.replace(page_answer=0.3 if mute else LIMIT_S)

    def hello(self, **fields: Any) -> None:
        hello = {"document": True, "live": True, "path": self.path, **fields}
        self.widget.receive({"t": "hello", "view": self.view, **hello})

    def facts(self) -> Message:
        status, data = self.file.stat(), self.file.read_bytes()
        return {
            "last_modified": datetime.fromtimestamp(status.st_mtime, UTC).isoformat(),
            "size": len(data),
            "hash": hashlib.sha256(data).hexdigest(),
            "hash_algorithm": "sha256",
        }

    def sources(self) -> list[str]:
        return ["".join(cell["source"]) for cell in self.notebook["cells"]]

    def _received(self, message: Message) -> None:
        self._send(message)
        if message["t"] != "doc" or message["view"] != self.view:
            return
        self.heard.append(message)
        self.before(message)
        if not self.mute:
            self.answer(message)

    def answer(self, message: Message) -> None:
        try:
            answer = {"result": getattr(self, f"do_{message['op']}")(message)}
        except LookupError as error:
            answer = {"error": {"code": "stale", "message": str(error)}}
        text = json.dumps(answer)
        half = len(text) // 2
        for part, piece in enumerate((text[:half], text[half:])):
            fields = {"rid": message["rid"], "text": piece, "part": part, "of": 2, "now": self.now}
            self.widget.receive({"t": "doc", "view": self.view, **fields})

    def do_ping(self, _: Message) -> None:
        pass

    def do_locate(self, _: Message) -> Message:
        return {"path": self.path, "dirty": self.dirty, "file": self.facts(), "known": self.known}

    def do_describe(self, _: Message) -> Message:
        return {"path": self.path, "dirty": self.dirty, "notebook": self.notebook}

    def do_save(self, _: Message) -> None:
        self.file.write_text(json.dumps(self.notebook))
        self.known, self.dirty = self.facts(), False

    def do_refresh(self, _: Message) -> str:
        if self.facts()["hash"] == self.known["hash"]:
            return "same"
        if self.dirty:
            return "unsaved"
        self.notebook, self.known = json.loads(self.file.read_text()), self.facts()
        return "reloaded"

    def do_apply(self, message: Message) -> None:
        cells = [dict(cell) for cell in self.notebook["cells"]]
        for operation in message["operations"]:
            self._apply(cells, operation)
        self.notebook = {**self.notebook, "cells": cells}
        self.dirty = True
        if message["holds"] is not None:
            self.known = self.facts()

    def _apply(self, cells: list[Message], operation: Message) -> None:
        ids = [cell["id"] for cell in cells]
        op, id = operation["op"], operation["id"]
        texts = {cell["id"]: "".join(cell["source"]) for cell in cells}
        if "based_on" in operation and source_hash(texts[id]) != operation["based_on"]:
            raise LookupError(f"the cell {id} was changed")
        if op == "insert":
            made = {**code(id, operation["source"]), "cell_type": operation["cell_type"]}
            cells.insert(0 if operation["after"] is None else ids.index(operation["after"]) + 1, made)
        elif op == "delete":
            del cells[ids.index(id)]
        elif op == "move":
            cell = cells.pop(ids.index(id))
            rest = [it["id"] for it in cells]
            cells.insert(0 if operation["after"] is None else rest.index(operation["after"]) + 1, cell)
        elif op == "replace":
            cells[ids.index(id)]["source"] = operation["source"]
            if operation["clear_outputs"]:
                cells[ids.index(id)]["outputs"] = []


class Stage:
    def __init__(self, session: acp.Session, file: Path) -> None:
        self.session, self.file = session, file
        self.panel = session._live_panel()
        self.page = Page(self.panel, file, f"work/{file.name}")

    def nb(self, verb: str, rest: str = "") -> str:
        return self.session.prompt(f"/nb {verb} {self.file.name} {rest}", timeout=LIMIT_S).text

    @property
    def notebook(self) -> LiveNotebook:
        return self.session.notebook


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(panel_module, "SessionWidget", Widget)
    monkeypatch.setattr(panel_module, "TurnWidget", TurnWidget)
    monkeypatch.setattr(panel_module, "CellOutput", Output)
    timeouts.replace(page_answer=LIMIT_S, page_hello=LIMIT_S)
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    folder = tmp_path / "root" / "work"
    folder.mkdir(parents=True)
    file = folder / "a.ipynb"
    file.write_text(json.dumps(book(code("a", "one"), code("b", "two"), code("c", "three"))))
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    session = acp.connect("demo", cwd=folder, permissions="allow")
    yield Stage(session, file)
    session.agent.close()


# ---- the agent reads and writes -----------------------------------------------------------------


def test_the_agent_reads_unsaved_text(stage: Stage) -> None:
    stage.page.notebook["cells"][0]["source"] = "one, not saved"
    stage.page.hello()
    assert "one, not saved" in stage.nb("read")
    assert notices(stage.session) == []


def test_the_agent_writes_in_the_page_and_not_on_disk(stage: Stage) -> None:
    before = stage.file.read_bytes()
    stage.page.hello()
    stage.page.notebook["cells"][2]["source"] = "three, not saved"
    for verb, rest in (("edit", "a ONE"), ("insert", "a new"), ("delete", "b"), ("move", "c a")):
        assert "Wrote" in stage.nb(verb, rest)
    assert stage.page.sources() == ["ONE", "three, not saved", "new"]
    assert stage.file.read_bytes() == before
    applied = [it for it in stage.page.heard if it["op"] == "apply"]
    assert len(applied) == 4
    assert all(it["until"] > stage.page.now for it in applied)
    assert len({it["rid"] for it in stage.page.heard}) == len(stage.page.heard)


@pytest.mark.parametrize("how", ["panel", "cell", "undo"])
def test_of_two_pages_the_one_whose_user_asked_makes_the_change(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    other = Page(stage.panel, stage.file, stage.page.path, "newer")
    stage.page.hello()
    other.hello()
    stage.page.widget.receive({"t": "hello", "view": "v", "live": True, "path": stage.page.path}, "client")
    other.hello()  # the newest again
    edit = f"/nb edit {stage.file.name} a ONE"
    if how == "panel":
        stage.page.widget.receive({"t": "prompt", "text": edit, "view": "v"})
        wait_until(lambda: stage.page.sources()[0] == "ONE", "it is changed", LIMIT_S)
    elif how == "cell":
        monkeypatch.setattr("acp_notebook.notebook.kernel.client_here", lambda: "client")
        assert "Wrote" in stage.nb("edit", "a ONE")
    else:
        assert "Wrote" in stage.nb("edit", "a ONE")
        stage.page.notebook = other.notebook  # which they share
        stage.page.widget.receive({"t": "undo", "turn": "t1", "view": "v"})
        wait_until(lambda: stage.page.sources()[0] == "one", "it is undone", LIMIT_S)
    assert "apply" in {it["op"] for it in stage.page.heard}
    assert ("apply" in {it["op"] for it in other.heard}) is (how == "undo")


def test_of_two_pages_of_which_none_asked_the_newer_makes_the_change(stage: Stage) -> None:
    other = Page(stage.panel, stage.file, stage.page.path, "newer")
    stage.page.hello()
    stage.page.widget.receive({"t": "hello", "view": "newer", "live": True, "path": other.path}, "client")
    assert "Wrote" in stage.nb("edit", "a ONE")  # by a script: no page asked
    assert other.sources()[0] == "ONE"


def test_a_late_page_is_waited_for(stage: Stage) -> None:
    turn = stage.session.start(f"/nb edit {stage.file.name} a ONE")
    wait_until(lambda: stage.session.status == "working", "the turn runs", LIMIT_S)
    stage.page.hello()
    turn.wait(LIMIT_S)
    assert stage.page.sources()[0] == "ONE"


def test_without_an_answer_the_file_is_read_and_nothing_is_written(stage: Stage) -> None:
    stage.page.hello()
    stage.nb("read")
    stage.page.notebook["cells"][0]["source"] = "one, not saved"
    stage.page.mute = True
    text = stage.nb("read")
    assert "'one'" in text
    assert any("does not answer" in it for it in notices(stage.session))
    before = stage.file.read_bytes()
    assert BUSY in stage.nb("edit", "b TWO")
    assert stage.file.read_bytes() == before
    assert not [it for it in stage.page.heard if it["op"] == "apply"]
    stage.page.mute = False
    assert "Wrote" in stage.nb("edit", "b TWO")
    assert stage.page.sources() == ["one, not saved", "TWO", "three"]


def test_an_answer_lost_after_the_change_does_not_repeat_it(stage: Stage) -> None:
    """The page has applied it, but its answer is lost: the agent tries again."""
    stage.page.hello()

    def deaf(message: Message) -> None:
        if message["op"] == "apply":
            stage.page.mute = True
            stage.page.do_apply(message)

    stage.page.before = deaf
    text = ask_client(stage.session, "fs/read_text_file", path=str(stage.file))["content"]
    mine = json.loads(text)
    mine["cells"].insert(1, code("n", "new"))
    request = {"path": str(stage.file), "content": json.dumps(mine)}
    assert BUSY in ask_client(stage.session, "fs/write_text_file", **request)["error"]["message"]
    stage.page.mute, stage.page.before = False, lambda _: None
    assert ask_client(stage.session, "fs/write_text_file", **request) == {}
    assert stage.page.sources() == ["one", "new", "two", "three"]


def test_a_change_between_read_and_write_is_merged_again(stage: Stage) -> None:
    stage.page.hello()

    def edit_first(message: Message) -> None:
        if message["op"] == "apply":
            stage.page.before = lambda _: None
            stage.page.notebook["cells"][1]["source"] = "two by the user"

    stage.page.before = edit_first
    text = stage.nb("edit", "b two by the agent")
    assert "it was changed since you read it" in text
    assert stage.page.sources() == ["one", "two by the user", "three"]
    stage.page.before = edit_first
    assert "Wrote" in stage.nb("edit", "a ONE")
    assert stage.page.sources() == ["ONE", "two by the user", "three"]


def test_the_prompting_cell_is_neither_deleted_nor_moved(stage: Stage) -> None:
    stage.page.hello()
    conversation = stage.session._conversation
    made = conversation.new_run

    def new_run(content: Any, limits: Any = None) -> Any:
        run = made(content, limits)
        run.__class__ = type("Run", (type(run),), {"cell": property(lambda _: "b", lambda *_: None)})
        return run

    conversation.new_run = new_run  # type: ignore[method-assign]
    assert "cannot be deleted" in stage.nb("delete", "b")
    stage.page.notebook["cells"].append(code("d", "four"))
    assert "cannot be moved" in stage.nb("move", "b d")
    assert "Wrote" in stage.nb("edit", "b TWO")
    assert stage.page.sources() == ["one", "TWO", "three", "four"]


# ---- which file it is ---------------------------------------------------------------------------


def test_a_copy_elsewhere_is_another_file(stage: Stage) -> None:
    stage.page.hello()
    other = stage.file.parent / "sub" / stage.file.name
    other.parent.mkdir()
    other.write_bytes(stage.file.read_bytes())
    status = stage.file.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))  # as `cp -p` leaves it
    text = stage.session.prompt(f"/nb edit sub/{other.name} a ONE", timeout=LIMIT_S).text
    assert "Wrote" in text
    assert "ONE" in other.read_text() and stage.page.sources()[0] == "one"


def test_the_open_file_by_another_name_is_the_open_file(stage: Stage) -> None:
    stage.page.hello()
    (stage.file.parent / "alias.ipynb").symlink_to(stage.file)
    stage.session.prompt("/nb edit alias.ipynb a ONE", timeout=LIMIT_S)
    assert stage.page.sources()[0] == "ONE" and "ONE" not in stage.file.read_text()


def test_an_unproved_file_is_not_written(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server with a notebook of the same name and different content."""
    monkeypatch.setattr(stage.page, "facts", lambda: {"last_modified": "2020-01-01T00:00:00Z", "size": 3})
    stage.page.hello()
    before = stage.file.read_bytes()
    assert BUSY in stage.nb("edit", "a ONE")
    assert stage.file.read_bytes() == before and stage.page.sources()[0] == "one"
    assert any("may be open" in it for it in notices(stage.session))


def test_a_renamed_notebook_is_followed(stage: Stage) -> None:
    stage.page.hello()
    stage.nb("edit", "a ONE")
    renamed = stage.file.with_name("b.ipynb")
    stage.file.rename(renamed)
    stage.page.file, stage.page.path = renamed, f"work/{renamed.name}"
    stage.page.hello()
    assert "Wrote" in stage.session.prompt("/nb edit b.ipynb b TWO", timeout=LIMIT_S).text
    assert stage.page.sources()[:2] == ["ONE", "TWO"]


def test_a_just_renamed_notebook_is_not_written_behind_its_page(stage: Stage) -> None:
    """While the user's code blocks the kernel, no message of the page arrives, not even the new name."""
    stage.page.hello()
    assert "Wrote" in stage.nb("edit", "a ONE")
    renamed = stage.file.with_name("b.ipynb")
    stage.file.rename(renamed)
    before = renamed.read_bytes()
    stage.page.file, stage.page.path, stage.page.mute = renamed, f"work/{renamed.name}", True
    edit = "/nb edit b.ipynb b TWO"
    assert BUSY in stage.session.prompt(edit, timeout=LIMIT_S).text
    stage.page.mute = False
    assert "Wrote" in stage.session.prompt(edit, timeout=LIMIT_S).text
    assert stage.page.sources()[:2] == ["ONE", "TWO"] and renamed.read_bytes() == before


def test_an_editor_that_cannot_be_reached_is_not_written_behind(stage: Stage) -> None:
    """As in VS Code, or with collaboration: a page, but no document in it."""
    stage.page.hello(document=False, live=False, path=None)
    before = stage.file.read_bytes()
    assert BUSY in stage.nb("edit", "a ONE")
    assert stage.file.read_bytes() == before


def test_another_notebook_is_written_on_disk(stage: Stage) -> None:
    stage.page.hello()
    other = stage.file.with_name("other.ipynb")
    other.write_text(json.dumps(book(code("x", "one"))))
    assert "Wrote" in stage.session.prompt("/nb edit other.ipynb x ONE", timeout=LIMIT_S).text
    assert "ONE" in other.read_text()


def test_a_page_that_said_bye_has_nothing_open(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.page.hello()
    assert "Wrote" in stage.nb("edit", "a ONE")
    stage.page.do_save({})
    monkeypatch.delenv("JPY_SESSION_NAME")
    stage.panel.documents._expected = 0.0  # nor is any expected
    stage.page.widget.receive({"t": "bye", "view": stage.page.view})
    assert "Wrote" in stage.nb("edit", "b TWO")
    assert "TWO" in stage.file.read_text()


def test_the_newest_page_is_asked(stage: Stage) -> None:
    older = stage.page
    older.hello()
    newer = Page(stage.panel, stage.file, older.path, view="w")
    newer.hello()
    stage.nb("edit", "a ONE")
    assert (older.sources()[0], newer.sources()[0]) == ("one", "ONE")
    older.hello()  # its connection was lost and is back
    stage.nb("read")
    assert older.heard[-1]["op"] in ("describe", "locate", "refresh")


# ---- liars --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"result": 5}', '{"result": {"path": 1}}', '{"error": 1}', "[" * 100_000]
)
def test_an_invalid_answer_is_an_error(stage: Stage, text: str) -> None:
    def answer(message: Message) -> None:
        fields = {"rid": message["rid"], "text": text, "part": 0, "of": 1, "now": 0}
        stage.page.widget.receive({"t": "doc", "view": "v", **fields})

    stage.page.answer = answer  # type: ignore[method-assign]
    stage.page.hello()
    with pytest.raises(acp.Error):
        repr(stage.notebook.cells)
    before = stage.file.read_bytes()
    assert "unchanged" in stage.nb("edit", "a ONE")
    assert stage.file.read_bytes() == before


def test_foreign_answers_and_repeated_parts_do_no_harm(stage: Stage) -> None:
    real = stage.page.answer

    def answer(message: Message) -> None:
        rid = message["rid"]
        for fields in (
            {"view": "other", "rid": rid, "text": "x", "part": 0, "of": 1},
            {"view": "v", "rid": "unknown", "text": "x", "part": 0, "of": 1},
            {"view": "v", "rid": rid, "text": "x", "part": 5, "of": 2},
        ):
            stage.page.widget.receive({"t": "doc", "now": 0, **fields})
        real(message)
        real(message)

    stage.page.answer = answer  # type: ignore[method-assign]
    stage.page.hello()
    assert [it.source for it in stage.notebook.cells] == ["one", "two", "three"]


# ---- session.notebook ---------------------------------------------------------------------------


def test_the_user_changes_the_notebook(stage: Stage) -> None:
    stage.page.hello()
    notebook = stage.notebook
    new = notebook.insert("new", after="a", type="markdown")
    notebook.replace("b", "TWO")
    notebook.move("c", after=None)
    notebook.delete(notebook.cells[1])
    last = notebook.insert("last")
    assert [it.id for it in notebook.cells] == ["c", new, "b", last]
    assert [it.source for it in notebook.cells] == ["three", "new", "TWO", "last"]
    assert (notebook.path, notebook.dirty) == ("work/a.ipynb", True)
    notebook.save()
    assert not notebook.dirty
    assert "TWO" in stage.file.read_text()
    assert repr(notebook) == "<LiveNotebook work/a.ipynb · 4 cells>"
    assert "<td><code>TWO</code></td>" in notebook._repr_html_()
    assert repr(notebook.cells[2]) == "<Cell b · code · 'TWO'>"


def test_cells_are_found_by_their_execution_count(stage: Stage) -> None:
    stage.page.notebook["cells"][0]["execution_count"] = 3
    stage.page.notebook["cells"][2]["execution_count"] = 2
    stage.page.hello()
    notebook = stage.notebook
    found = [notebook.source_of(it) for it in ("3", "2", "last", "9")]
    assert found == ["one", "three", "one", None]


def test_invalid_edits_by_the_user_raise_errors(stage: Stage) -> None:
    stage.page.hello()
    notebook = stage.notebook
    old = notebook.cells[0]
    stage.page.notebook["cells"][0]["source"] = "changed"
    for call in (
        lambda: notebook.delete("nothing"),
        lambda: notebook.delete(old),
        lambda: notebook.move("a", after="a"),
        lambda: notebook.insert("x", type="cake"),
        lambda: notebook.insert("x", after="nothing"),
    ):
        with pytest.raises(acp.UsageError):
            call()
    stage.page.mute = True
    with pytest.raises(acp.Timeout):
        repr(notebook.cells)
    assert "cannot be reached" in repr(notebook)
    stage.page.widget.receive({"t": "bye", "view": "v"})
    stage.page.hello(live=False)
    with pytest.raises(acp.UsageError, match="JupyterLab"):
        repr(notebook.cells)


def test_a_script_has_no_notebook() -> None:
    with acp.connect("demo") as session, pytest.raises(acp.UsageError, match="there is no open notebook"):
        repr(session.notebook)


# ---- changed on disk by the agent itself --------------------------------------------------------


def test_a_clean_tab_is_reloaded(stage: Stage) -> None:
    stage.page.hello()
    stage.nb("disk", "a ONE")
    wait_until(lambda: stage.page.sources()[0] == "ONE", "the tab is reloaded", LIMIT_S)
    wait_until(
        lambda: any("changed on disk" in it for it in notices(stage.session)), "the user is notified", LIMIT_S
    )


def test_a_tab_with_other_edits_merges_both(stage: Stage) -> None:
    stage.page.hello()
    stage.nb("read")
    wait_until(
        lambda: str(stage.file) in stage.session._conversation.services.notebooks._before, "kept", LIMIT_S
    )
    stage.page.dirty = True
    stage.page.notebook["cells"][1]["source"] = "two by the user"
    stage.nb("disk", "a ONE")
    wait_until(lambda: stage.page.sources() == ["ONE", "two by the user", "three"], "both are there", LIMIT_S)
    assert stage.page.known == stage.page.facts()


def test_a_cell_that_both_changed_is_left_to_the_user(stage: Stage) -> None:
    stage.page.hello()
    stage.nb("read")
    stage.page.dirty = True
    stage.page.notebook["cells"][0]["source"] = "one by the user"
    stage.nb("disk", "a ONE")
    conflict = "conflicts with unsaved edits"
    wait_until(lambda: any(conflict in it for it in notices(stage.session)), "the user is notified", LIMIT_S)
    assert stage.page.sources()[0] == "one by the user"
    assert "ONE" in stage.file.read_text()


@pytest.mark.parametrize("steps", range(STEPS))
def test_a_cancel_together_with_an_answer_is_a_cancel(steps: int) -> None:
    """Otherwise a look at the page that is over goes on forever."""

    async def on_no_thread(work: Callable[[], Any]) -> Any:
        return work()

    async def cancelled_after_steps() -> None:
        loop = asyncio.get_running_loop()

        def send(request: Message) -> None:
            answer = Doc("v", request["rid"], '{"result": null}')
            loop.call_soon(documents.on_answer, answer)

        documents = OpenDocuments(send, on_no_thread, started=list)
        documents.hello(Hello("v", live=True))
        page = await documents.newest()
        assert page is not None

        async def look() -> None:
            while True:
                await documents.save(page)

        looking = asyncio.create_task(look())
        for _ in range(steps):
            await asyncio.sleep(0)
        looking.cancel()
        for _ in range(STEPS):
            await asyncio.sleep(0)
        assert looking.cancelled()

    asyncio.run(cancelled_after_steps())


# ---- the server's paths ------------------------------------------------------------


def places(stage: Stage) -> list[Message]:
    return [it for it in stage.page.widget.sent if it["t"] == "places"]


def test_a_page_gets_its_servers_paths(stage: Stage) -> None:
    stage.page.hello()
    wait_until(lambda: len(places(stage)) == 1, "the paths are sent", LIMIT_S)
    folder = stage.file.parent
    prefixes = [[str(folder), "work"], [str(folder.parent), ""]]
    assert places(stage) == [{"t": "places", "view": "v", "prefixes": prefixes}]


def test_a_page_that_does_not_answer_yet_gets_them_with_the_next_turn(stage: Stage) -> None:
    stage.page.mute = True
    stage.page.hello()
    wait_until(lambda: any(it["op"] == "locate" for it in stage.page.heard), "it is asked", LIMIT_S)
    stage.page.mute = False
    stage.session.prompt("hello", timeout=LIMIT_S)
    wait_until(lambda: len(places(stage)) == 1, "the paths are sent", LIMIT_S)


def test_a_page_without_a_file_gets_no_paths(stage: Stage) -> None:
    stage.page.path = "elsewhere/b.ipynb"
    stage.page.hello(live=False)
    stage.session.prompt("hello", timeout=LIMIT_S)
    assert places(stage) == []


# ---- unsaved text in other tabs -----------------------------------------------------------------


class Tab:
    """Another document of the page, like js/lab/src/tabs.ts."""

    def __init__(self, stage: Stage, name: str = "lib.py", text: str = "saved = 1\n") -> None:
        self.file = stage.file.with_name(name)
        self.file.write_text(text)
        self.page, self.path = stage.page, f"work/{name}"
        self.text, self.dirty = f"{text}unsaved = 2\n", True
        own = stage.page.answer

        def answer(message: Message) -> None:
            (self._answer if message["tab"] == self.path else own)(message)

        stage.page.answer = answer  # type: ignore[method-assign]
        stage.page.hello()
        self.report()

    def report(self, *texts: str, **fields: Any) -> None:
        message = {"t": "tabs", "notebooks": [], "texts": texts or [self.path], "view": self.page.view}
        self.page.widget.receive(message | fields)

    def _answer(self, message: Message) -> None:
        result: Any = None
        if message["op"] == "locate":
            data = self.file.read_bytes()
            modified = datetime.fromtimestamp(self.file.stat().st_mtime, UTC).isoformat()
            digest = {"hash": hashlib.sha256(data).hexdigest(), "hash_algorithm": "sha256"}
            result = {"path": self.path, "file": {"last_modified": modified, "size": len(data), **digest}}
        elif message["op"] == "text":
            result = {"text": self.text, "dirty": self.dirty}
        answer: Message = {"result": result}
        if message["op"] == "write" and self.text != message["based_on"]:
            answer = {"error": {"code": "stale", "message": "the text was changed"}}
        elif message["op"] == "write":
            assert message["until"] > self.page.now
            self.text = message["text"]
        fields = {"rid": message["rid"], "text": json.dumps(answer), "part": 0, "of": 1}
        self.page.widget.receive({"t": "doc", "view": self.page.view, "now": self.page.now, **fields})


def test_a_file_is_read_with_the_unsaved_text_of_its_tab_and_written_there(stage: Stage) -> None:
    tab = Tab(stage)
    assert ask_client(stage.session, "fs/read_text_file", path=str(tab.file))["content"] == tab.text
    second = ask_client(stage.session, "fs/read_text_file", path=str(tab.file), line=2, limit=1)
    assert second["content"] == "unsaved = 2\n"
    assert ask_client(stage.session, "fs/write_text_file", path=str(tab.file), content="mine\n") == {}
    assert (tab.text, tab.file.read_text()) == ("mine\n", "saved = 1\n")
    assert any("lib.py was changed in its tab, and is not saved" in it for it in notices(stage.session))


def test_the_question_shows_the_difference_to_the_unsaved_text(stage: Stage) -> None:
    tab = Tab(stage)
    stage.session.permissions = "ask"
    turn = stage.session.start(f"/client fs/write_text_file {write_of(tab, 'mine')}")
    (asked,) = open_questions(stage)
    assert "unsaved = 2" in str(asked.actions)
    stage.page.widget.receive({"t": "answer", "question": asked.key, "option": asked.answers[0].id})
    turn.wait(LIMIT_S)
    assert tab.text == "mine"


def test_a_text_that_changes_while_the_user_is_asked_is_not_written(stage: Stage) -> None:
    tab = Tab(stage)
    stage.session.permissions = "ask"
    turn = stage.session.start(f"/client fs/write_text_file {write_of(tab, 'mine')}")
    (asked,) = open_questions(stage)
    tab.text += "typed = 3\n"
    stage.page.widget.receive({"t": "answer", "question": asked.key, "option": asked.answers[0].id})
    assert "changed while the user was asked" in turn.wait(LIMIT_S).text
    assert tab.text.endswith("typed = 3\n")
    assert tab.file.read_text() == "saved = 1\n"


def test_a_tab_that_is_saved_while_the_user_is_asked_is_not_written(stage: Stage) -> None:
    tab = Tab(stage)
    stage.session.permissions = "ask"
    turn = stage.session.start(f"/client fs/write_text_file {write_of(tab, 'mine')}")
    (asked,) = open_questions(stage)
    tab.dirty = False
    stage.page.widget.receive({"t": "answer", "question": asked.key, "option": asked.answers[0].id})
    assert "changed while the user was asked" in turn.wait(LIMIT_S).text
    assert tab.file.read_text() == "saved = 1\n"


def test_a_file_of_the_same_name_elsewhere_is_another_file(stage: Stage) -> None:
    tab = Tab(stage)
    other = stage.file.parent / "sub" / "lib.py"
    other.parent.mkdir()
    other.write_text("other\n")
    assert ask_client(stage.session, "fs/read_text_file", path=str(other))["content"] == "other\n"
    assert ask_client(stage.session, "fs/write_text_file", path=str(other), content="mine") == {}
    assert (other.read_text(), tab.text) == ("mine", "saved = 1\nunsaved = 2\n")


def test_a_tab_gives_no_access_outside_of_the_session_s_folders(stage: Stage, tmp_path: Path) -> None:
    tab = Tab(stage)
    tab.file = tmp_path / "outside.py"
    tab.file.write_text("secret\n")
    tab.report(tab.path)
    answer = ask_client(stage.session, "fs/read_text_file", path=str(tab.file))
    assert "error" in answer and "secret" not in str(answer)


def test_a_saved_or_closed_tab_leaves_the_file_to_the_disk(stage: Stage) -> None:
    tab = Tab(stage)
    tab.dirty = False
    assert ask_client(stage.session, "fs/read_text_file", path=str(tab.file))["content"] == "saved = 1\n"
    tab.dirty = True
    tab.report(texts=[])
    assert ask_client(stage.session, "fs/write_text_file", path=str(tab.file), content="mine") == {}
    assert tab.file.read_text() == "mine"


@pytest.mark.parametrize("read_before", [True, False])
def test_a_silent_tab_is_read_from_disk_with_a_notice_and_not_written(
    stage: Stage, read_before: bool
) -> None:
    tab = Tab(stage)
    if read_before:
        assert ask_client(stage.session, "fs/read_text_file", path=str(tab.file))["content"] == tab.text
    stage.page.mute = True
    assert ask_client(stage.session, "fs/read_text_file", path=str(tab.file))["content"] == "saved = 1\n"
    assert any("lib.py is open, but its page does not answer" in it for it in notices(stage.session))
    refused = ask_client(stage.session, "fs/write_text_file", path=str(tab.file), content="mine")
    assert BUSY in refused["error"]["message"]
    assert tab.file.read_text() == "saved = 1\n"


def test_more_tabs_than_a_page_has_are_refused(stage: Stage) -> None:
    tab = Tab(stage)
    tab.report(*(f"{number}.py" for number in range(201)))
    wait_until(lambda: any(it["t"] == "refused" for it in stage.page.widget.sent), "a refusal", LIMIT_S)


def write_of(tab: Tab, text: str) -> str:
    return json.dumps({"path": str(tab.file), "content": text})


def open_questions(stage: Stage) -> list[Question]:
    def found() -> list[Question]:
        items = stage.session.transcript.items
        return [it for it in items if isinstance(it, Question) and it.status == "open"]

    wait_until(lambda: bool(found()), "a question", LIMIT_S)
    return found()


# ---- changes in tabs are listed and undone there


def write_in_tab(stage: Stage, tab: Tab, text: str) -> acp.Turn:
    stage.session.permissions = "allow"
    turn = stage.session.prompt(f"/client fs/write_text_file {write_of(tab, text)}")
    assert tab.text == text
    return turn


def test_a_write_in_a_tab_is_a_change_that_is_undone_and_redone_there(stage: Stage) -> None:
    tab = Tab(stage)
    before, saved = tab.text, tab.file.read_bytes()
    turn = write_in_tab(stage, tab, "mine\n")
    (change,) = turn.changes
    assert change.path == str(tab.file)
    turn.revert()
    assert (tab.text, turn.changes[0].state) == (before, "undone")
    turn.redo()
    assert (tab.text, turn.changes[0].state) == ("mine\n", "applied")
    assert tab.file.read_bytes() == saved


def test_what_the_user_types_after_a_write_in_a_tab_survives_its_undo(stage: Stage) -> None:
    tab = Tab(stage)
    tab.text = "".join(f"line {number}\n" for number in range(9))
    turn = write_in_tab(stage, tab, tab.text.replace("line 1\n", "mine\n"))
    tab.text += "typed = 3\n"
    turn.revert()
    assert tab.text == "".join(f"line {number}\n" for number in range(9)) + "typed = 3\n"


def test_an_edit_of_the_same_lines_in_a_tab_is_a_conflict(stage: Stage) -> None:
    tab = Tab(stage)
    turn = write_in_tab(stage, tab, "mine\n")
    tab.text = "typed over it\n"
    with pytest.raises(acp.Error, match="changed since"):
        turn.revert()
    assert tab.text == "typed over it\n"


def test_a_change_in_a_tab_that_does_not_answer_is_not_undone_elsewhere(stage: Stage) -> None:
    """The file on disk does not have the change: nothing to do there would look like success."""
    tab = Tab(stage)
    turn = write_in_tab(stage, tab, tab.text.replace("saved = 1\n", "mine = 1\n", 1))
    stage.page.mute = True
    with pytest.raises(acp.Error, match=BUSY):
        turn.revert()
    assert turn.changes[0].state == "conflict"
    stage.page.mute = False
    turn.revert()
    assert (tab.text, turn.changes[0].state) == ("saved = 1\nunsaved = 2\n", "undone")


def test_a_write_in_a_tab_that_was_saved_since_is_undone_in_the_file(stage: Stage) -> None:
    tab = Tab(stage)
    before = tab.text
    turn = write_in_tab(stage, tab, "mine\n")
    tab.file.write_text(tab.text)
    tab.dirty = False
    turn.revert()
    assert tab.file.read_text() == before


@pytest.mark.parametrize(("on_disk", "listed"), [("mine\n", 1), ("somebody else's\n", 2)])
def test_a_write_in_a_tab_hides_no_change_of_the_file(stage: Stage, on_disk: str, listed: int) -> None:
    """The page may save what was written; everything else that happens to the file is listed."""
    tab = Tab(stage)
    stage.session.permissions = "ask"
    wanted = write_of(tab, "mine\n")
    turn = stage.session.start(f"/client fs/write_text_file {wanted}")
    (asked,) = open_questions(stage)
    tab.file.write_text(on_disk)
    stage.page.widget.receive({"t": "answer", "question": asked.key, "option": asked.answers[0].id})
    turn.wait(LIMIT_S)
    assert tab.text == "mine\n"
    assert [it.path for it in (*turn.changes, *turn.also_changed)] == [str(tab.file)] * listed


def test_a_prompt_that_names_a_file_has_the_unsaved_text_of_its_tab(stage: Stage) -> None:
    tab = Tab(stage)
    (_, sent) = stage.session.preview("Look at it", tab.file).content
    assert isinstance(sent, acp.Resource)
    assert (sent.uri, sent.text) == (tab.file.as_uri(), tab.text)
    tab.dirty = False
    (_, sent) = stage.session.preview("Look at it", tab.file).content
    assert isinstance(sent, acp.Resource)
    assert sent.text == "saved = 1\n"


def test_if_the_page_does_not_answer_a_prompt_has_the_saved_file_and_says_so(stage: Stage) -> None:
    tab = Tab(stage)
    assert "unsaved = 2" in str(stage.session.preview("Look at it", tab.file).content[1])
    stage.page.mute = True
    stage.session.prompt("Look at it", tab.file)
    started = next(it for it in stage.session.transcript.items if isinstance(it, TurnStart))
    assert "saved = 1" in str(started.prompt) and "unsaved" not in str(started.prompt)
    assert any("does not answer: the agent reads the saved file" in it for it in notices(stage.session))
