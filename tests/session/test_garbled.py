"""Slightly corrupted messages of real agents: the turn ends, is shown, and the next one works."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.session.helpers import LIMIT_S

AGENT = Path(__file__).parents[1] / "agents" / "garbled.py"


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(it, marks=pytest.mark.slow) for it in range(4, 100))]
)
def test_an_agent_that_garbles_its_messages_does_no_harm(seed: int, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with acp.connect(
        [sys.executable, str(AGENT), str(seed)], cwd=str(tmp_path), permissions="reject"
    ) as session:
        garbled = session.prompt("garble", timeout=LIMIT_S)
        assert (garbled.status, garbled.stop_reason) == ("done", "end_turn")
        assert garbled.text.endswith("plain")
        assert session.prompt("go on", timeout=LIMIT_S).text == "plain"
        for shown in (session.to_text(), session.to_markdown(), session.to_html()):
            assert "plain" in shown
        assert "<script" not in session.to_html()
        assert json.dumps(session._conversation.state.read(lambda transcript: transcript.plain()))
        assert repr(session.audit) and repr(session.changes) and repr(garbled.tool_calls)
    assert sorted(tmp_path.iterdir()) == before
