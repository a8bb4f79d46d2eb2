"""First paint: how soon a session's panel is visible in a real page, next to an empty anywidget.

Both are displayed by a cell in JupyterLab, in a page that has shown no widget before. Run
`python -m benchmarks.paint`; needs Chromium. The figures are times, so they mean little on a busy machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from .browser import chromium
from .panel import opened
from .table import Line, Table

RUNS = 5
"""Each side is displayed this often, in turns, each time in a new page; the best run counts."""

AIM = 3
"""The panel's script is loaded, and its state is sent and drawn."""

EMPTY = """
import anywidget
class Empty(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.innerHTML = '<p class=bench-empty>empty</p>'; } }"
Empty()
"""

SIDES = {"ours": ("session", ".acp-panel"), "empty": (EMPTY, ".bench-empty")}
"""The cell of each, and the selector of what it draws."""

WATCH = """selector => {
    const watch = (window.acpPaint = { began: performance.now(), paint: null });
    const look = () => {
        const found = document.querySelector(selector);
        if (!found || found.getBoundingClientRect().height === 0) return void requestAnimationFrame(look);
        setTimeout(() => (watch.paint = performance.now()));
    };
    look();
}"""

PAINTED = "() => acpPaint.paint === null ? null : acpPaint.paint - acpPaint.began"


def painted(open: Any, name: str, cell: str, selector: str) -> float:
    """Milliseconds from the start of the cell to the first paint of its output."""
    notebook = open(name, cell)
    try:
        notebook.page.evaluate(WATCH, selector)
        notebook.run(1)
        return float(notebook.page.wait_for_function(PAINTED).json_value())
    finally:
        notebook.close()


def rows() -> Iterator[Line]:
    found = chromium()
    assert found is not None, "no Chromium"
    with opened(found) as open:
        rounds = [
            [painted(open, f"{side}{number}", *SIDES[side]) for side in SIDES] for number in range(RUNS)
        ]
    ours, empty = (min(each) for each in zip(*rounds, strict=True))
    yield (
        "first paint of a session's panel",
        f"{ours:.0f} ms",
        f"empty anywidget {empty:.0f} ms",
        ours / empty,
        AIM,
    )


def main() -> int:
    table = Table()
    for row in rows():
        table.row(*row)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
