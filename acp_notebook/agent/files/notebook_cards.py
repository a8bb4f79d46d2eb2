"""What a tool call that changes a notebook shows: its cells, where the agent shows JSON.

Knows what was written through us, by which call; judges nothing and writes nothing. An agent's own diff is of
the file's text, of all or some of it, and often without what was there before; we know the cells.
"""

from __future__ import annotations

import posixpath

from msgspec.structs import replace

from ...core import events as ev
from ...core.ipynb.scripts import in_cells, is_notebooks
from ...core.records import Content, Diff


class NotebookCards:
    """One session's."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._written: dict[tuple[str, str], Diff] = {}
        """By tool call and path: what this turn's calls have changed."""

    def turn_started(self) -> None:
        self._written.clear()

    def wrote(self, tool: str, content: tuple[Content, ...], shown: Diff) -> ev.ToolChanged:
        """The call shows what it has changed through us; `content` is what it showed so far."""
        key = tool, self._path(shown)
        if key in self._written:  # a second write of one call: both together
            shown = replace(shown, old_text=self._written[key].old_text)
        self._written[key] = shown
        if not any(isinstance(it, Diff) and self._path(it) == key[1] for it in content):
            content = (*content, shown)
        return ev.ToolChanged(tool, content=self._cells(tool, content))

    def seen(self, event: ev.ToolChanged) -> ev.ToolChanged:
        """The event, with cells in the place of JSON."""
        content = event.content
        if not isinstance(content, tuple) or not any(map(_is_of_notebook, content)):
            return event
        return replace(event, content=self._cells(event.id, content))

    def _cells(self, tool: str, content: tuple[Content, ...]) -> tuple[Content, ...]:
        made = [self._one(tool, it) if isinstance(it, Diff) else it for it in content]
        # Of one write an agent may show several parts: we show it once.
        return tuple(it for at, it in enumerate(made) if not isinstance(it, Diff) or it not in made[:at])

    def _one(self, tool: str, diff: Diff) -> Diff:
        return self._written.get((tool, self._path(diff))) or in_cells(diff)

    def _path(self, diff: Diff) -> str:
        return posixpath.normpath(posixpath.join(self._cwd, diff.path))


def _is_of_notebook(content: Content) -> bool:
    return isinstance(content, Diff) and is_notebooks(content)
