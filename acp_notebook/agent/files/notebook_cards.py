"""Show notebook changes in tool calls as cells, where the agent shows JSON.

Tracks which call wrote what through the client. An agent's own diff is of the file's text or a part of it,
and often lacks the old text; the client knows the cells.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from msgspec.structs import replace

from ...core import events as ev
from ...core.ipynb.partial_reads import Lines
from ...core.ipynb.percent_format import in_percent_format, is_notebook_diff
from ...core.records import Content, Diff, Location
from ...core.snapshot import ToolCall


class NotebookCards:
    """Rewrites the notebook diffs in a session's tool calls as cells."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._written: dict[tuple[str, str], Diff] = {}
        """What the calls of this turn have changed, by tool call and path."""
        self._lines: dict[str, Lines] = {}
        """The lines of the cells in notebooks that were read in this turn, by path."""

    def on_turn_started(self) -> None:
        self._written.clear()
        self._lines.clear()

    def on_read(self, path: str, lines: Lines, calls: Iterable[ToolCall]) -> list[ev.ToolChanged]:
        """Note the lines of a notebook; return events for calls whose line locations can now name a cell."""
        self._lines[self._whole(path)] = lines
        located = [ev.ToolChanged(it.id, locations=it.locations) for it in calls if it.locations]
        return [it for it in located if self.rewrite(it) != it]

    def on_write(self, tool: str, content: tuple[Content, ...], shown: Diff) -> ev.ToolChanged:
        """Return an event that shows a call's write. `content`: what the call has shown so far."""
        key = tool, self._path(shown)
        if key in self._written:  # a second write of the same call: combine both
            shown = replace(shown, old_text=self._written[key].old_text)
        self._written[key] = shown
        if not any(isinstance(it, Diff) and self._path(it) == key[1] for it in content):
            content = (*content, shown)
        return ev.ToolChanged(tool, content=self._cells(tool, content))

    def rewrite(self, event: ev.ToolChanged) -> ev.ToolChanged:
        """The event with cells in place of JSON and of line numbers in it."""
        if isinstance(event.locations, tuple) and self._lines:
            event = replace(event, locations=tuple(map(self._located, event.locations)))
        content = event.content
        if not isinstance(content, tuple):
            return event
        for it in content:
            if type(it) is Diff and is_notebook_diff(it):
                return replace(event, content=self._cells(event.id, content))
        return event

    def _located(self, place: Location) -> Location:
        lines = self._lines.get(self._whole(place.path))
        if lines is None or place.line is None:
            return place
        return replace(place, cell=lines.cell_at(place.line))

    def _cells(self, tool: str, content: tuple[Content, ...]) -> tuple[Content, ...]:
        made = [self._one(tool, it) if isinstance(it, Diff) else it for it in content]
        # An agent may show several parts of one write: show it once.
        return tuple(it for at, it in enumerate(made) if not isinstance(it, Diff) or it not in made[:at])

    def _one(self, tool: str, diff: Diff) -> Diff:
        return self._written.get((tool, self._path(diff))) or in_percent_format(diff)

    def _path(self, diff: Diff) -> str:
        return self._whole(diff.path)

    def _whole(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._cwd, path))
