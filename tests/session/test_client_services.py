"""Client methods through a whole session: files, commands, and who allowed them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.snapshot import Question, TerminalRun, ToolCall
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.waiting import gone, wait_until

NOT_FOUND, INVALID, DENIED, NO_METHOD = -32002, -32602, -32001, -32601


@pytest.fixture(autouse=True)
def own_grants(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("config")
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def ask_client(session: acp.Session, method: str, **params: Any) -> Any:
    """The client's response to the agent."""
    text = session.prompt(f"/client {method} {json.dumps(params)}", timeout=LIMIT_S).text
    return json.loads(text)


def questions(session: acp.Session) -> list[Question]:
    return [item for item in session.transcript.items if isinstance(item, Question)]


def others(session: acp.Session) -> tuple[Any, ...]:
    return tuple(it for it in session._conversation.state.listeners if it.__name__ != "listener")


def nobody_answers(session: acp.Session) -> None:
    session._conversation.state.listeners = others(session)
    session._conversation.state.audience.can_answer = False


def answering(session: acp.Session, choose: Callable[[Question], str]) -> None:
    """Simulates a user at a page, who answers every question at once."""
    conversation = session._conversation

    def listener(event: Any, _: Any) -> None:
        if isinstance(event, acp.events.QuestionAsked):
            question = next(it for it in questions(session) if it.id == event.id)
            session._loop.post(conversation.permissions.answer, question, choose(question))

    conversation.state.audience.can_answer = True
    conversation.state.listeners = (*others(session), listener)


def offer(scope: str) -> Callable[[Question], str]:
    return lambda question: next(it.id for it in question.offers if it.scope == scope)


# ---- files --------------------------------------------------------------------------------------


