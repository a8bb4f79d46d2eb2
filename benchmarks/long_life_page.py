"""A long conversation in a real page: 200 turns drawn, saved, reloaded, searched; 20 sessions; slow streams.

Run `python -m benchmarks.long_life_page [TURNS]`; needs Chromium. The table has it with fewer turns. The
longest task of the page's main thread is given by its CPU time, because other programs delay a page; the aim
is 100 ms. Saves and the reload have no aim: most of them is JupyterLab's own work.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .browser import chromium
from .panel import LONG_MS, opened, traced
from .table import Line

TURNS = 200
TABLE_TURNS = 60
"""More than a panel draws."""

SESSIONS = 20
SLOW_S, RATE = 10, 50
"""How long a slow stream goes on, and how many chunks come in a second."""

SOURCE = Path(__file__).with_name("source.py")
LIMIT_S = 600

AGENT = f"acp.connect([sys.executable, {str(SOURCE)!r}], undo=False)"
CONNECT = f"long = {AGENT}"
FINISH = """import time
def finish(*turns):
    while not all(turn.done for turn in turns): time.sleep(0.01)
"""
SAID = "print('all', 'done')"
LIVE = f"{FINISH}for _ in range({{turns}}): finish(long.start('work 10 400'))\n{SAID}"
"""One after the other: a queue of hundreds of prompts is not what is measured."""

MORE = f"finish(long.start('work 10 400'))\n{SAID}"
STREAM = f"finish(long.start('paced {SLOW_S * RATE} {RATE}'))\n{SAID}"
MANY = (
    f"many = [{AGENT} for _ in range({SESSIONS})]\n"
    f"for other in many: display(other)\nfinish(*[other.start('work 10 400') for other in many])\n{SAID}"
)

WORDS = "module 9 in turn 1"
"""What is searched: the page has it only in turns that it does not draw."""

DONE_TURNS = '.jp-Notebook .acp-panel .acp-turn[data-acp-status="done"]'
DRAWN = f"() => document.querySelectorAll('{DONE_TURNS}').length >= 20"


@dataclass(frozen=True)
class Step:
    """The longest task of a step, by its CPU time, and what else there is to say."""

    what: str
    cpu_ms: float
    more: tuple[str, ...] = ()
    aim: float | None = LONG_MS
    took_s: float | None = None
    """For what the user waits for without a task of ours."""
    size_mb: float | None = None

    @property
    def missed(self) -> bool:
        return self.aim is not None and self.cpu_ms > self.aim

    def rows(self) -> Iterator[Line]:
        name = f"a long page: {self.what}"
        if self.took_s is not None:
            yield f"{name}, time", f"{self.took_s * 1000:.0f} ms", "1 s", self.took_s, None
        if self.size_mb is not None:
            yield f"{name}, the file", f"{self.size_mb:.1f} MB", "1 MB", self.size_mb, None
        limit = f"limit {LONG_MS:g} ms"
        aim = None if self.aim is None else self.aim / LONG_MS
        yield f"{name}, longest task", f"{self.cpu_ms:.0f} ms", limit, self.cpu_ms / LONG_MS, aim

    def __str__(self) -> str:
        limit = "" if self.aim is None else f" (≤ {self.aim:g})"
        return f"{self.what:<32}longest task {self.cpu_ms:>6.0f} ms{limit}; {'; '.join(self.more)}"


class Measured:
    """The page, and what is done with it."""

    def __init__(self, notebook: Any) -> None:
        self.notebook, self.page = notebook, notebook.page

    def memory(self) -> str:
        session = self.page.context.new_cdp_session(self.page)
        session.send("HeapProfiler.collectGarbage")
        used = self.page.evaluate("() => performance.memory.usedJSHeapSize")
        count = self.page.evaluate("() => document.querySelectorAll('.acp *').length")
        return f"heap {used / 1e6:.0f} MB, {count:,} elements"

    def run(self, what: str, cell: int) -> Step:
        with traced(self.page) as longest:
            began = time.monotonic()
            self.notebook.run(cell)
            self.page.wait_for_function(
                f"() => document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}]"
                ".querySelector('.jp-OutputArea')?.textContent.includes('all done')",
                timeout=LIMIT_S * 1000,
            )
            took = time.monotonic() - began
            self.page.wait_for_timeout(1500)  # what the page does after the end
        return Step(what, longest[0].cpu_ms, (f"{took:.1f} s", self.memory()))

    def save(self, what: str) -> Step:
        with traced(self.page) as longest:
            began = time.monotonic()
            self.notebook.save()
            took = time.monotonic() - began
        size = self.notebook.path.stat().st_size / 1e6
        more = (f"{took * 1000:.0f} ms", f"{size:.1f} MB")
        return Step(what, longest[0].cpu_ms, more, aim=None, took_s=took, size_mb=size)

    def reload(self) -> Step:
        """Until the turns are drawn."""
        return self._opened("reload", lambda: self.page.wait_for_function(DRAWN, timeout=LIMIT_S * 1000))

    def reopen(self) -> Step:
        """With a new kernel, until the saved conversation is drawn."""
        self.notebook.server.end_kernels()
        saved = self.page.get_by_text("Run this cell to continue").first
        return self._opened("reopen with a new kernel", lambda: saved.wait_for(timeout=LIMIT_S * 1000))

    def _opened(self, what: str, wait: Callable[[], Any]) -> Step:
        """JupyterLab's own start is a part of it."""
        with traced(self.page) as longest:
            began = time.monotonic()
            self.notebook.reload()
            page = time.monotonic() - began
            wait()
            took = time.monotonic() - began
            self.page.wait_for_timeout(1500)  # what the page does after that
        more = (f"{took:.1f} s, the page {page:.1f} s of it", self.memory())
        return Step(what, longest[0].cpu_ms, more, aim=None, took_s=took)

    def search(self) -> Step:
        panel = self.page.locator(".jp-Notebook [data-acp-root=session]").first
        panel.locator("[data-acp-scroll]").focus()
        with traced(self.page) as longest:
            self.page.keyboard.press("Control+f")
            panel.locator("[data-acp-find]").fill(WORDS)
            panel.locator("[data-acp-hits]").wait_for()
            self.page.wait_for_timeout(2000)
        return Step("search", longest[0].cpu_ms, (self.memory(),))


