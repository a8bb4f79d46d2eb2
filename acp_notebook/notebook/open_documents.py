"""The notebook that is open in a page: asked and changed there, by messages.

Knows no widget (it is given `send`), no agent and no thread: whoever owns it calls it from one thread, the
loop's. Of several pages the newest is asked. An answer that does not come within ANSWER_S is given up:
while the user's own code blocks the kernel, a page hears us and we do not hear it.
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

from ..core.document_protocol import (
    Applied,
    Described,
    Failed,
    FileFacts,
    Located,
    Refreshed,
    State,
    Unreachable,
    converted,
    plain,
    read_answer,
)
from ..core.intents import Doc, Hello
from ..core.ipynb import Operation
from . import notebook_path

T = TypeVar("T")

ANSWER_S = 5.0
"""For an answer, and for each further part of a long one: pages take some milliseconds."""

HELLO_S = 10.0
"""For a page to load the widget that answers, from the moment it was made."""

SLOW_S = 30.0
"""For what the page asks its server first: to save, or to load again."""

MOST_CHARS = 2**30
"""Of one answer."""

BUSY = "its page does not answer now; perhaps the kernel is busy with a cell"

Send = Callable[[dict[str, Any]], None]
OnThread = Callable[[Callable[[], Any]], Awaitable[Any]]


@dataclass
class _Page:
    view: str
    path: str | None
    live: bool
    clock: tuple[float, float] | None = None
    """The page's time in milliseconds, and ours in seconds when it was told."""
    located: tuple[str, str] | None = None
    """The path, and the file that it was proved to be."""


@dataclass
class _Asked:
    view: str
    parts: dict[int, str] = field(default_factory=dict)
    size: int = 0
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    answer: str | None = None


