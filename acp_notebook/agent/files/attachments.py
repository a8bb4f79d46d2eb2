"""Attach files to a prompt: small text files are embedded, all others are linked.

Reads the files that the user named, also outside of the session's folders, because the user chose them, not
the agent. A notebook is embedded as the agent would read it, from its page if one has it open. Runs on the
loop thread, and reads files on other threads.
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
from ...log import logger
from ..threads import on_a_thread
from .notebook_files import NotebookFiles

_log = logger(__name__)

EMBEDDED_BYTES = 64 * 1024
"""The largest file that is embedded: about 16,000 tokens. An agent reads what it needs of larger ones."""

NOTEBOOK_TYPE = "application/x-ipynb+json"

_TEXTS = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/sql"),
        *("application/toml", "application/yaml", "image/svg+xml"),
    }
)

_types = mimetypes.MimeTypes(filenames=())
"""Python's own table, not the system's, so that a file has the same type on every machine."""
for _type, _suffix in (
    ("text/markdown", ".md"),
    ("application/toml", ".toml"),
    ("application/yaml", ".yaml"),
    ("application/yaml", ".yml"),
):
    _types.add_type(_type, _suffix)


async def attach_files(
    content: tuple[Content, ...],
    files: Mapping[int, Path],
    notebooks: NotebookFiles,
    *,
    embeds: bool,
    seen: bool,
) -> tuple[Content, ...]:
    """Replace the links at these positions of the content by these files.

    `embeds`: the agent accepts embedded resources. `seen`: the content is really sent, so that the agent
    knows a notebook in it.
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
    """Embed or link a file. Blocks. Links an unreadable file, because the agent may be able to read it."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return link
        text = _text(path) if embeds and status.st_size <= EMBEDDED_BYTES else None
    except (OSError, ValueError):
        _log.debug("an attached file cannot be read and is sent as a link", exc_info=True)
        return link
    if text is not None:
        return Resource(link.uri, text=text, mime_type=_text_type(path))
    return replace(link, mime_type=_type_of(path), size=status.st_size)


def _text(path: Path) -> str | None:
    """The text; None if the file is not text, or has grown."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # else a pipe in its place would block
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
    """The mime type of a text file: for TypeScript, the table has a video format."""
    found = _type_of(path) or ""
    return found if found.startswith("text/") or found in _TEXTS else "text/plain"
