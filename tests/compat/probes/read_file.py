"""A file is read through the client."""

from __future__ import annotations

from tests.agents.mock_model import do, say
from tests.compat.outcome import Found, Outcome
from tests.compat.subject import Subject


def probe(subject: Subject) -> Outcome | None:
    session = subject.session
    subject.needs_model()
    path = subject.cwd / "there.txt"
    path.write_text("read me: 42\n")
    turn = subject.prompt(session, do("read", path=str(path)), say("It says: {result}"))
    if "read me: 42" not in turn.text:
        raise Found("defect", "the model did not get the file's text")
    if not session.audit.where(what="act", kind="read", outcome="done"):
        return Outcome("by itself")
    return None
