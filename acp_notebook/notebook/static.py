"""Static output: what a file holds of a turn, readable everywhere and the same for the same conversation.

Knows no widget and no page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.export import to_html, to_markdown, to_text
from ..core.records import Json
from ..core.saved import redacted, saved
from ..core.snapshot import item_from_plain

TRANSCRIPT_MIME = "application/vnd.acp-notebook.transcript+json"
"""The structured transcript, beside its looks: `load_transcript` reads it back."""

MAX_BYTES = 1_000_000
"""Of each form, per turn: a notebook stays a file that opens. What is cut says so."""

Redact = Callable[[str], str]


def bundle(
    items: Sequence[dict[str, Json]],
    *,
    cwd: str | None,
    redact: Redact | None = None,
    max_bytes: int = MAX_BYTES,
) -> dict[str, Any]:
    """The items in every form that the file keeps."""
    kept = saved(items, cwd=cwd)
    if redact is not None:
        kept, items = redacted(kept, redact), redacted(list(items), redact)
    records = [item_from_plain(item) for item in items]
    forms: dict[str, Any] = {
        "text/html": to_html(records, cwd=cwd, max_bytes=max_bytes),
        "text/markdown": _capped(to_markdown(records, cwd=cwd), max_bytes),
        "text/plain": _capped(to_text(records, cwd=cwd), max_bytes),
    }
    if len(repr(kept)) <= max_bytes:
        forms[TRANSCRIPT_MIME] = kept
    return forms


def _capped(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = len(text) - most
    return f"(the first {cut:,} characters are left out of the file)\n\n{text[cut:]}"
