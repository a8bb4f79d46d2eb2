"""Describe figures and images as pictures, scaled down to the size that models use, or in words.

Uses the objects' own methods and never draws on a screen.
"""

from __future__ import annotations

import base64
import io
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ... import timeouts
from ...core.records import Content, Image, Text
from ...log import logger
from .bounds import brief, first, is_a, leaf
from .labels import Label

_log = logger(__name__)

SIDE = 1568
"""Pixels of the longer side: models scale larger pictures down to about this."""

DPI = 150
"""The highest resolution of a figure: enough to read its text."""

IMAGE_BYTES = 3_500_000
"""The limit before base64 encoding: model APIs refuse more than 5 MB after it."""

HALVINGS = 5
"""How often to halve the side until a picture is small enough."""

SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}

AXES = 6
"""How many axes of a figure are described in words."""

TRACES = 20
TRACE_DATA = ("x", "y", "z", "values", "labels", "lat", "lon", "locations", "r", "theta")


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if is_a(value, "PIL", "Image"):
        return _pil(value, label)
    if is_a(value, "plotly", "BaseFigure"):
        return _plotly(value, label)
    figure = _matplotlib_figure(value)
    return None if figure is None else _matplotlib(figure, label)


def sniff(start: bytes) -> str | None:
    """The mime type of a picture or audio, by its first bytes."""
    if start[:4] == b"RIFF":
        return RIFF.get(start[8:12])
    return next((kind for mark, kind in SIGNATURES if start.startswith(mark)), None)


def picture(data: bytes, mime_type: str, label: Label, what: str) -> tuple[Content, ...]:
    """Send an encoded picture; if it is too large, scale it, provided that PIL is already imported."""
    pil = sys.modules.get("PIL.Image")
    if len(data) > IMAGE_BYTES and pil is not None:
        return _pil(pil.open(io.BytesIO(data)), label)
    if len(data) > IMAGE_BYTES:
        return (Text(label.heading(f"{what}, too large to send; import PIL.Image to scale it down")),)
    return _content(data, mime_type, label, what)


def _content(data: bytes, mime_type: str, label: Label, what: str) -> tuple[Content, ...]:
    encoded = base64.b64encode(data).decode("ascii")
    return Text(label.heading(f"{what}:")), Image(encoded, mime_type)


def _fit(render: Callable[[int], bytes]) -> bytes | None:
    """Render with half the side until the result is small enough to send."""
    for halving in range(HALVINGS):
        data = render(SIDE >> halving)
        if len(data) <= IMAGE_BYTES:
            return data
    return None


# ---- PIL


def _pil(value: Any, label: Label) -> tuple[Content, ...]:
    width, height = value.size
    what = f"image of {width} by {height} pixels, {value.mode}"
    data = _fit(lambda side: _scaled_png(value, side))
    if data is None:
        return (Text(label.heading(f"{what}, too large to send")),)
    return _content(data, "image/png", label, what)


def _scaled_png(value: Any, side: int) -> bytes:
    factor = side / max(*value.size, 1)
    if factor < 1:
        size = tuple(max(1, round(it * factor)) for it in value.size)
        value = value.resize(size, reducing_gap=2.0)  # in two steps, which avoids a full-size copy
    if value.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        value = value.convert("L" if value.mode in ("F", "I") else "RGB")
    out = io.BytesIO()
    value.save(out, "PNG")
    return out.getvalue()


# ---- matplotlib


def _matplotlib_figure(value: Any) -> Any:
    """The whole figure that the object is, or is part of; None if it is neither."""
    if is_a(value, "numpy", "ndarray") and value.dtype == object and value.size:
        value = value.flat[0]  # the array of axes from plt.subplots
    if is_a(value, "matplotlib", "Figure"):
        return value
    if is_a(value, "matplotlib", "SubFigure", "_AxesBase"):
        figure = value.figure
        return getattr(figure, "figure", figure) if is_a(figure, "matplotlib", "SubFigure") else figure
    if is_a(value, "seaborn", "Grid", "FacetGrid", "PairGrid", "JointGrid", "ClusterGrid"):
        return value.figure
    return None


def _matplotlib(figure: Any, label: Label) -> tuple[Content, ...]:
    data = _fit(lambda side: _draw_png(figure, side))
    what = f"matplotlib figure{_axes(figure)}"
    if data is None:
        return (Text(label.heading(f"{what}, too large to send")),)
    return _content(data, "image/png", label, what)


def _draw_png(figure: Any, side: int) -> bytes:
    inches = max(map(float, figure.get_size_inches()))
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=min(DPI, side / inches))
    return out.getvalue()


def _axes(figure: Any) -> str:
    """The titles and labels of the axes, also for agents that take no pictures."""
    words = []
    for axes in first(figure.axes, AXES):
        texts = {"": axes.get_title(), "x: ": axes.get_xlabel(), "y: ": axes.get_ylabel()}
        words.append(", ".join(f"{name}{brief(it)}" for name, it in texts.items() if it))
    named = "; ".join(filter(None, words))
    return f" ({named})" if named else ""


# ---- plotly


def _plotly(figure: Any, label: Label) -> tuple[Content, ...]:
    data = _export(figure) if find_spec("kaleido") is not None else None
    if data is not None and sniff(data) == "image/png":
        return picture(data, "image/png", label, "plotly figure")
    why = "its export failed" if find_spec("kaleido") is not None else "install kaleido for the picture"
    text = f"{label.heading('plotly figure')}, in words ({why})\n\n{_spec(figure)}"
    return (label.resource(text),)


def _export(figure: Any) -> bytes | None:
    """Export to PNG on a separate thread, which is abandoned after `picture_export`."""
    got: list[bytes] = []

    def export() -> None:
        try:
            got.append(figure.to_image(format="png"))
        except Exception:  # no browser, or the renderer failed: describe the figure in words instead
            _log.debug("a figure could not be exported", exc_info=True)
            got.append(b"")

    thread = threading.Thread(target=export, name="acp-plotly", daemon=True)
    thread.start()
    thread.join(timeouts.get().picture_export)
    return got[0] if got else None


def _spec(figure: Any) -> str:
    title = figure.layout.title.text
    lines = [f"title: {brief(title)}"] if title else []
    for axis in ("xaxis", "yaxis"):
        text = getattr(figure.layout, axis).title.text
        lines += [f"{axis}: {brief(text)}"] if text else []
    lines += [f"trace {at}: {_trace(it)}" for at, it in enumerate(figure.data[:TRACES], 1)]
    if len(figure.data) > TRACES:
        lines.append(f"… {len(figure.data) - TRACES:,} more traces")
    return "\n".join(lines)


def _trace(trace: Any) -> str:
    words = [str(trace.type), *([leaf(trace.name)] if trace.name else [])]
    for name in TRACE_DATA:
        values = getattr(trace, name, None)
        if values is not None and not isinstance(values, str) and hasattr(values, "__len__"):
            shown = ", ".join(brief(it) for it in first(values, 5))
            words.append(f"{name}: {len(values):,} values ({shown}{', …' if len(values) > 5 else ''})")
    return ", ".join(words)
