"""Keeps the figures of a waiting cell from being shown and closed by a widget's message.

Knows matplotlib's inline backend, and imports nothing: what is not loaded has no figures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def figures_set_aside(shell: Any) -> Iterator[None]:
    """Hide the open figures during the block, on the main thread.

    ipykernel triggers `post_execute` after each message to a widget. The inline backend then shows and closes
    all open figures, also those that the waiting cell has not finished. So it finds only those that the
    widget's own code makes.
    """
    gcf = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    inline = sys.modules.get("matplotlib_inline.backend_inline")
    if gcf is None or inline is None or not _is_in_use(inline, shell):
        yield
        return
    figures, show = gcf.figs, inline.show
    pending = show._to_draw, show._draw_called
    gcf.figs, show._to_draw, show._draw_called = type(figures)(), [], False
    try:
        yield
    finally:
        left, gcf.figs = gcf.figs, figures
        show._to_draw, show._draw_called = [*pending[0], *show._to_draw], pending[1] or show._draw_called
        for manager in left.values():  # the user wants figures to stay open, or the widget's code failed
            manager.num = max(figures, default=0) + 1
            figures[manager.num] = manager


def _is_in_use(inline: Any, shell: Any) -> bool:
    """Whether the inline backend shows figures after each cell, rather than another backend."""
    callbacks = getattr(getattr(shell, "events", None), "callbacks", {})
    return inline.flush_figures in callbacks.get("post_execute", ())
