"""Sessions that a running agent no longer knows: detects them and explains how to continue.

`recovery` reopens them.
"""

from __future__ import annotations

import json
import re

from ..core.patterns import pattern
from ..core.requests import Capabilities
from ..errors import AgentError, SessionLost
from ..wire.jsonrpc import NOT_FOUND

LOST = "The agent no longer knows this session."
PRETENDED = "The agent answered as if it had opened this session, but it does not know it."
LOAD = "session.reopen() loads it again"
NEW = "session.reopen(new=True) starts a new session and includes this conversation in the next prompt"
AS_CONTEXT = 'session.prompt("Continue", transcript) sends it to a new session as context'

_BEGINS = pattern(
    r"(?:the |this |acp )?session\b.{0,120}?"
    r"\b(?:not found|unknown|not known|does not exist|doesn't exist|not loaded)\b",
    re.IGNORECASE,
)
_NAMES = pattern(
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


def gone(error: AgentError, agent: str) -> SessionLost:
    """The error of an agent that cannot open a conversation of an earlier kernel, with the other ways."""
    text = f"{error}\n{agent} no longer has this conversation; {AS_CONTEXT}."
    return SessionLost(text, code=error.code, data=error.data)
