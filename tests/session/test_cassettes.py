"""A cassette replays the same transcript and files elsewhere; any difference is an error."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.api import connect as connect_module
from tests.real.user import User, allow, offer, questions, reject
from tests.waiting import wait_until

LIMIT_S = 60.0
GRACE_S = 1.0
"""Until the recording presses a button itself: the client has shown by then what it is pressed for."""

RECORDINGS = Path(__file__).parents[1] / "data" / "transcripts"
CASSETTES = Path(__file__).parents[1] / "data" / "cassettes"


@pytest.fixture(autouse=True)
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The folder in which a recording is made."""
    folder = tmp_path / "there" / "my project"
    folder.mkdir(parents=True)
    return folder


def ask(session: acp.Session, *prompts: str) -> None:
    for prompt in prompts:
        session.prompt(prompt, timeout=LIMIT_S)


def exports(session: acp.Session) -> tuple[str, str, str]:
    return session.to_text(), session.to_markdown(), session.to_html()


def files(folder: str | Path) -> dict[str, str]:
    found = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def recorded(
    there: Path, *prompts: str, permissions: Any = "allow", user: Callable[..., Any] | None = None
) -> tuple[Path, tuple[str, str, str]]:
    """A recording of the demo agent, and its transcript."""
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, permissions=permissions, record=tape) as session:
        if user is not None:
            User(session, user)
        ask(session, *prompts)
        return tape, exports(session)


WORK = (
    "/write notes.txt one two",
    "/write notes.txt three",
    "/run echo out; echo err >&2; exit 3",
    "/sh pwd; cat notes.txt",
    "/read notes.txt",
    "/cwd",
    "/edit deep/more.txt text",
    "/sly a.txt b.txt",
    "/parallel",
)


# ---- the same ---------------------------------------------------------------------------------------


def test_files_are_replayed_in_a_scratch_folder_and_no_command_runs(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "notes.txt").write_text("before\n")
    tape, made = recorded(there, *WORK)
    written = files(there)
    shutil.rmtree(there)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))

    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, *WORK)
        assert exports(session) == made
        assert files(session.cwd) == written
        assert session.cwd != str(there) and os.path.basename(session.cwd) == there.name
    assert list(here.iterdir()) == [] and not there.exists()


def test_recorded_paths_are_mapped_everywhere(there: Path, tmp_path: Path) -> None:
    tape, _ = recorded(there, *WORK)
    here = tmp_path / "über here"
    here.mkdir()
    with acp.connect(cassette=tape, cwd=here, permissions="allow") as session:
        ask(session, *WORK)
        assert str(there) not in repr(session.transcript)
        assert session.turns[5].text.count(str(here)) == 1
        assert session.turns[3].terminals[0].output.startswith(str(here))
    assert files(here) == files(there)


def test_a_given_cwd_is_written_to_instead_of_scratch(there: Path) -> None:
    tape, _ = recorded(there, "/write a.txt x")
    (there / "a.txt").unlink()
    with acp.connect(cassette=tape, cwd=there, permissions="allow") as session:
        ask(session, "/write a.txt x")
    assert files(there) == {"a.txt": "x\n"}
    with pytest.raises(acp.UsageError, match="omit cwd"):
        acp.connect(cassette=acp.Cassette(tape, files="scratch"), cwd=there)


