"""A table of the sessions that an agent has stored. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from .requests import SessionInfo
from .tables import html_table, text_table

SHOWN_SESSIONS = 60
"""How many sessions are displayed; the table itself has them all."""

HEAD = ("", "title", "folder", "time", "id")


class SessionTable(Sequence[SessionInfo]):
    """A sequence of sessions, in the agent's order. `complete` is False if the agent's list was cut off."""

    def __init__(
        self, sessions: Iterable[SessionInfo] = (), *, complete: bool = True, open: Iterable[str] = ()
    ) -> None:
        self._sessions = tuple(sessions)
        self.complete = complete
        self._open = frozenset(open)

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[SessionInfo]:
        return iter(self._sessions)

    @overload
    def __getitem__(self, index: int) -> SessionInfo: ...
    @overload
    def __getitem__(self, index: slice) -> SessionTable: ...
    def __getitem__(self, index: int | slice) -> SessionInfo | SessionTable:
        if isinstance(index, slice):
            return SessionTable(self._sessions[index], complete=self.complete, open=self._open)
        return self._sessions[index]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The sessions as dictionaries, for pandas.DataFrame and JSON."""
        return [
            {"id": it.id, "title": it.title, "cwd": it.cwd, "updated_at": it.updated_at}
            for it in self._sessions
        ]

    def __repr__(self) -> str:
        if not self._sessions:
            return "<sessions: none>"
        return "\n".join([text_table(HEAD, self._rows()), *self._after()])

    def _repr_html_(self) -> str:
        if not self._sessions:
            return "<p>sessions: none</p>"
        return html_table(HEAD, self._rows()) + "".join(f"<p>{it}</p>" for it in self._after())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            ("open" if it.id in self._open else "", it.title or "", it.cwd, _time(it.updated_at), it.id)
            for it in self._sessions[:SHOWN_SESSIONS]
        ]

    def _after(self) -> list[str]:
        more = len(self._sessions) - SHOWN_SESSIONS
        notes = [f"… {more} more"] if more > 0 else []
        return notes + (
            [] if self.complete else ["… the list is incomplete: the agent did not send the rest"]
        )


def _time(text: str | None) -> str:
    """Format an ISO time to the minute; any other text stays as it is."""
    return text[:16].replace("T", " ") if text and text[10:11] == "T" else text or ""
