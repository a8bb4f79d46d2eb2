"""What the JupyterLab extension costs: its size, and JupyterLab's start with and without it.

Run `python -m benchmarks.lab_extension`; needs Chromium. One server has the extension, one has it disabled;
their pages are opened in turn, so that a busy machine affects both.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .browser import chromium
from .table import Line, Table

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "js" / "lab" / "labextension"
RUNS = 15
SIZE_AIM, START_AIM = 60_000, 1.03
"""Bytes, gzipped; and the ratio of the start with it to the start without it."""

RESTORED = "() => window.jupyterapp?.restored.then(() => performance.now())"
READY = "() => window.jupyterapp !== undefined"


def size() -> int:
    """The bytes that a page loads, gzipped."""
    return sum(len(gzip.compress(path.read_bytes())) for path in BUILT.glob("static/*.js"))


def start_of(browser: Any, address: str) -> float:
    """Milliseconds from the navigation until JupyterLab is restored."""
    page = browser.new_page()
    try:
        page.goto(address)
        page.wait_for_function(READY)
        return float(page.evaluate(RESTORED))
    finally:
        page.close()


def starts() -> tuple[list[float], list[float]]:
    """With the extension, and without it."""
    from playwright.sync_api import sync_playwright

    from tests.browser.pages import launched
    from tests.browser.servers import started

    found = chromium()
    if found is None:
        sys.exit("no Chromium here")
    with ExitStack() as stack:
        addresses = []
        for disabled in (False, True):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if disabled:
                config = folder / "config" / "labconfig" / "page_config.json"
                config.parent.mkdir(parents=True)
                config.write_text(json.dumps({"disabledExtensions": {"acp-notebook": True}}))
            server = stack.enter_context(started("lab", folder))
            addresses.append(f"{server.url}lab?token={server.token}")
        browser = launched(stack.enter_context(sync_playwright()), found)
        stack.callback(browser.close)
        context = browser.new_context()
        for address in addresses:
            start_of(context, address)  # the browser's cache
        measured: tuple[list[float], list[float]] = [], []
        both = list(zip(addresses, measured, strict=True))
        for run in range(RUNS):
            for address, times in both if run % 2 else both[::-1]:
                times.append(start_of(context, address))
        return measured


def rows() -> Iterator[Line]:
    gzipped = size()
    row = "JupyterLab extension, gzipped"
    yield row, f"{gzipped:,} bytes", f"limit {SIZE_AIM:,} bytes", gzipped / SIZE_AIM, 1
    with_it, without = starts()
    pairs = sorted(one / other for one, other in zip(with_it, without, strict=True))
    low, middle, high = statistics.quantiles(pairs, n=4)
    row = f"JupyterLab's start with it, median of {RUNS} pairs (half of them {low:.3f} to {high:.3f})"
    ours, peer = statistics.median(with_it), statistics.median(without)
    yield row, f"{ours:.0f} ms", f"without it {peer:.0f} ms", middle, START_AIM


def main() -> int:
    table = Table()
    for row in rows():
        table.row(*row)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
