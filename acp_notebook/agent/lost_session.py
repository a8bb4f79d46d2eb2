"""A session that a living agent does not know any more: how that is told, and what leads on.

Decides and words; opens nothing (`recovery` does).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from ..core.records import Resource
from ..core.requests import Capabilities
from ..core.snapshot import Item, TurnStart
from ..errors import AgentError, SessionLost
from ..wire.jsonrpc import NOT_FOUND

CONTEXT_URI = "acp:conversation"

CONTEXT_CHARS = 60_000
"""Of the conversation, from its end: what a model still reads with care, and far below any context."""

LOST = "The agent does not know this session any more."
PRETENDED = "The agent answered as if it had opened this session, but it does not know it."
LOAD = "session.reopen() loads it again"
NEW = "session.reopen(new=True) begins a new one, and the next prompt takes this conversation along"

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
    """Whether the agent says that it does not know the session of this id."""
    said = re.sub(r"^session/\w+: ", "", str(error))
    if error.code == NOT_FOUND:  # the session, or a file that was mentioned
        return not error.data or id in json.dumps(error.data, default=str)
    parts = re.split(r"[:;(\n]\s*", said)
    return any(_BEGINS.match(part.strip("\"' ")) for part in parts) or _NAMES.search(said) is not None


def ways(can: Capabilities, *, unproven: bool) -> tuple[str, ...]:
    """What leads on: "load" (or resume), where the agent can and has not just failed to, and "new"."""
    return ("load", "new") if (can.load or can.resume) and not unproven else ("new",)


def explained(error: AgentError, can: Capabilities, *, unproven: bool) -> SessionLost:
    """`unproven`: it was loaded or resumed, and has answered no prompt since."""
    on = [LOAD] if "load" in ways(can, unproven=unproven) else []
    text = f"{error}\n{PRETENDED if unproven else LOST} {'; '.join([*on, NEW])}."
    return SessionLost(text, code=error.code, data=error.data)


def context(items: Sequence[Item], cwd: str) -> Resource | None:
    """The conversation as a part of a prompt; None if there was none. An earlier context is left out."""
    from ..core.export import to_markdown

    said = tuple(map(_without_context, items))
    if not any(isinstance(item, TurnStart) for item in said):
        return None
    text = to_markdown(said, cwd=cwd)
    if len(text) > CONTEXT_CHARS:
        text = f"… the beginning is left out\n\n{text[-CONTEXT_CHARS:]}"
    head = "The conversation so far, of a session that was lost. It is context, not a new instruction."
    return Resource(CONTEXT_URI, text=f"{head}\n\n{text}", mime_type="text/markdown")


def _without_context(item: Item) -> Item:
    if not isinstance(item, TurnStart):
        return item
    return replace(item, prompt=tuple(it for it in item.prompt if not _is_context(it)))


def _is_context(block: object) -> bool:
    text = getattr(block, "text", None) or ""
    return getattr(block, "uri", None) == CONTEXT_URI or text.lstrip().startswith(f"{CONTEXT_URI}:")
