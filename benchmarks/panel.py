"""The cost of drawing in a real page under load, from the agent through a kernel and JupyterLab.

Run `python -m benchmarks.panel [NAME …]`; needs Chromium. For streams: the main thread's work per chunk
(scripts, style, layout, paint, as counted by Chromium) near the start and at the end, the longest task after
the first second, and whether every chunk arrived. For heavy content: the time to the first paint, the longest
task, the number of elements, and the longest task while scrolling.

Each task is reported with its duration, which a user notices, and its CPU time. On a busy machine only the
CPU time is meaningful, so the target applies to that.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from .browser import chromium
from .panel_source import DIGITS, STREAMS
from .table import Line

COUNT, RATE = 20_000, 2_000
SOURCE = Path(__file__).with_name("panel_source.py")
CONNECT = (
    f"import sys, acp_notebook as acp\nsession = acp.connect([sys.executable, {str(SOURCE)!r}], "
    "permissions='allow')"
)

SAMPLE_S = 0.5
"""The interval between samples of the page's counters: about 15 batches of patches."""

LONG_MS = 100.0
"""How long a page may be unresponsive before a click feels slow."""

GROWTH = 1.5
"""How much more a chunk may cost at the end than at the start."""

FIRST_S = 1.0
"""The start of a stream that is not counted: loading, compiling and creating things for the first time."""

HEAVY = {
    "tools": ".acp-tool",
    "diff": ".acp-diff .acp-row",
    "terminal": ".acp-ansi",
    "image": "img.acp-image",
}
"""Prompts, and the selector of what they must draw."""

CATEGORIES = ["toplevel", "blink.user_timing"]
TASK = "ThreadControllerImpl::RunTask"
MARK = "acp-bench"

WARM = "first = session.prompt('stream paragraph 1 1000')"
"""Loads the panel first, so that loading and compiling its script is not counted."""

WATCH_PAINT = """selector => {
    const watch = (window.acpBench = { began: performance.now(), paint: null });
    const look = () => {
        const found = document.querySelectorAll(".jp-Notebook .acp-turn")[1]?.querySelector(selector);
        if (!found || found.getBoundingClientRect().height === 0) return void requestAnimationFrame(look);
        setTimeout(() => (watch.paint = performance.now()));
    };
    look();
}"""

TEXT = "(document.querySelector('.acp-message')?.textContent ?? '')"
SHOWN = f"() => parseInt({TEXT}.trim().slice(-{DIGITS}), 16) || 0"
WORDS = f"() => ({TEXT}.match(/[0-9a-f]{{{DIGITS}}}/g) ?? []).map((word) => parseInt(word, 16))"

SCROLL = """async () => {
    const turn = [...document.querySelectorAll(".jp-Notebook .acp-turn")].at(-1);
    const areas = [...turn.querySelectorAll(".acp-ansi")].slice(0, 1);
    let outer = turn.parentElement;
    while (outer && getComputedStyle(outer).overflowY !== "auto") outer = outer.parentElement;
    if (outer) areas.push(outer);
    for (const area of areas) {
        for (let step = 0; step <= 60; step++) {
            area.scrollTop = (area.scrollHeight * step) / 60;
            await new Promise(requestAnimationFrame);
        }
    }
}"""

OPEN_ALL = """() => {
    const more = document.querySelector(".jp-Notebook .acp-diff .acp-more");
    more?.click();
    return more !== null;
}"""
ALL_OPEN = "() => !document.querySelector('.jp-Notebook .acp-diff .acp-more')"

DONE_TURNS = '.jp-Notebook .acp-turn[data-acp-status="done"]'
"""The side panel may have them, too."""

DONE = f"count => document.querySelectorAll('{DONE_TURNS}').length === count"
"""Used instead of Playwright's `expect`, which reads the whole DOM each time, in one long task."""


