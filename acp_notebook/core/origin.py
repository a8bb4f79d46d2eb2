"""Origin: where a saved conversation comes from; enough to find it again, nothing that could be run.

Pure. It is read from files of other people: `session_id` is None unless the id looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from .patterns import pattern
from .visible import shown

_ID = pattern(r"[A-Za-z0-9](?:[\w:@=+-]|\.(?!\.)){0,199}", re.ASCII)
"""What agents use as ids. Some look for a file of that name, so that "../" must never reach them."""

NAME_CHARS = 40
"""How much of an agent's name in a file to show."""

MOST_NAMES = 3
"""How many names of agents in a file to show."""


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """The agent and the session of a conversation."""

    agent: str | None = None
    session: str | None = None
    """The agent's id of the session."""

    @property
    def session_id(self) -> str | None:
        """The id, if it can be sent to an agent."""
        return self.session if self.session is not None and _ID.fullmatch(self.session) else None


def resumable_id(origins: Sequence[Origin], agent: str) -> str:
    """The id of the newest conversation with this agent; raises ValueError that says why there is none."""
    mine = [it for it in origins if it.agent == agent]
    if mine:
        if mine[-1].session is None:
            raise ValueError("the file does not have the agent's id of this conversation")
        if (id := mine[-1].session_id) is None:
            raise ValueError("the file's id of this conversation is not one that agents use")
        return id
    others = sorted({it.agent for it in origins if it.agent})
    if not others:
        raise ValueError("the file does not say which agent this conversation was with")
    names = [f'"{shown(it, chars=NAME_CHARS)}"' for it in others[:MOST_NAMES]]
    more = ["others"] if len(others) > MOST_NAMES else []
    raise ValueError(f"this conversation was with {', '.join([*names, *more])}, not with {agent}")
