"""One run: what an agent can reach through us from its copy, and how setup, limits and failures end it."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.api.launcher import check_for_runs
from tests.agent.process_helpers import wait_until
from tests.api.fan_out.counting import Counted
from tests.api.fan_out.repository import git, make_repository

WAIT_S = 120.0
AGENTS = Path(__file__).parents[2] / "agents"
SCRIPTED = str(AGENTS / "scripted.py")


def perform(folder: Path, *steps: list[Any], **options: Any) -> tuple[acp.Run, list[Any]]:
    """One run of the scripted agent; its answers."""
    [run] = acp.fan_out(
        [[json.dumps(steps)]], agents=[[sys.executable, SCRIPTED]], cwd=folder, **options
    ).wait(WAIT_S)
    assert run.state == "done", run.error
    return run, json.loads(run.text)


def write(path: str) -> list[Any]:
    return ["call", "fs/write_text_file", {"path": path, "content": "evil"}]


def terminal(cwd: str) -> list[Any]:
    return ["call", "terminal/create", {"command": "touch", "args": ["evil"], "cwd": cwd}]


def test_an_agent_reaches_nothing_outside_of_its_copy_through_us(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (folder / "tracked_link").symlink_to(outside)
    attacks = [
        write(f"{outside}/evil"),
        write(f"{folder}/evil"),
        write(f"{{CWD}}/../../../..{outside}/evil"),
        write("{CWD}/../evil"),
        write("{CWD}/tracked_link/evil"),
        write("{CWD}/own_link/evil"),
        write("{CWD}/data/evil"),
        terminal(str(outside)),
        terminal(str(folder)),
        terminal("{CWD}/.."),
        terminal("{CWD}/own_link"),
        ["call", "fs/read_text_file", {"path": f"{outside}/secret"}],
        ["call", "fs/read_text_file", {"path": "{CWD}/own_link/secret"}],
    ]
    run, answers = perform(folder, ["touch", "own_link", str(outside)], *attacks, share=["data"])
    assert all("error" in it for it in answers[1:]), answers
    assert sorted(it.name for it in outside.iterdir()) == ["secret"]
    assert not (folder / "evil").exists() and not (folder / "data" / "evil").exists()
    assert [it.path for it in run.files] == ["own_link"]


def ask(kind: str, **fields: Any) -> list[Any]:
    return ["ask", {"toolCallId": f"c{id(fields)}", "title": "x", "kind": kind, **fields}]


def diff(path: str) -> list[Any]:
    return [{"type": "diff", "path": path, "oldText": None, "newText": "x"}]


def test_questions_are_answered_by_where_the_act_is(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    run, answers = perform(
        folder,
        ask("edit", content=diff("{CWD}/ok.txt")),
        ask("execute", rawInput={"command": "make", "cwd": "{CWD}"}),
        ask("edit", content=diff(f"{tmp_path}/evil.txt")),
        ask("execute", rawInput={"command": "make", "cwd": str(tmp_path)}),
        ask("delete", locations=[{"path": f"{folder}/a.py"}]),
        ask("fetch", rawInput={"url": "https://example.org"}),
        ask("other"),
    )
    assert answers == ["once", "once", "no", "no", "no", "no", "no"]
    decisions = [it for it in run.audit if it.what == "decision"]
    assert {it.by for it in decisions} == {"policy"}, "nobody is asked"


def test_what_is_inside_works(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    run, answers = perform(
        folder,
        write("{CWD}/ok.txt"),
        ["call", "fs/read_text_file", {"path": "{CWD}/data/big.csv"}],
        ["call", "fs/read_text_file", {"path": "{CWD}/new.txt"}],
        share=["data"],
    )
    assert answers[1:] == [{"content": "1,2,3\n"}, {"content": "not committed\n"}]
    assert [(it.path, it.action) for it in run.changes] == [("ok.txt", "created")]
    assert not (folder / "ok.txt").exists()


def one(prompt: str, folder: Path, **options: Any) -> acp.Run:
    [run] = acp.fan_out(prompt, cwd=folder, **options).wait(WAIT_S)
    return run


def test_setup_runs_first_and_its_failure_sends_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    run = one("/run cat made.txt", tmp_path, setup="echo made > made.txt", score="grep -q made made.txt")
    assert (run.state, run.score) == ("done", 1.0)
    assert not (tmp_path / "made.txt").exists()
    failed = one("hello", tmp_path, setup="echo no such thing; exit 3")
    assert failed.state == "failed" and failed.error == "setup failed with exit code 3: no such thing"
    assert failed.text == "" and "turn" not in failed.times
    slow = one("hello", tmp_path, setup="sleep 60", setup_seconds=0.1)
    assert slow.error == "setup took longer than 0.1 s"


@pytest.mark.parametrize("kind", ["git", "plain"])
def test_what_setup_changed_is_not_the_runs(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    if kind == "git":
        make_repository(folder)
    else:
        folder.mkdir()
        (folder / "a.py").write_text("a")
    run = one(
        "/run echo more >> made.txt; touch own.txt", folder, setup="echo made > made.txt; echo b > a.py"
    )
    found = {it.path: (it.before and it.before.data, it.after and it.after.data) for it in run.files}
    assert found == {"made.txt": (b"made\n", b"made\nmore\n"), "own.txt": (None, b"")}


def test_a_missing_agent_fails_its_own_runs_only(tmp_path: Path) -> None:
    runs = acp.fan_out("hello", agents=["demo", "/no/such/agent"], cwd=tmp_path).wait(WAIT_S)
    assert [it.state for it in runs] == ["done", "failed"]
    assert runs[1].error_type == "AgentNotFound"


def test_a_remote_agent_must_share_the_folders_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings"
    settings.mkdir(mode=0o700)
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(settings))
    config = settings / "config.toml"
    config.touch(mode=0o600)
    url = "ws://127.0.0.1:9/acp?token=SECRET"
    config.write_text(f"[agents.far]\nurl = '{url}'\n[agents.near]\nurl = '{url}'\nshared = true\n")
    for agent in (url, "far"):
        with pytest.raises(acp.UsageError, match="does not have the copies of the folder") as raised:
            acp.fan_out("hello", agents=["demo", agent], cwd=tmp_path)
        assert "SECRET" not in str(raised.value)
        with pytest.raises(acp.UsageError, match="does not have the copies of the folder"):
            acp.fan_out("hello", cwd=tmp_path, score=acp.judge(agent))
    check_for_runs("near", str(tmp_path))


def test_limits_end_a_run_and_say_so(tmp_path: Path) -> None:
    run = one("/slow 60", tmp_path, max_seconds=0.5)
    assert run.state == "failed" and run.error is not None and "stopped by a limit" in run.error


def _returns(value: Any) -> Callable[[Any], Any]:
    return lambda run: value


def _raises(run: Any) -> float:
    raise ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("score", "found", "text"),
    [
        ("echo '3 passed, 1 failed in 0.1s'; exit 1", 0.75, "1 failed, 3 passed"),
        (_returns((7, "good")), 7.0, "good"),
        (_returns(True), 1.0, None),
        (_returns("good"), None, "no score: the score is 'good'; it can be a number, or a number and a text"),
        (_raises, None, "no score: the function raised ZeroDivisionError: oops"),
    ],
)
def test_scores(score: Any, found: float | None, text: str | None, tmp_path: Path) -> None:
    run = one("hello", tmp_path, score=score)
    assert (run.state, run.score, run.score_text) == ("done", found, text)


def test_a_score_is_bounded_in_time(tmp_path: Path) -> None:
    hanging = threading.Event()
    run = one("hello", tmp_path, score=lambda run: hanging.wait(WAIT_S), score_seconds=0.1)
    hanging.set()
    assert run.score is None and run.score_text == "no score: it took longer than 0.1 s"


@pytest.mark.parametrize("kind", ["command", "function"])
def test_a_run_that_is_cancelled_in_its_score_is_not_done(kind: str, tmp_path: Path) -> None:
    folder, hanging = tmp_path / "project", threading.Event()
    folder.mkdir()
    score = "sleep 600" if kind == "command" else lambda run: hanging.wait(WAIT_S)
    runs = acp.fan_out("hello", cwd=folder, score=score, record=tmp_path / "runs")
    wait_until(lambda: runs[0].state == "scoring", "it is being scored")
    runs.cancel()
    runs.wait(WAIT_S / 2)
    hanging.set()
    assert (runs[0].state, runs[0].score, runs[0].text != "") == ("cancelled", None, True)
    again = acp.fan_out("hello", cwd=folder, score=score, record=tmp_path / "runs")
    again.cancel()
    assert again.wait(WAIT_S)[0].state == "cancelled", "it was not recorded as done"


def test_a_judge_scores_in_the_copy_and_may_not_write(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    run = one(
        "/write b.txt text",
        tmp_path,
        score=acp.judge([sys.executable, str(AGENTS / "judging.py")], "Is there a b.txt?"),
    )
    assert (run.score, run.score_text) == (8.0, "b.txt is there, and the judge could not write")


def test_a_folder_of_results_tells_calls_apart(tmp_path: Path) -> None:
    folder, other = tmp_path / "project", tmp_path / "other"
    for it in (folder, other):
        it.mkdir()
    table = {"prompt": ["hello", "hello"], "want": [1, 2]}
    given: dict[str, Any] = {"cwd": folder, "record": tmp_path / "runs", "score": _wanted}
    for _ in range(2):
        assert [it.score for it in acp.fan_out(table, **given).wait(WAIT_S)] == [1.0, 2.0]
    assert len([*(tmp_path / "runs").glob("*.run")]) == 2
    changes: list[dict[str, Any]] = [
        {"cwd": other},
        {"score": "false"},
        {"setup": "true"},
        {"permissions": "reject"},
    ]
    for change in changes:
        runs = acp.fan_out(table, **given | change).wait(WAIT_S)
        assert not any("were done before" in it for it in runs.progress.notices), change
    assert len([*(tmp_path / "runs").glob("*.run")]) == 10


def _wanted(run: Any) -> float:
    return float(run.fields["want"])


def test_files_whose_names_are_not_utf_8(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    (folder / ".git" / "info" / "exclude").write_bytes(b"/b\xe9\n")
    for name in (b"b\xe9", b"c\xe9"):
        (folder / os.fsdecode(name)).write_text("x")
    given: dict[str, Any] = {"cwd": folder, "record": tmp_path / "runs"}
    line = "/run printf x > \"$(printf 'caf\\351.txt')\""
    with ThreadPoolExecutor(1) as executor:
        several: list[dict[str, Any]] = [{}, {}, {"executor": executor, "permissions": "allow"}]
        for options in several:
            [run] = acp.fan_out(line, **given, **options).wait(WAIT_S)
            assert (run.state, run.error) == ("done", None)
            assert [os.fsencode(it.path) for it in run.files] == [b"caf\xe9.txt"]
    run.apply()
    assert (folder / os.fsdecode(b"caf\xe9.txt")).read_text() == "x"


def test_a_folder_of_the_users_is_not_hidden_from_git(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    for record in (folder, folder / "runs"):
        acp.fan_out("hello", cwd=folder, record=record).wait(WAIT_S)
    assert (folder / ".gitignore").read_text() == "data/\n"
    (folder / "mine.txt").touch()
    status = git("status", "--porcelain", "--untracked-files=all", cwd=folder)
    assert "?? mine.txt" in status and "runs/" not in status


def test_what_a_judge_cost_counts_also_if_it_failed(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    judge = acp.judge([*counted.agents[0]["agent"], "3"], "Is it good?")  # type: ignore[misc]
    (tmp_path / "project").mkdir()
    runs = acp.fan_out("/usage", cwd=tmp_path / "project", score=judge).wait(WAIT_S)
    assert runs[0].state == "done" and "rate limit" in str(runs[0].score_text)
    assert runs.progress.costs == {"USD": 0.0421, "EUR": 3.0}


def test_results_are_kept_and_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    log = tmp_path / "log"
    prompts = [f"/run echo {it} >> {log}" for it in ("a", "b")]
    first = acp.fan_out(prompts[:1], cwd=folder, record=folder / "runs", permissions="allow").wait(WAIT_S)
    again = acp.fan_out(prompts, cwd=folder, record=folder / "runs", permissions="allow").wait(WAIT_S)
    assert [it.state for it in again] == ["done", "done"]
    assert log.read_text() == "a\nb\n", "what is done is not run again"
    assert again[0].text == first[0].text and again[0].transcript.items
    assert "1 of the runs were done before" in again.progress.notices[-1]