@dataclass
class Row:
    """A line of the table: the measured values, and those that miss their target."""

    name: str
    figures: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    """Those with a target, for the table of all benchmarks."""

    def add(self, what: str, value: float, unit: str, aim: float | None = None) -> None:
        aimed = "" if aim is None else f" (≤ {aim:g})"
        self.figures.append(f"{what} {value:,.4g}{unit}{aimed}")
        if aim is None:
            return
        if value > aim:
            self.missed.append(what)
        ratio, most = (value / aim, 1) if aim else (value, 0)
        row = f"{self.name} in the page: {what}"
        self.lines.append((row, f"{value:,.4g}{unit}", f"limit {aim:g}{unit}", ratio, most))

    def __str__(self) -> str:
        verdict = f"MISSED: {', '.join(self.missed)}" if self.missed else "ok"
        return f"{self.name:<12} {'; '.join(self.figures)}  {verdict}"


@dataclass(frozen=True)
class Longest:
    """The longest task of the page's main thread: its duration and its CPU time."""

    wall_ms: float
    cpu_ms: float


def add_longest(row: Row, what: str, longest: Longest) -> None:
    """Add duration and CPU time to the row; on a busy machine, only the CPU time has a target."""
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    row.add(what, longest.wall_ms, " ms", None if busy else LONG_MS)
    row.add(f"{what}, CPU", longest.cpu_ms, " ms", LONG_MS)


@contextmanager
def traced(page: Any) -> Iterator[list[Longest]]:
    """Trace the page; at the end, add the longest task (after the page's mark, if any) to the list."""
    browser = page.context.browser
    browser.start_tracing(page=page, categories=CATEGORIES)
    found: list[Longest] = []
    yield found
    events = json.loads(browser.stop_tracing())["traceEvents"]
    work: Counter[tuple[int, int]] = Counter()
    for event in events:
        if event["name"] == TASK:
            work[event["pid"], event["tid"]] += event.get("tdur", 0)
    mains = {
        (it["pid"], it["tid"])
        for it in events
        if it["name"] == "thread_name" and it["args"]["name"] == "CrRendererMain"
    }
    main = max(mains, key=lambda it: work[it])
    begin = max((it["ts"] for it in events if it["name"] == MARK), default=0)
    tasks = [
        Longest(it["dur"] / 1000, it.get("tdur", 0) / 1000)
        for it in events
        if it["name"] == TASK and it["ph"] == "X" and (it["pid"], it["tid"]) == main and it["ts"] > begin
    ]
    found.append(
        Longest(max(it.wall_ms for it in tasks), max(it.cpu_ms for it in tasks)) if tasks else Longest(0, 0)
    )


@dataclass(frozen=True)
class Sample:
    at: float
    chunks: int
    work_ms: float


def sampled(notebook: Any, session: Any) -> list[Sample]:
    """Sample the page's counters until the turn is over."""
    samples: list[Sample] = []
    while not notebook.page.evaluate(DONE, 1):
        metrics = {it["name"]: it["value"] for it in session.send("Performance.getMetrics")["metrics"]}
        samples.append(
            Sample(time.monotonic(), int(notebook.page.evaluate(SHOWN) or 0), metrics["TaskDuration"] * 1000)
        )
        notebook.page.wait_for_timeout(SAMPLE_S * 1000)
    return samples


def costs(samples: list[Sample]) -> list[float]:
    """Microseconds of the main thread per chunk, for each sample."""
    return [
        (b.work_ms - a.work_ms) * 1000 / (b.chunks - a.chunks)
        for a, b in pairwise(samples)
        if b.chunks - a.chunks > 100
    ]