def test_files_write_uses_the_current_directory(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape, _ = recorded(there, "/write a.txt x")
    (there / "sub").mkdir()
    monkeypatch.chdir(there / "sub")
    with acp.connect(cassette=acp.Cassette(tape, files="write"), permissions="allow") as session:
        ask(session, "/write a.txt x")
    assert files(there / "sub") == {"a.txt": "x\n"}


def remember(question: Any) -> str | None:
    """Answers "for this session" if that is offered."""
    return offer("session")(question) if question.offers else allow(question)


@pytest.mark.parametrize("user", [allow, reject, remember])
def test_a_users_answer_is_replayed(there: Path, user: Callable[..., Any]) -> None:
    prompts = ("/write a.txt x", "/write b.txt y", "/ask", "/run echo hi")
    tape, made = recorded(there, *prompts, permissions="ask", user=user)
    with acp.connect(cassette=tape) as session:
        ask(session, *prompts)
        assert exports(session) == made
        assert files(session.cwd) == files(there)


def fill_in(request: acp.ElicitationRequest) -> Any:
    if request.mode == "url":
        return {}
    answers = {"name": "first-try", "model": "net", "user": "ada", "pin": "9876-not-to-be-seen"}
    return {field.name: answers[field.name] for field in request.fields if field.name in answers}


def test_a_filled_in_form_is_replayed(there: Path) -> None:
    prompts = ("/form", "/form secret", "/open", "/form request", "/form hostile")
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, elicitation=fill_in, record=tape) as session:
        ask(session, *prompts)
        made = exports(session)
    assert "9876" not in tape.read_text()
    with acp.connect(cassette=tape) as session:
        ask(session, *prompts)
        assert exports(session) == made
    with acp.connect(cassette=tape, elicitation=fill_in) as session:  # the same answer is not a mismatch
        ask(session, *prompts)
        assert exports(session) == made


def test_a_form_is_replayed_even_if_its_answerer_was_not_recorded(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, elicitation=fill_in, record=tape) as session:
        said = session.prompt("/form", timeout=LIMIT_S).text
    tape.write_text("".join(it for it in tape.read_text().splitlines(True) if '"dir":"did"' not in it))
    with acp.connect(cassette=tape) as session:
        assert session.prompt("/form", timeout=LIMIT_S).text == said


def test_another_answer_to_a_form_is_a_mismatch(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, elicitation=fill_in, record=tape) as session:
        ask(session, "/form")
    for other in ("decline", lambda _: {"name": "another", "model": "net"}):
        with (
            acp.connect(cassette=tape, elicitation=other) as session,
            pytest.raises(acp.CassetteMismatch, match="I need a few things"),
        ):
            ask(session, "/form")