class OpenDocuments:
    """The documents that the pages of one session have open."""

    def __init__(
        self,
        send: Send,
        on_a_thread: OnThread,
        *,
        started: Callable[[], list[str]] = notebook_path.started_as,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._on_a_thread = on_a_thread
        self._started = started
        self._clock = clock
        self._pages: dict[str, _Page] = {}
        """By view, the newest last."""
        self._asked: dict[str, _Asked] = {}
        self._expected = 0.0
        self._changed = asyncio.Event()

    # ---- pages ----------------------------------------------------------------------------------

    def expect(self) -> None:
        """A page is about to show itself."""
        self._expected = self._clock() + HELLO_S

    def hello(self, hello: Hello) -> None:
        known = self._pages.pop(hello.view, None)
        page = known or _Page(hello.view, hello.path, hello.live)
        page.path, page.live = hello.path, hello.live
        self._pages[hello.view] = page
        self._changed.set()

    def bye(self, view: str) -> None:
        self._pages.pop(view, None)
        for asked in self._asked.values():
            if asked.view == view:
                asked.heard.set()

    def answered(self, doc: Doc) -> None:
        """A part of an answer has come; one to a question that was given up is late, and harmless."""
        asked = self._asked.get(doc.rid)
        if asked is None or asked.view != doc.view or asked.answer is not None:
            return
        asked.size += len(doc.text)
        if doc.part in asked.parts or asked.size > MOST_CHARS:
            return
        asked.parts[doc.part] = doc.text
        if len(asked.parts) == doc.of:
            asked.answer = "".join(asked.parts[at] for at in sorted(asked.parts))
        if page := self._pages.get(doc.view):
            page.clock = (doc.now, self._clock())
        asked.heard.set()

    async def newest(self) -> _Page | None:
        """The page that is asked; one that is about to show itself is waited for."""
        while not self._pages and (left := self._expected - self._clock()) > 0:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)
        return next((page for page in reversed(self._pages.values()) if page.live), None)

    # ---- asking ---------------------------------------------------------------------------------

    async def _ask(self, page: _Page, op: str, *, limit: float | None = None, **fields: Any) -> Any:
        """What the page answers; raises Unreachable, Stale, Failed."""
        rid = uuid.uuid4().hex
        asked = self._asked[rid] = _Asked(page.view)
        until = None
        if page.clock is not None:
            told, heard = page.clock
            until = told + (self._clock() - heard + ANSWER_S) * 1000
        try:
            self._send({"t": "doc", "view": page.view, "rid": rid, "until": until, "op": op, **fields})
            while asked.answer is None:
                asked.heard.clear()
                await asyncio.wait_for(asked.heard.wait(), limit or ANSWER_S)
                if page.view not in self._pages:
                    raise Unreachable("its page was closed")
        except TimeoutError:
            raise Unreachable(BUSY) from None
        finally:
            del self._asked[rid]
        return read_answer(asked.answer)

    async def describe(self, page: _Page) -> Described:
        described: Described = converted(await self._ask(page, "describe"), Described)
        page.path = described.path
        return described

    async def change(
        self, page: _Page, operations: Sequence[Operation], holds: str | None = None
    ) -> Applied | None:
        """All or nothing, as one step for the user to undo."""
        if page.clock is None:  # else the page could not tell whether it comes too late
            await self._ask(page, "ping")
        done = await self._ask(page, "apply", operations=[plain(it) for it in operations], holds=holds)
        applied: Applied | None = converted(done, Applied | None)
        return applied

    async def save(self, page: _Page) -> None:
        if page.clock is None:
            await self._ask(page, "ping")
        await self._ask(page, "save", limit=SLOW_S)

    # ---- by files -------------------------------------------------------------------------------

    async def state_of(self, path: str) -> State:
        """Whether a page has this file open."""
        await self.newest()
        pages = self._by_path()
        proved = False
        for page in pages:
            state = await self._is_in(page, path)
            if state != "closed":
                return state
            proved = proved or page.located is not None
        if proved:
            return "closed"
        # What the kernel was started for may be open where it cannot be seen: in VS Code, say.
        started = await self._on_a_thread(
            lambda: any(notebook_path.is_same(it, path) for it in self._started())
        )
        return "perhaps" if started else "closed"

    def _by_path(self) -> list[_Page]:
        """The newest page of each document, those that can be asked first."""
        found: dict[str, _Page] = {}
        newest_first = [*self._pages.values()][::-1]
        for page in sorted(newest_first, key=lambda it: not it.live):
            if page.path is not None:
                found.setdefault(page.path, page)
        return list(found.values())

    async def _is_in(self, page: _Page, path: str) -> State:
        assert page.path is not None
        if page.located is not None and page.located[0] == page.path:
            proved = page.located[1]
            is_there, same = await self._on_a_thread(
                lambda: (os.path.lexists(proved), notebook_path.is_same(proved, path))
            )
            if is_there or same:
                return "open" if same else "closed"
            # It has another name by now, which the page could not tell us yet: it may be any.
        elif not await self._may_be(page, path):
            return "closed"
        try:
            # Once more if it fails: the file may have been saved just then.
            file = await self._looked_for(page, path) or await self._looked_for(page, path)
        except (Unreachable, Failed):
            return "perhaps"
        if file is None:
            return "perhaps" if await self._may_be(page, path) else "closed"
        return "open" if await self._on_a_thread(lambda: notebook_path.is_same(file, path)) else "closed"

    async def _may_be(self, page: _Page, path: str) -> bool:
        """By its names, which prove nothing."""
        return path in await self._named(page) or os.path.basename(path) == os.path.basename(page.path or "")

    async def _looked_for(self, page: _Page, path: str) -> str | None:
        return await self._locate(page, [*await self._named(page), path])

    async def _locate(self, page: _Page, paths: Sequence[str]) -> str | None:
        """Which of the paths is the document's file; None if that cannot be proved."""
        if not page.live:
            return None
        located: Located = converted(await self._ask(page, "locate"), Located)
        page.path = located.path
        facts = located.file
        if facts is None:
            return None
        found: str | None = await self._on_a_thread(
            lambda: next((it for it in paths if notebook_path.is_told_of(it, facts)), None)
        )
        page.located = None if found is None else (located.path, found)
        return found

    async def open_files(self) -> tuple[str, ...]:
        """The files of which it is proved, or can be, that a page has them open."""
        await self.newest()
        for page in self._by_path():
            if page.located is None or page.located[0] != page.path:
                with contextlib.suppress(Unreachable, Failed):
                    await self._locate(page, await self._named(page))
        return tuple(page.located[1] for page in self._by_path() if page.located is not None)

    async def places(self, view: str, folders: Sequence[str]) -> list[tuple[str, str]]:
        """Beginnings of paths on this machine, and what the server of that page calls them.

        Empty if it cannot be proved (the page has no file, or does not answer now).
        """
        page = self._pages.get(view)
        if page is None or page.path is None:
            return []
        if page.located is None or page.located[0] != page.path:
            with contextlib.suppress(Unreachable, Failed):
                await self._locate(page, await self._named(page))
        if page.located is None:
            return []
        (path, file), started = page.located, self._started()
        places: list[tuple[str, str]] = await self._on_a_thread(
            lambda: notebook_path.served(path, file, started, folders)
        )
        return places

    async def _named(self, page: _Page) -> list[str]:
        path, started = page.path or "", self._started()
        named: list[str] = await self._on_a_thread(lambda: list(notebook_path.candidates(path, started)))
        return named

    async def _page_of(self, path: str) -> _Page:
        for page in self._by_path():
            if page.live and await self._is_in(page, path) == "open":
                return page
        raise Unreachable("its page is gone")

    async def read(self, path: str) -> dict[str, Any]:
        return (await self.describe(await self._page_of(path))).notebook

    async def apply(
        self, path: str, operations: Sequence[Operation], *, holds: str | None = None
    ) -> Applied | None:
        return await self.change(await self._page_of(path), operations, holds)

    async def known(self, path: str) -> FileFacts | None:
        located: Located = converted(await self._ask(await self._page_of(path), "locate"), Located)
        return located.known

    async def refresh(self, path: str) -> Refreshed:
        page = await self._page_of(path)
        if page.clock is None:
            await self._ask(page, "ping")
        became: Refreshed = converted(await self._ask(page, "refresh", limit=SLOW_S), Refreshed)
        return became