def test_a_file_is_read_in_whole_and_in_part(demo: Demo, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    session = demo(cwd=folder)
    path = str(folder / "a.txt")
    assert ask_client(session, "fs/read_text_file", path=path) == {"content": "one\ntwo\nthree\n"}
    assert ask_client(session, "fs/read_text_file", path=path, line=2, limit=1) == {"content": "two\n"}
    assert not questions(session), "reads inside the session's folders are never asked about"


def test_a_missing_file_has_its_own_code(demo: Demo, folder: Path) -> None:
    answer = ask_client(demo(cwd=folder), "fs/read_text_file", path=str(folder / "none.txt"))
    assert answer["error"]["code"] == NOT_FOUND and "none.txt" in answer["error"]["message"]


@pytest.mark.parametrize(
    "params",
    [
        {"path": "a.txt"},
        {"path": "/etc/passwd"},
        {"path": 5},
        {},
        {"path": "/x", "line": "two"},
        {"path": "/x", "line": -1},
        {"path": "/x", "limit": 1.5},
    ],
    ids=json.dumps,
)
def test_what_cannot_be_read_is_refused(demo: Demo, folder: Path, params: dict[str, Any]) -> None:
    answer = ask_client(demo(cwd=folder), "fs/read_text_file", **params)
    assert answer["error"]["code"] == INVALID


def test_roots_open_further_folders(demo: Demo, folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "d.csv").write_text("1\n")
    path = str(data / "d.csv")
    assert ask_client(demo(cwd=folder), "fs/read_text_file", path=path)["error"]["code"] == INVALID
    assert ask_client(demo(cwd=folder, roots=[data]), "fs/read_text_file", path=path) == {"content": "1\n"}


def test_a_write_is_asked_about_only_once(demo: Demo, folder: Path) -> None:
    asked: list[PermissionRequest] = []

    def policy(request: PermissionRequest) -> str:
        asked.append(request)
        return "allow"

    turn = demo(cwd=folder, permissions=policy).prompt("/edit a.txt hello", timeout=LIMIT_S)
    assert (folder / "a.txt").read_text() == "hello\n"
    assert len(asked) == 1
    (call,) = turn.tool_calls
    assert (call.status, call.unprompted) == ("completed", False)


@pytest.mark.parametrize(("command", "kind"), [("/write a.txt hi", "edit"), ("/sh touch a.txt", "execute")])
def test_we_ask_once_about_what_the_agent_did_not_ask(
    demo: Demo, folder: Path, command: str, kind: str
) -> None:
    asked: list[PermissionRequest] = []

    def policy(request: PermissionRequest) -> str:
        asked.append(request)
        return "allow"

    session = demo(cwd=folder, permissions=policy)
    session.prompt(command, timeout=LIMIT_S)
    assert (folder / "a.txt").exists()
    (request,) = asked
    assert request.kind == kind and request.tool.unprompted
    assert [it.status for it in questions(session)] == ["answered"]


@pytest.mark.parametrize(
    "command", ["/write a.txt hi", "/sh touch a.txt", "/edit a.txt hi", "/run touch a.txt"]
)
def test_a_rejected_action_is_not_done(demo: Demo, folder: Path, command: str) -> None:
    session = demo(cwd=folder, permissions="reject")
    turn = session.prompt(command, timeout=LIMIT_S)
    assert not (folder / "a.txt").exists()
    assert turn.stop_reason == "end_turn" and not turn.terminals
    assert len(questions(session)) == 1


def test_without_a_user_an_unprompted_write_is_rejected_with_a_reason(demo: Demo, folder: Path) -> None:
    turn = demo(cwd=folder).prompt("/write a.txt hi", timeout=LIMIT_S)
    assert not (folder / "a.txt").exists()
    assert "nobody can be asked here" in turn.text
    (call,) = turn.tool_calls
    assert call.unprompted and call.status == "rejected" and call.diffs[0].new_text == "hi\n"


def test_an_allow_for_one_file_does_not_cover_another(demo: Demo, folder: Path) -> None:
    asked: list[PermissionRequest] = []

    def policy(request: PermissionRequest) -> str:
        asked.append(request)
        return "reject" if request.tool.unprompted else "allow"

    turn = demo(cwd=folder, permissions=policy).prompt("/sly a.txt b.txt", timeout=LIMIT_S)
    assert [request.tool.unprompted for request in asked] == [False, True]
    assert not (folder / "b.txt").exists() and "not permitted" in turn.text


@pytest.mark.parametrize("policy", ["allow", {"edit": "allow"}])
def test_an_allowing_policy_covers_unprompted_actions(demo: Demo, folder: Path, policy: Any) -> None:
    turn = demo(cwd=folder, permissions=policy).prompt("/write a.txt hi", timeout=LIMIT_S)
    assert (folder / "a.txt").read_text() == "hi\n"
    (call,) = turn.tool_calls
    assert call.unprompted and call.status == "completed"


def raises(_: Any) -> str:
    raise LookupError("no idea")


@pytest.mark.parametrize(
    ("policy", "reason"), [(raises, "no idea"), (lambda _: 42, "42"), (lambda _: "maybe", "maybe")]
)
def test_a_policy_that_fails_rejects_with_its_reason(
    demo: Demo, folder: Path, policy: Any, reason: str
) -> None:
    session = demo(cwd=folder, permissions=policy)
    turn = session.prompt("/write a.txt hi", timeout=LIMIT_S)
    assert not (folder / "a.txt").exists()
    assert reason in turn.text and reason in (questions(session)[0].reason or "")


# ---- grants ---------------------------------------------------------------------------------------


def test_all_edits_in_this_session_are_asked_about_once(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder)
    answering(session, offer("session"))
    session.prompt("/write a.txt hi", timeout=LIMIT_S)
    nobody_answers(session)
    session.prompt("/write b.txt hi", timeout=LIMIT_S)
    session.prompt("/write c.txt hi", timeout=LIMIT_S)
    assert sorted(os.listdir(folder)) == ["a.txt", "b.txt", "c.txt"]
    assert [it.by for it in questions(session)] == ["user", "grant", "grant"]
    assert not acp.permissions(), "what is for the session is not kept beyond it"
    other = demo(cwd=folder)
    answering(other, lambda _: "reject")
    other.prompt("/write d.txt hi", timeout=LIMIT_S)
    assert not (folder / "d.txt").exists()


def test_after_the_agents_own_always_we_ask_nothing(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder)
    answering(session, lambda _: "yes-always")
    session.prompt("/edit a.txt one", timeout=LIMIT_S)
    nobody_answers(session)
    session.prompt("/edit b.txt two", timeout=LIMIT_S)  # the agent does not ask any more
    assert (folder / "b.txt").read_text() == "two\n"
    first, second = questions(session)
    assert (first.by, second.by) == ("user", "grant")
    assert first.reason == (
        "demo itself remembers this, for as long as it decides; "
        "here it counts as “Allow all edits in this session”"
    )
    assert second.reason == "you allowed it before, for this session"


def test_a_stored_grant_covers_its_agent_folder_and_command(demo: Demo, folder: Path, tmp_path: Path) -> None:
    session = demo(cwd=folder)
    answering(session, offer("workspace"))
    session.prompt("/sh touch a.txt", timeout=LIMIT_S)
    assert (folder / "a.txt").exists()
    (grant,) = acp.permissions()
    assert (grant.kind, grant.command, grant.scope) == ("execute", "touch a.txt", "workspace")

    def by(where: Path, command: str) -> tuple[str | None, str | None]:
        fresh = demo(cwd=where)
        fresh.prompt(command, timeout=LIMIT_S)
        (question,) = questions(fresh)
        return question.by, question.answer

    assert by(folder, "/sh touch a.txt") == ("grant", "allow")
    assert by(folder, "/sh touch a.txt; touch b.txt") == ("policy", "reject")
    assert by(tmp_path, "/sh touch a.txt") == ("policy", "reject")
    acp.permissions().revoke(grant.id)
    assert by(folder, "/sh touch a.txt") == ("policy", "reject")


def test_a_rejecting_policy_overrides_any_grant(demo: Demo, folder: Path) -> None:
    acp.permissions().add(kind="edit", agent="demo", workspace=str(folder))
    demo(cwd=folder).prompt("/write a.txt hi", timeout=LIMIT_S)
    assert (folder / "a.txt").exists()
    demo(cwd=folder, permissions="reject").prompt("/write b.txt hi", timeout=LIMIT_S)
    assert not (folder / "b.txt").exists()


def test_the_first_of_two_answers_wins(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder)

    def twice(question: Question) -> str:
        session._loop.post(session._conversation.permissions.answer, question, "reject")
        return "allow"

    answering(session, twice)
    session.prompt("/write a.txt hi", timeout=LIMIT_S)
    (question,) = questions(session)
    assert question.answer == "reject" and not (folder / "a.txt").exists()


# ---- terminals ------------------------------------------------------------------------------------


def test_a_command_runs_in_our_terminal_and_its_output_stays(demo: Demo, folder: Path) -> None:
    turn = demo(cwd=folder, permissions="allow").prompt(
        "/run echo out; echo err >&2; exit 3", timeout=LIMIT_S
    )
    wait_until(lambda: turn.terminals[0].released, "the agent has released it")
    (terminal,) = turn.terminals
    assert terminal.output == "out\nerr\n"
    assert (terminal.status, terminal.exit_code) == ("exited", 3)
    (call,) = turn.tool_calls
    assert call.content[0].type == "terminal" and "exit code 3" in turn.text


@pytest.mark.parametrize(
    "params",
    [
        {"command": "pwd", "cwd": "/etc"},
        {"command": "pwd", "cwd": "relative"},
        {"command": ""},
        {"command": "pwd", "args": "x"},
        {"command": "pwd", "args": [1]},
        {"command": "pwd", "env": [{"name": "A"}]},
        {"command": "pwd", "outputByteLimit": -1},
        {"command": "pwd", "outputByteLimit": "all"},
    ],
    ids=json.dumps,
)
def test_a_command_that_cannot_be_run_is_refused(demo: Demo, folder: Path, params: dict[str, Any]) -> None:
    session = demo(cwd=folder, permissions="allow")
    assert ask_client(session, "terminal/create", **params)["error"]["code"] == INVALID
    assert not session.turns[0].terminals


def test_unknown_terminals_and_disabled_client_methods(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    assert ask_client(session, "terminal/output", terminalId="x")["error"]["code"] == NOT_FOUND
    without = demo(cwd=folder, permissions="allow", fs=False, terminal=False)
    for method, params in (
        ("fs/read_text_file", {"path": str(folder)}),
        ("terminal/create", {"command": "pwd"}),
    ):
        assert ask_client(without, method, **params)["error"]["code"] == NO_METHOD
    without.prompt("/edit a.txt hi", timeout=LIMIT_S)  # the agent writes it directly
    assert (folder / "a.txt").read_text() == "hi\n"


def test_an_allow_does_not_cover_a_command_with_another_path_variable(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder)
    answering(session, offer("session"))
    session.prompt("/sh echo hi", timeout=LIMIT_S)
    env = [{"name": "PATH", "value": str(folder)}]
    nobody_answers(session)
    answer = ask_client(session, "terminal/create", command="echo hi", env=env)
    assert answer["error"]["code"] == DENIED
    harmless = [{"name": "NO_COLOR", "value": "1"}]
    assert "terminalId" in ask_client(session, "terminal/create", command="echo hi", env=harmless)


def pid_in(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().strip().isdigit(), f"{path.name} holds a pid")
    return int(path.read_text())


@pytest.fixture
def server(demo: Demo, folder: Path) -> Iterator[tuple[acp.Session, int]]:
    session = demo(cwd=folder, permissions="allow")
    session.prompt("/serve echo $$ > server.pid; exec sleep 300", timeout=LIMIT_S)
    yield session, pid_in(folder / "server.pid")


def test_a_cancel_ends_only_the_commands_of_its_turn(server: tuple[acp.Session, int], folder: Path) -> None:
    session, pid = server
    turn = session.start("/run echo $$ > run.pid; exec sleep 300")
    running = pid_in(folder / "run.pid")
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    wait_until(lambda: gone(running), "the command of the cancelled turn is gone")
    assert not gone(pid)


def test_commands_of_a_turn_that_is_abandoned_end(demo: Demo, folder: Path) -> None:
    timeouts.replace(cancel_grace=0.1)
    session = demo(cwd=folder, permissions="allow")
    with_terminal = session.start("/serve echo $$ > run.pid; exec sleep 300")
    with_terminal.wait(LIMIT_S)
    pid = pid_in(folder / "run.pid")
    turn = session.start("/hang")
    session._conversation.services.terminals.get("term-1").turn = turn._run  # as if it were its own
    wait_until(lambda: session.status == "working", "the turn runs")
    turn.cancel()
    turn.wait(LIMIT_S)
    wait_until(lambda: gone(pid), "the command is gone")


def test_all_commands_end_with_the_session(server: tuple[acp.Session, int]) -> None:
    session, pid = server
    session.close()
    wait_until(lambda: gone(pid), "the server is gone")


def test_all_commands_end_with_their_agent(server: tuple[acp.Session, int]) -> None:
    session, pid = server
    with pytest.raises(acp.AgentDied):
        session.prompt("/die", timeout=LIMIT_S)
    wait_until(lambda: gone(pid), "the server is gone")
    turn = session.prompt("/run echo again", timeout=LIMIT_S)
    assert turn.terminals[0].output == "again\n"


def test_kill_keeps_the_output_and_release_forgets_the_id(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder, permissions="allow")
    made = ask_client(session, "terminal/create", command="echo ready; sleep 300")
    id = made["terminalId"]

    def output() -> Any:
        return ask_client(session, "terminal/output", terminalId=id)

    wait_until(lambda: output()["output"] == "ready\n", "the command has said something", LIMIT_S)
    assert ask_client(session, "terminal/kill", terminalId=id) == {}
    status = ask_client(session, "terminal/wait_for_exit", terminalId=id)
    assert status["signal"] in ("SIGTERM", "SIGKILL")
    assert output() == {"output": "ready\n", "truncated": False, "exitStatus": status}
    assert ask_client(session, "terminal/release", terminalId=id) == {}
    assert output()["error"]["code"] == NOT_FOUND
    (item,) = [it for it in session.transcript.items if isinstance(it, TerminalRun)]
    assert item.output == "ready\n" and item.released


# ---- audit ------------------------------------------------------------------------------------------


def test_the_audit_says_who_allowed_what_and_what_was_done(demo: Demo, folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    session = demo(cwd=folder, permissions={"edit": "allow", "execute": "reject"}, audit=log)
    session.prompt("/edit a.txt hi", timeout=LIMIT_S)
    session.prompt("/sh touch b.txt", timeout=LIMIT_S)
    session.prompt("/read a.txt", timeout=LIMIT_S)
    entries = [(it.turn, it.what, it.kind, it.by, it.outcome) for it in session.audit]
    assert entries == [
        ("t1", "act", "read", "client", "failed"),  # the agent checks whether it exists
        ("t1", "request", "edit", "agent", ""),
        ("t1", "decision", "edit", "policy", "allowed"),
        ("t1", "request", "edit", "agent", ""),
        ("t1", "act", "edit", "client", "done"),
        ("t2", "request", "execute", "agent", ""),
        ("t2", "decision", "execute", "policy", "rejected"),
        ("t3", "act", "read", "client", "done"),
    ]
    assert session.audit.where(kind="execute", what="decision")[0].detail["unprompted"] is True
    written = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["target"] for entry in written] == [it.target for it in session.audit]
    assert "a.txt" in repr(session.audit) and "<table" in session.audit._repr_html_()


def test_replaying_a_recording_touches_nothing(
    demo: Demo, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = tmp_path / "tape.jsonl"
    session = demo(cwd=folder, permissions="allow", record=tape)
    session.prompt("/edit a.txt hi", timeout=LIMIT_S)
    session.prompt("/run touch b.txt", timeout=LIMIT_S)
    session.close()
    for name in ("a.txt", "b.txt"):
        (folder / name).unlink()
    monkeypatch.chdir(folder)
    with acp.connect(cassette=tape, permissions="allow") as played:
        first = played.prompt("/edit a.txt hi", timeout=LIMIT_S)
        second = played.prompt("/run touch b.txt", timeout=LIMIT_S)
    assert (first.text, second.text) == ("Wrote `a.txt`.", "The command ended with exit code 0.")
    assert not os.listdir(folder)


def calls(session: acp.Session) -> list[ToolCall]:
    return [item for item in session.transcript.items if isinstance(item, ToolCall)]


def test_after_a_cancel_nothing_more_is_done(demo: Demo, folder: Path) -> None:
    session = demo(cwd=folder)
    session._conversation.state.audience.can_answer = True
    turn = session.start("/write a.txt hi")
    wait_until(lambda: bool(questions(session)), "the question is asked")
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert not (folder / "a.txt").exists()
    assert [(it.status, it.unprompted) for it in calls(session)] == [("cancelled", True)]