def test_a_cancelled_or_withdrawn_form_is_replayed(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = there.parent / "tape.jsonl"
    monkeypatch.setattr(connect_module, "may_be_asked", lambda: True)
    with acp.connect("demo", cwd=there, record=tape) as session:
        session._conversation.state.audience.can_answer = True
        ask(session, "/form withdraw")
        turn = session.start("/form")
        wait_until(lambda: getattr(session.transcript.items[-1], "status", "") == "open", "it asks")
        turn.cancel()
        turn.wait(LIMIT_S)
        made = exports(session)
    monkeypatch.setattr(connect_module, "may_be_asked", lambda: False)
    timeouts.replace(recording_grace=GRACE_S)
    with acp.connect(cassette=tape) as session:
        ask(session, "/form withdraw", "/form")
        assert exports(session) == made


def test_a_replay_does_not_store_grants(there: Path, tmp_path: Path) -> None:
    tape, made = recorded(there, "/run echo hi", permissions="ask", user=offer("workspace"))
    shutil.rmtree(tmp_path / "config")
    with acp.connect(cassette=tape) as session:
        ask(session, "/run echo hi")
        assert exports(session) == made
    assert not (tmp_path / "config").exists()


def test_roots_are_mapped_too(there: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    (root / "in.csv").write_text("a,b\n")
    prompts = (
        f"/read {root / 'in.csv'}",
        f'/client fs/write_text_file {{"path": "{root / "out.csv"}", "content": "c"}}',
    )
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=there, roots=[root], permissions="allow", record=tape) as session:
        ask(session, *prompts)
    with acp.connect(
        cassette=acp.Cassette(tape, match=lambda recorded, asked: True), permissions="allow"
    ) as session:
        ask(session, *prompts)
        (other,) = [it for it in Path(session.cwd).parent.iterdir() if it != Path(session.cwd)]
        assert files(other) == {"in.csv": "a,b\n", "out.csv": "c"}
    assert files(root) == {"in.csv": "a,b\n", "out.csv": "c"}


def test_the_recorded_timing_is_kept_on_request(there: Path) -> None:
    tape, _ = recorded(there, "/slow 1")
    took = []
    for speed in (None, 4):
        with acp.connect(cassette=acp.Cassette(tape, speed=speed)) as session:
            began = time.monotonic()
            ask(session, "/slow 1")
            took.append(time.monotonic() - began)
    assert took[1] > 0.2  # of a second, at four times the speed: it can only be later


# ---- several sessions, cancel, death ----------------------------------------------------------------


def talk_in_two(session: acp.Session) -> list[str]:
    other = session.agent.new_session()
    ask(session, "/think one")
    ask(other, "/write x.txt two")
    other.close()
    loaded = session.agent.load(other.id)
    texts = [it.to_text() for it in (session, other, loaded)]
    loaded.close()
    return texts


def test_several_sessions_and_a_loaded_one_are_replayed(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    env = {"ACP_DEMO_HOME": str(there.parent / "sessions")}
    with acp.connect("demo", cwd=there, env=env, permissions="allow", record=tape) as session:
        made = talk_in_two(session)
    with acp.connect(cassette=tape, permissions="allow") as session:
        assert talk_in_two(session) == made


def test_sessions_in_another_order_than_recorded_are_a_mismatch(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, record=tape) as session, session.agent.new_session() as other:
        ask(session, "first")
        ask(other, "second")
    timeouts.replace(recording_grace=0.05)
    with acp.connect(cassette=tape) as session, pytest.raises(acp.CassetteMismatch) as raised:
        ask(session.agent.new_session(), "second")
    assert f"recorded: session/prompt 'first' (session {session.id})" in str(raised.value)
    assert "now:      session/prompt 'second'" in str(raised.value)


def cancelled(session: acp.Session, prompt: str) -> None:
    turn = session.start(prompt)
    wait_until(lambda: bool(turn.text), "it speaks")
    turn.cancel()
    turn.wait(LIMIT_S)


def test_a_cancelled_turn_is_replayed_whoever_cancelled_it(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
        cancelled(session, "/slow 600")
        ask(session, "and then")
        made = exports(session)
    with acp.connect(cassette=tape, permissions="allow") as session:
        cancelled(session, "/slow 600")
        ask(session, "and then")
        assert exports(session) == made
    timeouts.replace(recording_grace=0.05)
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "/slow 600", "and then")  # the recording presses the stop button
        assert session.turns[0].stop_reason == "cancelled"
        assert exports(session) == made


def test_a_question_that_was_cancelled_is_cancelled_again(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, permissions="ask", record=tape) as session:
        User(session, lambda _: None)
        turn = session.start("/ask")
        wait_until(lambda: bool(questions(session)), "it asks")
        turn.cancel()
        turn.wait(LIMIT_S)
        made = exports(session)
    timeouts.replace(recording_grace=GRACE_S)
    with acp.connect(cassette=tape) as session:
        ask(session, "/ask")
        assert exports(session) == made


def dies(session: acp.Session) -> acp.AgentDied:
    with pytest.raises(acp.AgentDied) as raised:
        session.prompt("/die 7", timeout=LIMIT_S)
    return raised.value


def test_a_recorded_death_and_restart_are_replayed(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, permissions="allow", record=tape) as session:
        ask(session, "before")
        death = dies(session)
        ask(session, "after", "/write a.txt x")
        made = exports(session)
    with acp.connect(cassette=tape, permissions="allow") as session:
        ask(session, "before")
        again = dies(session)
        assert (str(again), again.exit_code, again.stderr) == (str(death), 7, death.stderr)
        ask(session, "after", "/write a.txt x")
        assert exports(session) == made
        assert files(session.cwd) == files(there)


# ---- not the same -----------------------------------------------------------------------------------


def mismatch(tape: Path, *prompts: str, match: Any = "exact", **options: Any) -> str:
    with acp.connect(cassette=acp.Cassette(tape, match=match), **options) as session:
        with pytest.raises(acp.CassetteMismatch) as raised:
            ask(session, *prompts)
        with pytest.raises(acp.CassetteMismatch) as again:
            session.prompt("once more", timeout=LIMIT_S)
        assert str(again.value) == str(raised.value)
    return str(raised.value)


def test_a_changed_prompt_is_shown_line_by_line(there: Path) -> None:
    tape, _ = recorded(there, "first line\nsecond line\nthird line")
    text = mismatch(tape, "first line\nsecond lime\nthird line")
    assert "the prompts differ" in text
    assert "\n     first line\n    -second line\n    +second lime\n     third line" in text
    assert "tape.jsonl, line " in text


def test_a_difference_far_inside_a_long_line_is_shown(there: Path) -> None:
    tape, _ = recorded(there, "x" * 5000 + "old" + "y" * 5000)
    text = mismatch(tape, "x" * 5000 + "new" + "y" * 5000)
    assert "xxoldyy" in text and "xxnewyy" in text
    assert len(text) < 2000


def test_prompts_can_be_matched_by_a_function(there: Path) -> None:
    tape, _ = recorded(there, "It is Monday")
    seen: list[tuple[str, str]] = []

    def any_day(recorded: str, asked: str) -> bool:
        seen.append((recorded, asked))
        return recorded.split()[:2] == asked.split()[:2]

    with acp.connect(cassette=acp.Cassette(tape, match=any_day)) as session:
        ask(session, "It is Sunday")
    assert seen == [("It is Monday", "It is Sunday")]
    assert "ZeroDivisionError" in mismatch(tape, "It", match=lambda recorded, asked: 1 / 0)
    assert "the prompts differ" in mismatch(tape, "It is Sunday", match=lambda recorded, asked: False)


def test_text_alone_can_be_matched(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, record=tape) as session:
        session.prompt("see", acp.Image("AAAA", "image/png"), timeout=LIMIT_S)
    with acp.connect(cassette=acp.Cassette(tape, match="text")) as session:
        session.prompt("see", acp.Image("BBBB", "image/png"), timeout=LIMIT_S)
    with acp.connect(cassette=tape) as session, pytest.raises(acp.CassetteMismatch, match="AAAA"):
        session.prompt("see", acp.Image("BBBB", "image/png"), timeout=LIMIT_S)


@pytest.mark.parametrize("prompt", ["/ask", "/write a.txt x", "/sh echo hi", "/run echo hi"])
def test_another_answer_to_a_question_is_a_mismatch(there: Path, prompt: str) -> None:
    tape, _ = recorded(there, prompt, permissions="allow")
    text = mismatch(tape, prompt, permissions="reject")
    assert "recorded:" in text and "now:" in text
    assert "reject" in text


def test_only_more_than_was_recorded_is_a_mismatch(there: Path) -> None:
    tape, _ = recorded(there, "one", "two")
    assert "nothing more" in mismatch(tape, "one", "two", "three")
    with acp.connect(cassette=tape) as session:
        ask(session, "one")


def test_another_mode_is_a_mismatch(there: Path) -> None:
    tape = there.parent / "tape.jsonl"
    with acp.connect("demo", cwd=there, record=tape) as session:
        modes = [mode.id for mode in session.modes]
        session.mode = modes[-1]
    with acp.connect(cassette=tape) as session, pytest.raises(acp.CassetteMismatch, match=modes[-2]):
        session.mode = modes[-2]


# ---- recordings of other forms ----------------------------------------------------------------------


def test_a_recording_without_client_actions_is_replayed(there: Path) -> None:
    (there / "notes.txt").write_text("before\n")
    tape, _ = recorded(there, *WORK)
    lines = tape.read_text().splitlines()
    messages = [line for line in lines if json.loads(line).get("dir") in ("c2a", "a2c")]
    tape.write_text("\n".join(messages))
    with acp.connect(cassette=tape) as session:
        ask(session, *WORK)
        assert files(session.cwd) == files(there)
        assert session.turns[2].terminals[0].output == "out\nerr\n"
        assert session.turns[2].terminals[0].exit_code == 3
        assert session.turns[3].terminals[0].output.startswith(session.cwd)


@pytest.mark.parametrize("name", ["claude-agent-acp.rich", "claude-code-acp", "gemini-cli", "kimi-code"])
def test_recordings_made_by_another_client_are_replayed(name: str) -> None:
    tape = acp.Cassette(RECORDINGS / f"{name}.jsonl", match=lambda recorded, asked: True)
    with acp.connect(cassette=tape) as session:
        turns = [session.prompt("the same", timeout=LIMIT_S) for _ in range(4)]
    assert [turn.stop_reason for turn in turns] == ["end_turn"] * 4
    assert any(turn.tool_calls for turn in turns)


def reject_rejected(request: acp.PermissionRequest) -> str:
    return "reject" if "rejected" in request.tool.title else "allow"


def test_a_file_that_gemini_read_before_it_created_it_is_created_again() -> None:
    """It reads a missing file as an empty one: a replay has to tell the two apart."""
    tape = acp.Cassette(CASSETTES / "gemini-cli.jsonl", match=lambda recorded, asked: True)
    with acp.connect(cassette=tape, permissions=reject_rejected) as session:
        ask(session, "create", "change", "have it rejected")
        assert files(session.cwd) == {"new.txt": "one\n", "empty.txt": "two\n"}
        found = [(it.action, Path(it.path).name) for it in session.changes]
        assert found == [("created", "new.txt"), ("modified", "empty.txt")]
        for turn in session.turns[:2]:
            turn.revert()
        assert files(session.cwd) == {"empty.txt": ""}


def test_a_truncated_recording_is_reported(there: Path) -> None:
    tape, _ = recorded(there, "one", "/tools 3")
    lines = tape.read_text().splitlines()
    tape.write_text("\n".join(lines[:-6]))
    assert "cut short" in mismatch(tape, "one", "/tools 3", permissions="allow")


def test_client_actions_contain_no_secrets_of_env(there: Path) -> None:
    tape, secret = there.parent / "tape.jsonl", "very-secret-4711"
    (there / "a.txt").write_text(f"the key is {secret}")
    with acp.connect("demo", cwd=there, env={"KEY": secret}, permissions="allow", record=tape) as session:
        ask(session, "/write a.txt gone", f"/sh echo {secret}")
        assert secret not in session.to_text()
    assert secret not in tape.read_text()


def test_a_recording_in_the_sessions_folder_is_not_the_agents_change(there: Path) -> None:
    with acp.connect("demo", cwd=there, permissions="allow", record=there / "tape.jsonl") as session:
        ask(session, "/write a.txt x")
        assert [Path(it.path).name for it in session.changes] == ["a.txt"]


# ---- recording when needed --------------------------------------------------------------------------


def test_a_cassette_records_itself_once(there: Path) -> None:
    tape = acp.Cassette(there.parent / "new" / "tape.jsonl", record="once")
    pids = []
    for _ in range(2):
        with acp.connect("demo", cassette=tape, permissions="allow", cwd=there) as session:
            ask(session, "/write a.txt x")
            pids.append(session.agent.pid)
            assert tape.draft.exists() == (session.agent.pid is not None)
    assert pids[0] is not None and pids[1] is None
    assert [it.name for it in tape.file.parent.iterdir()] == ["tape.jsonl"]


def test_a_missing_cassette_says_how_to_record_one(tmp_path: Path) -> None:
    with pytest.raises(acp.RecordingError, match="--acp-record=once"):
        acp.connect("demo", cassette=tmp_path / "tape.jsonl")
    with pytest.raises(acp.UsageError, match="give only one of them"):
        acp.connect("demo", cassette=tmp_path / "a", record=tmp_path / "b")


@pytest.mark.parametrize(
    "options", [{"match": "some"}, {"speed": 0}, {"speed": -1}, {"files": "none"}, {"record": "new"}]
)
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(acp.UsageError, match=next(iter(options))):
        acp.Cassette("tape.jsonl", **options)
