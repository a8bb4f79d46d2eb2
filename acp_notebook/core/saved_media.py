"""Keep images and sounds once: a transcript refers to those that the HTML of the same notebook embeds.

Pure. A reference is "#" and the start of the data's SHA-256, so that it holds wherever the HTML is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from msgspec.structs import replace

from .records import Json
from .saved_transcript import Part

_EMBEDDED = re.compile(r'\bsrc="data:[\w.+-]+/[\w.+-]+;base64,([A-Za-z0-9+/]+={0,2})"')

_DIGITS = 20


def without_media(part: Part, html: str) -> Part:
    """Replace the data that the HTML embeds by references to it."""
    names = {data: name for name, data in embedded([html]).items()}
    if not names:
        return part
    return _with_data(part, lambda data: names.get("".join(data.split()), data))


def with_media(part: Part, media: Mapping[str, str]) -> Part:
    """Put back the data, as far as it was found."""
    return _with_data(part, lambda data: media.get(data, "") if data.startswith("#") else data)


def embedded(texts: Iterable[str]) -> dict[str, str]:
    """The data that is embedded in HTML, by the names that transcripts use."""
    found = (match[1] for text in texts for match in _EMBEDDED.finditer(text))
    return {f"#{sha256(data.encode()).hexdigest()[:_DIGITS]}": data for data in found}


def _with_data(part: Part, change: Callable[[str], str]) -> Part:
    def changed(value: Json) -> Json:
        if isinstance(value, list | tuple):
            return [changed(it) for it in value]
        if not isinstance(value, dict):
            return value
        fields = {name: changed(it) for name, it in value.items()}
        if value.get("type") in ("image", "audio") and isinstance(value.get("data"), str):
            fields["data"] = change(value["data"])
        return fields

    return replace(part, items=tuple(changed(item) for item in part.items))
