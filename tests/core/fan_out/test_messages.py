"""Messages of a page that shows a fan-out's table are checked."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook.core.fan_out import messages as msg
from acp_notebook.core.fan_out.rows import Progress, Row
from acp_notebook.core.intents import BadIntent
from acp_notebook.core.page_messages import to_wire


def test_what_a_page_sends() -> None:
    sync = msg.parse({"t": "table_sync", "view": "v", "have": 3, "document": True, "open": [1, 2]})
    assert sync == msg.TableSync("v", 3, True, (1, 2))
    assert msg.parse({"t": "stop_runs"}) == msg.StopRuns()


@pytest.mark.parametrize(
    "message",
    [
        None,
        "stop_runs",
        {},
        {"t": "unknown"},
        {"t": "table_sync"},
        {"t": "table_sync", "view": "v", "have": "all"},
        {"t": "table_sync", "view": "v", "open": ["1"]},
        {"t": "table_sync", "view": "v", "open": [*range(msg.MOST_OPEN + 1)]},
    ],
)
def test_anything_else_is_refused(message: Any) -> None:
    with pytest.raises(BadIntent):
        msg.parse(message)


def test_what_a_row_does_not_have_is_not_sent() -> None:
    row = Row(index=0, prompt="x", agent="demo", attempt=1, state="queued")
    wire = to_wire(msg.TableRows(2, (row,), Progress(total=1, counts={"queued": 1}, seconds=0.0)))
    assert wire["t"] == "rows" and wire["seq"] == 2
    assert wire["rows"] == [
        {"index": 0, "prompt": "x", "agent": "demo", "attempt": 1, "state": "queued", "fields": {}}
    ]
