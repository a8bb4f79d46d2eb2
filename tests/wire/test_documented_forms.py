"""Messages that the documentation shows are read, although the schema lacks them."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Raw

from acp_notebook.core import events as ev
from acp_notebook.core.export import to_text
from acp_notebook.core.records import Text
from acp_notebook.core.transcript import Transcript
from acp_notebook.wire import v1


def read(update: dict[str, Any]) -> ev.Event:
    return v1.read_update(Raw(json.dumps({"sessionId": "s", "update": update}).encode()))[1]


def test_a_mode_by_its_other_name() -> None:
    event = read({"sessionUpdate": "current_mode_update", "modeId": "code"})
    assert isinstance(event, ev.ModeChanged)
    assert event.id == "code"


def test_content_of_a_tool_call_without_its_wrapper() -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t"}
    event = read({**call, "content": [{"type": "text", "text": "found"}]})
    assert isinstance(event, ev.ToolChanged)
    assert event.content == (Text("found"),)


def test_a_result_sent_only_as_data_is_in_the_static_output() -> None:
    transcript = Transcript()
    transcript.apply(ev.TurnStarted((Text("go"),), "t1"))
    transcript.apply(ev.ToolChanged("c", title="search", status="completed", raw_output={"output": "42"}))
    transcript.apply(ev.ToolChanged("d", title="look", status="completed", raw_output={"n": [1]}))
    text = to_text(transcript.snapshot().items)
    assert "42" in text
    assert '"n"' in text
