"""What %acp_agent shows without arguments: the agents that are known, the sessions that run.

Only shows; where they come from is the caller's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape

from ...api.session import Session
from ...core.tables import html_table, text_table
from ...setup.agents import Agents

NO_SESSION = "no session runs; %acp_agent NAME starts one"


class Overview:
    """The agents that are known and the sessions that run, as two tables."""

    SESSIONS = ("session", "agent", "status", "turns", "folder")

    def __init__(self, agents: Agents, sessions: Mapping[str, Session]) -> None:
        self._agents = agents
        self._sessions = [
            (name, it.agent.name, it.status, str(len(it.turns)), os.path.relpath(it.cwd))
            for name, it in sessions.items()
        ]

    def __repr__(self) -> str:
        sessions = text_table(self.SESSIONS, self._sessions) if self._sessions else NO_SESSION
        return f"{self._agents!r}\n\n{sessions}"

    def _repr_html_(self) -> str:
        none = f"<p>{escape(NO_SESSION)}</p>"
        sessions = html_table(self.SESSIONS, self._sessions) if self._sessions else none
        return self._agents._repr_html_() + sessions