def streamed(notebook: Any, shape: str) -> Row:
    page = notebook.page
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    with traced(page) as longest:
        notebook.run(1)
        page.wait_for_function(f"() => ({SHOWN})() > 0")
        page.evaluate(f"() => void setTimeout(() => performance.mark({MARK!r}), {FIRST_S * 1000})")
        samples = sampled(notebook, session)
        page.wait_for_timeout(2 * SAMPLE_S * 1000)  # include the work after the text is complete
    found = costs([it for it in samples if it.at > samples[0].at + FIRST_S])
    share = max(1, len(found) // 4)
    start, end = statistics.median(found[:share]), statistics.median(found[-share:])
    lost = COUNT - sum(n == at for at, n in enumerate(page.evaluate(WORDS)))
    row = Row(shape)
    add_longest(row, "longest task", longest[0])
    row.add("a chunk at the start", start, " µs")
    row.add("at the end", end, " µs")
    row.add("growth", end / start, " times", GROWTH)
    row.add("lost", lost, "", 0)
    return row


def drawn(notebook: Any, name: str, selector: str) -> Row:
    page = notebook.page
    notebook.run(1)
    page.wait_for_function(DONE, arg=1)
    notebook.wait_idle()
    with traced(page) as longest:
        page.evaluate(WATCH_PAINT, selector)
        notebook.run(2)
        page.wait_for_function(DONE, arg=2)
        page.wait_for_function("() => acpBench.paint !== null")
        page.wait_for_timeout(2 * SAMPLE_S * 1000)
    with traced(page) as opening:
        opened_all = page.evaluate(OPEN_ALL)
        page.wait_for_function(ALL_OPEN)
        page.wait_for_timeout(SAMPLE_S * 1000)
    with traced(page) as scrolling:
        page.evaluate(SCROLL)
    row = Row(name)
    began, paint = page.evaluate("() => [acpBench.began, acpBench.paint]")
    row.add("first paint", paint - began, " ms")
    add_longest(row, "longest task", longest[0])
    if opened_all:
        add_longest(row, "expanding", opening[0])
    row.add("elements", page.evaluate("() => document.querySelectorAll('.acp *').length"), "")
    add_longest(row, "scrolling", scrolling[0])
    return row


@contextmanager
def opened(found: str) -> Iterator[Any]:
    """Start JupyterLab; yields a function that opens a notebook with the given cells."""
    from playwright.sync_api import sync_playwright

    from tests.browser.pages import NotebookPage, launched
    from tests.browser.servers import started

    with tempfile.TemporaryDirectory() as folder, started("lab", Path(folder)) as server:
        with sync_playwright() as playwright:
            browser = launched(playwright, found)
            context = browser.new_context()

            def open(name: str, *cells: str) -> Any:
                path = server.add_notebook(name, "newest", [CONNECT, *cells])
                notebook = NotebookPage(context, server, path, comms="perCommTarget", size=(1200, 1400))
                notebook.run(0)
                notebook.wait_idle()
                return notebook

            yield open
            browser.close()
        server.end_kernels()


def measured(open: Any, name: str) -> Row:
    is_stream = name in STREAMS
    cells = [f"turn = session.prompt('stream {name} {COUNT} {RATE}')"]
    if not is_stream:
        cells = [WARM, f"turn = session.prompt('{name}')"]
    notebook = open(name, *cells)
    try:
        return streamed(notebook, name) if is_stream else drawn(notebook, name, HEAVY[name])
    finally:
        notebook.close()


def rows() -> Iterator[Line]:
    found = chromium()
    assert found is not None, "no Chromium"
    with opened(found) as open:
        for name in (*STREAMS, *HEAVY):
            yield from measured(open, name).lines


def main(names: list[str]) -> int:
    found = chromium()
    if found is None:
        print("no Chromium on the PATH (ACP_TEST_CHROMIUM names one): not measured")
        return 0
    print(
        f"streams: {COUNT:,} chunks at {RATE:,} a second; load {os.getloadavg()[0]:.1f} of {os.cpu_count()}"
    )
    missed = 0
    with opened(found) as open:
        for name in names or [*STREAMS, *HEAVY]:
            row = measured(open, name)
            missed += bool(row.missed)
            print(f"{row}  [load {os.getloadavg()[0]:.1f}]", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
