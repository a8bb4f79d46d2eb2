"""A new file is written through the client, byte for byte."""

from __future__ import annotations

from tests.agents.mock_model import do, say
from tests.compat.outcome import Found, Outcome
from tests.compat.subject import Subject

TEXT = "one\nzwei: ü\n"


def probe(subject: Subject) -> Outcome | None:
    session = subject.session
    subject.needs_model()
    path = subject.cwd / "written.txt"
    turn = subject.prompt(session, do("write", path=str(path), text=TEXT), say("{result}"))
    if not path.exists():
        raise Found("defect", "the file is not there")
    if path.read_text() != TEXT:
        raise Found("defect", "the file holds something else than the model wrote")
    if not any(it.target == str(path) for it in session.audit.where(what="act", kind="edit")):
        return Outcome("by itself")
    assert str(path) in turn.files, "the turn names the file"
    return None
