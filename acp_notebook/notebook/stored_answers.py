"""Reuse the answer that an output of a notebook holds, if its prompt is still the same.

The output may be of other people: it is read, checked and rendered again, and its own HTML is never shown.
"""

from __future__ import annotations

from ..core.export import to_html, to_summary
from ..core.loaded_transcript import loaded, turn_part
from ..core.saved_transcript import Part
from ..core.snapshot import TurnStart
from ..log import logger, suppressed
from .saved_conversations import Data, html_of
from .static_bundle import MAX_BYTES, TRANSCRIPT_MIME, Bundle

_log = logger(__name__)

STORED = "<p><small>Stored answer: the prompt is unchanged, so the agent was not asked.</small></p>"


def stored_turn(data: Data, digest: str) -> Part | None:
    """The turn that an output holds, if it answers the prompt with this digest."""
    with suppressed(_log, ValueError):
        part = turn_part(data.get(TRANSCRIPT_MIME))
        if part is not None and part.digest == digest:
            return part
    return None


def stored_answer(data: Data, digest: str) -> Bundle | None:
    """The output, rendered again, if it holds the answer to the prompt with this digest."""
    part = stored_turn(data, digest)
    with suppressed(_log, ValueError):
        items = loaded([data[TRANSCRIPT_MIME]], [html_of(data)]).items if part is not None else ()
        if part is not None and any(isinstance(it, TurnStart) and it.status == "done" for it in items):
            return {
                "text/html": STORED + to_html(items, max_bytes=MAX_BYTES),
                "text/plain": to_summary(items),
                TRANSCRIPT_MIME: part.line(),
            }
    return None


def cost_of(part: Part) -> str | None:
    """What the stored answer cost, in words, if its agent said so."""
    match part.items:
        case ({"cost": {"amount": int() | float() as amount, "currency": str(currency)}}, *_):
            return f"{amount:.4g} {currency[:10]}"
    return None
