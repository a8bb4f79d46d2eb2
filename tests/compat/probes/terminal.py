"""A command is run through the client, and its output is shown."""

from __future__ import annotations

from tests.agents.mock_model import do, say
from tests.compat.outcome import Found, Outcome
from tests.compat.subject import Subject


def probe(subject: Subject) -> Outcome | None:
    session = subject.session
    subject.needs_model()
    turn = subject.prompt(session, do("run", line="printf '%s-%s' 42 seen"), say("Heard: {result}"))
    if "42-seen" not in turn.text:
        raise Found("defect", "the model did not get the command's output")
    shown = turn.to_text().count("42-seen") > turn.text.count("42-seen")
    if session.audit.where(what="act", kind="execute", outcome="done"):
        assert shown, "the output of a command that we ran is in the transcript"
        return None
    return Outcome("by itself", "" if shown else "and the agent does not tell the command's output")
