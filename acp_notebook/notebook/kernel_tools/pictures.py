"""Images for a model: PNG or JPEG, no larger than models use."""

from __future__ import annotations

import base64
import binascii
import io
import struct
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ...core.records import Image, Json
from ...log import logger
from ..content.pictures import IMAGE_BYTES, SIDE

_log = logger(__name__)

TYPES = ("image/png", "image/jpeg")
PNG = b"\x89PNG\r\n\x1a\n"


def picture_of(data: Mapping[str, Json]) -> Image | None:
    """The image in a mime bundle, scaled down if it is too large; None if there is none that can be sent."""
    for mime in TYPES:
        encoded = data.get(mime)
        if isinstance(encoded, list):  # notebook files may contain line breaks
            encoded = "".join(map(str, encoded))
        if isinstance(encoded, str):
            return _fitting(encoded, mime)
    return None


def _fitting(encoded: str, mime: str) -> Image | None:
    try:
        raw = base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return None
    size = _png_size(raw)
    if size is not None and max(size) <= SIDE and len(raw) <= IMAGE_BYTES:
        return Image("".join(encoded.split()), mime)
    return _scaled(raw, mime, encoded)


def _png_size(raw: bytes) -> tuple[int, int] | None:
    if not raw.startswith(PNG) or len(raw) < 24:
        return None
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def _scaled(raw: bytes, mime: str, encoded: str) -> Image | None:
    try:
        pil: Any = import_module("PIL.Image")  # usually installed with matplotlib
        picture = pil.open(io.BytesIO(raw))
        if max(picture.size) <= SIDE and len(raw) <= IMAGE_BYTES:
            return Image("".join(encoded.split()), mime)
        picture.thumbnail((SIDE, SIDE))
        made = io.BytesIO()
        picture.save(made, "PNG")
    except Exception:  # no PIL, or an image that it cannot read
        _log.debug("a picture could not be scaled", exc_info=True)
        return None
    return Image(base64.b64encode(made.getvalue()).decode("ascii"), "image/png")
