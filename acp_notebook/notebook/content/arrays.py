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
    part = numpy.asarray(_first(numpy, value, SCANNED_ELEMENTS), dtype="float64")
    masked = _masked(numpy, value, SCANNED_ELEMENTS)
    told = part if masked is None else part[~masked]
    finite = told[numpy.isfinite(told)]
    words = [f"not finite: {len(told) - len(finite):,}"] if len(finite) < len(told) else []
    words += [f"masked: {len(part) - len(told):,}"] if masked is not None else []
    if len(finite):
        with numpy.errstate(all="ignore"):
            found = {"min": finite.min(), "mean": finite.mean(), "max": finite.max(), "std": finite.std()}
        words = [*(f"{name} {brief(it.item())}" for name, it in found.items()), *words]
    scope = "" if len(part) == value.size else f" (of the first {len(part):,} of {value.size:,} elements)"
    return ", ".join(words) + scope


def _first(numpy: Any, value: Any, count: int) -> Any:
    """The first elements, in one dimension and without a mask, whatever class of array it is."""
    return numpy.asarray(value).flat[:count]


def _masked(numpy: Any, value: Any, count: int) -> Any:
    """Which of the first elements are masked; None: none is."""
    mask = numpy.ma.getmask(value) if is_a(value, "numpy", "MaskedArray") else numpy.ma.nomask
    if mask is numpy.ma.nomask or mask.dtype != bool:  # that of records has a truth for each field
        return None
    first = _first(numpy, mask, count)
    return first if first.any() else None


def _values(numpy: Any, value: Any) -> str:
    if value.size <= SHOWN_ELEMENTS and value.ndim <= SHOWN_DIMENSIONS and not _is_object(value):
        return str(numpy.array2string(value, threshold=SHOWN_ELEMENTS + 1, separator=", "))
    masked = _masked(numpy, value, SHOWN_ELEMENTS)
    shown = [brief(it) for it in _first(numpy, value, SHOWN_ELEMENTS).tolist()]
    if masked is not None:
        shown = ["--" if hidden else it for it, hidden in zip(shown, masked, strict=True)]
    words = ", ".join(shown)
    few = f"the first {SHOWN_ELEMENTS} of {value.size:,}" if value.size > SHOWN_ELEMENTS else "all"
    return f"Elements in order, {few}:\n{words}"


def _is_object(value: Any) -> bool:
    """Its elements may be anything, and as long as they like."""
    return bool(value.dtype.kind in "OSUV")
