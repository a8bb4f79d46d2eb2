"""A rejected action is not done, an allowed one is, and each was asked about."""

from __future__ import annotations

from acp_notebook.core.policy import PermissionRequest
from tests.agents.mock_model import do, say
from tests.compat.outcome import OK, Found, Outcome
from tests.compat.subject import Subject


def probe(subject: Subject) -> Outcome | None:
    if not subject.answers_scripts:
        subject.prompt(subject.session, say(""))
        assert subject.asked, "the canned turn has a question"
        return None
    subject.needs_model()
    for what in ("write", "run"):  # some ask about commands only
        before = len(subject.asked)
        for verdict in ("reject", "allow"):
            _obeyed(subject, what, verdict)
        if subject.asked[before:]:
            return _by_whom(what, subject.asked[before:])
    return Outcome("by itself", "writes files and runs commands without asking anybody")


def _obeyed(subject: Subject, what: str, verdict: str) -> None:
    path, asked = subject.cwd / f"{verdict}-{what}.txt", len(subject.asked)
    details = {"path": str(path), "text": "written\n"} if what == "write" else {"line": f"touch {path}"}
    subject.verdict = verdict
    try:
        subject.prompt(subject.session, do(what, **details), say("done"))
    finally:
        subject.verdict = "allow"
    if len(subject.asked) > asked and path.exists() is not (verdict == "allow"):
        raise Found(
            "defect",
            f"got the answer to {verdict} it, and the file is {'' if path.exists() else 'not '}there",
        )
    if len(subject.asked) == asked and not path.exists():
        raise Found("defect", f"neither asks nor does it ({what})")


def _by_whom(what: str, asked: list[PermissionRequest]) -> Outcome:
    if all(it.tool.unprompted for it in asked):
        return Outcome("ok", "the agent does not ask: this client does, before it writes")
    return OK if what == "write" else Outcome("ok", "asks about commands; files are written without asking")
