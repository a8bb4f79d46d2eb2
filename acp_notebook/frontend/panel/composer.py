"""Turns the text of the panel's field into prompt content, and completes and previews its @-names.

Combines the mentions in the text with the context of the shell; knows neither the page nor turns. Awaited on
the loop thread. The user's objects are described on the main thread, between cells or while a cell waits for
a turn: data frames and figures must not be read while a cell changes them. Other slow work runs on worker
threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ... import timeouts
from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...api.live_notebook import LiveNotebook
from ...core.intents import Prompt
from ...core.page_messages import CompletionChoice, MentionPreview
from ...core.prompt import content_of
from ...core.records import Content, Image
from ...errors import Error, Timeout, UsageError
from ...notebook.content import contents
from ...notebook.kernel import run_when_free
from ...notebook.open_documents import OpenDocuments
from ..magics.completion import CompletionSources, describe, prompt_completions
from ..magics.mentions import MentionSources, candidate_names, cell_of, is_object, look_up, mentioned_names
from ..magics.shell_context import current_shell_context
from .examples import example_prompts
from .mention_previews import MentionPreviews

MAX_COMPLETIONS = 50
"""More are not worth reading."""

ContentAndNotes = tuple[tuple[Content, ...], tuple[str, ...]]

ContentAndFiles = tuple[tuple[Content, ...], dict[int, Path]]
"""Content, and the files that some of its blocks link to, by index."""


class Composer:
    """Makes the content of the prompts that are written in a session's panel."""

    def __init__(self, conversation: Conversation, documents: OpenDocuments) -> None:
        self._conversation = conversation
        self._documents = documents
        self._completing = asyncio.Lock()
        self._previewing = asyncio.Lock()
        self._previews = MentionPreviews(conversation, self._sources_for)

    async def content(self, prompt: Prompt) -> ContentAndNotes:
        """The content to send, and notes on how it was adapted. Raises Error for an unknown name."""
        text, named = prompt.text, prompt.mentions
        pictures = [Image(it.data, it.mime_type) for it in prompt.images]
        written = [text] if text.strip() else []
        names = await self._names(text, ()) if named is None else named
        return await self._describe(names, lambda parts: [*written, *parts, *pictures])

    async def added_content(self, before: str, text: str) -> ContentAndNotes:
        """The content that an edited prompt newly mentions. Raises Error for an unknown name."""
        return await self._describe(await self._names(text, tuple(candidate_names(before))), list)

    async def _describe(
        self, names: Sequence[str], whole: Callable[[list[Any]], list[Any]]
    ) -> ContentAndNotes:
        """Describe what these names stand for; `whole` makes the prompt of it."""
        if not names:
            parts = whole([])
            return await self._attach(*self._content(parts)) if parts else ((), ())
        sources = await self._sources_for(names)

        def work() -> ContentAndFiles:
            return self._content(whole([look_up(name, sources) for name in names]))

        objects = any(is_object(name, sources) for name in names)
        return await self._attach(*await (_on_main(work) if objects else _on_worker(work)))

    async def _attach(self, content: tuple[Content, ...], files: dict[int, Path]) -> ContentAndNotes:
        try:
            return await asyncio.wait_for(
                self._conversation.attached(content, files), timeouts.get().describe
            )
        except TimeoutError:
            raise _too_slow() from None

    async def _names(self, text: str, known: Sequence[str]) -> list[str]:
        if not any(name not in known for name in candidate_names(text)):
            return []
        names = await on_a_thread(lambda: mentioned_names(text, self._sources()))  # looks for files
        return [name for name in names if name not in known]

    async def _sources_for(self, names: Sequence[str]) -> MentionSources:
        """Sources with the cells already read: that takes an answer of the page, for which the main thread
        must not wait."""
        sources = self._sources()
        cells = {which for name in names if (which := cell_of(name)) is not None}
        texts = await on_a_thread(lambda: {which: sources.cells(which) for which in cells})
        return replace(sources, cells=texts.get)

    def _content(self, parts: Sequence[Any]) -> ContentAndFiles:
        try:
            return content_of(parts, self._conversation.files_folder, contents)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _sources(self) -> MentionSources:
        context = current_shell_context()
        cwd = self._conversation.files_folder
        if context is None:
            return MentionSources({}, lambda _: None, lambda: None, Path(cwd))
        return context.sources(cwd, self._notebook)

    def _notebook(self) -> LiveNotebook | None:
        conversation = self._conversation
        return (
            LiveNotebook(conversation.agent.loop, self._documents)
            if conversation.state.audience.has_page
            else None
        )

    async def completions(self, fragment: str) -> tuple[CompletionChoice, ...]:
        """The completions of an @-name, one request at a time."""
        async with self._completing:
            try:
                return await asyncio.wait_for(
                    on_a_thread(lambda: self._find_completions(fragment)), timeouts.get().completion
                )
            except TimeoutError:
                return ()

    async def previews(self, text: str) -> tuple[MentionPreview, ...]:
        """What the text's mentions will attach, one request at a time."""
        async with self._previewing:
            return await self._previews.preview(await self._names(text, ()))

    async def examples(self) -> tuple[str, ...]:
        """Prompts that fit what the user has defined."""
        try:
            return await asyncio.wait_for(on_a_thread(self._find_examples), timeouts.get().completion)
        except TimeoutError:
            return ()

    def _find_examples(self) -> tuple[str, ...]:
        context = current_shell_context()
        return example_prompts(
            self._completion_sources(), failed=context is not None and context.failed_recently()
        )

    def _completion_sources(self) -> CompletionSources:
        context = current_shell_context()
        variables = {} if context is None else context.variables()
        cells = {} if context is None else context.inputs()
        cwd = Path(self._conversation.files_folder or os.getcwd())
        return CompletionSources((), (), (), variables, cells, cwd)

    def _find_completions(self, fragment: str) -> tuple[CompletionChoice, ...]:
        known = self._completion_sources()
        texts = prompt_completions(fragment, known).texts[:MAX_COMPLETIONS]
        return tuple(CompletionChoice(text, describe(text, known)) for text in texts)


async def _on_worker(work: Callable[[], ContentAndFiles]) -> ContentAndFiles:
    try:
        return await asyncio.wait_for(on_a_thread(work), timeouts.get().describe)
    except TimeoutError:
        raise _too_slow() from None


async def _on_main(work: Callable[[], ContentAndFiles]) -> ContentAndFiles:
    """Run on the kernel's main thread when it is free; on a worker thread if there is no kernel."""
    started = threading.Event()

    def run() -> ContentAndFiles:
        started.set()
        return work()

    job = run_when_free(run)
    if job is None:
        return await _on_worker(work)
    done = asyncio.wrap_future(job)
    try:
        await asyncio.wait({done}, timeout=timeouts.get().cell_end)
        if started.is_set():
            await asyncio.wait({done}, timeout=timeouts.get().describe)
    finally:
        job.cancel()  # nobody waits for it now
    if not done.done():
        raise _too_slow() if started.is_set() else _busy()
    if done.cancelled():
        raise Error(
            "the prompt was not sent: the kernel was interrupted while it read an object behind an @-name"
        )
    return done.result()


def _busy() -> Timeout:
    return Timeout(
        "objects behind @-names cannot be read while a cell runs: send the prompt again when it has ended"
    )


def _too_slow() -> Timeout:
    limit = timeouts.get().describe
    return Timeout(f"reading the objects behind @-names took longer than {limit:g} s: mention smaller ones")
