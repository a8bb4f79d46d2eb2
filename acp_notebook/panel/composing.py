"""What is written in a page's field: the prompt that it becomes, and what can be mentioned in it.

Joins the mentions with the shell around them; knows neither the page nor the conversation's turns. Awaited
on the loop thread; whatever runs code of the user's (an object's own description, say) does so on another.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..agent.conversation import Conversation
from ..agent.threads import on_a_thread
from ..core.intents import Picture
from ..core.prompt import content_of, fitted
from ..core.records import Content, Image
from ..errors import Timeout, UsageError
from ..live_notebook import LiveNotebook
from ..magics.completing import Known, about, prompt_completions
from ..magics.mentions import Places, found, looked_up, parts_of
from ..magics.surroundings import surroundings_here
from ..notebook.content import contents
from ..notebook.live import Documents

DESCRIBE_S = 60.0
"""For all objects of a prompt: a figure may have to be drawn, plotly starts a browser for it."""

OFFER_S = 3.0
"""Whoever writes does not wait longer: a folder on a network, an object that thinks about its attributes."""

OFFERED = 50
"""As many as are worth reading."""

Fitted = tuple[tuple[Content, ...], tuple[str, ...]]


class Composing:
    """One session's field, on the kernel's side."""

    def __init__(self, conversation: Conversation, documents: Documents) -> None:
        self._conversation = conversation
        self._documents = documents
        self._looking = asyncio.Lock()

    async def content(self, text: str, images: Sequence[Picture]) -> Fitted:
        """What is sent, and notes on what was changed for that; raises Error: a name that nothing has."""
        pictures = [Image(it.data, it.mime_type) for it in images]
        written = [text] if text.strip() else []
        if not any(True for _ in found(text)):
            return self._fitted([*written, *pictures])
        return await _described(lambda: self._fitted([*parts_of(text, self._places()), *pictures]))

    async def added(self, before: str, text: str) -> Fitted:
        """What the text mentions that it did not before, when a prompt is worded anew; raises Error."""
        old = set(found(before))
        names = [name for name in dict.fromkeys(found(text)) if name not in old]
        if not names:
            return (), ()
        return await _described(lambda: self._fitted([looked_up(it, self._places()) for it in names]))

    def _fitted(self, parts: Sequence[Any]) -> Fitted:
        try:
            content = content_of(parts, self._conversation.cwd, contents)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return fitted(content, self._conversation.host.facts.capabilities)

    def _places(self) -> Places:
        around = surroundings_here()
        cwd = self._conversation.cwd
        if around is None:
            return Places({}, lambda _: None, lambda: None, Path(cwd))
        return around.places(cwd, self._notebook)

    def _notebook(self) -> LiveNotebook | None:
        conversation = self._conversation
        return LiveNotebook(conversation.host.home, self._documents) if conversation.has_page else None

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


async def _described(work: Callable[[], Fitted]) -> Fitted:
    try:
        return await asyncio.wait_for(on_a_thread(work), DESCRIBE_S)
    except TimeoutError:
        raise Timeout(f"what is mentioned could not be described within {DESCRIBE_S:g} s") from None
