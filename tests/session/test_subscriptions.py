"""What is not in use is not subscribed: an event that nobody wants costs nothing but its transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core import events as ev
from tests.session.conftest import Demo

LIMIT_S = 60.0


def subscribed(session: acp.Session, kind: type[ev.BaseEvent]) -> int:
    return session._conversation.state.subscribers(kind)


def test_nobody_subscribes_to_chunks(demo: Demo) -> None:
    session = demo(undo=False)
    session.prompt("hello", timeout=LIMIT_S)
    assert subscribed(session, ev.MessageChunk) == 0
    assert session._conversation.state.listeners == ()


def test_a_recorder_subscribes_only_if_there_is_one(demo: Demo, tmp_path: Path) -> None:
    kinds = (ev.QuestionAsked, ev.ElicitationOpened, ev.TerminalOutput, ev.ToolChanged)
    plain, recorded = demo(), demo(record=tmp_path / "r.jsonl")
    assert [subscribed(recorded, it) - subscribed(plain, it) for it in kinds] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "limits, kind", [({"max_tool_calls": 5}, ev.ToolChanged), ({"max_cost": 5}, ev.UsageChanged)]
)
def test_a_limit_is_watched_as_long_as_its_turn_runs(
    demo: Demo, limits: dict[str, Any], kind: type[ev.BaseEvent]
) -> None:
    session = demo()
    state = session._conversation.state
    before = subscribed(session, kind)
    during: list[int] = []
    state.listen(lambda event, _: during.append(state.subscribers(kind)))
    session.prompt("hello", timeout=LIMIT_S, **limits)
    assert max(during) == before + 1
    assert subscribed(session, kind) == before
    during.clear()
    session.prompt("hello", timeout=LIMIT_S)
    assert max(during) == before
