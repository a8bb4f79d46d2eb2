"""A conversation in a notebook goes on in another kernel: resumed, or as context, or with a clear error."""

from __future__ import annotations

import asyncio
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.notebook.saved_conversations import newest_conversation, outputs_in
from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.waiting import wait_until


@pytest.fixture
def kept(demo: Demo, tmp_path: Path) -> tuple[acp.Snapshot, dict[str, str]]:
    """A conversation about the number 7 that a notebook and the demo agent have, and its environment."""
    env = {"ACP_DEMO_HOME": str(tmp_path / "kept")}
    session = demo(env=env)
    session.prompt("The number is 7", timeout=LIMIT_S)
    session.close()
    return acp.load_transcript(write_outputs(tmp_path / "old.ipynb", session._to_bundle())), env


def prompts(session: acp.Session) -> list[str]:
    return _prompts(session.transcript)


def _prompts(transcript: acp.Snapshot | None) -> list[str]:
    return [it.text for it in transcript.items if isinstance(it, TurnStart)] if transcript else []


def write_outputs(path: Path, *outputs: dict[str, Any]) -> Path:
    """A notebook of one cell for each of these outputs."""
    cells = [
        {
            "cell_type": "code",
            "id": f"c{at}",
            "source": "",
            "metadata": {},
            "outputs": [{"output_type": "display_data", "metadata": {}, "data": it}],
        }
        for at, it in enumerate(outputs)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def panel(session: acp.Session, *elsewhere: acp.Turn) -> dict[str, Any]:
    """The output of a session's panel that refers to turns in other cells, as a page makes it."""
    others = [turn._to_bundle()[TRANSCRIPT_MIME] for turn in elsewhere]
    bundle = session._to_bundle()
    lines = bundle[TRANSCRIPT_MIME]
    return {**bundle, TRANSCRIPT_MIME: [line for line in lines if line not in others]}


def test_a_conversation_is_resumed_with_its_history(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo
) -> None:
    transcript, env = kept
    session = demo(env=env, resume=transcript)
    assert session.id == transcript.origins[-1].session
    assert prompts(session) == ["The number is 7"]
    session.prompt("And on", timeout=LIMIT_S)
    assert prompts(session) == ["The number is 7", "And on"]


def test_a_conversation_is_resumed_by_an_agent_that_only_resumes(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo
) -> None:
    transcript, env = kept
    session = demo(env=env | {"ACP_DEMO_CAPS": "resume"}, resume=transcript)
    assert session.id == transcript.origins[-1].session
    assert prompts(session) == []


def test_an_agent_that_neither_loads_nor_resumes_names_the_other_way(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo
) -> None:
    transcript, env = kept
    with pytest.raises(
        acp.UsageError, match=r'neither loads nor resumes .*session\.prompt\("Continue", transcript'
    ):
        demo(env=env | {"ACP_DEMO_CAPS": ""}, resume=transcript)


def test_a_conversation_that_the_agent_no_longer_has_names_the_other_way(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo, tmp_path: Path
) -> None:
    transcript, _ = kept
    with pytest.raises(acp.SessionLost, match=r'demo no longer has .*session\.prompt\("Continue", trans'):
        demo(env={"ACP_DEMO_HOME": str(tmp_path / "another machine")}, resume=transcript)


def test_another_agents_conversation_starts_nothing(
    kept: tuple[acp.Snapshot, dict[str, str]], tmp_path: Path
) -> None:
    transcript, _ = kept
    started = tmp_path / "started"
    with pytest.raises(acp.UsageError, match='was with "demo", not with '):
        acp.connect(["touch", str(started)], resume=transcript)
    assert not started.exists()


def test_a_conversation_is_context_for_any_agent(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo
) -> None:
    transcript, _ = kept
    session = demo()
    turn = session.prompt("Continue", transcript, timeout=LIMIT_S)
    (start,) = (it for it in turn.items if isinstance(it, TurnStart))
    sent = str(start.prompt)
    assert "> " in sent
    assert "The number is 7" in sent
    preview = session.preview("Continue", transcript)
    assert "An earlier conversation, read from a notebook" in str(preview)


def test_a_new_session_is_replaced_by_a_stored_one(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo
) -> None:
    transcript, env = kept
    stored = transcript.origins[-1].session
    session = demo(env=env)
    unused = session.id
    session._loop.call(session._conversation.take_up(str(stored)))
    assert session.id == stored != unused
    assert prompts(session) == ["The number is 7"]
    session.prompt("And on", timeout=LIMIT_S)
    assert prompts(session) == ["The number is 7", "And on"]
    with pytest.raises(acp.UsageError, match="has turns of its own"):
        session._loop.call(session._conversation.take_up("demo-1"))


def test_a_turn_that_began_while_the_stored_session_was_awaited_keeps_its_session(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo
) -> None:
    transcript, env = kept
    session = demo(env=env)
    own = session.id
    conversation = session._conversation

    async def taken_up_late() -> None:
        async with conversation.agent.starting:  # as during a restart of the agent
            taking = asyncio.ensure_future(conversation.take_up(str(transcript.origins[-1].session)))
            await asyncio.sleep(0)
            conversation.start_turn(conversation.new_run((acp.Text("Mine"),)))
        await taking

    with pytest.raises(acp.UsageError, match="has turns of its own"):
        session._loop.call(taken_up_late())
    wait_until(lambda: prompts(session) == ["Mine"], "its own turn", LIMIT_S)
    assert session.id == own


def test_a_new_session_stays_usable_if_the_stored_one_is_gone(
    kept: tuple[acp.Snapshot, dict[str, str]], demo: Demo, tmp_path: Path
) -> None:
    session = demo(env={"ACP_DEMO_HOME": str(tmp_path / "another machine")})
    unused = session.id
    with pytest.raises(acp.SessionLost):
        session._loop.call(session._conversation.take_up("demo-77"))
    assert session.id == unused
    assert session.prompt("Hello", timeout=LIMIT_S).stop_reason == "end_turn"


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "[",
        '{"acp_transcript": 2, "agent": 7}',
        '{"acp_transcript": 2, "agent": "demo", "session": {"id": "x"}}',
        '{"acp_transcript": 2, "agent": "demo", "items": [{"type": "turn"}]}',
        "[" * 100_000,
    ],
)
def test_a_malformed_transcript_is_refused_with_a_reason(line: str, tmp_path: Path) -> None:
    path = tmp_path / "evil.ipynb"
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {TRANSCRIPT_MIME: line}}]
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "outputs": outputs}]}))
    with pytest.raises(acp.UsageError):
        acp.load_transcript(path)


