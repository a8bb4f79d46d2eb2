"""Reads and changes the notebook that is open in a page, by messages to that page.

Independent of widgets (the owner passes `send`), of agents and of threads: the owner calls it from one
thread, the loop's. If several pages are open, it asks the one that is preferred, whose user can then undo the
change there with a key, else the newest. It gives up on an answer after a while:
while the user's own code blocks the kernel, a page receives our messages, but we do not receive its answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import structs

from .. import timeouts
from ..core.document_protocol import (
    Applied,
    Apply,
    CellSource,
    Describe,
    Described,
    DocRequest,
    ExecuteCells,
    Failed,
    FileFacts,
    Locate,
    Located,
    OpenText,
    Ping,
    Previous,
    RanCell,
    ReadText,
    Refresh,
    Refreshed,
    Save,
    ShowOutputs,
    Stale,
    State,
    Unreachable,
    WriteText,
    converted,
    read_answer,
)
from ..core.intents import Doc, Hello, Tabs
from ..core.ipynb import Operation
from ..core.page_messages import to_wire
from ..log import logger, suppressed
from . import notebook_path

_log = logger(__name__)

T = TypeVar("T")

MOST_CHARS = 2**30
"""The size limit of one answer."""

BUSY = "its page is not answering; perhaps the kernel is busy with a cell"

Send = Callable[[dict[str, Any]], None]
OnThread = Callable[[Callable[[], Any]], Awaitable[Any]]


@dataclass
class _Page:
    """A page that shows the session, and what it has reported about its document."""

    view: str
    path: str | None
    live: bool
    clock: tuple[float, float] | None = None
    """The page's clock in milliseconds, and ours in seconds at the time when the page reported it."""
    located: tuple[str, str] | None = None
    """The server path, and the local file that it was proved to be."""
    tab: str | None = None
    """The server path, if it is another document of the page."""
    client: str | None = None
    """The id of its connection to the kernel, by which cells run there are recognised."""


@dataclass
class _PendingRequest:
    """A request to a page, and the parts of the answer that have arrived."""

    view: str
    parts: dict[int, str] = field(default_factory=dict)
    size: int = 0
    progress: asyncio.Event = field(default_factory=asyncio.Event)
    answer: str | None = None


@dataclass(frozen=True)
class _Tabs:
    """Other documents of a page, by server path."""

    notebooks: dict[str, _Page]
    texts: dict[str, _Page]


