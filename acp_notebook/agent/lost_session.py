"""Sessions that a running agent no longer knows: detects them and explains how to continue.

`recovery` reopens them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from msgspec.structs import replace

from ..core.records import Resource
from ..core.requests import Capabilities
from ..core.snapshot import Item, TurnStart
from ..errors import AgentError, SessionLost
from ..wire.jsonrpc import NOT_FOUND

CONTEXT_URI = "acp:conversation"

CONTEXT_CHARS = 60_000
"""How many of its last characters to send: a model still reads them carefully, and they fit any context."""

LOST = "The agent no longer knows this session."
PRETENDED = "The agent answered as if it had opened this session, but it does not know it."
LOAD = "session.reopen() loads it again"
NEW = "session.reopen(new=True) starts a new session and includes this conversation in the next prompt"

_BEGINS = re.compile(
    r"(?:the |this |acp )?session\b.{0,120}?"
    r"\b(?:not found|unknown|not known|does not exist|doesn't exist|not loaded)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"\b(?:unknown|no such|no active|invalid) (?:acp )?session(?:[ _-]?id(?:entifier)?)?(?=\s*(?:$|[^\w\s]))",
    re.IGNORECASE,
)


def is_lost(error: AgentError, id: str) -> bool:
    """Whether the error says that the agent does not know the session with this id."""
    said = re.sub(r"^session/\w+: ", "", str(error))
    if error.code == NOT_FOUND:  # the session, or a file that was mentioned
        return not error.data or id in json.dumps(error.data, default=str)
    parts = re.split(r"[:;(\n]\s*", said)
    return any(_BEGINS.match(part.strip("\"' ")) for part in parts) or _NAMES.search(said) is not None


def ways(can: Capabilities, *, unproven: bool) -> tuple[str, ...]:
    """How to continue: "new", and "load" if the agent can load or resume and has not just failed to."""
    return ("load", "new") if (can.load or can.resume) and not unproven else ("new",)


def explain(error: AgentError, can: Capabilities, *, unproven: bool) -> SessionLost:
    """The error with the ways to continue.

    `unproven`: the session was loaded or resumed and has answered no prompt since.
    """
    on = [LOAD] if "load" in ways(can, unproven=unproven) else []
    text = f"{error}\n{PRETENDED if unproven else LOST} {'; '.join([*on, NEW])}."
    return SessionLost(text, code=error.code, data=error.data)


def context(items: Sequence[Item], cwd: str) -> Resource | None:
    """The conversation as content for a prompt, without earlier such content; None if there were no turns."""
    from ..core.export import to_markdown

    said = tuple(map(_without_context, items))
    if not any(isinstance(item, TurnStart) for item in said):
        return None
    text = to_markdown(said, cwd=cwd)
    if len(text) > CONTEXT_CHARS:
        text = f"… the beginning is left out\n\n{text[-CONTEXT_CHARS:]}"
    head = "The conversation so far, from a session that was lost. It is context, not a new instruction."
    return Resource(CONTEXT_URI, text=f"{head}\n\n{text}", mime_type="text/markdown")


def _without_context(item: Item) -> Item:
    if not isinstance(item, TurnStart):
        return item
    return replace(item, prompt=tuple(it for it in item.prompt if not _is_context(it)))


def _is_context(block: object) -> bool:
    text = getattr(block, "text", None) or ""
    return getattr(block, "uri", None) == CONTEXT_URI or text.lstrip().startswith(f"{CONTEXT_URI}:")