def steps(chromium_path: str, turns: int) -> Iterator[Step]:
    with opened(chromium_path) as open:
        # The panel is below the cells that are run, so that it stays in view: JupyterLab removes the others.
        cells = [CONNECT, LIVE.replace("{turns}", str(turns)), MORE, STREAM, "long", MANY]
        notebook = open("long", *cells)
        notebook.run(1, 5)
        notebook.wait_idle()
        measured = Measured(notebook)
        yield measured.run(f"{turns} turns", 2)
        yield measured.run("one more", 3)
        yield measured.save("save")
        yield measured.save("save, nothing changed")
        yield measured.run(f"{SLOW_S} s of a slow stream", 4)
        yield measured.search()
        yield measured.reload()
        yield measured.run("one more, after the reload", 3)
        yield measured.save("save, after the reload")
        yield measured.run(f"{SESSIONS} sessions", 6)
        yield measured.save(f"save, {SESSIONS} sessions")
        yield measured.reopen()
        notebook.close()


def rows() -> Iterator[Line]:
    found = chromium()
    assert found is not None, "no Chromium"
    for step in steps(found, TABLE_TURNS):
        yield from step.rows()


def main() -> int:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    found = chromium()
    if found is None:
        print("no Chromium on the PATH (ACP_TEST_CHROMIUM names one): not measured")
        return 0
    missed = False
    for step in steps(found, turns):
        print(f"{step}  [load {os.getloadavg()[0]:.1f}]", flush=True)
        missed |= step.missed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
