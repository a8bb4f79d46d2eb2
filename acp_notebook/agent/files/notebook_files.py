"""Read notebooks for an agent without bulky data, and write them by merging; in the page that has them open.

Uses files and, through an interface, open documents. Does not ask for permission (`client_services` does);
independent of the protocol. Runs on the loop thread, and accesses files on other threads.

A notebook that a page has open is read and changed there, never on disk behind its back. If it is unknown
whether a page has it open, it is not written at all. What an agent has seen of each notebook is kept as the
base of a merge.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ... import timeouts
from ...core.actions import MetadataChange, NotebookWrite
from ...core.document_protocol import (
    Applied,
    FileFacts,
    OpenNotebooks,
    Refreshed,
    Stale,
    State,
    Unreachable,
)
from ...core.document_protocol import Failed as PageFailed
from ...core.events import NoticeGiven
from ...core.ipynb import (
    Conflict,
    Invalid,
    Merged,
    Notebook,
    View,
    all_metadata,
    as_agent_sees,
    create_notebook,
    drastic_reason,
    merge,
    metadata_changes,
    operations,
    read,
)
from ...core.ipynb.partial_reads import Lines, cell_lines, known_after, slice_lines
from ...core.ipynb.percent_format import SUFFIX, script
from ...core.notebook_changes import brought, same_sources
from ...core.records import Content, Diff, Text
from ..threads import on_a_thread
from .roots import BadRequest, Failed, FileTrouble, NotFound, Refused, ResolvedPath, Roots, TooLarge, visible
from .text_encoding import MAX_TEXT
from .text_reader import Bytes, read_bytes, read_text
from .text_writer import ATTEMPTS, Written, write_bytes

MAX_NOTEBOOK = 512 * 2**20
"""The largest notebook file: even with images, far more than anyone can work with."""

SAVE_PAUSE_S = 0.1
"""Between two looks at whether a save of the page has ended."""

SHOWN_CHARS = 1_000_000
"""The longest notebook, in characters of source, that is shown as a diff; longer ones are only named."""

BASES = 100
"""For how many notebooks to keep what the agent has seen."""

SAME_S = 0.002
"""Modification times this close count as equal: servers report them as text, rounded to microseconds."""


class NotebookState(Struct, frozen=True):
    """A notebook as it is now: in a page (`live`), or in a file (`file`; None if there is none)."""

    place: ResolvedPath
    state: State
    notebook: Notebook | None
    """None if there is no file, or it is not a notebook."""
    live: bool = False
    file: Bytes | None = None


class WritePlan(Struct, frozen=True):
    """What a write would do."""

    action: NotebookWrite
    shown: Content
    drastic: str | None
    """Why the user must be asked in any case; None if there is no reason."""
    new: bool = False
    """Whether there is no notebook yet."""
    replaced: bytes | None = None
    """The content of the file that a new notebook replaces; None if there is no file."""
    base: View | None = None
    """What the agent had seen when it wrote the text, or the notebook that the question compares with: what
    changes while the user is asked is no part of it."""
    notes: tuple[str, ...] = ()
    """What the user should know about the base."""


class NotebookFiles:
    """Reads and writes notebooks for the agent of one session."""

    def __init__(
        self,
        roots: Roots,
        notify: Callable[[NoticeGiven], None],
        asker: Callable[[], tuple[str | None, str | None]],
        on_read: Callable[[str, Lines], None] = lambda path, lines: None,
        *,
        raw: bool = False,
        keep_outputs: bool = False,
    ) -> None:
        self.live: OpenNotebooks | None = None
        """The notebooks that pages have open; None if there are no pages."""
        self._on_read = on_read
        """Called when an agent reads a notebook, with the lines of its cells."""
        self._roots = roots
        self._notify = notify
        self._asker = asker
        """Returns the id of the running turn, and of the cell with its prompt."""
        self._raw = raw
        self._keep_outputs = keep_outputs
        self._bases: OrderedDict[str, View] = OrderedDict()
        self._notified: tuple[str | None, set[str]] = (None, set())
        """The running turn, and the notices that were shown in it."""
        self._before: dict[str, tuple[bytes, FileFacts]] = {}
        """The files of open notebooks, as their pages last loaded or saved them."""
        self._following = asyncio.Lock()
        self.reloaded: set[str] = set()
        """Notebooks whose page was updated after a change on disk in this turn."""

    async def place_of(self, path: str) -> ResolvedPath | None:
        """Resolve the path; None if it does not name a notebook. Raises FileTrouble."""
        place = await on_a_thread(lambda: self._roots.resolve(path))
        return place if is_notebook(place) else None

    # ---- reading --------------------------------------------------------------------------------

    async def read(self, place: ResolvedPath, line: int | None, limit: int | None) -> str:
        """The notebook's text for the agent, or some lines of it; raises FileTrouble."""
        for name, number in (("line", line), ("limit", limit)):
            if number is not None and number < 0:
                raise BadRequest(f"{name} must not be negative ({number})")
        there = await self._current(place, reading=True)
        if there.notebook is None or (self._raw and not there.live):
            if there.notebook is not None and line is None and limit is None:
                self._remember(place, as_agent_sees(there.notebook, outputs="raw"))
            return await on_a_thread(lambda: read_text(place, line, limit))
        view = await self._view(place, there.notebook)
        text = slice_lines(view.text, line, limit)
        if len(text) > MAX_TEXT:
            raise TooLarge(
                f"{place.shown} is too large even without its bulky outputs: read parts, with line and limit"
            )
        self._remember(place, known_after(self._bases.get(place.path), view, line, limit))
        self._on_read(place.asked, await on_a_thread(lambda: cell_lines(view)))
        return text

    async def _view(self, place: ResolvedPath, notebook: Notebook) -> View:
        try:
            return await on_a_thread(
                lambda: as_agent_sees(notebook, outputs="raw" if self._raw else "elided")
            )
        except Invalid as error:
            raise BadRequest(f"{place.shown}: {error}") from None

    async def _current(self, place: ResolvedPath, *, reading: bool) -> NotebookState:
        state = await self._state_of(place)
        if state == "open" and self.live is not None:
            try:
                return NotebookState(place, state, await self._document(place, self.live), live=True)
            except (Unreachable, PageFailed) as error:
                if not reading:
                    raise _busy(place, error) from None
        if state != "closed" and reading:
            name = visible(os.path.basename(place.path))
            what = "is open, but its page does not answer" if state == "open" else "may be open in a page"
            title = f"{name} {what}: the agent reads the saved file"
            self._notify_once(title, "It does not contain unsaved changes.")
        elif state != "closed":
            raise _busy(place, None)
        return await on_a_thread(lambda: self._on_disk(place, state))

    async def _state_of(self, place: ResolvedPath) -> State:
        return "closed" if self.live is None else await self.live.state_of(place.path)

    async def _document(self, place: ResolvedPath, live: OpenNotebooks) -> Notebook:
        data = await live.read(place.path)
        try:
            return await on_a_thread(lambda: read(data))
        except Invalid as error:
            raise PageFailed(f"the open document is not a notebook ({error})") from None

    def _on_disk(self, place: ResolvedPath, state: State) -> NotebookState:
        try:
            file = read_bytes(place, MAX_NOTEBOOK)
        except NotFound:
            return NotebookState(place, state, None)
        try:
            return NotebookState(place, state, read(file.data), file=file)
        except Invalid:
            return NotebookState(place, state, None, file=file)

    def _notify_once(self, title: str, description: str) -> None:
        """Show a notice once a turn: agents read the same file again and again."""
        turn, _ = self._asker()
        if self._notified[0] != turn:
            self._notified = (turn, set())
        if title not in self._notified[1]:
            self._notified[1].add(title)
            self._notify(NoticeGiven("warning", title, description, source="client"))

    def _remember(self, place: ResolvedPath, view: View) -> None:
        self._bases[place.path] = view
        self._bases.move_to_end(place.path)
        while len(self._bases) > BASES:
            self._bases.popitem(last=False)

    # ---- writing --------------------------------------------------------------------------------

    async def plan(self, place: ResolvedPath, text: str) -> WritePlan:
        """What a write would do, before the user is asked; raises FileTrouble if it is impossible."""
        _, protected = self._asker()
        there = await self._current(place, reading=False)
        if there.notebook is None:
            data = await self._create(place, text)
            after = await on_a_thread(lambda: read(data))
            before = None if there.file is None else there.file.data.decode(errors="replace")
            why = "it would replace a file that is not a notebook" if (before or "").strip() else None
            plan = _plan(place, before, script(after), all_metadata(after), why, new=True)
            return replace(plan, replaced=None if there.file is None else there.file.data)
        notebook = there.notebook
        base = self._bases.get(place.path)
        merged = await self._merge(there, notebook, text, protected, base)
        comparison = merged.comparison
        after_script, metadata = script(comparison.after), metadata_changes(comparison)
        plan = _plan(place, script(notebook), after_script, metadata, drastic_reason(comparison))
        if base is not None:
            return replace(plan, base=base)
        compared = await on_a_thread(lambda: as_agent_sees(notebook))
        return replace(plan, base=compared, notes=merged.notes[:1])

    async def text_for_agent(self, place: ResolvedPath) -> str | None:
        """What the agent would read now, as the base of its edits; None if there is no notebook."""
        there = await self._current(place, reading=False)
        return None if there.notebook is None else (await self._view(place, there.notebook)).text

    async def text_to_embed(self, path: str, most: int, *, seen: bool) -> str | None:
        """What the agent would read now; None if it cannot read this notebook, or for more than `most` bytes.

        `seen`: the agent gets the text, so it counts as read.
        """
        try:
            place = await self.place_of(path)
            there = None if place is None else await self._current(place, reading=True)
            if place is None or there is None or there.notebook is None:
                return None
            view = await self._view(place, there.notebook)
        except FileTrouble:
            return None
        if len(view.text.encode(errors="surrogatepass")) > most:
            return None
        if seen:
            self._remember(place, view)
        return view.text

    async def write(self, place: ResolvedPath, text: str, planned: WritePlan) -> Written:
        """Merge again, with the present notebook, and write; FileTrouble means that nothing was written."""
        _, protected = self._asker()
        for _ in range(ATTEMPTS):
            there = await self._current(place, reading=False)
            done = await self._attempt(there, text, protected, planned)
            if done is not None:
                return done
        raise Refused(f"{place.shown} keeps changing while it is written: read it again, then try again")

    async def _attempt(
        self, there: NotebookState, text: str, protected: str | None, planned: WritePlan
    ) -> Written | None:
        """Try to write; return None if the notebook changed during the attempt."""
        place = there.place
        replaced = None if there.file is None else there.file.data
        if planned.new != (there.notebook is None) or (planned.new and replaced != planned.replaced):
            raise _changed(place)
        if there.notebook is None:
            data = await self._create(place, text)
            done = await on_a_thread(lambda: write_bytes(place, data, there.file))
            if done is not None:
                self._remember(place, await on_a_thread(lambda: as_agent_sees(data)))
            return done
        merged = await self._merge(there, there.notebook, text, protected, planned.base)
        if planned.drastic is None and drastic_reason(merged.comparison) is not None:
            raise _changed(place)
        done = await self._carry_out(there, merged)
        if done is not None:
            self._remember(place, merged.base)
            self._notify_notes(place, planned, merged)
        return done

    async def _carry_out(self, there: NotebookState, merged: Merged) -> Written | None:
        """Write the merge, in the page or on disk; return None if the notebook has changed since."""
        place = there.place
        replaced = None if there.notebook is None else there.notebook.data
        data = merged.data if merged.changed or replaced is None else replaced
        done = Written(place.path, False, None, "", "utf-8", data, replaced, there.live)
        if not merged.changed:
            return done
        if not there.live:
            return await on_a_thread(lambda: write_bytes(place, data, there.file))
        assert self.live is not None
        try:
            applied = await self.live.apply(place.path, operations(merged.comparison))
        except Stale:
            return None
        except PageFailed as error:
            raise Failed(f"{place.shown} is open, but its page cannot change it: {error}") from None
        except Unreachable as error:
            raise _busy(place, error) from None
        self._notify_unrendered(place, applied)
        return done

    async def _merge(
        self, there: NotebookState, now: Notebook, text: str, protected: str | None, base: View | None
    ) -> Merged:
        protected = protected if there.live else None  # a copy of the notebook has the same ids

        def work() -> Merged:
            return merge(base, text, now, keep_outputs=self._keep_outputs, protected=protected)

        try:
            return await on_a_thread(work)
        except Conflict as error:
            self._notify_conflict(there.place, error)
            raise BadRequest(f"{there.place.shown}: {error}") from None
        except Invalid as error:
            raise BadRequest(f"{there.place.shown}: {error}") from None

    def _notify_conflict(self, place: ResolvedPath, error: Conflict) -> None:
        if error.both_changed:
            title = f"{visible(os.path.basename(place.path))} was not written: you and the agent changed it"
            self._notify_once(
                title, f"Your version was kept ({error.places}); the agent has to read it again."
            )

    async def _create(self, place: ResolvedPath, text: str) -> bytes:
        try:
            return await on_a_thread(lambda: create_notebook(text))
        except Invalid as error:
            raise BadRequest(f"{place.shown}: {error}") from None

    def _notify_unrendered(self, place: ResolvedPath, applied: Applied | None) -> None:
        if applied is not None and applied.unrendered:
            name = visible(os.path.basename(place.path))
            count = len(applied.unrendered)
            cells = "a markdown cell" if count == 1 else f"{count} markdown cells"
            self._notify_once(
                f"{name}: {cells} with remote content {'is' if count == 1 else 'are'} not rendered",
                "The agent added an image or other content from the web. Rendering the cell would load it;"
                " run the cell to do so.",
            )

    def _notify_notes(self, place: ResolvedPath, planned: WritePlan, merged: Merged) -> None:
        notes = (*planned.notes, *merged.notes)
        if notes:
            what = (
                "some of the agent's changes were not applied"
                if merged.notes
                else "the agent had not read it"
            )
            title = f"{visible(os.path.basename(place.path))}: {what}"
            self._notify(NoticeGiven("info", title, "\n".join(notes), source="client"))

    # ---- undo -----------------------------------------------------------------------------------

    async def is_open(self, path: str) -> bool:
        """Whether a page has the notebook open, or may have: then it must not be changed on disk."""
        place = await self.place_of(path)
        return place is not None and await self._state_of(place) != "closed"

    async def apply_change(self, path: str, source: bytes, target: bytes) -> None:
        """Apply the difference between two states to the open notebook; raises FileTrouble."""
        place = await self.place_of(path)
        assert place is not None
        for _ in range(ATTEMPTS):
            there = await self._current(place, reading=False)
            if not there.live or there.notebook is None:
                raise Refused(f"{place.shown} has just been closed: try again")
            now = there.notebook.data
            merged = await _merge_change(place, source, target, now)
            if await self._carry_out(there, merged) is not None:
                self._remember(place, merged.base)
                return
        raise Refused(f"{place.shown} keeps changing: try again")

    # ---- changes on disk ------------------------------------------------------------------------

    async def on_turn_begin(self, path: str) -> None:
        """Snapshot the file as its page last saw it, to detect changes by the agent's own tools."""
        place = await self.place_of(path)
        if place is not None and self.live is not None:
            await self._keep(place, self.live)

    async def _keep(self, place: ResolvedPath, live: OpenNotebooks) -> None:
        known = await live.known(place.path)
        if known is None or self._before.get(place.path, (b"", None))[1] == known:
            return
        file = await on_a_thread(lambda: read_bytes(place, MAX_NOTEBOOK))
        if _is_known(file, known):
            self._before[place.path] = (file.data, known)

    async def is_saved_by_page(self, path: str) -> bool:
        """Whether the file is what its page saved, not a change on disk that the page loaded in this turn.

        While a save is under way, the page does not know the file yet, but it has the same cells.
        """
        place = await self.place_of(path)
        if place is None or self.live is None or await self._state_of(place) != "open":
            return False
        async with self._following:
            try:
                if place.path in self.reloaded:
                    return False
                known = await self.live.known(place.path)
                file = await on_a_thread(lambda: read_bytes(place, MAX_NOTEBOOK))
                if known is not None and _is_known(file, known):
                    return True
                shown = await self.live.read(place.path)
                return await on_a_thread(lambda: same_sources(shown, file.data))
            except (FileTrouble, Unreachable, PageFailed):
                return False

    async def on_disk_change(self, path: str) -> None:
        """Update the tab that has the file open, because the agent may have written the file itself."""
        place = await self.place_of(path)
        if place is None or self.live is None or await self._state_of(place) != "open":
            return
        async with self._following:
            try:
                result = await self.live.refresh(place.path)
                if result == "same":  # also for the next turn, whose agent may be faster than we are
                    await self._keep(place, self.live)
                if result == "unsaved":
                    result = await self._merge_disk_change(place, self.live)
                if result == "unsaved" and await self._is_own_save(place, self.live):
                    result = "same"
            except (Unreachable, PageFailed, Stale):
                return  # the page notices the change when it saves, and asks
        name = visible(os.path.basename(place.path))
        if result == "reloaded":
            self.reloaded.add(place.path)
            title = f"{name} was changed on disk: the tab was updated"
            self._notify(NoticeGiven("info", title, source="client"))
        elif result == "unsaved":
            title = f"{name} was changed on disk, and the change conflicts with unsaved edits in the tab"
            self._notify_once(title, "Nothing was overwritten; the tab asks before it saves.")

    async def _is_own_save(self, place: ResolvedPath, live: OpenNotebooks) -> bool:
        """Whether the tab itself saved the file: it may learn so a moment after the file was written."""
        try:
            async with asyncio.timeout(timeouts.get().own_save):
                while True:
                    known = await live.known(place.path)
                    file = await on_a_thread(lambda: read_bytes(place, MAX_NOTEBOOK))
                    if known is not None and _is_known(file, known):
                        return True
                    await asyncio.sleep(SAVE_PAUSE_S)
        except (TimeoutError, FileTrouble):
            return False

    async def _merge_disk_change(self, place: ResolvedPath, live: OpenNotebooks) -> Refreshed:
        """Merge a change on disk into a tab with unsaved edits; return "unsaved" if both conflict.

        "same": the tab has it already, because the change is the tab's own, and its save is under way.
        """
        base, known = self._before.get(place.path, (b"", None))
        if known is None or await live.known(place.path) != known:
            return "unsaved"
        now = await live.read(place.path)
        _, cell = self._asker()

        def work() -> tuple[bytes, Merged]:
            disk = read_bytes(place, MAX_NOTEBOOK).data
            view = as_agent_sees(base, outputs="raw")
            return disk, merge(view, disk, now, keep_outputs=self._keep_outputs, protected=cell)

        try:
            disk, merged = await on_a_thread(work)
        except (Invalid, Conflict, FileTrouble):
            return "unsaved"
        if merged.notes or drastic_reason(merged.comparison) is not None:
            return "unsaved"  # a part of the change would be lost
        holds = hashlib.sha256(disk).hexdigest()
        self._notify_unrendered(
            place, await live.apply(place.path, operations(merged.comparison), holds=holds)
        )
        if (now_known := await live.known(place.path)) is not None:
            self._before[place.path] = (disk, now_known)
        return "reloaded" if merged.changed else "same"


