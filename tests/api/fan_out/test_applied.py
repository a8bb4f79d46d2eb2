"""run.apply(): a run's changes as ordinary uncommitted edits, merged, and undone again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.api.fan_out.applied import Applied
from acp_notebook.core.changes import Version
from acp_notebook.core.fan_out.task import ChangedFile
from tests.api.fan_out.repository import git, make_repository

WAIT_S = 120.0


def changed(path: str, before: str | None, after: str | None) -> ChangedFile:
    one, other = (None if it is None else Version(it.encode()) for it in (before, after))
    return ChangedFile(path, one, other)


def test_the_winner_becomes_uncommitted_edits_and_is_undone(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    runs = acp.fan_out(
        "/edit a.py one = 100",
        cwd=folder,
        score=lambda run: float("100" in (run.folder / "a.py").read_text()),
    ).wait(WAIT_S)
    log = git("log", "--oneline", cwd=folder)
    applied = runs.best().apply()
    assert (folder / "a.py").read_text() == "one = 100\n"
    assert git("log", "--oneline", cwd=folder) == log
    assert runs[0].row.applied and [(it.path, it.state) for it in applied.changes] == [("a.py", "applied")]
    applied.revert()
    assert (folder / "a.py").read_text() == "one = 1\n\n\n\n\ntwo = 'dirty'\n"


def test_what_the_user_changed_since_is_merged(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("mine\n2\n3\n4\n5\n6\n")
    applied = Applied(str(tmp_path), [changed("a.py", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nagent\n")]).redo()
    assert (tmp_path / "a.py").read_text() == "mine\n2\n3\n4\n5\nagent\n"
    (tmp_path / "a.py").write_text("mine too\n2\n3\n4\n5\nagent\n")
    applied.revert()
    assert (tmp_path / "a.py").read_text() == "mine too\n2\n3\n4\n5\n6\n"


def test_a_conflict_changes_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("mine\n")
    (tmp_path / "b.py").write_text("b\n")
    files = [changed("b.py", "b\n", "B\n"), changed("a.py", "1\n", "agent\n"), changed("c.py", None, "new\n")]
    with pytest.raises(acp.Conflict, match=r"nothing was changed:\n  a\.py: it was changed since"):
        Applied(str(tmp_path), files).redo()
    assert (tmp_path / "a.py").read_text() == "mine\n"
    assert (tmp_path / "b.py").read_text() == "b\n"
    assert not (tmp_path / "c.py").exists()


def test_files_are_created_and_deleted_and_back(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n")
    files = [changed("sub/new.txt", None, "new\n"), changed("old.txt", "old\n", None)]
    applied = Applied(str(tmp_path), files).redo()
    assert (tmp_path / "sub" / "new.txt").read_text() == "new\n" and not (tmp_path / "old.txt").exists()
    applied.revert()
    assert not (tmp_path / "sub").exists() and (tmp_path / "old.txt").read_text() == "old\n"


def notebook(*sources: str) -> str:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": [it],
            "outputs": [],
            "execution_count": None,
        }
        for number, it in enumerate(sources)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def test_notebooks_are_merged_by_cell(tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(notebook("mine", "2"))
    Applied(str(tmp_path), [changed("n.ipynb", notebook("1", "2"), notebook("1", "agent"))]).redo()
    cells = json.loads((tmp_path / "n.ipynb").read_text())["cells"]
    assert ["".join(it["source"]) for it in cells] == ["mine", "agent"]


@pytest.mark.parametrize(
    "path", ["../out.txt", "/etc/out.txt", ".git/hooks/post-commit", "sub/.GIT/config", "a/../../out.txt", ""]
)
def test_a_result_cannot_write_outside_of_the_folder_or_into_the_repository(
    path: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(acp.Conflict, match="nothing was changed"):
        Applied(str(folder), [changed(path, None, "evil\n"), changed("ok.txt", None, "fine\n")]).redo()
    assert not list(folder.iterdir()) and not (tmp_path / "out.txt").exists()


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(acp.Conflict, match="nothing was changed"):
        Applied(str(folder), [changed("link/evil.txt", None, "evil\n")]).redo()
    assert not list((tmp_path / "outside").iterdir())


def test_there_must_be_something_to_apply(tmp_path: Path) -> None:
    runs = acp.fan_out("hello", cwd=tmp_path).wait(WAIT_S)
    with pytest.raises(acp.UsageError, match="changed no files"):
        runs[0].apply()
