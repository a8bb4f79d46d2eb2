"""Figures and images as pictures, scaled down to what models look at; else what can be said of them.

Everything goes through the objects' own methods; a picture is never drawn on a screen.
"""

from __future__ import annotations

import base64
import io
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ...core.records import Content, Image, Text
from .bounds import brief, first, is_a, leaf
from .labels import Label

SIDE = 1568
"""Pixels of the longer side: models scale what is larger down to about this."""

DPI = 150
"""Of a figure, at most: its letters are then clear."""

IMAGE_BYTES = 3_500_000
"""Before base64: the interfaces of models refuse what is larger than 5 MB behind it."""

HALVINGS = 5
"""Of the side, until a picture is small enough."""

EXPORT_S = 30.0
"""For plotly's own export, which starts a browser: it may take long, or never end."""

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
"""Of a figure, told in words."""

TRACES = 20
TRACE_DATA = ("x", "y", "z", "values", "labels", "lat", "lon", "locations", "r", "theta")


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if is_a(value, "PIL", "Image"):
        return _pil(value, label)
    if is_a(value, "plotly", "BaseFigure"):
        return _plotly(value, label)
    figure = _matplotlib_figure(value)
    return None if figure is None else _matplotlib(figure, label)


def sniffed(start: bytes) -> str | None:
    """The type of a picture or a sound, by its first bytes."""
    if start[:4] == b"RIFF":
        return RIFF.get(start[8:12])
    return next((kind for mark, kind in SIGNATURES if start.startswith(mark)), None)


def picture(data: bytes, mime_type: str, label: Label, what: str) -> tuple[Content, ...]:
    """A ready picture; one that is too large is scaled where a library for it is there already."""
    pil = sys.modules.get("PIL.Image")
    if len(data) > IMAGE_BYTES and pil is not None:
        return _pil(pil.open(io.BytesIO(data)), label)
    if len(data) > IMAGE_BYTES:
        return (Text(label.heading(f"{what}, too large to send; import PIL and it is scaled down")),)
    return _sent(data, mime_type, label, what)


def _sent(data: bytes, mime_type: str, label: Label, what: str) -> tuple[Content, ...]:
    encoded = base64.b64encode(data).decode("ascii")
    return Text(label.heading(f"{what}:")), Image(encoded, mime_type)


def _fitting(made: Callable[[int], bytes]) -> bytes | None:
    """As large as may be sent: made with half the side until it is."""
    for halving in range(HALVINGS):
        data = made(SIDE >> halving)
        if len(data) <= IMAGE_BYTES:
            return data
    return None


# ---- PIL


def _pil(value: Any, label: Label) -> tuple[Content, ...]:
    width, height = value.size
    what = f"image of {width} by {height} pixels, {value.mode}"
    data = _fitting(lambda side: _scaled(value, side))
    if data is None:
        return (Text(label.heading(f"{what}, too large to send")),)
    return _sent(data, "image/png", label, what)


def _scaled(value: Any, side: int) -> bytes:
    factor = side / max(*value.size, 1)
    if factor < 1:
        size = tuple(max(1, round(it * factor)) for it in value.size)
        value = value.resize(size, reducing_gap=2.0)  # in steps: the whole is never copied
    if value.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        value = value.convert("L" if value.mode in ("F", "I") else "RGB")
    out = io.BytesIO()
    value.save(out, "PNG")
    return out.getvalue()


# ---- matplotlib


def _matplotlib_figure(value: Any) -> Any:
    """The whole figure that it is, or is a part of."""
    if is_a(value, "numpy", "ndarray") and value.dtype == object and value.size:
        value = value.flat[0]  # what plt.subplots gives
    if is_a(value, "matplotlib", "Figure"):
        return value
    if is_a(value, "matplotlib", "SubFigure", "_AxesBase"):
        figure = value.figure
        return getattr(figure, "figure", figure) if is_a(figure, "matplotlib", "SubFigure") else figure
    if is_a(value, "seaborn", "Grid", "FacetGrid", "PairGrid", "JointGrid", "ClusterGrid"):
        return value.figure
    return None


def _matplotlib(figure: Any, label: Label) -> tuple[Content, ...]:
    data = _fitting(lambda side: _drawn(figure, side))
    what = f"matplotlib figure{_axes(figure)}"
    if data is None:
        return (Text(label.heading(f"{what}, too large to send")),)
    return _sent(data, "image/png", label, what)


def _drawn(figure: Any, side: int) -> bytes:
    inches = max(map(float, figure.get_size_inches()))
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=min(DPI, side / inches))
    return out.getvalue()


def _axes(figure: Any) -> str:
    """Their titles and labels: for an agent that takes no pictures, too."""
    words = []
    for axes in first(figure.axes, AXES):
        told = {"": axes.get_title(), "x: ": axes.get_xlabel(), "y: ": axes.get_ylabel()}
        words.append(", ".join(f"{name}{brief(it)}" for name, it in told.items() if it))
    named = "; ".join(filter(None, words))
    return f" ({named})" if named else ""


# ---- plotly


def _plotly(figure: Any, label: Label) -> tuple[Content, ...]:
    data = _exported(figure) if find_spec("kaleido") is not None else None
    if data is not None and sniffed(data) == "image/png":
        return picture(data, "image/png", label, "plotly figure")
    why = "its export failed" if find_spec("kaleido") is not None else "install kaleido for the picture"
    text = f"{label.heading('plotly figure')}, in words ({why})\n\n{_spec(figure)}"
    return (label.resource(text),)


def _exported(figure: Any) -> bytes | None:
    """On a thread of its own, which is left behind if it does not end."""
    got: list[bytes] = []

    def export() -> None:
        try:
            got.append(figure.to_image(format="png"))
        except Exception:  # a browser that is not there, a renderer that failed: then words do
            got.append(b"")

    thread = threading.Thread(target=export, name="acp-plotly", daemon=True)
    thread.start()
    thread.join(EXPORT_S)
    return got[0] if got else None


def _spec(figure: Any) -> str:
    title = figure.layout.title.text
    lines = [f"title: {brief(title)}"] if title else []
    for axis in ("xaxis", "yaxis"):
        told = getattr(figure.layout, axis).title.text
        lines += [f"{axis}: {brief(told)}"] if told else []
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
