"""Writes the audit of a session, in memory and optionally to a file (`audit_file`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from ..core.audit import Audit
from ..core.policy import Decision
from ..core.records import Json
from ..core.redaction import Redactor
from .audit_file import AuditFile


class Auditor:
    """Appends audit entries for one session. `where` returns the ids of the session and the running turn."""

    def __init__(
        self,
        where: Callable[[], tuple[str, str | None]],
        file: AuditFile | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.audit = Audit()
        self._redactor = redactor or Redactor()
        self._where = where
        self._file = file

    def note(
        self,
        what: str,
        kind: str,
        target: str,
        *,
        by: str = "agent",
        outcome: str = "",
        reason: str | None = None,
        **detail: Json,
    ) -> None:
        session, turn = self._where()
        redactor = self._redactor.for_actions
        entry = self.audit.append(
            time=datetime.now().astimezone().isoformat(timespec="milliseconds"),
            session=session,
            turn=turn,
            what=what,
            kind=kind,
            target=redactor.text(target),
            by=by,
            outcome=outcome,
            reason=reason and redactor.text(reason),
            detail={name: redactor.plain(it) for name, it in detail.items() if it is not None},
        )
        if self._file is not None:
            self._file.append(entry)

    def note_decision(
        self, kind: str, target: str, decision: Decision, outcome: str, detail: Mapping[str, Json]
    ) -> None:
        who = {} if decision.person is None else {"person": decision.person}
        self.note(
            "decision", kind, target, by=decision.by, outcome=outcome, reason=decision.reason, **detail, **who
        )
