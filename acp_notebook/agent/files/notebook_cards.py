"""What a tool call that changes a notebook shows: its cells, where the agent shows JSON.

Knows what was written through us, by which call; judges nothing and writes nothing. An agent's own diff is of
the file's text, of all or some of it, and often without what was there before; we know the cells.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from msgspec.structs import replace

from ...core import events as ev
from ...core.ipynb.partial_reads import Lines
from ...core.ipynb.percent_format import in_cells, is_notebooks
from ...core.records import Content, Diff, Location
from ...core.snapshot import ToolCall


class NotebookCards:
    """Rewrites the diffs of notebooks in one session's tool calls as cells."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._written: dict[tuple[str, str], Diff] = {}
        """By tool call and path: what this turn's calls have changed."""
        self._lines: dict[str, Lines] = {}
        """By path: which lines of what this turn has read are which cells'."""

    def turn_started(self) -> None:
        self._written.clear()
        self._lines.clear()

    def read(self, path: str, lines: Lines, calls: Iterable[ToolCall]) -> list[ev.ToolChanged]:
        """A notebook was read: the calls that name a line of it, and can tell its cell now."""
        self._lines[self._whole(path)] = lines
        told = [ev.ToolChanged(it.id, locations=it.locations) for it in calls if it.locations]
        return [it for it in told if self.seen(it) != it]

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
        """The event, with cells in the place of JSON, and of lines of JSON."""
        if isinstance(event.locations, tuple) and self._lines:
            event = replace(event, locations=tuple(map(self._located, event.locations)))
        content = event.content
        if not isinstance(content, tuple) or not any(map(_is_of_notebook, content)):
            return event
        return replace(event, content=self._cells(event.id, content))

    def _located(self, place: Location) -> Location:
        lines = self._lines.get(self._whole(place.path))
        if lines is None or place.line is None:
            return place
        return replace(place, cell=lines.cell_at(place.line))

    def _cells(self, tool: str, content: tuple[Content, ...]) -> tuple[Content, ...]:
        made = [self._one(tool, it) if isinstance(it, Diff) else it for it in content]
        # Of one write an agent may show several parts: we show it once.
        return tuple(it for at, it in enumerate(made) if not isinstance(it, Diff) or it not in made[:at])

    def _one(self, tool: str, diff: Diff) -> Diff:
        return self._written.get((tool, self._path(diff))) or in_cells(diff)

    def _path(self, diff: Diff) -> str:
        return self._whole(diff.path)

    def _whole(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._cwd, path))


def _is_of_notebook(content: Content) -> bool:
    return isinstance(content, Diff) and is_notebooks(content)
