"""Describe numpy arrays: shape, dtype, a summary of the numbers, and the values if they are few.

Never copies a whole array; reads only the first elements of a large one.
"""

from __future__ import annotations

import sys
from typing import Any

from ...core.records import Content
from .bounds import brief, is_a
from .labels import Label

SHOWN_ELEMENTS = 200
"""Arrays up to this size are sent completely."""

SCANNED_ELEMENTS = 2_000_000

SHOWN_DIMENSIONS = 4
"""numpy's own text of an array grows exponentially with the dimensions."""


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not is_a(value, "numpy", "ndarray"):
        return None
    kind = type(value).__name__
    parts = [label.heading(f"numpy {kind} of shape {value.shape}, dtype {brief(value.dtype)}")]
    if value.size:
        parts += filter(None, [summary(numpy, value), _values(numpy, value)])
    return (label.resource("\n\n".join(parts)),)


def summary(numpy: Any, value: Any) -> str:
    if value.dtype.kind not in "iufb" or value.dtype.names or value.size <= 1:
        return ""
    part = numpy.asarray(_first(numpy, value, SCANNED_ELEMENTS), dtype="float64")
    masked = _masked(numpy, value, SCANNED_ELEMENTS)
    visible = part if masked is None else part[~masked]
    finite = visible[numpy.isfinite(visible)]
    words = [f"not finite: {len(visible) - len(finite):,}"] if len(finite) < len(visible) else []
    words += [f"masked: {len(part) - len(visible):,}"] if masked is not None else []
    if len(finite):
        with numpy.errstate(all="ignore"):
            found = {"min": finite.min(), "mean": finite.mean(), "max": finite.max(), "std": finite.std()}
        words = [*(f"{name} {brief(it.item())}" for name, it in found.items()), *words]
    scope = "" if len(part) == value.size else f" (of the first {len(part):,} of {value.size:,} elements)"
    return ", ".join(words) + scope


def _first(numpy: Any, value: Any, count: int) -> Any:
    """The first elements, flattened and without a mask, for any class of array."""
    return numpy.asarray(value).flat[:count]


def _masked(numpy: Any, value: Any, count: int) -> Any:
    """The mask of the first elements; None if none of them is masked."""
    mask = numpy.ma.getmask(value) if is_a(value, "numpy", "MaskedArray") else numpy.ma.nomask
    if mask is numpy.ma.nomask or mask.dtype != bool:  # the mask of a record array has a value per field
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
    """Whether the text of an element can be arbitrarily long."""
    return bool(value.dtype.kind in "OSUV")
