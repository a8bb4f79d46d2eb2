"""The table of a fan-out between real runs and a simulated page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent import loop
from acp_notebook.core.fan_out.rows import Progress, Row
from acp_notebook.core.fan_out.table import RUNS_MIME
from acp_notebook.frontend import runs_output
from acp_notebook.frontend.runs_output import CHUNK, RunsOutput
from acp_notebook.notebook import widget as widget_module
from tests.frontend.panel.test_session_panel import LIMIT_S, Message, Output
from tests.waiting import wait_until


class Widget:
    """Simulates the table's widget: keeps what is sent, with the sending thread."""

    model_id = "runs-model"

    def __init__(self, note: str, on_message: Callable[[Any], None]) -> None:
        self.note = note
        self.receive = on_message
        self.sent: list[Message] = []
        self.threads: set[threading.Thread] = set()

    def send(self, message: Message) -> None:
        self.threads.add(threading.current_thread())
        self.sent.append(message)


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget_module, "RunsWidget", Widget)
    monkeypatch.setattr(widget_module, "view_bundle", lambda widget, text: {"text/plain": text})
    monkeypatch.setattr(runs_output, "CellOutput", Output)


class Stage:
    """A table and its simulated page."""

    def __init__(self, runs: Any) -> None:
        self.output = RunsOutput(runs)
        made: Any = self.output._widget
        self.widget: Widget = made
        shown: Any = self.output._output
        self.cell: Output = shown

    def sync(self, have: int = 0, document: bool = True, open: tuple[int, ...] = ()) -> None:
        message = {"t": "table_sync", "view": "v", "have": have, "document": document, "open": list(open)}
        self.widget.receive(message)

    def of(self, kind: str) -> list[Message]:
        return [it for it in list(self.widget.sent) if it["t"] == kind]

    def wait(self, condition: Callable[[], object]) -> None:
        wait_until(lambda: bool(condition()), "the table")

    @property
    def rows(self) -> dict[int, Message]:
        """As a page has them."""
        rows: dict[int, Message] = {}
        for message in list(self.widget.sent):
            if message["t"] == "table":
                rows = {}
            if message["t"] in ("table", "rows"):
                rows |= {it["index"]: it for it in message["rows"]}
        return rows


class FakeRuns:
    """Runs that change when the test says so."""

    _shown_by: str | None = None

    def __init__(self, count: int) -> None:
        self.states = ["queued"] * count
        self.cancelled = threading.Event()
        self._callback: Callable[[frozenset[int]], None] = lambda _: None

    def __len__(self) -> int:
        return len(self.states)

    def rows(self, indexes: Any = None) -> tuple[Row, ...]:
        chosen = range(len(self)) if indexes is None else sorted(indexes)
        fields: Any = {"prompt": "Fix it", "agent": "demo", "attempt": 1, "text": "x" * 200}
        return tuple(Row(index=it, state=self.states[it], **fields) for it in chosen)  # type: ignore[arg-type]

    @property
    def progress(self) -> Progress:
        counts = {it: self.states.count(it) for it in sorted(set(self.states))}
        return Progress(total=len(self), counts=counts, seconds=0.0)

    @property
    def done(self) -> bool:
        return set(self.states) == {"done"}

    def on_change(self, callback: Callable[[frozenset[int]], None]) -> Callable[[], None]:
        self._callback = callback
        return lambda: None

    def change(self, state: str, *indexes: int) -> None:
        for it in indexes:
            self.states[it] = state
            loop.get().call_soon_threadsafe(self._callback, frozenset({it}))

    def cancel(self) -> None:
        self.cancelled.set()


def test_a_page_gets_the_table_and_its_changes_and_the_file_its_static_form() -> None:
    runs = acp.fan_out(["hello", "/error 5 <b>oops</b>"])
    stage = Stage(runs)
    stage.sync()
    runs.wait(LIMIT_S)
    stage.wait(lambda: [it["state"] for it in stage.rows.values()] == ["done", "failed"])
    stage.wait(lambda: stage.of("table_static") and "1 failed" in str(stage.of("table_static")[-1]))
    static = stage.of("table_static")[-1]
    assert set(static["bundle"]) == {"text/html", "text/plain", RUNS_MIME}
    assert static["places"] == [["runs-model", "cell-1"]]
    assert "<b>oops" not in static["bundle"]["text/html"]
    numbers = [it["seq"] for it in stage.widget.sent if "seq" in it]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert {it.name for it in stage.widget.threads} == {loop.THREAD_NAME}
    assert len(stage.cell.shown) == 1, "the page writes the file"


def test_a_change_while_the_table_waits_for_its_page_is_in_the_file() -> None:
    runs = FakeRuns(2)
    runs.states = ["done", "done"]
    stage = Stage(runs)
    wait_until(lambda: stage.output._bundle is not None, "the static form")
    runs.change("failed", 0)
    stage.sync()
    stage.wait(lambda: stage.of("table_static") and "1 failed" in str(stage.of("table_static")[-1]))


def test_many_changes_are_one_message() -> None:
    runs = FakeRuns(1_000)
    stage = Stage(runs)
    stage.sync()
    stage.wait(lambda: stage.of("table"))
    held = threading.Event()
    loop.get().call_soon_threadsafe(held.wait, LIMIT_S)
    runs.change("running", *range(1_000))
    held.set()
    stage.wait(lambda: len([it for it in stage.rows.values() if it["state"] == "running"]) == 1_000)
    assert len(stage.of("rows")) <= 3
    assert all("text" not in it for it in stage.rows.values())


def test_a_large_table_comes_in_parts() -> None:
    stage = Stage(FakeRuns(2 * CHUNK + 1))
    stage.sync()
    stage.wait(lambda: len(stage.rows) == 2 * CHUNK + 1)
    assert [len(it["rows"]) for it in stage.of("table") + stage.of("rows")] == [CHUNK, CHUNK, 1]


