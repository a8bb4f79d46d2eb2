"""What each slash command does, by theme.

A scene works through its Turn: it knows no stdin or stdout, and no session but its own.
"""

from __future__ import annotations

from importlib import import_module

THEMES = (
    *("changes", "content", "ending", "extensions", "forms", "hands", "kernel", "mend"),
    *("notebooks", "progress", "state", "tools", "tour", "work"),
)


def load_all() -> None:
    """Import the themes, which register their scenes."""
    for theme in THEMES:
        import_module(f"{__name__}.{theme}")
