"""Notebooks that no page has open: read without outputs, written by merging."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

import acp_notebook as acp
from acp_notebook.core.actions import NotebookWrite
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.records import Diff
from acp_notebook.core.snapshot import ToolCall
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, notices
from tests.session.test_client_services import (
    INVALID,
    answering,
    ask_client,
    nobody_answers,
    offer,
    questions,
)

IMAGE = "iVBORw0KGgo=" * 10_000


@pytest.fixture(autouse=True)
def own_grants(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path_factory.mktemp("config")))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


def code(id: str, source: str, *outputs: Any) -> dict[str, Any]:
    fields = {"cell_type": "code", "id": id, "metadata": {"mine": id}, "source": source}
    return {**fields, "outputs": list(outputs), "execution_count": 1 if outputs else None}


def image() -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": {"image/png": IMAGE}}


def book(*cells: dict[str, Any]) -> str:
    return json.dumps(
        {"cells": list(cells), "metadata": {"x": 1}, "nbformat": 4, "nbformat_minor": 5}, indent=3
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.ipynb"
    made.write_text(book(code("a", "one", image()), code("b", "two", image()), code("c", "three")))
    return made


def cells_of(path: Path) -> list[dict[str, Any]]:
    nbformat.validate(nbformat.reads(path.read_text(), as_version=4))  # type: ignore[no-untyped-call]
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return cells


def read(session: acp.Session, path: Path, **part: int) -> Any:
    return ask_client(session, "fs/read_text_file", path=str(path), **part)["content"]


def write(session: acp.Session, path: Path, text: str) -> Any:
    return ask_client(session, "fs/write_text_file", path=str(path), content=text)


# ---- reading ------------------------------------------------------------------------------------


def test_a_notebook_is_read_as_its_sources_in_stable_lines(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent)
    text = read(session, path)
    assert len(text) < len(path.read_text()) / 50
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells] == ["one", "two", "three"]
    assert "image/png" in str(notebook.cells[0].outputs) and IMAGE not in text
    lines = text.splitlines(keepends=True)
    assert read(session, path, line=3, limit=4) == "".join(lines[2:6])
    assert read(session, path, line=len(lines) + 1) == ""


def test_raw_returns_the_bytes(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, read_notebooks="raw", permissions="allow")
    assert read(session, path) == path.read_text()
    assert write(session, path, path.read_text().replace('"two"', '"2"')) == {}
    assert [cell["source"] for cell in cells_of(path)] == ["one", "2", "three"]
    assert cells_of(path)[0]["outputs"] == [image()]


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(acp.UsageError, match="read_notebooks"):
        acp.connect("demo", read_notebooks="all")  # type: ignore[arg-type]
    with pytest.raises(acp.UsageError, match="notebook_outputs"):
        acp.connect("demo", notebook_outputs="some")  # type: ignore[arg-type]


def test_a_file_that_is_not_a_notebook_is_read_unchanged(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("<<<<<<< HEAD")
    assert read(demo(cwd=tmp_path), tmp_path / "a.ipynb") == "<<<<<<< HEAD"


@pytest.mark.parametrize("part", [{"line": -1}, {"limit": -1}], ids=str)
def test_negative_lines_are_refused(demo: Demo, path: Path, part: dict[str, int]) -> None:
    answer = ask_client(demo(cwd=path.parent), "fs/read_text_file", path=str(path), **part)
    assert answer["error"]["code"] == INVALID


# ---- writing ------------------------------------------------------------------------------------


def test_an_edit_changes_its_cell_and_nothing_else(demo: Demo, path: Path) -> None:
    before = path.read_text()
    session = demo(cwd=path.parent, permissions="allow")
    session.prompt("/nb edit a.ipynb b TWO", timeout=LIMIT_S)
    one, two, three = cells_of(path)
    assert (two["source"], two["outputs"], two["execution_count"]) == ("TWO", [], None)
    assert two["metadata"] == {"mine": "b"}
    assert one["outputs"] == [image()]
    start = before.index('"id": "a"')
    assert before[start : before.index('"id": "b"') - 40] in path.read_text()  # to the byte
    assert three["source"] == "three"


def test_outputs_of_a_changed_cell_can_be_kept(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow", notebook_outputs="keep")
    session.prompt("/nb edit a.ipynb b TWO", timeout=LIMIT_S)
    assert cells_of(path)[1]["outputs"] == [image()]


def test_changes_by_others_in_between_survive(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    mine = json.loads(read(session, path))
    path.write_text(book(code("a", "ONE by the user", image()), code("b", "two", image()), code("n", "new")))
    mine["cells"][1]["source"] = "TWO by the agent"
    assert write(session, path, json.dumps(mine)) == {}
    assert [it["source"] for it in cells_of(path)] == ["ONE by the user", "TWO by the agent", "new"]


def test_a_conflict_writes_nothing_and_names_the_cell(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    mine = json.loads(read(session, path))
    path.write_text(book(code("a", "by the user"), code("b", "two"), code("c", "three")))
    before = path.read_bytes()
    mine["cells"][0]["source"] = "by the agent"
    error = write(session, path, json.dumps(mine))["error"]
    assert (
        error["code"] == INVALID and "id a" in error["message"] and "nothing was written" in error["message"]
    )
    assert path.read_bytes() == before
    assert not questions(session), "nobody is asked about what cannot be"
    [notice] = notices(session)
    assert (
        "a.ipynb was not written: you and the agent changed it" in notice and "cell 1 (by the user)" in notice
    )
    # Reading it again in parts is enough.
    lines = len(read(session, path).splitlines())
    mine = json.loads(
        read(session, path, line=1, limit=lines // 2) + read(session, path, line=lines // 2 + 1)
    )
    mine["cells"][0]["source"] = "by both"
    assert write(session, path, json.dumps(mine)) == {}
    assert cells_of(path)[0]["source"] == "by both"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"cells": [', "line 1"),
        ("[]", "not a notebook"),
        (book(code("a", "x"), code("a", "y")), "same id"),
        ('{"cells": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}', "nbformat 3"),
    ],
    ids=["no JSON", "no notebook", "one id twice", "an old format"],
)
def test_an_invalid_notebook_is_not_written(demo: Demo, path: Path, text: str, says: str) -> None:
    before = path.read_bytes()
    session = demo(cwd=path.parent, permissions="allow")
    for target in (path, path.parent / "new.ipynb"):
        error = write(session, target, text)["error"]
        assert error["code"] == INVALID and says in error["message"]
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["a.ipynb"]


def test_a_new_notebook_is_complete(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path, permissions="allow")
    cells = '[{"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": null}]'
    text = f'{{"cells": {cells}, "metadata": {{}}, "nbformat": 4, "nbformat_minor": 4}}'
    assert write(session, tmp_path / "sub" / "new.ipynb", text) == {}
    (cell,) = cells_of(tmp_path / "sub" / "new.ipynb")
    assert cell["id"]
    assert write(session, tmp_path / "sub" / "new.ipynb", text.replace('"1"', '"2"')) == {}
    assert [it["source"] for it in cells_of(tmp_path / "sub" / "new.ipynb")] == [["2"]]


def test_a_notebook_behind_a_link_is_recognised(demo: Demo, path: Path) -> None:
    (path.parent / "notes.txt").symlink_to(path)
    session = demo(cwd=path.parent, permissions="allow")
    assert IMAGE not in read(session, path.parent / "notes.txt")
    error = write(session, path.parent / "notes.txt", "no notebook")["error"]
    assert error["code"] == INVALID


# ---- who is asked -------------------------------------------------------------------------------


def test_the_card_compares_sources_cell_by_cell(demo: Demo, path: Path) -> None:
    asked: list[PermissionRequest] = []

    def policy(request: PermissionRequest) -> str:
        asked.append(request)
        return "allow"

    demo(cwd=path.parent, permissions=policy).prompt("/nb edit a.ipynb b TWO", timeout=LIMIT_S)
    (request,) = asked
    (diff,) = request.tool.content
    assert isinstance(diff, Diff) and diff.path == str(path)
    assert diff.old_text == "# %% a\none\n\n# %% b\ntwo\n\n# %% c\nthree\n\n"
    assert diff.new_text == diff.old_text.replace("two", "TWO")


def test_an_agents_own_notebook_diff_is_shown_as_cells(demo: Demo, path: Path) -> None:
    """The agent shows JSON; the question shows the new cells, and the card shows what was written."""
    asked: list[PermissionRequest] = []

    def policy(request: PermissionRequest) -> str:
        asked.append(request)
        return "allow"

    session = demo(cwd=path.parent, permissions=policy)
    whole = book(code("a", "one"), code("b", "TWO"), code("c", "three"))
    turn = session.prompt(f"/edit a.ipynb {json.dumps(json.loads(whole))}", timeout=LIMIT_S)
    (request,) = asked
    before = "# %% a\none\n\n# %% b\ntwo\n\n# %% c\nthree\n\n"
    after = before.replace("two", "TWO")
    assert request.actions == (NotebookWrite(str(path), None, before, after),)
    assert turn.diffs == (Diff(str(path), after, before),)
    assert [it["source"] for it in cells_of(path)] == ["one", "TWO", "three"]


def test_emptying_a_notebook_is_asked_about_despite_any_allow(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent)
    answering(session, offer("session"))
    session.prompt("/nb edit a.ipynb b TWO", timeout=LIMIT_S)
    nobody_answers(session)
    assert "Wrote" in session.prompt("/nb edit a.ipynb c THREE", timeout=LIMIT_S).text
    before = path.read_bytes()
    turn = session.prompt("/nb clear a.ipynb", timeout=LIMIT_S)
    assert "unchanged" in turn.text and path.read_bytes() == before
    answering(session, lambda question: question.options[0].id)
    turn = session.prompt("/nb clear a.ipynb", timeout=LIMIT_S)
    assert "Wrote" in turn.text and cells_of(path) == []
    (call,) = (it for it in turn.items if isinstance(it, ToolCall))
    assert "it would empty the notebook" in call.title
    assert questions(session)[-1].offers == ()


def test_a_policy_may_allow_even_that(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    assert "Wrote" in session.prompt("/nb clear a.ipynb", timeout=LIMIT_S).text
    assert cells_of(path) == []


def test_allow_does_not_cover_emptying_if_somebody_can_be_asked(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    asked = session._conversation.state.audience
    asked.can_answer, asked.timeout = True, 0.05  # a user is present, but does not answer
    before = path.read_bytes()
    assert "nobody answered" in session.prompt("/nb clear a.ipynb", timeout=LIMIT_S).text
    assert path.read_bytes() == before
    assert "Wrote" in session.prompt("/nb edit a.ipynb c THREE", timeout=LIMIT_S).text


def test_a_function_may_allow_emptying_if_somebody_can_be_asked(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions=lambda _: "allow")
    session._conversation.state.audience.can_answer = True
    assert "Wrote" in session.prompt("/nb clear a.ipynb", timeout=LIMIT_S).text


def test_an_invalid_notebook_is_only_replaced_with_consent(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text("<<<<<<< HEAD")
    session = demo(cwd=tmp_path)
    answering(session, offer("session"))
    write(session, tmp_path / "b.txt", "x")
    nobody_answers(session)
    assert "error" in write(session, path, book(code("a", "x")))
    assert path.read_text() == "<<<<<<< HEAD"
    answering(session, lambda question: question.options[0].id)
    assert write(session, path, book(code("a", "x"))) == {}
    assert [it["source"] for it in cells_of(path)] == [["x"]]


def test_changes_while_the_user_decides_are_not_overwritten(demo: Demo, path: Path) -> None:
    def policy(_: PermissionRequest) -> str:
        path.write_text(book(code("a", "by the user"), code("b", changed), code("c", "three")))
        return "allow"

    session = demo(cwd=path.parent, permissions=policy)
    changed = "two too"
    turn = session.prompt("/nb edit a.ipynb b TWO", timeout=LIMIT_S)
    assert "it was changed since you read it" in turn.text
    assert [it["source"] for it in cells_of(path)] == ["by the user", "two too", "three"]
    changed = "two"
    path.write_text(book(code("a", "one"), code("b", "two"), code("c", "three")))
    assert "Wrote" in session.prompt("/nb edit a.ipynb b TWO", timeout=LIMIT_S).text
    assert ["".join(it["source"]) for it in cells_of(path)] == ["by the user", "TWO", "three"]


def test_a_write_without_a_read_undoes_nothing_that_was_changed_since_the_question(
    demo: Demo, path: Path
) -> None:
    """The question compares with the notebook as it is; what the user types meanwhile is not in it."""

    def policy(_: PermissionRequest) -> str:
        path.write_text(book(code("a", "one"), code("b", "two"), code("c", "by the user")))
        return "allow"

    session = demo(cwd=path.parent, permissions=policy)
    assert write(session, path, book(code("a", "ONE"), code("b", "two"), code("c", "three"))) == {}
    assert ["".join(it["source"]) for it in cells_of(path)] == ["ONE", "two", "by the user"]
    assert any("without reading it first" in it for it in notices(session))
    assert [it.title for it in session.notices] == ["a.ipynb: the agent had not read it"]


@pytest.mark.parametrize("mine", ["my own text", book(code("a", "mine"))])
def test_a_file_that_appears_during_the_question_is_not_replaced(
    demo: Demo, tmp_path: Path, mine: str
) -> None:
    path = tmp_path / "new.ipynb"

    def policy(_: PermissionRequest) -> str:
        path.write_text(mine)
        return "allow"

    session = demo(cwd=tmp_path, permissions=policy)
    answer = write(session, path, book(code("z", "the agent's")))
    assert "changed while the user was asked" in answer.get("error", {}).get("message", "")
    assert path.read_text() == mine


def test_rejected_parts_of_a_write_are_reported(demo: Demo, path: Path) -> None:
    session = demo(cwd=path.parent, permissions="allow")
    mine = json.loads(read(session, path))
    mine["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "made up"}]
    assert write(session, path, json.dumps(mine)) == {}
    assert any("only running a cell makes them" in it for it in notices(session))
    assert cells_of(path)[2]["outputs"] == []
