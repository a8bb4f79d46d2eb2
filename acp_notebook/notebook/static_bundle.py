"""Static output: what the notebook file keeps of a turn. Readable everywhere, and deterministic.

Independent of widgets and pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import msgspec

from ..core.export import to_html, to_markdown, to_text
from ..core.records import Json
from ..core.saved_transcript import redacted, saved
from ..core.snapshot import item_from_plain

TRANSCRIPT_MIME = "application/vnd.acp-notebook.transcript+json"
"""The structured transcript, stored next to the rendered forms; `load_transcript` reads it."""

MAX_BYTES = 1_000_000
"""The limit per form and turn, so that the notebook stays small enough to open. Truncated text says so."""

NOTHING_YET = "Agent: nothing to show yet."
"""The same text as in js/src/static.ts, so that a cell that has run is never empty."""

Redact = Callable[[str], str]


def bundle(
    items: Sequence[dict[str, Json]],
    *,
    cwd: str | None,
    redact: Redact | None = None,
    max_bytes: int = MAX_BYTES,
) -> dict[str, Any]:
    """Render the items as a mime bundle with every form that the file keeps."""
    if not items:
        return note(NOTHING_YET)
    kept = saved(items, cwd=cwd)
    if redact is not None:
        try:
            items = [redacted(item, checked(redact)) for item in items]
            kept["items"] = [redacted(item, checked(redact)) for item in kept["items"]]
        except Exception as error:  # the user's function: text that it has not redacted is not written
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


def checked(redact: Redact) -> Redact:
    """The user's function; raises TypeError if it returns something else than text."""

    def function(text: str) -> str:
        result: object = redact(text)
        if not isinstance(result, str):
            raise TypeError(f"it returned {type(result).__name__}, not str")
        return result

    return function


def note(text: str) -> dict[str, Any]:
    """A mime bundle with one line of text."""
    return {"text/html": f"<p>{escape(text)}</p>", "text/markdown": text, "text/plain": text}


def _capped(text: str, max_bytes: int) -> str:
    """Keep the end of a text that is too long, and say how much is missing."""
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    kept = data[len(data) - max_bytes :].decode(errors="ignore")
    return f"(the first {len(text) - len(kept):,} characters are left out of the file)\n\n{kept}"
