"""Events that arrive together are applied in order, and each reaches the subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from acp_notebook.agent.agent_state import AgentState
from acp_notebook.agent.known_agents.quirks import Quirks
from acp_notebook.agent.session_state import SessionState
from acp_notebook.core import events as ev
from acp_notebook.core.patches import Patch
from acp_notebook.core.records import Text
from acp_notebook.core.redaction import Redactor
from acp_notebook.core.requests import AgentFacts
from acp_notebook.core.snapshot import Message
from acp_notebook.core.transcript import Transcript

SECRET = "hunter2-hunter2"
CHUNKS = [ev.MessageChunk("agent", Text(text), "m") for text in "abc"]
LINES = [ev.ToolChanged("t", status="in_progress", content=(Text(text),)) for text in "abc"]


@pytest.fixture
def state() -> SessionState:
    async def made() -> SessionState:
        return SessionState(AgentState("agent", AgentFacts(1), Quirks(), redactor=Redactor()), "/project")

    state = asyncio.run(made())
    state.apply(ev.TurnStarted(()))
    return state


@pytest.mark.parametrize("events", [CHUNKS, LINES], ids=["chunks", "tool call updates"])
def test_every_event_reaches_a_listener_that_fails_on_the_first(
    state: SessionState, events: Sequence[ev.Event]
) -> None:
    seen: list[ev.Event] = []

    def listener(event: ev.Event, _: Sequence[Patch]) -> None:
        seen.append(event)
        if event is events[0]:
            raise ValueError("a bug")

    state.listen(listener)
    with pytest.raises(ValueError, match="a bug"):
        state.apply(*events)
    assert seen == [*events]


def test_a_chunk_that_cannot_be_applied_hides_no_other_from_listeners(
    state: SessionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Transcript.apply

    def failing(transcript: Transcript, event: ev.Event) -> list[Patch]:
        if event is CHUNKS[1]:
            raise ValueError("a bug")
        return apply(transcript, event)

    monkeypatch.setattr(Transcript, "apply", failing)
    seen: list[ev.Event] = []
    state.listen(lambda event, _: seen.append(event))
    with pytest.raises(ValueError, match="a bug"):
        state.apply(*CHUNKS)
    assert seen == [CHUNKS[0], CHUNKS[2]]


def test_a_handler_that_fails_loses_no_tool_call_update(state: SessionState) -> None:
    def failing(_: ev.ToolChanged) -> None:
        raise ValueError("a bug")

    state.on(ev.ToolChanged, failing)
    with pytest.raises(ValueError, match="a bug"):
        state.apply(*LINES)
    assert state.read(lambda transcript: transcript.tool("t").content) == (Text("c"),)
    assert state.calls.call("t").content == (Text("c"),)


def test_a_handler_sees_the_transcript_as_of_its_update(state: SessionState) -> None:
    shown: list[object] = []
    state.on(ev.ToolChanged, lambda _: shown.append(state.read(lambda it: it.tool("t").content)))
    state.apply(*LINES)
    assert shown == [(Text(text),) for text in "abc"]


def test_a_secret_that_is_learnt_is_removed_from_the_next_update(state: SessionState) -> None:
    line = ev.ToolChanged("t", content=(Text(SECRET),))
    state.on(ev.ToolChanged, lambda _: state.agent.redactor.learn([SECRET]))
    shown: list[str] = []
    state.listen(lambda _, patches: shown.append(str(patches)))
    state.apply(line, line)
    assert [SECRET in it for it in shown] == [True, False]
    assert SECRET not in str(state.read(lambda transcript: transcript.tool("t")))
    assert state.calls.call("t").content == (Text(SECRET),)


def test_a_call_that_is_filled_in_is_shown_without_secrets_and_allows_nothing(state: SessionState) -> None:
    state.agent.redactor.learn([SECRET])
    turn = state.read(lambda transcript: transcript.current_turn)
    assert turn is not None
    call = ev.ToolChanged("c", title=f"login {SECRET}", kind="execute", status="completed", created=True)
    state.apply(ev.Recovered(turn, call))
    shown = state.read(lambda transcript: transcript.tool("c"))
    assert shown.turn == turn
    assert SECRET not in shown.title
    assert state.calls.open() == ()
    with pytest.raises(KeyError):
        state.calls.call("c")


def test_a_history_is_compared_as_it_is_shown(state: SessionState) -> None:
    state.agent.redactor.learn([SECRET])
    said = [ev.MessageChunk("agent", Text(f"It is {SECRET}, as you know."))]
    state.apply(*said)
    state.end_history()
    again = Transcript()
    again.apply_all(state.redacted(said))
    assert _texts(again) == state.read(_texts) != []
    assert SECRET not in str(_texts(again))


def _texts(transcript: Transcript) -> list[str]:
    return [it.text for it in transcript.snapshot().items if isinstance(it, Message)]
