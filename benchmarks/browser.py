"""The delay from the agent to the screen: many chunks through a kernel, a server and a real browser.

Run `python -m benchmarks.browser`; needs Chromium. Every chunk contains the time at which it was sent, and
the page notes when it is in the DOM, so the delay includes the way from the agent to the kernel.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .source import CLOCK_MS
from .table import Line, Table

COUNT, RATE = 20_000, 2_000
"""Twice the rate that a server forwards as single messages."""

AIM_MS = 60.0
"""The largest acceptable median: a longer delay is noticeable."""

SOURCE = Path(__file__).with_name("source.py")
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

CELLS = [
    f"import sys, acp_notebook as acp\nsession = acp.connect([sys.executable, {str(SOURCE)!r}])",
    f"turn = session.prompt('paced {COUNT} {RATE}')",
    "import hashlib\nprint(len(turn.text), hashlib.sha256(turn.text.encode()).hexdigest())",
]

WATCH = """() => {
    const seen = (window.seen = []);
    let length = 0;
    new MutationObserver(() => {
        const text = document.querySelector(".acp-message")?.textContent ?? "";
        const end = text.lastIndexOf(" ") + 1;
        const now = Date.now();
        for (const word of text.slice(length, end).split(" ")) {
            if (word) seen.push((now - Number(word.split("@")[1])) % CLOCK);
        }
        length = Math.max(length, end);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
}""".replace("CLOCK", str(CLOCK_MS))


DRAWN = f"""() => document.querySelector(".acp-message")?.textContent.includes(" {COUNT - 1}@")"""
"""The page draws the end of a long text a moment after receiving it."""


@dataclass(frozen=True)
class Streamed:
    """The result of a run."""

    text: str
    """The agent's message in the page."""
    kernel: str
    """Length and hash of the text that the kernel has."""
    delays_ms: list[float]

    @property
    def words(self) -> list[str]:
        return [word.partition("@")[0] for word in self.text.split()]


def streamed(notebook: Any) -> Streamed:
    """Run the cells in an open notebook (tests.browser.pages.NotebookPage) and read the page."""
    notebook.page.evaluate(WATCH)
    notebook.run_all()
    notebook.has_status(1, "done")
    notebook.says(2, "0")
    notebook.page.wait_for_function(DRAWN)
    message = notebook.turn(1).locator(".acp-message")
    return Streamed(
        text=message.evaluate("node => node.textContent"),
        kernel=notebook.output(2).inner_text().strip(),
        delays_ms=notebook.page.evaluate("() => window.seen"),
    )


def chromium() -> str | None:
    return os.environ.get("ACP_TEST_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)


def rows() -> Iterator[Line]:
    """The delay from the agent to the screen, relative to its limit."""
    from playwright.sync_api import sync_playwright

    from tests.browser.pages import NotebookPage, launched
    from tests.browser.servers import started

    found = chromium()
    assert found is not None, "no Chromium"
    with tempfile.TemporaryDirectory() as folder, started("lab", Path(folder)) as server:
        path = server.add_notebook("stream", "newest", CELLS)
        with sync_playwright() as playwright:
            browser = launched(playwright, found)
            notebook = NotebookPage(
                browser.new_context(), server, path, comms="perCommTarget", size=(1200, 1400)
            )
            run = streamed(notebook)
            notebook.close()
            browser.close()
        server.end_kernels()
    median = statistics.median(run.delays_ms)
    late = statistics.quantiles(run.delays_ms, n=100)[98]
    row = f"agent → page, {RATE:,} chunks a second, median"
    yield row, f"{median:.0f} ms", f"limit {AIM_MS:g} ms", median / AIM_MS, 1
    yield "… 99 % within", f"{late:.0f} ms", f"limit {AIM_MS:g} ms", late / AIM_MS, None
    yield "… lost", f"{COUNT - len(run.words)}", "limit 0", float(COUNT - len(run.words)), 0


def main() -> int:
    if chromium() is None:
        print("no Chromium on the PATH (ACP_TEST_CHROMIUM names one): not measured")
        return 0
    table = Table()
    for row in rows():
        table.row(*row)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
