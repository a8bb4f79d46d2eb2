"""What is written in a page's field: the prompt that it becomes, and what can be mentioned in it.

Joins the mentions with the shell around them; knows neither the page nor the conversation's turns. Awaited
on the loop thread. Objects of the user's are described on the main thread, between cells or while one of ours
waits: frames and figures are not made for being read while a cell changes them. All else that may take long
is done on a thread of its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...api.live_notebook import LiveNotebook
from ...core.intents import Picture
from ...core.prompt import content_of
from ...core.records import Content, Image
from ...errors import Error, Timeout, UsageError
from ...notebook.content import contents
from ...notebook.kernel import run_when_free
from ...notebook.open_documents import OpenDocuments
from ..magics.completion import Known, about, prompt_completions
from ..magics.mentions import MentionSources, cell_of, found, is_object, looked_up, mentioned
from ..magics.shell_context import surroundings_here

DESCRIBE_S = 60.0
"""For all objects of a prompt: a figure may have to be drawn, plotly starts a browser for it."""

FREE_S = 20.0
"""For the cell that runs to end: the prompts behind this one wait, too."""

OFFER_S = 3.0
"""Whoever writes does not wait longer: a folder on a network, an object that thinks about its attributes."""

OFFERED = 50
"""As many as are worth reading."""

Fitted = tuple[tuple[Content, ...], tuple[str, ...]]

Linked = tuple[tuple[Content, ...], dict[int, Path]]
"""With the files that some of its blocks link to."""


class Composer:
    """One session's field, on the kernel's side."""

    def __init__(self, conversation: Conversation, documents: OpenDocuments) -> None:
        self._conversation = conversation
        self._documents = documents
        self._looking = asyncio.Lock()

    async def content(self, text: str, images: Sequence[Picture]) -> Fitted:
        """What is sent, and notes on what was changed for that; raises Error: a name that nothing has."""
        pictures = [Image(it.data, it.mime_type) for it in images]
        written = [text] if text.strip() else []
        return await self._described(text, (), lambda parts: [*written, *parts, *pictures])

    async def added(self, before: str, text: str) -> Fitted:
        """What the text mentions that it did not before, when a prompt is worded anew; raises Error."""
        return await self._described(text, tuple(found(before)), list)

    async def _described(
        self, text: str, known: Sequence[str], whole: Callable[[list[Any]], list[Any]]
    ) -> Fitted:
        """The whole prompt, made of what the text mentions and is not `known`."""
        names = await self._names(text, known)
        if not names:
            parts = whole([])
            return await self._attached(*self._content(parts)) if parts else ((), ())
        places = await self._places_of(names)

        def work() -> Linked:
            return self._content(whole([looked_up(name, places) for name in names]))

        objects = any(is_object(name, places) for name in names)
        return await self._attached(*await (_on_main(work) if objects else _aside(work)))

    async def _attached(self, content: tuple[Content, ...], files: dict[int, Path]) -> Fitted:
        try:
            return await asyncio.wait_for(self._conversation.attached(content, files), DESCRIBE_S)
        except TimeoutError:
            raise _slow() from None

    async def _names(self, text: str, known: Sequence[str]) -> list[str]:
        if not any(name not in known for name in found(text)):
            return []
        names = await on_a_thread(lambda: mentioned(text, self._places()))  # it looks for files
        return [name for name in names if name not in known]

    async def _places_of(self, names: Sequence[str]) -> MentionSources:
        """Cells are looked up already: the page is asked for them, and it must not be the main thread that
        waits for its answer."""
        places = self._places()
        cells = {which for name in names if (which := cell_of(name)) is not None}
        sources = await on_a_thread(lambda: {which: places.cells(which) for which in cells})
        return replace(places, cells=sources.get)

    def _content(self, parts: Sequence[Any]) -> Linked:
        try:
            return content_of(parts, self._conversation.cwd, contents)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _places(self) -> MentionSources:
        around = surroundings_here()
        cwd = self._conversation.cwd
        if around is None:
            return MentionSources({}, lambda _: None, lambda: None, Path(cwd))
        return around.places(cwd, self._notebook)

    def _notebook(self) -> LiveNotebook | None:
        conversation = self._conversation
        return LiveNotebook(conversation.host.loop, self._documents) if conversation.has_page else None

    async def offered(self, fragment: str) -> list[dict[str, str]]:
        """What an @-name that begins so can become; one look at a time."""
        async with self._looking:
            try:
                return await asyncio.wait_for(on_a_thread(lambda: self._offered(fragment)), OFFER_S)
            except TimeoutError:
                return []

    def _offered(self, fragment: str) -> list[dict[str, str]]:
        around = surroundings_here()
        variables = {} if around is None else around.variables()
        cells = {} if around is None else around.inputs()
        cwd = Path(self._conversation.cwd or os.getcwd())
        known = Known((), (), (), variables, cells, cwd)
        texts = prompt_completions(fragment, known).texts[:OFFERED]
        return [{"text": text, "about": about(text, known)} for text in texts]


async def _aside(work: Callable[[], Linked]) -> Linked:
    try:
        return await asyncio.wait_for(on_a_thread(work), DESCRIBE_S)
    except TimeoutError:
        raise _slow() from None


async def _on_main(work: Callable[[], Linked]) -> Linked:
    """Where the kernel's main thread cannot be had, on another."""
    begun = threading.Event()

    def run() -> Linked:
        begun.set()
        return work()

    job = run_when_free(run)
    if job is None:
        return await _aside(work)
    done = asyncio.wrap_future(job)
    try:
        await asyncio.wait({done}, timeout=FREE_S)
        if begun.is_set():
            await asyncio.wait({done}, timeout=DESCRIBE_S)
    finally:
        job.cancel()  # nobody waits for it any more
    if not done.done():
        raise (
            _slow()
            if begun.is_set()
            else Timeout(
                "what is mentioned cannot be looked at while a cell runs: send it again when that has ended"
            )
        )
    if done.cancelled():
        raise Error("what is mentioned was not described: the kernel was interrupted")
    return done.result()


def _slow() -> Timeout:
    return Timeout(f"what is mentioned could not be described within {DESCRIBE_S:g} s")
