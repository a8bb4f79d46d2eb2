"""Static output: what the notebook file keeps of a turn. Readable everywhere, and deterministic.

Each part of a conversation has three forms: the structured transcript, HTML and a short text. A whole
conversation is composed of its parts; a page does the same, and refers to those that the file has already
(js/src/static.ts). Independent of widgets and pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from msgspec.structs import replace

from ..core.export import to_html, to_reference, to_summary
from ..core.origin import Origin
from ..core.prompt_digest import answered_prompt, prompt_digest
from ..core.records import Json
from ..core.saved_bounds import bounded_items
from ..core.saved_media import without_media
from ..core.saved_transcript import Part, redacted, saved, split_turns
from ..core.snapshot import item_from_plain
from ..log import logger

_log = logger(__name__)

TRANSCRIPT_MIME = "application/vnd.acp-notebook.transcript+json"
"""The structured transcript, stored next to the rendered forms; `load_transcript` reads it."""

MAX_BYTES = 1_000_000
"""The limit per form and part, so that the notebook stays small enough to open. Truncated text says so."""

WHOLE_BYTES = 4_000_000
"""The limit of a whole conversation; its oldest parts are left out first. The same as in js/src/static.ts."""

CONVERSATION = "A conversation with an agent."
"""The text of a session whose turns are all elsewhere. The same text as in js/src/static.ts."""

RUN_TO_CONTINUE = "<p><small>Run this cell to continue.</small></p>"
"""The end of a session's HTML, in the line of its last turn. The same text as in js/src/static.ts."""

NOTHING_YET = "Agent: nothing to show yet."
"""The same text as in js/src/static.ts, so that a cell that has run is never empty."""

Redact = Callable[[str], str]
Bundle = dict[str, Any]
Items = list[dict[str, Json]]


class Renderer:
    """Renders the parts of one session's conversation for the file."""

    def __init__(
        self, origin: Origin, *, cwd: str | None, redact: Redact | None = None, redaction: object = None
    ) -> None:
        self.redaction = redaction
        """Differs if the same text is redacted differently."""
        self._origin = origin
        self._cwd = cwd
        self._redact = None if redact is None else checked(redact)

    def part(self, name: str, items: Sequence[dict[str, Json]], max_bytes: int = MAX_BYTES) -> Bundle:
        """The forms of one part: of the turn with this id, or of what is between two turns."""
        if not items:
            return note(NOTHING_YET)
        try:
            kept = bounded_items([self._redacted(item) for item in items])
        except Exception as error:  # the user's function: text that it has not redacted is not written
            return note(f"Agent: left out of the file, because the function `redact` failed: {error!r}")
        records = [item_from_plain(item) for item in kept]
        forms: Bundle = {
            "text/html": to_html(records, cwd=self._cwd, max_bytes=max_bytes),
            "text/plain": _capped(to_summary(records, cwd=self._cwd), max_bytes),
        }
        part = replace(saved(kept, name=name, cwd=self._cwd, origin=self._origin), digest=self._digest(items))
        line = without_media(part, forms["text/html"]).line()
        if len(line.encode()) <= max_bytes:
            forms[TRANSCRIPT_MIME] = line
        return forms

    def _digest(self, items: Sequence[dict[str, Json]]) -> str | None:
        """The digest of the turn's prompt; none if it was redacted: it would tell about it."""
        prompt = answered_prompt(items)
        if prompt is None or self._redacted(items[0])["prompt"] != items[0]["prompt"]:
            return None
        return prompt_digest(self._origin.agent, prompt, self._cwd)

    def reference(self, items: Sequence[dict[str, Json]]) -> str:
        """The HTML that stands for a part where the file has it already."""
        try:
            records = [item_from_plain(self._redacted(item)) for item in items[:1]]
        except Exception as error:  # the user's function; the part itself says so
            _log.debug("a reference is left empty: the function `redact` failed: %r", error)
            records = []
        return to_reference(records, cwd=self._cwd)

    def head(self, names: Sequence[str]) -> str:
        """The transcript of a whole conversation without its parts."""
        return Part(agent=self._origin.agent, session=self._origin.session, parts=tuple(names)).line()

    def whole(self, items: Items) -> Bundle:
        """The forms of a whole conversation, with all of its parts."""
        parts = {name: self.part(name, part) for name, part in split_turns(items).items()}
        return composed(self.head(list(parts)), parts)

    def _redacted(self, item: dict[str, Json]) -> dict[str, Json]:
        return item if self._redact is None else redacted(item, self._redact)


def composed(head: str, parts: Mapping[str, Bundle], max_bytes: int = WHOLE_BYTES) -> Bundle:
    """Join the parts of a conversation; leaves out the oldest if they are too long."""
    if not parts:
        return {**note(NOTHING_YET), "text/plain": CONVERSATION, TRANSCRIPT_MIME: head}
    kept: list[Bundle] = []
    for bundle in reversed([*parts.values()]):
        max_bytes -= sum(len(form.encode()) for form in bundle.values())
        if max_bytes < 0 and kept:
            break
        kept.insert(0, bundle)
    if len(kept) < len(parts):
        missing = f"… {len(parts) - len(kept):,} earlier turns left out here, to keep the notebook small"
        kept.insert(0, note(missing))
    lines = [it[TRANSCRIPT_MIME] for it in kept if TRANSCRIPT_MIME in it]
    return {
        "text/html": "\n".join(it["text/html"] for it in kept) + RUN_TO_CONTINUE,
        "text/plain": "\n\n".join(it["text/plain"] for it in kept),
        TRANSCRIPT_MIME: [head, *lines] if lines else head,
    }


def checked(redact: Redact) -> Redact:
    """The user's function; raises TypeError if it returns something else than text."""

    def function(text: str) -> str:
        result: object = redact(text)
        if not isinstance(result, str):
            raise TypeError(f"it returned {type(result).__name__}, not str")
        return result

    return function


def note(text: str) -> Bundle:
    """A mime bundle with one line of text."""
    return {"text/html": f"<p>{escape(text)}</p>", "text/plain": text}


def _capped(text: str, max_bytes: int) -> str:
    """Keep the end of a text that is too long, and say how much is missing."""
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    kept = data[len(data) - max_bytes :].decode(errors="ignore")
    return f"(the first {len(text) - len(kept):,} characters are left out of the file)\n\n{kept}"
