"""A replay behaves like the recorded agent, and reports where the client does something else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.recordings import client_actions
from acp_notebook.agent.recordings.recording import Entry, Recording, load
from acp_notebook.agent.recordings.replay import Replay, ReplayTransport
from acp_notebook.agent.transport import Ending
from acp_notebook.core.snapshot import Question
from acp_notebook.errors import CassetteMismatch

TS_EXAMPLE = Path(__file__).parents[2] / "data" / "transcripts" / "ts-sdk-example.jsonl"
LIMIT_S = 60.0


def asks(id: Any, method: str, **params: Any) -> Entry:
    return Entry("c2a", {"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def answers(id: Any, result: Any = None) -> Entry:
    return Entry("a2c", {"jsonrpc": "2.0", "id": id, "result": result})


def says(method: str) -> Entry:
    return Entry("a2c", {"jsonrpc": "2.0", "method": method})


class Played:
    """A replaying transport, and its output."""

    def __init__(self, *entries: Entry) -> None:
        self.transport = ReplayTransport(Replay(Recording("r.jsonl", entries)))
        self.heard: list[Any] = []
        self.endings: list[Ending] = []
        self.transport.start(self._receive, self.endings.append)

    def _receive(self, data: bytes) -> None:
        assert data.endswith(b"\n")
        try:
            self.heard.append(json.loads(data))
        except ValueError:
            self.heard.append(data.decode())

    async def send(self, *entries: Entry) -> None:
        for entry in entries:
            self.transport.write(json.dumps(entry.message).encode() + b"\n")
        for _ in range(10):
            await asyncio.sleep(0)


def test_the_agent_speaks_until_the_recorded_client_asks() -> None:
    async def main() -> None:
        played = Played(says("hello"), Entry("a2c", None, 0.0, "a log line"), asks(1, "x"), answers(1))
        await played.send()
        assert played.heard == [says("hello").message, "a log line\n"]
        await played.send(asks(1, "x"))
        assert played.heard[2:] == [answers(1).message]
        assert played.endings == []

    asyncio.run(main())


def test_responses_have_the_ids_of_the_current_requests() -> None:
    async def main() -> None:
        played = Played(asks(7, "x"), asks(8, "y"), answers(8, "y"), answers(7, "x"))
        await played.send(asks(1, "x"), asks("two", "y"))
        assert played.heard == [answers("two", "y").message, answers(1, "x").message]

    asyncio.run(main())


def tells(method: str, **params: Any) -> Entry:
    return Entry("c2a", {"jsonrpc": "2.0", "method": method, "params": params})


def test_the_agent_waits_for_a_notification_beyond_the_protocol() -> None:
    async def main() -> None:
        played = Played(tells("_x/note", n=1), says("_x/noted"))
        await played.send()
        assert played.heard == []
        await played.send(tells("_x/note", n=1))
        assert played.heard == [says("_x/noted").message]

    asyncio.run(main())


def test_another_notification_beyond_the_protocol_is_a_difference() -> None:
    async def main() -> None:
        played = Played(tells("_x/note", n=1), says("_x/noted"))
        await played.send(tells("_x/note", n=2))
        assert isinstance(played.endings[0].error, CassetteMismatch)

    asyncio.run(main())


def test_a_redacted_parameter_matches_any_text() -> None:
    async def main() -> None:
        played = Played(asks(1, "_x/send", token="[redacted]"), answers(1))
        await played.send(asks(1, "_x/send", token="a secret"))
        assert played.heard == [answers(1).message]

    asyncio.run(main())


def test_a_response_with_an_invalid_id_is_replayed() -> None:
    async def main() -> None:
        played = Played(asks(1, "x"), answers([1]), says("after"))
        await played.send(asks(1, "x"))
        assert played.heard == [answers([1]).message, says("after").message]

    asyncio.run(main())


def test_sessions_are_distinguished() -> None:
    async def main() -> None:
        entries = [asks(1, "x", sessionId="a"), asks(2, "x", sessionId="b"), answers(2), answers(1)]
        played = Played(*entries)
        await played.send(asks(1, "x", sessionId="a"))
        await played.send(asks(2, "x", sessionId="b"))
        assert [message["id"] for message in played.heard] == [2, 1]

    asyncio.run(main())


def test_the_agent_waits_for_the_answer_to_its_own_request() -> None:
    async def main() -> None:
        question = Entry("a2c", {"jsonrpc": "2.0", "id": 0, "method": "q"})
        played = Played(question, Entry("c2a", {"id": 0, "result": {}}), says("after"))
        await played.send(Entry("c2a", {"id": 1, "result": {}}))
        assert played.heard == [question.message]
        await played.send(Entry("c2a", {"id": 0, "result": {}}))
        assert played.heard[1:] == [says("after").message]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("recorded", "asked", "shown"),
    [
        (asks(1, "x"), asks(1, "y"), ("recorded: x\n", "now:      y\n")),
        (
            asks(1, "x", sessionId="a"),
            asks(1, "x", sessionId="b"),
            ("recorded: x (session a)\n", "now:      x (session b)\n"),
        ),
        (
            asks(1, "session/set_mode", sessionId="a", modeId="plan"),
            asks(1, "session/set_mode", sessionId="a", modeId="code"),
            ('"plan"', '"code"'),
        ),
        (
            asks(1, "session/prompt", prompt=[{"type": "text", "text": "old"}]),
            asks(1, "session/prompt", prompt=[{"type": "text", "text": "new"}]),
            ("\n    -old\n", "\n    +new\n"),
        ),
        (None, asks(1, "x"), ("recorded: nothing more", "now:      x\n")),
    ],
)
def test_a_mismatch_ends_the_replay_and_shows_both(
    recorded: Entry | None, asked: Entry, shown: tuple[str, str]
) -> None:
    async def main() -> None:
        played = Played(*filter(None, [recorded]))
        await played.send(asked)
        (ending,) = played.endings
        assert isinstance(ending.error, CassetteMismatch)
        assert "r.jsonl" in ending.reason
        assert shown[0] in ending.reason and shown[1] in ending.reason
        await played.send(asked)
        await played.transport.close()
        assert len(played.endings) == 1

    asyncio.run(main())


def test_a_recording_that_ends_before_a_response_does_not_hang() -> None:
    async def main() -> None:
        played = Played(asks(1, "x"), says("working"))
        await played.send(asks(1, "x"))
        (ending,) = played.endings
        assert isinstance(ending.error, CassetteMismatch)
        assert "x" in ending.reason

    asyncio.run(main())


# ---- whole sessions ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str], str]]:
    """A recording of the demo agent, its prompts, and their transcript."""
    folder = tmp_path_factory.mktemp("recorded")
    prompts = ["hello", "/tools", "/ask", "/plan", "/unfinished", "/think"]
    with acp.connect("demo", cwd=folder, permissions="allow", record=folder / "r.jsonl") as session:
        for prompt in prompts:
            session.prompt(prompt, timeout=LIMIT_S * 4)
        text = session.to_text()
        assert any(isinstance(item, Question) for item in session.transcript.items)
    yield folder / "r.jsonl", prompts, text


def test_a_replay_produces_the_same_transcript(recorded: tuple[Path, list[str], str]) -> None:
    path, prompts, text = recorded
    with acp.connect(cassette=path, cwd=path.parent, permissions="allow") as session:
        assert session.agent.pid is None
        for prompt in prompts:
            session.prompt(prompt, timeout=LIMIT_S)
        assert session.to_text() == text


def test_a_changed_prompt_is_an_error_that_shows_both(recorded: tuple[Path, list[str], str]) -> None:
    path, prompts, _ = recorded
    with (
        acp.connect(cassette=path, cwd=path.parent, permissions="allow") as session,
        pytest.raises(acp.CassetteMismatch) as raised,
    ):
        session.prompt("something else", timeout=LIMIT_S)
    assert f"-{prompts[0]}\n" in str(raised.value)
    assert "+something else\n" in str(raised.value)


def test_a_recording_of_another_client_is_replayed(tmp_path: Path) -> None:
    sent = [entry.message for entry in load(TS_EXAMPLE) if entry.direction == "c2a"]
    prompts = [it["params"]["prompt"][0]["text"] for it in sent if it.get("method") == "session/prompt"]
    with acp.connect(cassette=TS_EXAMPLE, cwd=tmp_path, permissions="allow") as session:
        turns = [session.prompt(prompt, timeout=LIMIT_S) for prompt in prompts]
    assert [turn.stop_reason for turn in turns] == ["end_turn", "end_turn"]
    assert all(turn.text and turn.tool_calls for turn in turns)


@pytest.mark.parametrize("may_pass", [True, False])
def test_the_end_of_a_connection_is_replayed_as_one(may_pass: bool) -> None:
    ending = Ending("the connection was interrupted", is_lost=True, may_pass=may_pass)

    async def main() -> None:
        played = Played(Entry("did", client_actions.ended(ending)))
        await played.send()
        assert played.endings == [ending]

    asyncio.run(main())


def test_an_ending_of_an_older_recording_is_that_of_a_process() -> None:
    async def main() -> None:
        old = {"what": "ended", "reason": "the agent exited with code 3", "exit_code": 3, "stderr": "oh"}
        played = Played(Entry("did", old))
        await played.send()
        assert played.endings == [Ending("the agent exited with code 3", 3, "oh")]

    asyncio.run(main())