def is_notebook(place: ResolvedPath) -> bool:
    return any(it.lower().endswith(SUFFIX) for it in (place.asked, place.path))


async def _merge_change(place: ResolvedPath, source: bytes, target: bytes, now: bytes) -> Merged:
    try:
        return await on_a_thread(lambda: brought(source, target, now))
    except Conflict as error:
        raise Refused(f"it was changed since, in {error.places}") from None
    except Invalid as error:
        raise BadRequest(f"{place.shown}: {error}") from None


def _is_known(file: Bytes, known: FileFacts) -> bool:
    """Whether a page knows this state of the file: by its hash, or its time if the server sends no hash."""
    if known.hash is not None and known.hash_algorithm == "sha256":
        return hashlib.sha256(file.data).hexdigest() == known.hash
    try:
        modified = datetime.fromisoformat(known.last_modified).timestamp()
    except ValueError:
        return False
    return abs(modified - file.modified) < SAME_S


def _changed(place: ResolvedPath) -> Refused:
    return Refused(f"{place.shown} changed while the user was asked: read it again, then write")


def _busy(place: ResolvedPath, error: Exception | None) -> Failed:
    why = f" ({error})" if error is not None and str(error) else ""
    return Failed(f"{place.shown} is open and busy{why}: nothing was written; retry in a moment")


def _plan(
    place: ResolvedPath,
    before: str | None,
    after: str,
    metadata: tuple[MetadataChange, ...],
    why: str | None,
    *,
    new: bool = False,
) -> WritePlan:
    target = None if place.path == place.named else place.path
    size = len(after) + sum(len(it.before or "") + len(it.after or "") for it in metadata)
    if max(len(before or ""), size) > SHOWN_CHARS:
        digest = hashlib.sha256(repr((after, metadata)).encode(errors="surrogatepass")).hexdigest()
        note = f"A notebook with {size:,} characters, too long to show (SHA-256 {digest})"
        return WritePlan(NotebookWrite(place.named, target, note=note), Text(note), why, new)
    action = NotebookWrite(place.named, target, before, after, metadata, why)
    return WritePlan(action, Diff(place.asked, after, before), why, new)
