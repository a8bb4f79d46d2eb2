"""A session of a working week in one kernel: memory, what each save costs, and what reading everything costs.

Run `python -m benchmarks.long_life [TURNS]`. 2,000 turns of 50 tool calls are a conversation of 50 MB. The
page is simulated: it counts the bytes that it is sent, and keeps nothing. Memory is that of this process
after a garbage collection. There are no checkpoints: `benchmarks.checkpoints` measures them.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import acp_notebook as acp
from acp_notebook.frontend.panel import session_panel

from .table import Line

TURNS = 2_000
CALLS = 50
CALL_BYTES = 420
LIMIT_S = 120.0

SETTLED = 200
"""From this turn on, memory should be constant."""

TABLE_TURNS = 2 * SETTLED
KEPT_KB = 20
"""What may remain of a turn in memory: an index, and the widget below its cell."""

GROWTH = 1.2
"""How much more a turn may cost later."""

SOURCE = Path(__file__).with_name("source.py")


class Page:
    """Simulates the session's widget: counts what it is sent, by kind."""

    model_id = "session-model"

    def __init__(self, receive: Callable[[Any], None]) -> None:
        self.receive = receive
        self.bytes: dict[str, int] = {}
        self.seq = 0

    def send(self, message: dict[str, Any]) -> None:
        kind = message["t"]
        self.bytes[kind] = self.bytes.get(kind, 0) + len(msgspec.json.encode(message))
        self.seq = message.get("seq", self.seq)

    def take(self) -> dict[str, int]:
        taken, self.bytes = self.bytes, {}
        return taken


class Output:
    cell = "cell"
    is_current = True

    @classmethod
    def display(cls, bundle: dict[str, Any]) -> Output:
        return cls()

    def update(self, bundle: dict[str, Any]) -> None:
        pass


class TurnWidget:
    def __init__(self, session: Page, turn: str) -> None:
        self.model_id = f"model-{turn}"


def resident_mb() -> float:
    """The memory of this process, in MB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


class Life:
    """A session with a panel, in a folder of its own."""

    def __init__(self, folder: str) -> None:
        replaced: Any = session_panel
        replaced.SessionWidget, replaced.TurnWidget, replaced.CellOutput = Page, TurnWidget, Output
        self.session = acp.connect([sys.executable, str(SOURCE)], cwd=folder, undo=False)
        self.panel: Any = self.session._live_panel()
        self.page: Page = self.panel._widget
        self.panel.show()
        self.page.receive({"t": "hello", "view": "v", "document": True})

    def turn(self) -> float:
        """Seconds of CPU of a turn, shown below its cell, with its static output."""
        began = time.process_time()
        turn = self.session.start(f"work {CALLS} {CALL_BYTES}")
        self.panel.show_turn(turn._run)
        turn.wait(LIMIT_S)
        self.session._conversation.agent.loop.call(self.rendered())
        self.page.receive({"t": "ack", "seq": self.page.seq, "view": "v"})
        return time.process_time() - began

    async def rendered(self) -> None:
        """Render now what a pause would delay."""
        outputs = self.panel._outputs
        for shown in outputs._not_final():
            await outputs._render(shown)

    def resync(self) -> None:
        self.page.receive({"t": "resync", "have": 0, "view": "v"})
        self.on_loop()

    def on_loop(self) -> None:
        async def nothing() -> None:
            pass

        self.session._conversation.agent.loop.call(nothing())


def rows() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(folder)
        first = [life.turn() for _ in range(SETTLED)]
        before = resident_mb()
        second = [life.turn() for _ in range(TABLE_TURNS - SETTLED)]
        kept_kb = (resident_mb() - before) / len(second) * 1e3
        life.session.agent.close()
    row = f"memory of a turn after the first {SETTLED}"
    yield row, f"{kept_kb:.1f} kB", f"limit {KEPT_KB} kB", kept_kb / KEPT_KB, 1
    early, late = statistics.median(first[SETTLED // 2 :]), statistics.median(second[-SETTLED // 2 :])
    row = f"a turn of {CALLS} tool calls, CPU, after {TABLE_TURNS}"
    yield row, f"{late * 1e3:.1f} ms", f"after {SETTLED} {early * 1e3:.1f} ms", late / early, GROWTH


def main() -> int:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    with tempfile.TemporaryDirectory() as folder:
        life = Life(folder)
        print(f"{'turns':>6}{'memory':>12}{'per turn':>12}{'CPU a turn':>12}{'patches':>12}{'static':>12}")
        costs: list[float] = []
        before = resident_mb()
        step = max(1, min(SETTLED, turns // 10))
        life.page.take()
        for number in range(1, turns + 1):
            costs.append(life.turn())
            if number % step == 0:
                memory, sent = resident_mb(), life.page.take()
                print(
                    f"{number:>6}{memory:>9.1f} MB{(memory - before) / step * 1e3:>9.1f} kB"
                    f"{statistics.median(costs) * 1e3:>9.1f} ms{sent['patches'] / step / 1e3:>9.1f} kB"
                    f"{sent['static'] / step / 1e3:>9.1f} kB",
                    flush=True,
                )
                before = memory
                costs.clear()
        session = life.session
        for name, work in {
            "session.transcript": lambda: session.transcript,
            "session.transcript, again": lambda: session.transcript,
            "to_markdown()": session.to_markdown,
            "to_html()": session.to_html,
            "a reloaded page": life.resync,
        }.items():
            took, _ = seconds(work)
            print(f"{name:<28}{took:>8.2f} s{resident_mb():>9.1f} MB")
        print({kind: f"{size / 1e6:.1f} MB" for kind, size in life.page.take().items()})
        session.agent.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