class OpenDocuments:
    """Finds, reads and changes the documents that the pages of a session have open."""

    def __init__(
        self,
        send: Send,
        on_a_thread: OnThread,
        *,
        started: Callable[[], list[str]] = notebook_path.started_paths,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._on_a_thread = on_a_thread
        self._started = started
        self._clock = clock
        self._pages: dict[str, _Page] = {}
        """By view, the newest last."""
        self._preferred: str | None = None
        self._tabs: dict[str, _Tabs] = {}
        """By view: the other documents of these pages that have unsaved changes."""
        self._requests: dict[str, _PendingRequest] = {}
        self._expected = 0.0
        self._changed = asyncio.Event()

    # ---- pages ----------------------------------------------------------------------------------

    def expect(self) -> None:
        """Expect a page to connect within `page_hello`."""
        self._expected = self._clock() + timeouts.get().page_hello

    def prefer(self, page: str | None) -> None:
        """Ask this page from now on, if there are several: a view, or the client that has run a cell."""
        self._preferred = page

    def _newest_first(self) -> list[_Page]:
        """The preferred page, then the others from the newest to the oldest."""
        pages = [*self._pages.values()][::-1]
        if self._preferred is None:
            return pages
        return sorted(pages, key=lambda it: self._preferred not in (it.view, it.client))

    def hello(self, hello: Hello, client: str | None = None) -> None:
        known = self._pages.pop(hello.view, None)
        page = known or _Page(hello.view, hello.path, hello.live)
        page.path, page.live, page.client = hello.path, hello.live, client
        self._pages[hello.view] = page
        self._changed.set()

    def bye(self, view: str) -> None:
        self._pages.pop(view, None)
        self._tabs.pop(view, None)
        for request in self._requests.values():
            if request.view == view:
                request.progress.set()

    def on_tabs(self, tabs: Tabs) -> None:
        """Note which other documents of a page have unsaved changes."""
        if tabs.view in self._pages:
            known = self._tabs.get(tabs.view, _Tabs({}, {}))
            self._tabs[tabs.view] = _Tabs(
                {it: known.notebooks.get(it) or _tab(tabs.view, it) for it in tabs.notebooks},
                {it: known.texts.get(it) or _tab(tabs.view, it) for it in tabs.texts},
            )

    def on_answer(self, doc: Doc) -> None:
        """Take a part of an answer; ignore one to a request that has timed out."""
        request = self._requests.get(doc.rid)
        if request is None or request.view != doc.view or request.answer is not None:
            return
        request.size += len(doc.text)
        if doc.part in request.parts or request.size > MOST_CHARS:
            return
        request.parts[doc.part] = doc.text
        if len(request.parts) == doc.of:
            request.answer = "".join(request.parts[at] for at in sorted(request.parts))
        if page := self._pages.get(doc.view):
            page.clock = (doc.now, self._clock())
        request.progress.set()

    async def newest(self) -> _Page | None:
        """The newest page that answers requests; waits for an expected page."""
        while not self._pages and (left := self._expected - self._clock()) > 0:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()
        return next((page for page in self._newest_first() if page.live), None)

    # ---- requests -------------------------------------------------------------------------------

    async def _ask(self, page: _Page, request: DocRequest, *, limit: float | None = None) -> Any:
        """Send a request to the page and return its answer; raises Unreachable, Stale, Failed."""
        rid = uuid.uuid4().hex
        pending = self._requests[rid] = _PendingRequest(page.view)
        try:
            self._send_request(page, rid, request)
            while pending.answer is None:
                pending.progress.clear()
                # Not `wait_for`: on Python 3.11 it ignores a cancel that comes together with the answer.
                async with asyncio.timeout(limit or timeouts.get().page_answer):
                    await pending.progress.wait()
                if page.view not in self._pages:
                    raise Unreachable("its page was closed")
        except TimeoutError:
            raise Unreachable(BUSY) from None
        finally:
            del self._requests[rid]
        return read_answer(pending.answer)

    def _send_request(self, page: _Page, rid: str, request: DocRequest) -> None:
        until = None
        if (clock := self._clock_of(page)) is not None:
            theirs, ours = clock
            until = theirs + (self._clock() - ours + timeouts.get().page_answer) * 1000
        self._send(to_wire(structs.replace(request, view=page.view, rid=rid, until=until, tab=page.tab)))

    def _clock_of(self, page: _Page) -> tuple[float, float] | None:
        """The clock of the page; a tab has none of its own."""
        owner = self._pages.get(page.view)
        return None if owner is None else owner.clock

    async def describe(self, page: _Page) -> Described:
        described: Described = converted(await self._ask(page, Describe()), Described)
        page.path = described.path
        return described

    async def remembered_outputs(self, page: _Page, cell: str) -> list[dict[str, Any]]:
        """What the cell showed of sessions before, as far as the page remembers it, the newest last."""
        wanted = list[dict[str, Any]]
        found: list[dict[str, Any]] = converted(await self._ask(page, Previous(cell)), wanted)
        return found

    async def file_of(self, page: _Page) -> str | None:
        """The path that is proved to be the file of the page's document."""
        return await self._locate(page, await self._candidates(page))

    async def change(
        self, page: _Page, operations: Sequence[Operation], holds: str | None = None
    ) -> Applied | None:
        """Apply all operations or none, as one undo step for the user."""
        await self.prepare(page)
        done = await self._ask(page, Apply(tuple(operations), holds))
        applied: Applied | None = converted(done, Applied | None)
        return applied

    # ---- running cells

    async def prepare(self, page: _Page) -> None:
        """Learn the page's clock, so that later requests can say until when they hold."""
        if self._clock_of(page) is None:
            await self._ask(page, Ping())

    async def run_cells(self, page: _Page, cells: Sequence[tuple[str, str]]) -> tuple[RanCell, ...]:
        """Have the page execute these cells (id and source, which must be the cell's) until one fails.

        The whole source, for another one may have the same hash. A cell that has changed by then is skipped.

        Returns when they have ended, however long that takes; raises Unreachable, Stale, Failed.
        """
        await self.prepare(page)
        wanted = tuple(CellSource(id, source) for id, source in cells)
        done = await self._ask(page, ExecuteCells(wanted), limit=timeouts.get().page_run)
        ran: tuple[RanCell, ...] = converted(done, tuple[RanCell, ...])
        return ran

    def show_outputs(self, page: _Page, shown: ShowOutputs) -> None:
        """Show the outputs of a cell that we run. Sends without waiting: while code holds the main thread,
        the page hears us and we do not hear the page."""
        if self._clock_of(page) is not None:
            self._send_request(page, uuid.uuid4().hex, shown)

    async def set_outputs(self, page: _Page, shown: ShowOutputs) -> None:
        """As `show_outputs`, and wait until it is done; raises Unreachable, Stale, Failed."""
        await self.prepare(page)
        await self._ask(page, shown)

    async def save(self, page: _Page) -> None:
        await self.prepare(page)
        await self._ask(page, Save(), limit=timeouts.get().page_save)

    # ---- documents by file ----------------------------------------------------------------------

    async def state_of(self, path: str) -> State:
        """Whether a page has this file open."""
        await self.newest()
        pages = self._by_path()
        proved = False
        for page in pages:
            state = await self._state_in(page, path)
            if state != "closed":
                return state
            proved = proved or page.located is not None
        if proved:
            return "closed"
        # The kernel's own notebook may be open in a front end that we cannot ask, such as VS Code.
        started = await self._on_a_thread(
            lambda: any(notebook_path.is_same(it, path) for it in self._started())
        )
        return "perhaps" if started else "closed"

    def _by_path(self) -> list[_Page]:
        """The newest page of each document; pages that answer requests come first."""
        found: dict[str, _Page] = {}
        for page in sorted(self._newest_first(), key=lambda it: not it.live):
            if page.path is not None:
                found.setdefault(page.path, page)
        for tabs in [*self._tabs.values()][::-1]:
            for path, page in tabs.notebooks.items():
                found.setdefault(path, page)
        return list(found.values())

    async def _state_in(self, page: _Page, path: str) -> State:
        """Whether this page has the file open; "perhaps" if it does not answer."""
        try:
            return await self._proved_state_in(page, path)
        except (Unreachable, Failed):
            _log.debug("the page did not say whether it has the notebook", exc_info=True)
            return "perhaps"

    async def _proved_state_in(self, page: _Page, path: str) -> State:
        """Whether this page has the file open; raises Unreachable, Failed."""
        assert page.path is not None
        if page.located is not None and page.located[0] == page.path:
            proved = page.located[1]
            is_there, same = await self._on_a_thread(
                lambda: (os.path.lexists(proved), notebook_path.is_same(proved, path))
            )
            if is_there or same:
                return "open" if same else "closed"
            # The file was renamed, and the page could not report the new name yet: it may be any file.
        elif not await self._may_be(page, path):
            return "closed"
        # Try again if it fails: the file may have been saved at that moment.
        file = await self._find_file(page, path) or await self._find_file(page, path)
        if file is None:
            return "perhaps" if await self._may_be(page, path) else "closed"
        return "open" if await self._on_a_thread(lambda: notebook_path.is_same(file, path)) else "closed"

    async def _may_be(self, page: _Page, path: str) -> bool:
        """Whether the page's document may be this file, judging by names only."""
        names_match = os.path.basename(path) == os.path.basename(page.path or "")
        return path in await self._candidates(page) or names_match

    async def _find_file(self, page: _Page, path: str) -> str | None:
        return await self._locate(page, [*await self._candidates(page), path])

    async def _locate(self, page: _Page, paths: Sequence[str]) -> str | None:
        """Return the path that is proved to be the document's file; None if there is none."""
        if not page.live:
            return None
        located: Located = converted(await self._ask(page, Locate()), Located)
        page.path = located.path
        facts = located.file
        if facts is None:
            return None
        found: str | None = await self._on_a_thread(
            lambda: next((it for it in paths if notebook_path.matches(it, facts)), None)
        )
        page.located = None if found is None else (located.path, found)
        return found

    async def open_files(self) -> tuple[str, ...]:
        """The files that a page is proved to have open."""
        await self.newest()
        for page in self._by_path():
            if page.located is None or page.located[0] != page.path:
                with suppressed(_log, Unreachable, Failed):
                    await self._locate(page, await self._candidates(page))
        return tuple(page.located[1] for page in self._by_path() if page.located is not None)

    async def server_prefixes(self, view: str, folders: Sequence[str]) -> list[tuple[str, str]]:
        """Map path prefixes on this machine to the paths that the page's server uses.

        Empty if the mapping cannot be proved (the page has no file, or is not answering).
        """
        page = self._pages.get(view)
        if page is None or page.path is None:
            return []
        if page.located is None or page.located[0] != page.path:
            with suppressed(_log, Unreachable, Failed):
                await self._locate(page, await self._candidates(page))
        if page.located is None:
            return []
        (path, file), started = page.located, self._started()
        prefixes: list[tuple[str, str]] = await self._on_a_thread(
            lambda: notebook_path.server_prefixes(path, file, started, folders)
        )
        return prefixes

    async def _candidates(self, page: _Page) -> list[str]:
        """Local paths that the page's document may have."""
        path, started = page.path or "", self._started()
        found: list[str] = await self._on_a_thread(lambda: list(notebook_path.candidates(path, started)))
        return found

    async def _page_of(self, path: str) -> _Page:
        for page in self._by_path():
            if page.live and await self._state_in(page, path) == "open":
                return page
        raise Unreachable("its page was closed")

    # ---- texts in other tabs --------------------------------------------------------------------

    async def _text_of(self, path: str) -> tuple[_Page, OpenText] | None:
        """The tab that has this file open with unsaved changes, and its text. Raises Unreachable, Failed: a
        tab that does not answer may have them."""
        for tabs in [*self._tabs.values()][::-1]:
            for page in [*tabs.texts.values()]:
                if await self._proved_state_in(page, path) == "open":
                    found: OpenText = converted(await self._ask(page, ReadText()), OpenText)
                    if found.dirty:
                        return page, found
        return None

    async def unsaved_text(self, path: str) -> str | None:
        found = await self._text_of(path)
        return None if found is None else found[1].text

    async def write_unsaved(self, path: str, based_on: str, text: str) -> None:
        found = await self._text_of(path)
        if found is None:
            raise Stale("the tab was saved or closed")
        await self.prepare(found[0])
        await self._ask(found[0], WriteText(based_on, text))

    # ---- notebooks ------------------------------------------------------------------------------

    async def read(self, path: str) -> dict[str, Any]:
        return (await self.describe(await self._page_of(path))).notebook

    async def apply(
        self, path: str, operations: Sequence[Operation], *, holds: str | None = None
    ) -> Applied | None:
        return await self.change(await self._page_of(path), operations, holds)

    async def known(self, path: str) -> FileFacts | None:
        located: Located = converted(await self._ask(await self._page_of(path), Locate()), Located)
        return located.known

    async def refresh(self, path: str) -> Refreshed:
        page = await self._page_of(path)
        await self.prepare(page)
        result: Refreshed = converted(
            await self._ask(page, Refresh(), limit=timeouts.get().page_save), Refreshed
        )
        return result


def _tab(view: str, path: str) -> _Page:
    return _Page(view, path, live=True, tab=path)
