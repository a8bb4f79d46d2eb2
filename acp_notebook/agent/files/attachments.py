"""Attach files to a prompt: small text files are embedded, all others are linked.

For an agent on another machine, which cannot follow links, all are sent as content.

Reads the files that the user named, also outside of the session's folders, because the user chose them, not
the agent. A notebook is embedded as the agent would read it, from its page if one has it open; a text with
unsaved changes as its tab has it. Runs on the loop thread, and reads files on other threads.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec.structs import replace

from ...core.ipynb.percent_format import SUFFIX
from ...core.records import Content, Image, Resource, ResourceLink
from ...errors import UsageError
from ...log import logger
from ..threads import on_a_thread
from .notebook_files import NotebookFiles
from .open_texts import OpenTexts

if TYPE_CHECKING:
    from mimetypes import MimeTypes

_log = logger(__name__)

EMBEDDED_BYTES = 64 * 1024
"""The largest file that is embedded: about 16,000 tokens. An agent reads what it needs of larger ones."""

SENT_BYTES = 8 * 1024 * 1024
"""The largest file that a remote agent gets: servers take messages of 10 MB, and base64 adds a third."""

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")

NOTEBOOK_TYPE = "application/x-ipynb+json"

_TEXTS = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/sql"),
        *("application/toml", "application/yaml", "image/svg+xml"),
    }
)


@cache
def _types() -> MimeTypes:
    """Python's own table, not the system's, so that a file has the same type on every machine."""
    from mimetypes import MimeTypes  # import it only if needed

    types = MimeTypes(filenames=())
    for type, suffix in (
        ("text/markdown", ".md"),
        ("application/toml", ".toml"),
        ("application/yaml", ".yaml"),
        ("application/yaml", ".yml"),
    ):
        types.add_type(type, suffix)
    return types


async def attach_files(
    content: tuple[Content, ...],
    files: Mapping[int, Path],
    notebooks: NotebookFiles,
    texts: OpenTexts,
    *,
    embeds: bool,
    seen: bool,
    links: bool = True,
) -> tuple[Content, ...]:
    """Replace the links at these positions of the content by these files.

    `embeds`: the agent accepts embedded resources. `seen`: the content is really sent, so that the agent
    knows a notebook in it. `links`: the agent can follow links to files of this machine; if not, every file
    is sent as content, and one that cannot be raises UsageError.
    """
    made = list(content)
    for at, path in files.items():
        link = made[at]
        assert isinstance(link, ResourceLink)
        is_notebook = path.name.lower().endswith(SUFFIX)
        unsaved = None if is_notebook else await texts.text_to_attach(str(path), seen=seen)
        if unsaved is not None and len(unsaved.encode()) <= (EMBEDDED_BYTES if links else SENT_BYTES):
            made[at] = Resource(link.uri if links else _address(path), unsaved, mime_type=_text_type(path))
        elif not links:
            made[at] = await on_a_thread(lambda path=path: _content(path))  # type: ignore[misc]
        elif is_notebook:
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


def _content(path: Path) -> Image | Resource:
    """The file as content for an agent on another machine. Blocks. Raises UsageError."""
    try:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "not a file"
            raise UsageError(f"{path} is {what}: a remote agent gets the content of files only")
        data = _bytes(path, SENT_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read, to send it: {error.strerror}") from None
    if len(data) > SENT_BYTES:
        raise UsageError(
            f"{path} has more than {SENT_BYTES // 2**20} MiB: a remote agent gets the content of a file, and "
            "this is too much; send a part of it, or put the file where the agent can read it"
        )
    uri = _address(path)
    kind = _type_of(path)
    if kind in IMAGES:
        return Image(base64.b64encode(data).decode(), kind)
    try:
        if b"\0" not in data:
            return Resource(uri, text=data.decode("utf-8-sig"), mime_type=_text_type(path))
    except UnicodeDecodeError:
        _log.debug("an attached file is not text")
    return Resource(uri, blob=base64.b64encode(data).decode(), mime_type=kind)


def _address(path: Path) -> str:
    """Not its path, which means something else on a remote agent's machine."""
    return f"attachment:///{quote(path.name)}"


def _bytes(path: Path, most: int) -> bytes:
    """The file's content, and a byte more than allowed if it is longer."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # else a pipe in its place would block
    with open(fd, "rb") as file:
        return file.read(most + 1)


def _text(path: Path) -> str | None:
    """The text; None if the file is not text, or has grown."""
    data = _bytes(path, EMBEDDED_BYTES)
    if len(data) > EMBEDDED_BYTES or b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _type_of(path: Path) -> str | None:
    if path.name.lower().endswith(SUFFIX):
        return NOTEBOOK_TYPE
    return _types().guess_type(path.name)[0]


def _text_type(path: Path) -> str:
    """The mime type of a text file: for TypeScript, the table has a video format."""
    found = _type_of(path) or ""
    return found if found.startswith("text/") or found in _TEXTS else "text/plain"
