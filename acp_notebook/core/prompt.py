"""What the user passes to a prompt -> the content that is sent, fitted to what the agent takes.

Pure. Knows text, paths and ready-made content; any other object is for the function that is passed in.
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
"""From an object, and its place in the prompt from 1, to what is sent for it."""


def content_of(
    parts: Iterable[Any], cwd: str, objects: Objects | None = None
) -> tuple[tuple[Content, ...], dict[int, Path]]:
    """The parts of a prompt as content, and which blocks of it are links to which files.

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
    """The prompt with another text in the place of its first; pictures and all else stay."""
    at = next((at for at, block in enumerate(content) if isinstance(block, Text)), None)
    new = Text(_sendable(text))
    return (new, *content) if at is None else (*content[:at], new, *content[at + 1 :])


def words_of(content: tuple[Content, ...]) -> str:
    """What `reworded` would replace."""
    return next((block.text for block in content if isinstance(block, Text)), "")


def _sendable(text: str) -> str:
    """Lone surrogates (from undecodable file names, mostly) cannot be written as UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fitted(content: Iterable[Content], can: Capabilities) -> tuple[tuple[Content, ...], tuple[str, ...]]:
    """The content as this agent takes it, and a note on each thing that was changed for that."""
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
        case Resource(uri=uri) if not can.embedded_context:
            notes.append(f"{uri} was sent as a link: this agent takes no embedded resources")
            return ResourceLink(uri, uri.rsplit("/", 1)[-1] or uri, mime_type=block.mime_type)
    return block


def _left_out(what: str, notes: list[str]) -> Content:
    notes.append(f"{what}: left out, this agent does not take it")
    return Text(f"[{what} left out: this agent does not take it]")
