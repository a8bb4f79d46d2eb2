"""Notebooks for an agent: read without ballast, written by merging; in the page if one has them open.

Knows files and, through an interface, open documents; asks no permission (`client_services` does) and
knows no protocol. Lives on the loop thread; files are touched on others.

A notebook that a page has open is read and changed there, never on disk behind its back. Where nobody can
tell, it is not written at all. What an agent has seen of each notebook is kept: it is the base of a merge.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ...core.actions import MetadataChange, NotebookWrite
from ...core.document_protocol import Applied, FileFacts, OpenNotebooks, Stale, State, Unreachable
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
    created,
    drastic,
    merge,
    metadata_changes,
    operations,
    read,
)
from ...core.ipynb.partial_reads import Lines, cell_lines, known, lines_of
from ...core.ipynb.percent_format import SUFFIX, script
from ...core.notebook_changes import brought
from ...core.records import Content, Diff, Text
from ..threads import on_a_thread
from .roots import BadRequest, Failed, FileTrouble, NotFound, Refused, ResolvedPath, Roots, TooLarge, visible
from .text_encoding import MAX_TEXT
from .text_reader import Bytes, read_bytes, read_text
from .text_writer import ATTEMPTS, Written, write_bytes

MAX_NOTEBOOK = 512 * 2**20
"""Bytes of a notebook's file: with its images, far more than anyone can work with."""

SHOWN_CHARS = 1_000_000
"""Of all sources of a notebook: longer ones are named, not shown as a diff."""

BASES = 100
"""Notebooks of which it is kept what the agent has seen."""

SAME_S = 0.002
"""Between two readings of one file's time: servers tell it in text, by microseconds, rounded."""


@dataclass(frozen=True, slots=True)
class NotebookState:
    """A notebook as it is now: in a page (`live`), or in a file (`file`; None if there is none)."""

    place: ResolvedPath
    state: State
    notebook: Notebook | None
    """None: there is nothing, or what is there is no notebook."""
    live: bool = False
    file: Bytes | None = None


@dataclass(frozen=True, slots=True)
class WritePlan:
    """What a write would do."""

    action: NotebookWrite
    shown: Content
    drastic: str | None
    """Why the user must be asked in any case."""
    new: bool = False
    """There is no notebook yet."""


