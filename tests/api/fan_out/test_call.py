"""acp.fan_out(): what it refuses before anything is started, and what it survives."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.api.fan_out.record import RecordFolder
from tests.api.fan_out.counting import WAIT_S, Counted, leftovers
from tests.api.fan_out.repository import git, make_repository

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no prompts": ({"prompts": []}, "there is no prompt"),
    "an empty prompt": ({"prompts": ["a", " "]}, "a prompt is empty"),
    "no text": ({"prompts": 5}, "prompts is a int"),
    "no agents": ({"agents": []}, "there is no agent"),
    "an unknown key": ({"agents": [{"agent": "demo", "modell": "x"}]}, "it can have agent, args"),
    "no attempts": ({"attempts": 0}, "attempts is 0"),
    "nothing at once": ({"at_once": 0}, "at_once is 0"),
    "no items": ({"prompts": "{path}", "for_each": []}, "for_each is empty"),
    "no such field": ({"prompts": "{nope}", "for_each": [{"a": 1}]}, r"none of the fields \{a\}"),
    "a number as score": ({"score": 5}, "score is 5"),
    "no time for the score": ({"score": "true", "score_seconds": -1}, "score_seconds is -1"),
    "no time for the setup": ({"setup": "true", "setup_seconds": 0}, "setup_seconds is 0"),
    "no cost": ({"max_cost": -1}, "max_cost is -1"),
    "no total": ({"max_total_cost": 0}, "max_total_cost is 0"),
    "asking": ({"permissions": "ask"}, "nobody is asked"),
    "a variable's value": ({"env": {"KEY": "secret"}}, "a list of the names of variables"),
    "one name": ({"env": "PATH"}, "a list of the names of variables"),
    "no executor": ({"executor": 5}, "executor is 5"),
    "no folder": ({"cwd": "/no/such/folder"}, "is not a folder"),
    "nothing to share": ({"share": ["nope"]}, "share: nope does not exist"),
    "no record": ({"record": "/proc/nope/x"}, "cannot be used"),
}


@pytest.mark.parametrize(("options", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused_at_once(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    given = {"prompts": "hello", "cwd": tmp_path, **options}
    with pytest.raises(acp.UsageError, match=why):
        acp.fan_out(given.pop("prompts"), **given)


def test_there_is_no_such_run_to_compare(tmp_path: Path) -> None:
    runs = acp.fan_out("hello", cwd=tmp_path).wait(WAIT_S)
    for wrong in (1, "0"):
        with pytest.raises(acp.UsageError, match="there is no run"):
            runs.compare(0, wrong)  # type: ignore[arg-type]


def no_score(run: Any) -> Any:
    raise SystemExit(3)


_over = threading.Event()


def endless(run: Any) -> float:
    _over.wait(WAIT_S)
    return 1


@pytest.mark.parametrize(
    ("score", "why"),
    [
        (lambda run: 1 / 0, "the function raised ZeroDivisionError: division by zero"),
        (no_score, "the function raised SystemExit: 3"),
        (lambda run: None, "the score is None"),
        (lambda run: float("nan"), "not a number"),
        (endless, "it took longer than 0.3 s"),
        ("sleep 600", "it took longer than 0.3 s"),
        (acp.judge("/no/such/agent"), "no command '/no/such/agent'"),
    ],
    ids=["raises", "exits", "None", "NaN", "endless", "sleeps", "no judge"],
)
def test_a_score_that_fails_loses_nothing_else(score: Any, why: str, tmp_path: Path) -> None:
    _over.clear()
    runs = acp.fan_out("/edit a.txt 1", cwd=tmp_path, score=score, score_seconds=0.3).wait(WAIT_S)
    _over.set()
    [run] = runs
    assert (run.state, run.score, [it.path for it in run.files]) == ("done", None, ["a.txt"])
    assert why in str(run.score_text)
    assert runs.best() is run


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_fails_the_runs_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the copies are made, and when results are written."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("a")
    real = shutil.copy2
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copy2", full)
        with pytest.raises(acp.Error, match="No space left on device"):
            acp.fan_out("say 1", agents=counted.agents, cwd=tmp_path / "project")
        calls = {"count": 0}

        def full_later(*args: Any, **options: Any) -> Any:
            calls["count"] += 1
            return real(*args, **options) if calls["count"] == 1 else full()

        patched.setattr(shutil, "copy2", full_later)
        [run] = acp.fan_out("say 1", agents=counted.agents, cwd=tmp_path / "project").wait(WAIT_S)
        assert run.state == "failed" and "No space left on device" in str(run.error)
        assert counted.prompts == [] and calls["count"] == 3, "tried again once: no prompt was sent"
    monkeypatch.setattr(RecordFolder, "write", full)
    runs = acp.fan_out(
        "say 1", agents=counted.agents, cwd=tmp_path / "project", record=tmp_path / "results"
    ).wait(WAIT_S)
    assert runs[0].state == "done" and runs[0].text == "did say 1"
    assert any("No space left on device" in it for it in runs.progress.notices)
    assert leftovers() == []


def test_equal_prompts_are_each_recorded(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()

    def again() -> acp.Runs:
        return acp.fan_out(
            ["say 1", "say 1"],
            agents=[*counted.agents, *counted.agents],
            cwd=tmp_path / "project",
            record=tmp_path / "results",
        ).wait(WAIT_S)

    assert [it.state for it in again()] == ["done"] * 4
    assert len(list((tmp_path / "results").glob("*.run"))) == 4
    assert [it.state for it in again()] == ["done"] * 4 and len(counted.prompts) == 4, "nothing twice"


def test_submodules_and_links(tmp_path: Path) -> None:
    """Links stay links; a nested repository is not copied, and that is said."""
    folder = make_repository(tmp_path / "project")
    other = make_repository(tmp_path / "other")
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "mod", cwd=folder)
    for name, target in (("inside", "a.py"), ("outside", "/etc"), ("dangling", "nowhere")):
        (folder / name).symlink_to(target)
    seen: list[dict[str, str]] = []

    def look(run: Any) -> float:
        seen.append({it.name: os.readlink(it) for it in run.folder.iterdir() if it.is_symlink()})
        return 1

    runs = acp.fan_out("hello", cwd=folder, score=look).wait(WAIT_S)
    assert runs[0].state == "done" and runs[0].files == ()
    assert seen == [{"inside": "a.py", "outside": "/etc", "dangling": "nowhere"}]
    assert any("nested repositories are not covered: mod/" in it for it in runs.progress.notices)


def test_a_huge_ignored_folder_costs_nothing(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    with open(folder / "data" / "huge.bin", "wb") as file:
        file.truncate(2**40)
    runs = acp.fan_out("/run ls", cwd=folder, score="test ! -e data").wait(WAIT_S)
    assert (runs[0].state, runs[0].score) == ("done", 1.0)


def test_a_plain_folder_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "huge.bin", "wb") as file:
        file.truncate(2**40)
    with pytest.raises(acp.UsageError, match=r"too large to be copied.*share=\[…\]"):
        acp.fan_out("hello", cwd=tmp_path)
    (tmp_path / "huge.bin").unlink()
    os.mkfifo(tmp_path / "pipe")
    assert acp.fan_out("hello", cwd=tmp_path).wait(WAIT_S)[0].state == "done", "a pipe is not read"
