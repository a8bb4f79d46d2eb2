"""run.apply(): a run's changes as ordinary uncommitted edits, merged, and undone again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.api.fan_out.applied import Applied
from acp_notebook.core.changes import Version
from acp_notebook.core.fan_out.task import ChangedFile
from tests.agent.process_helpers import wait_until
from tests.api.fan_out.repository import git, make_repository, state

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
    assert runs[0].row.applied
    assert [(it.path, it.state) for it in applied.changes] == [(str(folder / "a.py"), "applied")]
    applied.revert()
    assert not runs[0].row.applied
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


# ---- like a turn's changes --------------------------------------------------------------------------

TEN = "".join(f"{number}\n" for number in range(1, 11))
BOTH = TEN.replace("1\n2", "one\n2").replace("\n9\n", "\nnine\n")


def two_files(folder: Path) -> Applied:
    """Two hunks in a.txt, and a new file."""
    (folder / "a.txt").write_text(TEN)
    return Applied(str(folder), [changed("a.txt", TEN, BOTH), changed("new.txt", None, "new\n")]).redo()


def test_files_and_hunks_are_undone_redone_and_kept_one_by_one(tmp_path: Path) -> None:
    applied = two_files(tmp_path)
    text, new = applied.changes
    assert (text.added, text.removed, new.action) == (2, 2, "created")
    text.hunks[0].revert()
    assert (tmp_path / "a.txt").read_text() == BOTH.replace("one", "1")
    assert [it.undone for it in text.hunks] == [True, False] and text.state == "partly"
    new.revert()
    assert not (tmp_path / "new.txt").exists() and new.state == "undone"
    applied.redo()
    assert (tmp_path / "a.txt").read_text() == BOTH and (tmp_path / "new.txt").exists()
    text.keep()
    assert text.state == "kept" and new.state == "applied"
    text.hunks[1].revert()
    applied.revert()
    assert (tmp_path / "a.txt").read_text() == TEN and not (tmp_path / "new.txt").exists()


def test_all_files_are_undone_or_none_and_the_conflict_is_shown(tmp_path: Path) -> None:
    applied = two_files(tmp_path)
    (tmp_path / "a.txt").write_text(BOTH.replace("nine", "mine"))
    with pytest.raises(acp.Conflict, match=r"cannot be undone, and nothing was changed:\n  a\.txt: "):
        applied.revert()
    assert (tmp_path / "new.txt").exists() and "mine" in (tmp_path / "a.txt").read_text()
    assert [it.state for it in applied.changes] == ["conflict", "applied"]
    applied.changes[0].hunks[0].revert()
    assert (tmp_path / "a.txt").read_text() == TEN.replace("\n9\n", "\nmine\n")


class RefusingPage:
    """A page that has every notebook open and refuses every change."""

    async def read(self, path: str) -> bytes | None:
        return None


def test_a_page_that_refuses_takes_back_what_was_done_to_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also files of which some hunks were undone before."""
    from acp_notebook.agent.files.notebook_files import NotebookFiles
    from acp_notebook.agent.files.roots import FileTrouble

    (tmp_path / "a.txt").write_text(TEN)
    (tmp_path / "n.ipynb").write_text(notebook("1"))
    files = [changed("a.txt", TEN, BOTH), changed("n.ipynb", notebook("1"), notebook("2"))]
    applied = Applied(str(tmp_path), files).redo()
    applied.changes[0].hunks[0].revert()
    partly = (tmp_path / "a.txt").read_text()

    async def is_open(self: object, path: str) -> bool:
        return path.endswith(".ipynb")

    async def refuse(self: object, path: str, before: bytes, after: bytes) -> None:
        raise FileTrouble("the page says no")

    monkeypatch.setattr(NotebookFiles, "is_open", is_open)
    monkeypatch.setattr(NotebookFiles, "apply_change", refuse)
    applied._changes._notebooks.live = RefusingPage()  # type: ignore[assignment]
    with pytest.raises(acp.Conflict, match="the page says no"):
        applied.revert()
    assert (tmp_path / "a.txt").read_text() == partly
    assert [it.state for it in applied.changes] == ["partly", "conflict"]


# ---- sessions in the same folder --------------------------------------------------------------------