class NotebookFiles:
    """Reads and writes notebooks for the agent of one session."""

    def __init__(
        self,
        roots: Roots,
        tell: Callable[[NoticeGiven], None],
        asker: Callable[[], tuple[str | None, str | None]],
        *,
        raw: bool = False,
        keep_outputs: bool = False,
    ) -> None:
        self.live: OpenNotebooks | None = None
        """What the pages have open; None: there are none."""
        self.shown: Callable[[str, Lines], None] = lambda path, lines: None
        """Told what an agent reads: the lines of which cells."""
        self._roots = roots
        self._tell = tell
        self._asker = asker
        """The running turn's id, and the id of the cell that asked."""
        self._raw = raw
        self._keep_outputs = keep_outputs
        self._bases: OrderedDict[str, View] = OrderedDict()
        self._told: tuple[str | None, set[str]] = (None, set())
        self._before: dict[str, tuple[bytes, FileFacts]] = {}
        """Files of open notebooks, as their pages last loaded or saved them."""
        self._following = asyncio.Lock()
        self.reloaded: set[str] = set()
        """Notebooks whose page followed a change on disk in this turn."""

    async def place_of(self, path: str) -> ResolvedPath | None:
        """Where a notebook is, if the path names one; raises FileTrouble."""
        place = await on_a_thread(lambda: self._roots.resolve(path))
        return place if is_notebook(place) else None

    # ---- reading --------------------------------------------------------------------------------

    async def read(self, place: ResolvedPath, line: int | None, limit: int | None) -> str:
        """The notebook's text for the agent, or these lines of it; raises FileTrouble."""
        for name, number in (("line", line), ("limit", limit)):
            if number is not None and number < 0:
                raise BadRequest(f"{name} must not be negative ({number})")
        there = await self._there(place, reading=True)
        if there.notebook is None or (self._raw and not there.live):
            if there.notebook is not None and line is None and limit is None:
                self._remember(place, as_agent_sees(there.notebook, outputs="raw"))
            return await on_a_thread(lambda: read_text(place, line, limit))
        view = await self._view(place, there.notebook)
        text = lines_of(view.text, line, limit)
        if len(text) > MAX_TEXT:
            raise TooLarge(
                f"{place.shown} is too large even without its bulky outputs: read parts, with line and limit"
            )
        self._remember(place, known(self._bases.get(place.path), view, line, limit))
        self.shown(place.asked, await on_a_thread(lambda: cell_lines(view)))
        return text

    async def _view(self, place: ResolvedPath, notebook: Notebook) -> View:
        try:
            return await on_a_thread(
                lambda: as_agent_sees(notebook, outputs="raw" if self._raw else "elided")
            )
        except Invalid as error:
            raise BadRequest(f"{place.shown}: {error}") from None

    async def _there(self, place: ResolvedPath, *, reading: bool) -> NotebookState:
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
            self._tell_once(title, "What is not saved is not in it.")
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
            raise PageFailed(f"the open document is no notebook ({error})") from None

    def _on_disk(self, place: ResolvedPath, state: State) -> NotebookState:
        try:
            file = read_bytes(place, MAX_NOTEBOOK)
        except NotFound:
            return NotebookState(place, state, None)
        try:
            return NotebookState(place, state, read(file.data), file=file)
        except Invalid:
            return NotebookState(place, state, None, file=file)

    def _tell_once(self, title: str, description: str) -> None:
        """Agents read the same file again and again; people need to know it once a turn."""
        turn, _ = self._asker()
        if self._told[0] != turn:
            self._told = (turn, set())
        if title not in self._told[1]:
            self._told[1].add(title)
            self._tell(NoticeGiven("warning", title, description, source="client"))

    def _remember(self, place: ResolvedPath, view: View) -> None:
        self._bases[place.path] = view
        self._bases.move_to_end(place.path)
        while len(self._bases) > BASES:
            self._bases.popitem(last=False)

    # ---- writing --------------------------------------------------------------------------------

    async def plan(self, place: ResolvedPath, text: str) -> WritePlan:
        """What a write would do, before anyone is asked; raises FileTrouble if it cannot be."""
        _, protected = self._asker()
        there = await self._there(place, reading=False)
        if there.notebook is None:
            data = await self._made(place, text)
            after = await on_a_thread(lambda: read(data))
            before = None if there.file is None else there.file.data.decode(errors="replace")
            why = "it would replace what is there, which is no notebook" if (before or "").strip() else None
            return _plan(place, before, script(after), all_metadata(after), why, new=True)
        notebook = there.notebook
        merged = await self._merged(there, notebook, text, protected)
        comparison = merged.comparison
        after_script, metadata = script(comparison.after), metadata_changes(comparison)
        return _plan(place, script(notebook), after_script, metadata, drastic(comparison))

    async def text_for_agent(self, place: ResolvedPath) -> str | None:
        """What the agent would read now, which its edits are meant for; None if there is no notebook."""
        there = await self._there(place, reading=False)
        return None if there.notebook is None else (await self._view(place, there.notebook)).text

    async def text_to_embed(self, path: str, most: int, *, seen: bool) -> str | None:
        """What the agent would read now; None if that is no notebook of ours, or has more than `most` bytes.

        `seen`: it gets that, as if it had read it.
        """
        try:
            place = await self.place_of(path)
            there = None if place is None else await self._there(place, reading=True)
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
        """Merge again, with what is there by now, and write; a FileTrouble means that nothing was written."""
        _, protected = self._asker()
        for _ in range(ATTEMPTS):
            there = await self._there(place, reading=False)
            done = await self._attempt(there, text, protected, planned)
            if done is not None:
                return done
        raise Refused(f"{place.shown} keeps changing while it is written: read it again, then try again")

    async def _attempt(
        self, there: NotebookState, text: str, protected: str | None, planned: WritePlan
    ) -> Written | None:
        """None: what is there changed meanwhile."""
        place = there.place
        if there.notebook is None:
            if not planned.new:
                raise Refused(f"{place.shown} changed while the write was asked about: read it again")
            data = await self._made(place, text)
            done = await on_a_thread(lambda: write_bytes(place, data, there.file))
            if done is not None:
                self._remember(place, await on_a_thread(lambda: as_agent_sees(data)))
            return done
        merged = await self._merged(there, there.notebook, text, protected)
        if planned.drastic is None and drastic(merged.comparison) is not None:
            raise Refused(f"{place.shown} changed while the write was asked about: read it again, then write")
        done = await self._carried_out(there, merged)
        if done is not None:
            self._remember(place, merged.base)
            self._tell_notes(place, merged)
        return done

    async def _carried_out(self, there: NotebookState, merged: Merged) -> Written | None:
        """None: what is there changed meanwhile."""
        place, size = there.place, len(merged.data)
        if not merged.changed:
            return Written(place.path, False, None, "", "utf-8", size)
        if not there.live:
            return await on_a_thread(lambda: write_bytes(place, merged.data, there.file))
        assert self.live is not None
        try:
            applied = await self.live.apply(place.path, operations(merged.comparison))
        except Stale:
            return None
        except PageFailed as error:
            raise Failed(f"{place.shown} is open, and its page cannot change it: {error}") from None
        except Unreachable as error:
            raise _busy(place, error) from None
        self._tell_unrendered(place, applied)
        states = (there.notebook.data, merged.data) if there.notebook is not None else None
        return Written(place.path, False, None, "", "utf-8", size, states)

    async def _merged(self, there: NotebookState, now: Notebook, text: str, protected: str | None) -> Merged:
        base = self._bases.get(there.place.path)
        protected = protected if there.live else None  # a copy of the notebook has the same ids

        def work() -> Merged:
            return merge(base, text, now.data, keep_outputs=self._keep_outputs, protected=protected)

        try:
            return await on_a_thread(work)
        except Conflict as error:
            self._tell_conflict(there.place, error)
            raise BadRequest(f"{there.place.shown}: {error}") from None
        except Invalid as error:
            raise BadRequest(f"{there.place.shown}: {error}") from None

    def _tell_conflict(self, place: ResolvedPath, error: Conflict) -> None:
        if error.both_changed:
            title = f"{visible(os.path.basename(place.path))} was not written: you and the agent changed it"
            self._tell_once(
                title, f"It stays as you have it ({error.places}); the agent is told to read again."
            )

    async def _made(self, place: ResolvedPath, text: str) -> bytes:
        try:
            return await on_a_thread(lambda: created(text))
        except Invalid as error:
            raise BadRequest(f"{place.shown}: {error}") from None

    def _tell_unrendered(self, place: ResolvedPath, applied: Applied | None) -> None:
        if applied is not None and applied.unrendered:
            name = visible(os.path.basename(place.path))
            count = len(applied.unrendered)
            cells = "a markdown cell" if count == 1 else f"{count} markdown cells"
            self._tell_once(
                f"{name}: {cells} with remote content {'is' if count == 1 else 'are'} not rendered",
                "The agent put an image or other content from the web into it. To render it would load that;"
                " run the cell to do so.",
            )

    def _tell_notes(self, place: ResolvedPath, merged: Merged) -> None:
        if merged.notes:
            name = visible(os.path.basename(place.path))
            notes = "\n".join(merged.notes)
            self._tell(NoticeGiven("info", f"{name}: not all was taken as written", notes, source="client"))

    # ---- undone ---------------------------------------------------------------------------------

    async def is_open(self, path: str) -> bool:
        """Whether a page has it open, or may have: then it is not changed on disk."""
        place = await self.place_of(path)
        return place is not None and await self._state_of(place) != "closed"

    async def bring(self, path: str, source: bytes, target: bytes) -> None:
        """In its page: what leads from the one state to the other; raises FileTrouble."""
        place = await self.place_of(path)
        assert place is not None
        for _ in range(ATTEMPTS):
            there = await self._there(place, reading=False)
            if not there.live or there.notebook is None:
                raise Refused(f"{place.shown} was closed meanwhile: try again")
            now = there.notebook.data
            merged = await _brought(place, source, target, now)
            if await self._carried_out(there, merged) is not None:
                self._remember(place, merged.base)
                return
        raise Refused(f"{place.shown} keeps changing: try again")

    # ---- written on disk by others --------------------------------------------------------------

    async def turn_began(self, path: str) -> None:
        """Keep the file as its page knows it: what an agent makes of it by itself is told by that."""
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
        """Whether the file is as the page that has it open saved it, rather than loaded it in this turn."""
        place = await self.place_of(path)
        if place is None or self.live is None or await self._state_of(place) != "open":
            return False
        async with self._following:
            try:
                known = await self.live.known(place.path)
                file = await on_a_thread(lambda: read_bytes(place, MAX_NOTEBOOK))
            except (FileTrouble, Unreachable, PageFailed):
                return False
        return known is not None and place.path not in self.reloaded and _is_known(file, known)

    async def changed_on_disk(self, path: str) -> None:
        """The agent may have written the file itself: the tab that has it open is brought up to date."""
        place = await self.place_of(path)
        if place is None or self.live is None or await self._state_of(place) != "open":
            return
        async with self._following:
            try:
                became = await self.live.refresh(place.path)
                if became == "same":  # also for the next turn: its agent may be quicker than we are
                    await self._keep(place, self.live)
                if became == "unsaved" and await self._followed(place, self.live):
                    became = "reloaded"
            except (Unreachable, PageFailed, Stale):
                return  # the page notices by itself when it saves, and asks
        name = visible(os.path.basename(place.path))
        if became == "reloaded":
            self.reloaded.add(place.path)
            self._tell(NoticeGiven("info", f"{name} was changed on disk: the tab follows", source="client"))
        elif became == "unsaved":
            title = f"{name} was changed on disk, and the tab has edits that do not go together with that"
            self._tell_once(title, "Neither was overwritten; when the tab is saved, it asks first.")

    async def _followed(self, place: ResolvedPath, live: OpenNotebooks) -> bool:
        """Bring what changed on disk into a tab that is not saved; False if both cannot be had."""
        base, known = self._before.get(place.path, (b"", None))
        if known is None or await live.known(place.path) != known:
            return False
        now = await live.read(place.path)
        _, cell = self._asker()

        def work() -> tuple[bytes, Merged]:
            disk = read_bytes(place, MAX_NOTEBOOK).data
            view = as_agent_sees(base, outputs="raw")
            return disk, merge(view, disk, now, keep_outputs=self._keep_outputs, protected=cell)

        try:
            disk, merged = await on_a_thread(work)
        except (Invalid, Conflict, FileTrouble):
            return False
        if merged.notes or drastic(merged.comparison) is not None:
            return False  # something of it would be lost
        holds = hashlib.sha256(disk).hexdigest()
        self._tell_unrendered(place, await live.apply(place.path, operations(merged.comparison), holds=holds))
        if (now_known := await live.known(place.path)) is not None:
            self._before[place.path] = (disk, now_known)
        return True


def is_notebook(place: ResolvedPath) -> bool:
    return any(it.lower().endswith(SUFFIX) for it in (place.asked, place.path))


async def _brought(place: ResolvedPath, source: bytes, target: bytes, now: bytes) -> Merged:
    try:
        return await on_a_thread(lambda: brought(source, target, now))
    except Conflict as error:
        raise Refused(f"it was changed since, in {error.places}") from None
    except Invalid as error:
        raise BadRequest(f"{place.shown}: {error}") from None


def _is_known(file: Bytes, known: FileFacts) -> bool:
    """Whether a page knows the file as it is: by its content, else (a server that tells no hash) its time."""
    if known.hash is not None and known.hash_algorithm == "sha256":
        return hashlib.sha256(file.data).hexdigest() == known.hash
    try:
        told = datetime.fromisoformat(known.last_modified).timestamp()
    except ValueError:
        return False
    return abs(told - file.modified) < SAME_S


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
        note = f"A notebook with {size:,} characters, too many to show (SHA-256 {digest})"
        return WritePlan(NotebookWrite(place.named, target, note=note), Text(note), why, new)
    action = NotebookWrite(place.named, target, before, after, metadata, why)
    return WritePlan(action, Diff(place.asked, after, before), why, new)