def test_a_command_and_an_environment_in_a_file_are_ignored(tmp_path: Path, demo: Demo) -> None:
    started = tmp_path / "started"
    fields = {
        "acp_transcript": 2,
        "agent": "demo",
        "session": "demo-1",
        "command": ["touch", str(started)],
        "env": {"ACP_DEMO_HOME": str(started)},
        "parts": [],
    }
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {TRANSCRIPT_MIME: json.dumps(fields)}}]
    path = tmp_path / "evil.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "outputs": outputs}]}))
    with pytest.raises(acp.SessionLost):
        demo(env={"ACP_DEMO_HOME": str(tmp_path / "empty")}, resume=acp.load_transcript(path))
    assert not started.exists()


@pytest.mark.parametrize("caps", ["load,resume", "resume"])
def test_the_file_has_each_turn_of_a_resumed_conversation_once(demo: Demo, tmp_path: Path, caps: str) -> None:
    env = {"ACP_DEMO_HOME": str(tmp_path / "kept"), "ACP_DEMO_CAPS": caps}
    first = demo(env=env)
    old = first.prompt("The number is 7", timeout=LIMIT_S)
    first.close()
    outputs = [old._to_bundle()]
    second = demo(env=env, resume=acp.load_transcript(write_outputs(tmp_path / "one.ipynb", *outputs)))
    new = second.prompt("And on", timeout=LIMIT_S)
    second.close()
    outputs += [panel(second, new), new._to_bundle()]
    own = prompts(second)
    assert own == (["The number is 7", "And on"] if "load" in caps else ["And on"])
    for order in permutations(outputs):
        path = write_outputs(tmp_path / "two.ipynb", *order)
        assert sorted(_prompts(acp.load_transcript(path))) == ["And on", "The number is 7"]
        found = newest_conversation(outputs_in(str(path)), f"c{order.index(outputs[1])}")
        assert _prompts(found) == own
    third = demo(env=env, resume=acp.load_transcript(path))
    newest = third.prompt("The end", timeout=LIMIT_S)
    path = write_outputs(tmp_path / "three.ipynb", *outputs, panel(third, newest), newest._to_bundle())
    assert _prompts(acp.load_transcript(path)) == ["The number is 7", "And on", "The end"]
    assert _prompts(newest_conversation(outputs_in(str(path)), "c3")) == prompts(third)


def test_equal_runs_of_a_resumed_conversation_give_equal_files(demo: Demo, tmp_path: Path) -> None:
    files = []
    for run in ("one", "two"):
        env = {"ACP_DEMO_HOME": str(tmp_path / run)}
        first = demo(env=env)
        first.prompt("The number is 7", timeout=LIMIT_S)
        first.close()
        first.agent.close()
        second = demo(env=env, load=first.id)
        second.prompt("And on", timeout=LIMIT_S)
        second.prompt("And on", timeout=LIMIT_S)
        files.append(second._to_bundle())
    assert files[0] == files[1]
