"""Converts what the user passes to a prompt to content that the agent accepts.

Pure. Handles text, paths and content records; a function passed in converts any other object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from .records import Audio, Content, Image, Resource, ResourceLink, Text
from .requests import Capabilities

SENDABLE = (Text, Image, Audio, ResourceLink, Resource)

KNOWN = (str, Path, *get_args(Content))

Objects = Callable[[Any, int], Iterable[Content]]
"""Converts an object to content, given the object and its position in the prompt (from 1)."""


def content_of(
    parts: Iterable[Any], cwd: str, objects: Objects | None = None
) -> tuple[tuple[Content, ...], dict[int, Path]]:
    """Convert the parts of a prompt to content; also returns which blocks are links to which files.

    Raises ValueError that names what cannot be sent.
    """
    content: list[Content] = []
    files: dict[int, Path] = {}
    for at, part in enumerate(parts, 1):
        if isinstance(part, Path):
            files[len(content)] = _absolute(part, cwd)
        content += _blocks(part, cwd, at, objects)
    if not any(not isinstance(block, Text) or block.text.strip() for block in content):
        raise ValueError("the prompt is empty")
    return tuple(content), files


def _absolute(path: Path, cwd: str) -> Path:
    return path if path.is_absolute() else Path(cwd) / path


def _blocks(part: Any, cwd: str, at: int, objects: Objects | None) -> Iterable[Content]:
    if objects is None or isinstance(part, KNOWN):
        return (_block(part, cwd),)
    return (_block(block, cwd) for block in objects(part, at))


def _block(part: Any, cwd: str) -> Content:
    match part:
        case str():
            return Text(_sendable(part))
        case Path():
            path = _absolute(part, cwd)
            return ResourceLink(path.as_uri(), _sendable(path.name or str(path)))
        case Resource(text=None, blob=None):
            raise ValueError(f"{part.uri} has neither text nor blob; a ResourceLink sends the link alone")
        case Text() | Image() | Audio() | ResourceLink() | Resource():
            texts = {name: getattr(part, name) for name in part.__struct_fields__}
            return replace(part, **{n: _sendable(it) for n, it in texts.items() if isinstance(it, str)})
    raise ValueError(
        f"a {type(part).__name__} cannot be sent; pass text, a Path, or content such as acp.Image(...)"
    )


def reworded(content: tuple[Content, ...], text: str) -> tuple[Content, ...]:
    """Replace the first text of the prompt; images and everything else stay."""
    at = next((at for at, block in enumerate(content) if isinstance(block, Text)), None)
    new = Text(_sendable(text))
    return (new, *content) if at is None else (*content[:at], new, *content[at + 1 :])


def words_of(content: tuple[Content, ...]) -> str:
    """The text that `reworded` would replace."""
    return next((block.text for block in content if isinstance(block, Text)), "")


def sent_bytes(block: Content) -> int:
    """The bytes of text and data of a block."""
    match block:
        case Text(text=text) | Resource(text=str(text)):
            return len(text.encode())
        case Image(data=data) | Audio(data=data) | Resource(blob=str(data)):
            return len(data)
        case ResourceLink(uri=uri):
            return len(uri.encode())
    return 0


def _sendable(text: str) -> str:
    """Replace lone surrogates, mostly from undecodable file names: they cannot be encoded as UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fitted(content: Iterable[Content], can: Capabilities) -> tuple[tuple[Content, ...], tuple[str, ...]]:
    """Adapt the content to what this agent accepts; also returns a note on each change."""
    notes: list[str] = []
    return tuple(_fitted(block, can, notes) for block in content), tuple(notes)


def _fitted(block: Content, can: Capabilities, notes: list[str]) -> Content:
    match block:
        case Image(mime_type=mime_type) if not can.image:
            return _left_out(f"image ({mime_type})", notes)
        case Audio(mime_type=mime_type) if not can.audio:
            return _left_out(f"sound ({mime_type})", notes)
        case Resource(uri=uri, text=str(text)) if not can.embedded_context:
            notes.append(f"{uri} was sent as plain text: this agent takes no embedded resources")
            return Text(f"\n{uri}:\n```\n{text}\n```\n")
        case Resource(uri=uri) if not can.embedded_context and uri.startswith("attachment:"):
            return _left_out(uri.rpartition("/")[2], notes)
        case Resource(uri=uri) if not can.embedded_context:
            notes.append(f"{uri} was sent as a link: this agent takes no embedded resources")
            return ResourceLink(uri, uri.rsplit("/", 1)[-1] or uri, mime_type=block.mime_type)
    return block


def _left_out(what: str, notes: list[str]) -> Content:
    notes.append(f"{what}: left out, this agent does not take it")
    return Text(f"[{what} left out: this agent does not take it]")
