"""What %acp_agent displays without arguments: the known agents and the running sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape

from ...api.session import Session
from ...core.tables import html_table, text_table
from ...setup.agents import Agents

NO_SESSION = "no running sessions; start one with %acp_agent NAME"


class Overview:
    """The known agents and the running sessions, as two tables."""

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
