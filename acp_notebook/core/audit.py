"""The audit of a session: every request, every decision and who made it, every action and its result.

Pure: the caller provides the time, `agent.audit_file` writes the file. Memory is bounded: the oldest entries
are dropped, and long texts are shortened in the middle. `append` returns the complete entry for the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec
from msgspec import Struct

from .records import Json
from .tables import html_table, text_table
from .visible import shown

KEPT_ENTRIES = 10_000
"""Entries in memory. A day's work has some hundreds; only a flood reaches this."""

KEPT_CHARS = 4_000
"""Characters per text of an entry in memory: a script in a command may be megabytes."""

SHOWN_ENTRIES = 60
"""How many of the last entries are displayed; the table itself has them all."""

HEAD = ("#", "time", "turn", "what", "kind", "target", "by", "outcome", "why")


class Entry(Struct, frozen=True, kw_only=True):
    number: int
    time: str
    session: str
    turn: str | None = None
    what: str
    """"request", "decision", "act" or "setting"."""
    kind: str
    target: str = ""
    """The path or the command."""
    by: str = ""
    """"user", "policy", "grant", "client" or "agent"."""
    outcome: str = ""
    """"allowed", "rejected", "cancelled", "done", "failed", …"""
    reason: str | None = None
    detail: Mapping[str, Json] = {}
    """Bytes written, the exit code, the tool call's and the grant's id, whether it came unprompted."""

    @property
    def short_target(self) -> str:
        """The target on one line, with invisible characters made visible."""
        return shown(self.target)


def entry_to_plain(entry: Entry) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.structs.asdict(entry)
    return plain | {"detail": dict(entry.detail)}


class AuditTable(Sequence[Entry]):
    """A sequence of entries, oldest first. `dropped` entries before the first are missing."""

    def __init__(self, entries: Sequence[Entry] = (), dropped: int = 0) -> None:
        self._entries = list(entries)
        self._dropped = dropped

    @property
    def dropped(self) -> int:
        return self._dropped

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries))  # a copy: the live audit may grow during the iteration

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> AuditTable: ...
    def __getitem__(self, index: int | slice) -> Entry | AuditTable:
        if isinstance(index, slice):
            return AuditTable(self._entries[index])
        return self._entries[index]

    def where(self, **fields: Any) -> AuditTable:
        """The entries with these values, `detail` included: `audit.where(kind="execute", by="user")`."""
        return AuditTable([entry for entry in self if all(_has(entry, *it) for it in fields.items())])

    def to_dicts(self) -> list[dict[str, Any]]:
        """The entries as dictionaries, for pandas.DataFrame and JSON."""
        return [entry_to_plain(entry) for entry in self]

    def __repr__(self) -> str:
        rows, before = self._shown()
        if not rows and not before:
            return "<audit: nothing yet>"
        return "\n".join([*([before] if before else []), text_table(HEAD, rows)])

    def _repr_html_(self) -> str:
        rows, before = self._shown()
        if not rows and not before:
            return "<p>audit: nothing yet</p>"
        return (f"<p>{before}</p>" if before else "") + html_table(HEAD, rows)

    def _shown(self) -> tuple[list[tuple[str, ...]], str]:
        entries = tuple(self)
        last = entries[-SHOWN_ENTRIES:]
        parts = (
            (self.dropped, "no longer in memory"),
            (len(entries) - len(last), "earlier, not shown"),
        )
        before = ", ".join(f"{count} {text}" for count, text in parts if count)
        return [_row(entry) for entry in last], before and f"… {before}"


class Audit(AuditTable):
    """The live audit of a session: one thread appends, any thread reads."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    @property
    def dropped(self) -> int:
        entries = tuple(self._entries[:1])
        return entries[0].number - 1 if entries else 0

    def append(
        self,
        *,
        time: str,
        session: str,
        what: str,
        kind: str,
        turn: str | None = None,
        target: str = "",
        by: str = "",
        outcome: str = "",
        reason: str | None = None,
        detail: Mapping[str, Json] | None = None,
    ) -> Entry:
        self._count += 1
        entry = Entry(
            number=self._count,
            time=time,
            session=session,
            turn=turn,
            what=what,
            kind=kind,
            target=target,
            by=by,
            outcome=outcome,
            reason=reason,
            detail=dict(detail or {}),
        )
        self._entries.append(_kept(entry))
        if len(self._entries) > KEPT_ENTRIES:
            # Many at once: otherwise each append would move the whole list.
            del self._entries[: KEPT_ENTRIES // 10]
        return entry


def _has(entry: Entry, name: str, value: Any) -> bool:
    found = getattr(entry, name) if name in Entry.__struct_fields__ else entry.detail.get(name)
    return bool(found == value)


def _row(entry: Entry) -> tuple[str, ...]:
    notes = ["unprompted"] if entry.detail.get("unprompted") else []
    why = ", ".join([*notes, *filter(None, [entry.reason])])
    return (
        str(entry.number),
        entry.time[11:19],  # the time of day; the entry has the date as well
        entry.turn or "",
        entry.what,
        entry.kind,
        entry.target,
        entry.by,
        entry.outcome,
        why,
    )


def _kept(entry: Entry) -> Entry:
    """The entry with long texts cut; usually there are none."""
    fields = msgspec.structs.asdict(entry)
    if not any(_is_long(it) for it in (*fields.values(), *entry.detail.values())):
        return entry
    fields["detail"] = {name: _cut(value) for name, value in entry.detail.items()}
    return Entry(**{name: _cut(value) for name, value in fields.items()})


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > KEPT_CHARS


def _cut(value: Any) -> Any:
    if not _is_long(value):
        return value
    half = KEPT_CHARS // 2
    return f"{value[:half]} … {value[-half:]}"
