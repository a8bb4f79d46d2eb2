"""numpy arrays: shape, type, a summary of the numbers, the values if they are few.

No array is copied as a whole; of a large one the first elements are looked at.
"""

from __future__ import annotations

import sys
from typing import Any

from ...core.records import Content
from .bounds import brief, is_a
from .labels import Label

SHOWN_ELEMENTS = 200
"""An array of no more is sent as a whole."""

SCANNED_ELEMENTS = 2_000_000

SHOWN_DIMENSIONS = 4
"""numpy's own writing of an array grows by a power for each dimension."""


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not is_a(value, "numpy", "ndarray"):
        return None
    kind = type(value).__name__
    parts = [label.heading(f"numpy {kind} of shape {value.shape}, dtype {brief(value.dtype)}")]
    if value.size:
        parts += filter(None, [_summary(numpy, value), _values(numpy, value)])
    return (label.resource("\n\n".join(parts)),)


def _summary(numpy: Any, value: Any) -> str:
    if value.dtype.kind not in "iufb" or value.dtype.names or value.size <= 1:
        return ""
    part = numpy.asarray(value.flat[:SCANNED_ELEMENTS], dtype="float64")
    finite = part[numpy.isfinite(part)]
    gone = len(part) - len(finite)
    words = [f"not finite: {gone:,}"] if gone else []
    if len(finite):
        with numpy.errstate(all="ignore"):
            found = {"min": finite.min(), "mean": finite.mean(), "max": finite.max(), "std": finite.std()}
        words = [*(f"{name} {brief(it.item())}" for name, it in found.items()), *words]
    scope = "" if len(part) == value.size else f" (of the first {len(part):,} of {value.size:,} elements)"
    return ", ".join(words) + scope


def _values(numpy: Any, value: Any) -> str:
    if value.size <= SHOWN_ELEMENTS and value.ndim <= SHOWN_DIMENSIONS and not _is_object(value):
        return str(numpy.array2string(value, threshold=SHOWN_ELEMENTS + 1, separator=", "))
    first = value.flat[:SHOWN_ELEMENTS]
    words = ", ".join(brief(it) for it in first.tolist())
    few = f"the first {SHOWN_ELEMENTS} of {value.size:,}" if value.size > SHOWN_ELEMENTS else "all"
    return f"Elements in order, {few}:\n{words}"


def _is_object(value: Any) -> bool:
    """Its elements may be anything, and as long as they like."""
    return bool(value.dtype.kind in "OSUV")
