"""What %acp_agent displays without arguments: the known agents and the running sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape

from ...api.session import Session
from ...core.tables import html_table, text_table
from ...setup.agents import Agents

NO_SESSION = "no running sessions; start one with %acp_agent NAME"


class RunningSessions:
    """The running sessions, as a table."""

    HEAD = ("session", "agent", "status", "turns", "folder")

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._rows = [
            (name, it.agent.name, it.status, str(len(it.turns)), os.path.relpath(it.cwd))
            for name, it in sessions.items()
        ]

    def __repr__(self) -> str:
        return text_table(self.HEAD, self._rows) if self._rows else NO_SESSION

    def _repr_html_(self) -> str:
        return html_table(self.HEAD, self._rows) if self._rows else f"<p>{escape(NO_SESSION)}</p>"


class Overview:
    """The known agents and the running sessions, as two tables."""

    def __init__(self, agents: Agents, sessions: Mapping[str, Session]) -> None:
        self._agents = agents
        self._sessions = RunningSessions(sessions)

    def __repr__(self) -> str:
        return f"{self._agents!r}\n\n{self._sessions!r}"

    def _repr_html_(self) -> str:
        return self._agents._repr_html_() + self._sessions._repr_html_()
