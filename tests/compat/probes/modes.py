"""Sets another mode, and the first one again."""

from __future__ import annotations

from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    session = subject.session
    others = [it.id for it in session.modes if it.id != session.mode]
    before = session.mode
    if not others or before is None:
        raise Found("not offered")
    session.mode = others[0]
    if session.mode != others[0]:
        raise Found("defect", f"does not take the mode {others[0]!r}")
    session.mode = before
