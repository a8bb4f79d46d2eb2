"""Previews what the @-names of an unsent prompt will attach: what each is, and how large.

Objects are read on the main thread when it is free, as for sending, but only those whose description runs no
code of the user's classes; of the others, the type is shown. Awaited on the loop thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from pathlib import Path
from typing import Any

from ... import timeouts
from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...core.page_messages import MentionPreview
from ...core.prompt import SENDABLE, content_of, sent_bytes
from ...core.records import Content, ResourceLink
from ...errors import Error
from ...log import logger
from ...notebook.content import contents, kinds
from ...notebook.kernel import run_when_free
from ..magics.mentions import ERROR, MentionSources, cell_of, file_of, is_object, look_up

_log = logger(__name__)

MOST = 20
"""The most names that are previewed."""

ContentAndFiles = tuple[tuple[Content, ...], dict[int, Path]]

SourcesFor = Callable[[Sequence[str]], Awaitable[MentionSources]]
"""Returns where names are looked up, with the cells among them already read."""


@dataclass(frozen=True)
class _Object:
    """What was read of an object, and when."""

    id: int
    at: float
    about: str
    parts: ContentAndFiles | None = None
    """None: describing it might run the user's code."""
    missing: bool = False


class MentionPreviews:
    """Previews the mentions of one panel's field."""

    def __init__(self, conversation: Conversation, sources_for: SourcesFor) -> None:
        self._conversation = conversation
        self._sources_for = sources_for
        self._objects: dict[str, _Object] = {}

    async def preview(self, names: Iterable[str]) -> tuple[MentionPreview, ...]:
        """A preview of each name; an unknown one is "missing"."""
        few = [*names][:MOST]
        sources = await self._sources_for(few)
        objects = [name for name in few if is_object(name, sources)]
        await self._read(objects, sources)
        return tuple([await self._preview(name, name in objects, sources) for name in few])

    async def _preview(self, name: str, is_variable: bool, sources: MentionSources) -> MentionPreview:
        try:
            if not is_variable:
                part = await on_a_thread(lambda: look_up(name, sources))
                parts = content_of([part], self._conversation.files_folder)
                return await self._measured(name, "cell" if cell_of(name) else "file", *parts)
            found = self._objects.get(name)
            if found is None:
                return MentionPreview(name, _type_only(name, sources), None, "busy")
            if found.parts is None:
                return MentionPreview(name, found.about, None, "missing" if found.missing else "found")
            return await self._measured(name, found.about, *found.parts)
        except (Error, ValueError) as error:
            return MentionPreview(name, str(error), None, "missing")

    async def _measured(
        self, name: str, about: str, content: tuple[Content, ...], files: dict[int, Path]
    ) -> MentionPreview:
        attaching = self._conversation.attached(content, files, seen=False)
        try:
            made, notes = await asyncio.wait_for(attaching, timeouts.get().completion)
        except TimeoutError:  # a slow disk
            return MentionPreview(name, about, None)
        linked = bool(files) and isinstance(made[0], ResourceLink)
        size = None if linked else sum(map(sent_bytes, made))
        said = f"{about}, as a link" if linked else about
        return MentionPreview(name, said, size, note="; ".join(notes))

    # ---- objects ------------------------------------------------------------------------------

    async def _read(self, names: Sequence[str], sources: MentionSources) -> None:
        """Describe objects that were not described a moment ago; what is not mentioned is forgotten."""
        now, fresh = time.monotonic(), timeouts.get().preview_fresh
        known = {
            name: it
            for name, it in self._objects.items()
            if name in names and it.id == id(_root(name, sources)) and now - it.at < fresh
        }
        missing = [name for name in names if name not in known]
        cwd = self._conversation.files_folder
        read = await _when_free(lambda: _described(missing, sources, cwd)) if missing else {}
        self._objects = known | read


async def _when_free(work: Callable[[], dict[str, _Object]]) -> dict[str, _Object]:
    """Run on the kernel's main thread; nothing if it is busy for longer than a completion may take."""
    job = run_when_free(work)
    done = asyncio.ensure_future(on_a_thread(work)) if job is None else asyncio.wrap_future(job)
    await asyncio.wait({done}, timeout=timeouts.get().completion)
    if not done.done():
        done.cancel()
        return {}
    return {} if done.cancelled() else done.result()


def _described(names: Sequence[str], sources: MentionSources, cwd: str) -> dict[str, _Object]:
    return {name: _object(name, sources, cwd) for name in names}


def _object(name: str, sources: MentionSources, cwd: str) -> _Object:
    value, now = _root(name, sources), time.monotonic()
    try:
        part = _part(name, value, sources)
        if part is None:
            owner = f"of {kinds.type_name(value)}" if "." in name else kinds.type_name(value)
            return _Object(id(value), now, owner)
        about = "file" if isinstance(part, Path) else kinds.kind_of(getattr(part, "value", part))
        return _Object(id(value), now, about, content_of([part], cwd, contents))
    except Error as error:
        return _Object(id(value), now, str(error), missing=True)
    except Exception:  # a library's code: the prompt itself will say what is wrong
        _log.debug("an object cannot be previewed", exc_info=True)
        return _Object(id(value), now, kinds.type_name(value))


def _part(name: str, value: Any, sources: MentionSources) -> Any:
    """What will be attached; None if finding out might run the user's code."""
    attribute = name.partition(".")[2]
    if attribute and not kinds.is_frame(value):
        first = attribute.partition(".")[0]
        return file_of(name, sources) if getattr_static(value, first, None) is None else None
    if attribute or kinds.is_readable(value) or issubclass(type(value), (Path, *SENDABLE)):
        part = look_up(name, sources)
        return part if not attribute or kinds.is_readable(getattr(part, "value", part)) else None
    return None


def _root(name: str, sources: MentionSources) -> Any:
    return sources.error() if name == ERROR else sources.variables.get(name.partition(".")[0])


def _type_only(name: str, sources: MentionSources) -> str:
    return "the last error" if name == ERROR else kinds.type_name(_root(name, sources))
