"""A session is loaded by another process, and its history is told once and in order."""

from __future__ import annotations

from acp_notebook.core.snapshot import Message, TurnStart
from tests.agents.mock_model import say
from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    if not subject.session.agent.capabilities.load:
        raise Found("not offered")
    if subject.answers_scripts:
        subject.needs_model()
    first = subject.connect()
    for answer in ("First.", "Second."):
        subject.prompt(first, say(answer))
    id = first.id
    first.agent.close()
    loaded = subject.connect().agent.load(id)
    if subject.answers_scripts:
        items = loaded.transcript.items
        told = [it.text for it in items if isinstance(it, TurnStart)]
        answers = [it.text for it in items if isinstance(it, Message) and it.role == "agent"]
        _told_once("prompts", [next((n for n in ("First.", "Second.") if n in it), "?") for it in told])
        _told_once("answers", answers)
    if not subject.usable(loaded):
        raise Found("defect", "a loaded session does not go on")
    loaded.agent.close()


def _told_once(what: str, told: list[str]) -> None:
    kept = [it for it in told if it in ("First.", "Second.")]
    if kept != ["First.", "Second."]:
        raise Found("defect", f"tells the history's {what} as {told}"[:120])