def test_a_page_that_missed_something_gets_everything_again() -> None:
    runs = FakeRuns(2)
    stage = Stage(runs)
    stage.sync()
    stage.wait(lambda: stage.of("table"))
    stage.sync(have=1)
    runs.change("running", 0)
    stage.wait(lambda: stage.of("rows"))
    assert len(stage.of("table")) == 1, "it had everything"
    stage.sync(have=1)
    stage.wait(lambda: len(stage.of("table")) == 2)
    assert stage.of("table")[-1]["seq"] == 3


def test_an_open_row_shows_the_run_live_and_at_its_end() -> None:
    runs = acp.fan_out(["/slow 60", "hello"], at_once=2)
    stage = Stage(runs)
    stage.sync(open=(0,))
    stage.wait(lambda: any("tick" in it["html"] for it in stage.of("details")))
    assert {it["run"] for it in stage.of("details")} == {0}
    stage.sync(open=(0, 1), have=-1)
    stage.wait(lambda: any(it["run"] == 1 and "You said" in it["html"] for it in stage.of("details")))
    stage.widget.receive({"t": "stop_runs"})
    runs.wait(LIMIT_S)
    assert runs[0].state == "cancelled"
    stage.wait(lambda: stage.rows[0]["state"] == "cancelled")
    stage.wait(lambda: "cancelled" in [it["html"] for it in stage.of("details") if it["run"] == 0][-1])


def test_a_click_applies_a_run_and_another_undoes_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    runs = acp.fan_out(["/edit a.txt new", "hello"], cwd=tmp_path).wait(LIMIT_S)
    stage = Stage(runs)
    stage.sync()
    stage.widget.receive({"t": "apply_run", "run": 0})
    stage.wait(lambda: stage.rows and stage.rows[0].get("applied"))
    assert "new" in (tmp_path / "a.txt").read_text()
    stage.wait(lambda: stage.of("table_static") and "applied" in str(stage.of("table_static")[-1]))
    stage.widget.receive({"t": "change_run", "run": 0, "operation": "undo"})
    stage.wait(lambda: not stage.rows[0].get("applied"))
    assert (tmp_path / "a.txt").read_text() == "old\n"
    (tmp_path / "a.txt").write_text("other\n")
    stage.widget.receive({"t": "change_run", "run": 0, "operation": "redo"})
    stage.wait(lambda: stage.of("apply_ended") and "error" in stage.of("apply_ended")[-1])
    assert "nothing was changed" in stage.of("apply_ended")[-1]["error"]
    assert (tmp_path / "a.txt").read_text() == "other\n"
    for number in (1, 7):
        count = len(stage.of("apply_ended"))
        stage.widget.receive({"t": "apply_run", "run": number})
        stage.wait(lambda count=count: len(stage.of("apply_ended")) > count)  # type: ignore[misc]
        assert "error" in stage.of("apply_ended")[-1]


def test_an_open_row_lists_what_was_applied_and_its_states(tmp_path: Path) -> None:
    lines = "".join(f"{number}\n" for number in range(20))
    (tmp_path / "a.txt").write_text(lines)
    runs = acp.fan_out("/run sed -i 's/^1$/one/; s/^18$/more/' a.txt; echo new > b.txt", cwd=tmp_path)
    stage = Stage(runs.wait(LIMIT_S))
    stage.sync(open=(0,))
    stage.wait(lambda: stage.of("details"))
    assert "changes" not in stage.of("details")[-1]
    stage.widget.receive({"t": "change_run", "run": 0, "operation": "undo"})
    stage.wait(lambda: "not applied" in str(stage.of("apply_ended")))

    def states() -> dict[str, str]:
        return {it["path"]: it["state"] for it in stage.of("details")[-1].get("changes", ())}

    stage.widget.receive({"t": "apply_run", "run": 0})
    stage.wait(lambda: states() == {"a.txt": "applied", "b.txt": "applied"})
    text, new = stage.of("details")[-1]["changes"]
    part = {"file": text["id"], "hunk": text["hunks"][0]["id"]}
    stage.widget.receive({"t": "change_run", "run": 0, "operation": "undo", **part})
    stage.wait(lambda: states() == {"a.txt": "partly", "b.txt": "applied"})
    assert (tmp_path / "a.txt").read_text() == lines.replace("18\n", "more\n")
    stage.widget.receive({"t": "change_run", "run": 0, "operation": "keep", "file": new["id"]})
    stage.wait(lambda: states() == {"a.txt": "partly", "b.txt": "kept"})
    assert stage.rows[0]["applied"]
    stage.widget.receive({"t": "change_run", "run": 0, "operation": "undo", "file": "f99"})
    stage.wait(lambda: "no such change" in str(stage.of("apply_ended")[-1]))


def test_the_stop_button_cancels() -> None:
    runs = FakeRuns(1)
    stage = Stage(runs)
    stage.widget.receive({"t": "stop_runs"})
    assert runs.cancelled.wait(LIMIT_S)


def test_an_invalid_message_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(FakeRuns(1))
    stage.widget.receive({"t": "stop_runs"} | {"t": "rm -rf"})
    stage.sync(open=(-1, 5, 10**9))
    stage.wait(lambda: stage.of("table"))
    assert stage.of("details") == []
    assert "invalid message" in caplog.text


def test_without_a_page_the_static_form_replaces_the_table() -> None:
    timeouts.replace(static_output=0.05)
    runs = FakeRuns(1)
    stage = Stage(runs)
    runs.change("done", 0)
    stage.wait(lambda: len(stage.cell.shown) == 2)
    assert "1 done" in stage.cell.shown[-1]["text/plain"]
