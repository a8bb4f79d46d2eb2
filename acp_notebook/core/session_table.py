"""The sessions that an agent keeps, as a table for people.

Pure. Knows nothing of how they were listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from .requests import SessionInfo
from .tables import html_table, text_table

SHOWN_SESSIONS = 60
"""Where a table is shown; the table itself has them all."""

HEAD = ("", "title", "folder", "time", "id")


class SessionTable(Sequence[SessionInfo]):
    """Sessions, in the agent's order. `complete` is False where the agent's list did not come to an end."""

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
        """For pandas.DataFrame and for JSON."""
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
            [] if self.complete else ["… this is the beginning of the agent's list: its end did not come"]
        )


def _time(text: str | None) -> str:
    """Of an ISO time, to the minute; anything else as it is."""
    return text[:16].replace("T", " ") if text and text[10:11] == "T" else text or ""
