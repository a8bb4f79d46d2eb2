"""Static output: what a file holds of a turn, readable everywhere and the same for the same conversation.

Knows no widget and no page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import msgspec

from ..core.export import to_html, to_markdown, to_text
from ..core.records import Json
from ..core.saved import redacted, saved
from ..core.snapshot import item_from_plain

TRANSCRIPT_MIME = "application/vnd.acp-notebook.transcript+json"
"""The structured transcript, beside its looks: `load_transcript` reads it back."""

MAX_BYTES = 1_000_000
"""Of each form, per turn: a notebook stays a file that opens. What is cut says so."""

NOTHING_YET = "Agent: nothing to show yet."
"""What js/src/static.ts says, too: a cell that was run is not empty."""

Redact = Callable[[str], str]


def bundle(
    items: Sequence[dict[str, Json]],
    *,
    cwd: str | None,
    redact: Redact | None = None,
    max_bytes: int = MAX_BYTES,
) -> dict[str, Any]:
    """The items in every form that the file keeps."""
    if not items:
        return note(NOTHING_YET)
    kept = saved(items, cwd=cwd)
    if redact is not None:
        try:
            items = [redacted(item, _checked(redact)) for item in items]
            kept["items"] = [redacted(item, _checked(redact)) for item in kept["items"]]
        except Exception as error:  # the user's function: what it has not seen is not written
            return note(f"Agent: left out of the file, because the function `redact` failed: {error!r}")
    records = [item_from_plain(item) for item in items]
    forms: dict[str, Any] = {
        "text/html": to_html(records, cwd=cwd, max_bytes=max_bytes),
        "text/markdown": _capped(to_markdown(records, cwd=cwd), max_bytes),
        "text/plain": _capped(to_text(records, cwd=cwd), max_bytes),
    }
    if len(msgspec.json.encode(kept)) <= max_bytes:
        forms[TRANSCRIPT_MIME] = kept
    return forms


def _checked(redact: Redact) -> Redact:
    def function(text: str) -> str:
        seen: object = redact(text)
        if not isinstance(seen, str):
            raise TypeError(f"it gave {type(seen).__name__}, not str")
        return seen

    return function


def note(text: str) -> dict[str, Any]:
    """A line of ours, in every form."""
    return {"text/html": f"<p>{escape(text)}</p>", "text/markdown": text, "text/plain": text}


def _capped(text: str, most: int) -> str:
    """The end of a long text, by its size in a file, and how much of it is missing."""
    data = text.encode()
    if len(data) <= most:
        return text
    kept = data[len(data) - most :].decode(errors="ignore")
    return f"(the first {len(text) - len(kept):,} characters are left out of the file)\n\n{kept}"
