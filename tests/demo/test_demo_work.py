"""/edit and /run: what really changes files and runs commands, through the client and without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.demo.demo_client import FULL, Alive, Starter, choosing, of_kind

FS = {"fs": {"readTextFile": True, "writeTextFile": True}}
MISSING = {"error": {"code": -32002, "message": "no such file"}}


def last_tool(turn: Any) -> Any:
    return of_kind(turn.updates, "tool_call_update")[-1]


def reason(turn: Any) -> Any:
    return last_tool(turn)["content"][0]["content"]["text"]


# -- /edit without the client


def test_an_allowed_edit_writes_the_file_and_shows_its_diff(start: Starter, tmp_path: Path) -> None:
    demo, path = start(), tmp_path / "notes.txt"
    path.write_text("old\n")
    turn = demo.prompt(demo.new(tmp_path), "/edit notes.txt two words", choosing("allow_once"))
    (call,) = of_kind(turn.updates, "tool_call")
    assert (call["kind"], call["status"]) == ("edit", "pending")
    assert call["content"] == [
        {"type": "diff", "path": str(path), "oldText": "old\n", "newText": "two words\n"}
    ]
    assert call["locations"] == [{"path": str(path), "line": 1}]
    options = turn.requests[0]["params"]["options"]
    assert [option["kind"] for option in options] == ["allow_once", "allow_always", "reject_once"]
    assert last_tool(turn)["status"] == "completed"
    assert path.read_text() == "two words\n"
    assert turn.text == "Wrote `notes.txt`."


def test_a_new_file_has_no_old_text_and_gets_its_directories(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/edit a/b.txt", choosing("allow_once"))
    assert of_kind(turn.updates, "tool_call")[0]["content"][0]["oldText"] is None
    assert (tmp_path / "a/b.txt").read_text() == "Written by the demo agent.\n"


def test_rework_changes_the_ends_of_files(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")
    (tmp_path / "b.txt").write_text("only\n")
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/rework a.txt b.txt", choosing("allow_always"))
    assert (tmp_path / "a.txt").read_text() == "reworked one\ntwo\nreworked three"
    assert (tmp_path / "b.txt").read_text() == "reworked only\n"
    assert len(turn.asked) == 1


def test_a_rejected_edit_writes_nothing(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/edit notes.txt", choosing("reject_once"))
    assert (last_tool(turn)["status"], reason(turn)) == ("failed", "rejected")
    assert turn.text == "`notes.txt` is unchanged: rejected."
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_question_about_an_edit_ends_the_turn(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/edit notes.txt", choosing("cancelled"))
    assert turn.stop == "cancelled"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../out.txt", "/out.txt", "a/../../out.txt", ".", "link/out.txt"])
def test_a_path_outside_the_cwd_is_refused_without_a_question(
    start: Starter, tmp_path: Path, path: Any
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (work / "link").symlink_to(outside)
    demo = start(FS)
    turn = demo.prompt(demo.new(work), f"/edit {path}")
    assert turn.requests == []
    assert reason(turn) == "the path leaves the working directory"
    assert list(outside.iterdir()) == []


def test_an_absolute_path_inside_the_cwd_is_fine(start: Starter, tmp_path: Path) -> None:
    demo = start()
    demo.prompt(demo.new(tmp_path), f"/edit {tmp_path}/a.txt x", choosing("allow_once"))
    assert (tmp_path / "a.txt").read_text() == "x\n"


def test_a_binary_file_is_left_alone(start: Starter, tmp_path: Path) -> None:
    demo, path = start(), tmp_path / "a.bin"
    path.write_bytes(b"\xff\xfe")
    turn = demo.prompt(demo.new(tmp_path), "/edit a.bin")
    assert reason(turn) == "cannot read it: UnicodeDecodeError"
    assert path.read_bytes() == b"\xff\xfe"


def test_always_is_remembered_for_that_session_and_that_kind(start: Starter, tmp_path: Path) -> None:
    demo = start()
    session, other = demo.new(tmp_path), demo.new(tmp_path)
    assert demo.prompt(session, "/edit a.txt 1", choosing("allow_always")).asked
    assert demo.prompt(session, "/edit b.txt 2").asked == []
    assert (tmp_path / "b.txt").read_text() == "2\n"
    assert demo.prompt(session, "/run true", choosing("reject_once")).asked
    assert demo.prompt(other, "/edit c.txt 3", choosing("reject_once")).asked


# -- /edit through the client


def test_with_client_files_nothing_is_touched_on_disk(start: Starter, tmp_path: Path) -> None:
    written = {}

    def write(params: Any) -> Any:
        written[params["path"]] = params["content"]
        return {"result": {}}

    demo, path = start(FS), tmp_path / "a.txt"
    path.write_text("on disk")
    answer = choosing(
        "allow_once", fs_read_text_file={"result": {"content": "unsaved"}}, fs_write_text_file=write
    )
    turn = demo.prompt(demo.new(tmp_path), "/edit a.txt new", answer)
    assert turn.asked == ["fs/read_text_file", "session/request_permission", "fs/write_text_file"]
    assert of_kind(turn.updates, "tool_call")[0]["content"][0]["oldText"] == "unsaved"
    assert written == {str(path): "new\n"}
    assert path.read_text() == "on disk"


def test_a_file_that_the_client_does_not_find_is_new(start: Starter, tmp_path: Path) -> None:
    demo = start(FS)
    answer = choosing("allow_once", fs_read_text_file=MISSING, fs_write_text_file={"result": {}})
    turn = demo.prompt(demo.new(tmp_path), "/edit a.txt new", answer)
    assert of_kind(turn.updates, "tool_call")[0]["content"][0]["oldText"] is None
    assert turn.text == "Wrote `a.txt`."


def test_a_client_that_cannot_read_or_write_fails_the_tool(start: Starter, tmp_path: Path) -> None:
    demo, broken = start(FS), {"error": {"code": -32603, "message": "disk on fire"}}
    session = demo.new(tmp_path)
    turn = demo.prompt(session, "/edit a.txt", choosing("allow_once", fs_read_text_file=broken))
    assert reason(turn) == "the client cannot read it: disk on fire"
    answer = choosing("allow_once", fs_read_text_file=MISSING, fs_write_text_file=broken)
    assert reason(demo.prompt(session, "/edit a.txt", answer)) == "the client cannot write it: disk on fire"


def test_a_client_that_only_reads_lets_the_agent_write(start: Starter, tmp_path: Path) -> None:
    demo = start({"fs": {"readTextFile": True}})
    answer = choosing("allow_once", fs_read_text_file=MISSING)
    turn = demo.prompt(demo.new(tmp_path), "/edit a.txt new", answer)
    assert turn.asked == ["fs/read_text_file", "session/request_permission"]
    assert (tmp_path / "a.txt").read_text() == "new\n"


# -- /run without the client


def test_an_allowed_command_runs_in_the_cwd_and_shows_its_output(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "here.txt").touch()
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/run ls; echo oops >&2", choosing("allow_once"))
    (call,) = of_kind(turn.updates, "tool_call")
    assert (call["kind"], call["title"]) == ("execute", "ls; echo oops >&2")
    assert reason(turn) == "```\nhere.txt\noops\n```"
    assert last_tool(turn)["status"] == "completed"
    assert last_tool(turn)["rawOutput"]["exitCode"] == 0
    assert turn.text == "The command ended with exit code 0."


def test_output_cannot_close_its_fence(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/run echo '```'", choosing("allow_once"))
    assert reason(turn) == "````\n```\n````"


def test_a_long_output_is_cut_at_the_start(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/run seq 100000", choosing("allow_once"))
    raw = last_tool(turn)["rawOutput"]
    assert (raw["truncated"], len(raw["output"])) == (True, 65536)
    assert raw["output"].endswith("99999\n100000\n")


@pytest.mark.parametrize(
    ("command", "code", "ending"),
    [("exit 7", 7, "with exit code 7"), ("kill -9 $$", None, "by the signal SIGKILL")],
)
def test_a_command_that_fails_is_a_failed_tool(
    start: Starter, tmp_path: Path, command: Any, code: Any, ending: Any
) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), f"/run {command}", choosing("allow_once"))
    assert (last_tool(turn)["status"], last_tool(turn)["rawOutput"]["exitCode"]) == ("failed", code)
    assert turn.text == f"The command ended {ending}."


def test_a_rejected_command_does_not_run(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), "/run touch ran", choosing("reject_once"))
    assert reason(turn) == "rejected"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_cwd_fails_the_tool(start: Starter, tmp_path: Path) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path / "gone"), "/run ls", choosing("allow_once"))
    assert reason(turn) == "cannot run it: No such file or directory"


def test_a_cancel_kills_the_command_and_its_children(start: Starter, tmp_path: Path) -> None:
    demo, alive = start(), Alive(tmp_path)
    session = demo.new(tmp_path)
    demo.start_prompt(session, f"/run {alive.line('sleep 300 & sleep 300')}", "running")
    demo.allow_first_question()
    alive.wait_until_up()
    demo.send("session/cancel", {"sessionId": session})
    assert demo.until("running").stop == "cancelled"
    alive.wait_until_gone()


# -- /run in the client's terminal


def terminal(**more: Any) -> Any:
    return choosing(
        "allow_once",
        terminal_create={"result": {"terminalId": "t-1"}},
        terminal_wait_for_exit={"result": {"exitCode": 4, "signal": None}},
        terminal_output={"result": {"output": "hello\n", "truncated": False}},
        terminal_release={"result": {}},
        **more,
    )


def test_with_a_terminal_the_client_runs_the_command(start: Starter, tmp_path: Path) -> None:
    demo = start(FULL)
    turn = demo.prompt(demo.new(tmp_path), "/run echo hello", terminal())
    assert turn.asked == [
        "session/request_permission",
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ]
    created = turn.requests[1]["params"]
    assert (created["command"], created["args"]) == ("/bin/sh", ["-c", "echo hello"])
    assert created["cwd"] == str(tmp_path)
    started, ended = of_kind(turn.updates, "tool_call_update")
    assert started["content"] == [{"type": "terminal", "terminalId": "t-1"}]
    assert "content" not in ended  # the terminal stays what the tool shows
    assert (ended["status"], ended["rawOutput"]["exitCode"]) == ("failed", 4)
    assert ended["rawOutput"]["output"] == "hello\n"


def test_a_cancelled_turn_releases_its_terminal(start: Starter, tmp_path: Path) -> None:
    demo = start(FULL)
    session = demo.new(tmp_path)
    answers, asked = terminal(), []
    demo.start_prompt(session, "/run sleep 300", "running")
    while "terminal/wait_for_exit" not in asked:
        message = demo.read()
        if "id" in message:
            asked.append(message["method"])
            if message["method"] != "terminal/wait_for_exit":
                reply = {"jsonrpc": "2.0", "id": message["id"], **answers(message)}
                demo.write(json.dumps(reply).encode())
    demo.send("session/cancel", {"sessionId": session})
    turn = demo.until("running", answers)
    assert (turn.asked, turn.stop) == (["terminal/release"], "cancelled")


def test_a_client_that_refuses_a_terminal_fails_the_tool(start: Starter, tmp_path: Path) -> None:
    def answer(request: Any) -> Any:
        if request["method"] == "terminal/create":
            return {"error": {"code": -32603, "message": "too many terminals"}}
        return choosing("allow_once")(request)

    demo = start(FULL)
    turn = demo.prompt(demo.new(tmp_path), "/run ls", answer)
    assert reason(turn) == "the client cannot run it: too many terminals"
    assert last_tool(turn)["status"] == "failed"


# -- /mend

FAILED = (
    "This cell failed. Find the cause.\n\ncell [2] of `a.ipynb` (id `two`):\n```python\nprint(totl)\n```\n\n"
)


def notebook(path: Path) -> Path:
    cells = [{"id": "one", "source": ["total = 1\n", "rate = 2"]}, {"id": "two", "source": ["print(totl)"]}]
    path.write_text(json.dumps({"cells": cells}))
    return path


def test_a_misspelt_name_in_a_failed_cell_is_corrected(start: Starter, tmp_path: Path) -> None:
    demo, path = start(), notebook(tmp_path / "a.ipynb")
    turn = demo.prompt(demo.new(tmp_path), FAILED + "NameError: name 'totl' is not defined")
    assert turn.text == "`totl` is not defined; `total` is. I have corrected the cell."
    assert json.loads(path.read_text())["cells"][1]["source"] == ["print(total)"]


@pytest.mark.parametrize(
    "error, answer",
    [
        ("ZeroDivisionError: division by zero", "I only know how to mend a misspelt name"),
        ("NameError: name 'zebra' is not defined", "No name in `a.ipynb` resembles `zebra`."),
    ],
)
def test_another_mistake_is_not_mended(start: Starter, tmp_path: Path, error: str, answer: str) -> None:
    demo, path = start(), notebook(tmp_path / "a.ipynb")
    before = path.read_text()
    assert answer in demo.prompt(demo.new(tmp_path), FAILED + error).text
    assert path.read_text() == before
