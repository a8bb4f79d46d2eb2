"""Text files that a tab has open with unsaved changes: read as the tab has them, and changed there.

Uses the pages through an interface. Does not ask for permission (`client_services` does). Runs on the loop
thread. Only tabs that have reported unsaved changes count; a file in any other tab is used on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from ...core import changes
from ...core.changes import Version
from ...core.describe import FileState
from ...core.document_protocol import Failed as PageFailed
from ...core.document_protocol import OpenTabs, Stale, Unreachable
from ...core.events import NoticeGiven
from ...core.ipynb.partial_reads import slice_lines
from ..threads import on_a_thread
from .roots import BadRequest, Failed, Refused, ResolvedPath, Roots, TooLarge, visible
from .text_encoding import MAX_TEXT
from .text_writer import Written, check_text


class UnsavedText(Struct, frozen=True):
    """A text as its tab has it."""

    place: ResolvedPath
    text: str

    @property
    def state(self) -> FileState:
        """What a write would replace."""
        target = None if self.place.path == self.place.named else self.place.path
        return FileState(self.place.named, target, self.text, True)


class OpenTexts:
    """Reads and writes the unsaved texts of one session's pages."""

    def __init__(
        self, roots: Roots, tabs: Callable[[], OpenTabs | None], notify: Callable[[NoticeGiven], None]
    ) -> None:
        self._roots = roots
        self._tabs = tabs
        self._notify = notify
        self._read: set[str] = set()
        """The files that the agent has read as their tabs have them."""

    async def find(self, place: ResolvedPath, *, reading: bool) -> UnsavedText | None:
        """The text of a tab with unsaved changes; None if there is none. Raises FileTrouble."""
        tabs = self._tabs()
        if tabs is None:
            return None
        try:
            text = await tabs.unsaved_text(place.path)
        except (Unreachable, PageFailed) as error:
            if not reading:
                raise Failed(
                    f"{place.shown} is open and busy ({error}): nothing was written; retry in a moment"
                ) from None
            self._notify(_unanswered(place.path))
            return None
        if text is None:
            return None
        self._read.add(place.path)
        return UnsavedText(place, text)

    async def text_to_attach(self, path: str, *, seen: bool) -> str | None:
        """The text of a tab with unsaved changes, for a prompt that names the file; None if there is none.
        `seen`: the prompt is really sent."""
        if (tabs := self._tabs()) is None:
            return None
        real = await on_a_thread(lambda: os.path.realpath(path))
        try:
            text = await tabs.unsaved_text(real)
        except (Unreachable, PageFailed):
            if seen:
                self._notify(_unanswered(real))
            return None
        if text is not None and seen:
            self._read.add(real)
        return text

    async def is_open(self, path: str) -> bool:
        """Whether a tab has it open with unsaved changes; raises FileTrouble."""
        return await self._find(path) is not None

    async def apply_change(self, path: str, source: Version, target: Version) -> str | None:
        """Change the text in its tab as from `source` to `target`, as one undo step there, merged with later
        edits. Returns None, or why nothing was changed. Raises FileTrouble."""
        unsaved = await self._find(path)
        if unsaved is None:
            raise Failed("its tab was saved or closed in this moment: try again")
        step = changes.step(source, target, Version(unsaved.text.encode(), source.mode))
        if step.conflict is None and step.needed and step.write is not None:
            await self._replace(unsaved, step.write.data.decode())
        return step.conflict

    async def _find(self, path: str) -> UnsavedText | None:
        return await self.find(await on_a_thread(lambda: self._roots.resolve(path)), reading=False)

    async def state_of(self, place: ResolvedPath) -> FileState | None:
        """What a tool call would change in a tab; None if it is a file. An agent that has not read the tab's
        text through this client will not write there either."""
        if place.path not in self._read:
            return None
        try:
            unsaved = await self.find(place, reading=False)
        except Failed:
            return None  # the write itself is refused
        return None if unsaved is None else unsaved.state

    @staticmethod
    def lines(unsaved: UnsavedText, line: int | None, limit: int | None) -> str:
        """At most `limit` lines of it, from `line` on."""
        for name, number in (("line", line), ("limit", limit)):
            if number is not None and number < 0:
                raise BadRequest(f"{name} must not be negative ({number})")
        text = slice_lines(unsaved.text, line, limit)
        if len(text) > MAX_TEXT:
            raise TooLarge(f"{unsaved.place.shown} is too large: read parts, with line and limit")
        return text

    async def write(self, unsaved: UnsavedText, text: str) -> Written:
        """Replace the text in its tab; raises FileTrouble if it is no longer as it was shown."""
        place = unsaved.place
        check_text(place, text)
        await self._replace(unsaved, text)
        title = f"{visible(os.path.basename(place.path))} was changed in its tab, and is not saved"
        why = "The tab had unsaved changes. Save it there: commands read the saved file. Ctrl-Z undoes it."
        self._notify(NoticeGiven("info", title, why, source="client"))
        before, after = unsaved.text.encode(), text.encode()
        return Written(place.path, False, unsaved.text, text, "utf-8", after, before, live=True)

    async def _replace(self, unsaved: UnsavedText, text: str) -> None:
        place, tabs = unsaved.place, self._tabs()
        try:
            if tabs is None:
                raise Stale
            await tabs.write_unsaved(place.path, unsaved.text, text)
        except Stale:
            raise Refused(
                f"{place.shown} changed while the user was asked: read it again, then write"
            ) from None
        except PageFailed as error:
            raise Failed(f"{place.shown} is open, but its page cannot change it: {error}") from None
        except Unreachable as error:
            raise Failed(
                f"{place.shown} is open and busy ({error}): nothing was written; retry in a moment"
            ) from None


def _unanswered(path: str) -> NoticeGiven:
    name = visible(os.path.basename(path))
    title = f"{name} is open, but its page does not answer: the agent reads the saved file"
    return NoticeGiven("warning", title, "It does not contain unsaved changes.", source="client")
