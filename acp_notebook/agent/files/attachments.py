"""Files that a prompt brings along: small text goes with it, for all else a link.

Reads what the user named, wherever that is: it is the user's own doing, not the agent's. A notebook goes as
the agent would read it, from its page if one has it open. Lives on the loop thread; files are touched on
others.
"""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ...core.ipynb.percent_format import SUFFIX
from ...core.records import Content, Resource, ResourceLink
from ..threads import on_a_thread
from .notebook_files import NotebookFiles

EMBEDDED_BYTES = 64 * 1024
"""Of a file that goes with the prompt: some 16,000 tokens. Of a longer one an agent reads what it needs."""

NOTEBOOK_TYPE = "application/x-ipynb+json"

_TEXTS = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/sql"),
        *("application/toml", "application/yaml", "image/svg+xml"),
    }
)

_types = mimetypes.MimeTypes(filenames=())
"""Python's own table, not the system's: the same type on every machine."""
for _type, _suffix in (
    ("text/markdown", ".md"),
    ("application/toml", ".toml"),
    ("application/yaml", ".yaml"),
    ("application/yaml", ".yml"),
):
    _types.add_type(_type, _suffix)


async def attached(
    content: tuple[Content, ...],
    files: Mapping[int, Path],
    notebooks: NotebookFiles,
    *,
    embeds: bool,
    seen: bool,
) -> tuple[Content, ...]:
    """The content, with the blocks at these places made of these files.

    `embeds`: the agent takes embedded resources. `seen`: it is really sent, and a notebook counts as read.
    """
    made = list(content)
    for at, path in files.items():
        link = made[at]
        assert isinstance(link, ResourceLink)
        if path.name.lower().endswith(SUFFIX):
            made[at] = await _notebook(link, path, notebooks, embeds=embeds, seen=seen)
        else:
            made[at] = await on_a_thread(lambda link=link, path=path: _file(link, path, embeds=embeds))  # type: ignore[misc]
    return tuple(made)


async def _notebook(
    link: ResourceLink, path: Path, notebooks: NotebookFiles, *, embeds: bool, seen: bool
) -> Resource | ResourceLink:
    text = await notebooks.text_to_embed(str(path), EMBEDDED_BYTES, seen=seen) if embeds else None
    if text is not None:
        return Resource(link.uri, text=text, mime_type=NOTEBOOK_TYPE)
    return await on_a_thread(lambda: _file(link, path, embeds=False))


def _file(link: ResourceLink, path: Path, *, embeds: bool) -> Resource | ResourceLink:
    """Blocks. What cannot be looked at is a link: perhaps the agent can."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return link
        text = _text(path) if embeds and status.st_size <= EMBEDDED_BYTES else None
    except (OSError, ValueError):
        return link
    if text is not None:
        return Resource(link.uri, text=text, mime_type=_text_type(path))
    return replace(link, mime_type=_type_of(path), size=status.st_size)


def _text(path: Path) -> str | None:
    """None for what is no text, or has grown."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # swapped for a pipe, it would block
    with open(fd, "rb") as file:
        data = file.read(EMBEDDED_BYTES + 1)
    if len(data) > EMBEDDED_BYTES or b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _type_of(path: Path) -> str | None:
    if path.name.lower().endswith(SUFFIX):
        return NOTEBOOK_TYPE
    return _types.guess_type(path.name)[0]


def _text_type(path: Path) -> str:
    """Of a file that is text: the table has a kind of film for TypeScript."""
    found = _type_of(path) or ""
    return found if found.startswith("text/") or found in _TEXTS else "text/plain"