def test_an_open_session_lists_it_and_does_not_ascribe_it_to_its_agent(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    with acp.connect("demo", cwd=folder, permissions="allow") as session:
        first = session.prompt("/edit first.txt 1")
        runs = acp.fan_out("/edit a.py one = 100", cwd=folder).wait(WAIT_S)
        runs[0].apply()
        last = session.prompt("/edit last.txt 3")
        names = [(Path(it.path).name, it.via, it.by) for it in session.changes]
        assert names == [
            ("first.txt", "client", None),
            ("a.py", "other", "demo, run 0 of a fan-out"),
            ("last.txt", "client", None),
        ]
        assert [len(it.changes) + len(it.also_changed) for it in (first, last)] == [1, 1]
        table = session.changes
        assert "run 0" in repr(table) and "demo, run 0 of a fan-out" in repr(table)
        [entry] = table.where(path="a.py")
        entry.revert()
        assert (folder / "a.py").read_text().startswith("one = 1\n") and not runs[0].row.applied
        entry.redo()
        assert runs[0].row.applied
        table.revert()
        assert (folder / "a.py").read_text().startswith("one = 1\n")
        assert not (folder / "first.txt").exists() and not (folder / "last.txt").exists()


def test_what_is_applied_during_a_turn_is_not_a_change_of_that_turn(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    runs = acp.fan_out("/edit a.py one = 100", cwd=folder).wait(WAIT_S)
    with acp.connect("demo", cwd=folder, permissions="allow") as session:
        session.prompt("hello")
        turn = session.start("/slow 600")
        wait_until(lambda: "tick" in turn.text, "the turn runs")
        runs[0].apply()
        turn.cancel()
        turn.wait(WAIT_S)
        assert [*turn.changes, *turn.also_changed] == []
        assert [Path(it.path).name for it in session.changes] == ["a.py"]


def test_a_session_elsewhere_does_not_list_it(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    with acp.connect("demo", cwd=tmp_path / "there") as session:
        runs = acp.fan_out("/edit a.py 1", cwd=tmp_path / "here").wait(WAIT_S)
        runs[0].apply()
        assert len(session.changes) == 0


# ---- as a commit on a branch ------------------------------------------------------------------------


def committed(folder: Path) -> None:
    git("config", "user.name", "someone", cwd=folder)
    git("config", "user.email", "someone@example.org", cwd=folder)


def test_a_branch_gets_a_commit_and_nothing_else_is_touched(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    committed(folder)
    prompt = "/run sed -i s/one/uno/ a.py; mkdir d; printf 'x\\0y' > d/bin; chmod +x d/bin"
    runs = acp.fan_out(prompt, cwd=folder).wait(WAIT_S)
    before = [it for it in state(folder) if "refs/heads" not in str(it)], git("rev-parse", "HEAD", cwd=folder)
    commit = runs[0].apply(branch="try/this")
    after = [it for it in state(folder) if "refs/heads" not in str(it)], git("rev-parse", "HEAD", cwd=folder)
    assert before == after
    assert git("rev-parse", "try/this", "try/this^", cwd=folder).split() == [commit, before[1].strip()]
    shown = git("show", "--stat", "--format=%an%n%s%n%b", commit, cwd=folder)
    assert shown.startswith("someone\n/run sed") and "demo, run 0 of a fan-out" in shown
    assert git("show", f"{commit}:a.py", cwd=folder) == "uno = 1\n\n\n\n\ntwo = 2\n", "not what is dirty"
    assert git("ls-tree", commit, "d/", cwd=folder).startswith("100755 blob")
    assert "new.txt" not in git("ls-tree", "-r", "--name-only", commit, cwd=folder)
    assert not runs[0].row.applied and runs[0].applied is None


def test_an_existing_branch_is_refused(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    committed(folder)
    runs = acp.fan_out("/edit b.txt 1", cwd=folder).wait(WAIT_S)
    head = git("rev-parse", "main", cwd=folder)
    with pytest.raises(acp.UsageError, match="there is a branch 'main' already"):
        runs[0].apply(branch="main")
    assert git("rev-parse", "main", cwd=folder) == head
    for bad in ("", "-x", "a..b", "HEAD", "a b", "refs/heads/x.lock"):
        with pytest.raises(acp.UsageError, match="is not a name for a branch"):
            runs[0].apply(branch=bad)


def test_a_branch_has_all_files_or_does_not_exist(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    committed(folder)
    runs = acp.fan_out("/run sed -i s/dirty/clean/ a.py; echo 1 > other.txt", cwd=folder).wait(WAIT_S)
    with pytest.raises(acp.Conflict, match=r"no branch was made:\n  a\.py: HEAD has another version"):
        runs[0].apply(branch="try")
    assert "try" not in git("branch", "--list", cwd=folder)


def test_a_branch_needs_a_repository_with_a_commit(tmp_path: Path) -> None:
    runs = acp.fan_out("/edit b.txt 1", cwd=tmp_path).wait(WAIT_S)
    with pytest.raises(acp.UsageError, match="is not in a git repository"):
        runs[0].apply(branch="try")
    git("init", "-q", cwd=tmp_path)
    runs = acp.fan_out("/edit b.txt 1", cwd=tmp_path).wait(WAIT_S)
    with pytest.raises(acp.UsageError, match="has no commit yet"):
        runs[0].apply(branch="try")


def test_the_notebook_of_this_kernel_is_not_changed_behind_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from acp_notebook.agent.threads import on_a_thread
    from acp_notebook.api.fan_out import applied
    from acp_notebook.notebook.open_documents import OpenDocuments
    from acp_notebook.notebook.runtime import Runtime

    for name in ("own.ipynb", "other.ipynb"):
        (tmp_path / name).write_text(notebook("1"))
    place = Runtime(kernel=True, main_thread=False, headless=False, cell_id=None, can_input=False)
    monkeypatch.setattr(applied, "where", lambda: place)
    monkeypatch.setattr(applied, "started_paths", lambda: [str(tmp_path / "own.ipynb")])
    own, other = (changed(f"{it}.ipynb", notebook("1"), notebook("2")) for it in ("own", "other"))
    with pytest.raises(acp.Conflict, match=r"own\.ipynb: it may be open in a page .* Show a session in it"):
        Applied(str(tmp_path), [other, own]).redo()
    assert (tmp_path / "other.ipynb").read_text() == (tmp_path / "own.ipynb").read_text() == notebook("1")
    Applied(str(tmp_path), [other]).redo()
    monkeypatch.setattr(applied, "started_paths", list)
    with pytest.raises(acp.Conflict, match="it may be open"):
        Applied(str(tmp_path), [own]).redo()
    Applied(str(tmp_path), [own], OpenDocuments(lambda message: None, on_a_thread, started=list)).redo()
    assert json.loads((tmp_path / "own.ipynb").read_text())["cells"][0]["source"] in ("2", ["2"])
