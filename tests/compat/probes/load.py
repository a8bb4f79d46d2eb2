"""Another process loads a session; its history arrives once and in order."""

from __future__ import annotations

import threading
import time

import acp_notebook as acp
from acp_notebook.core.snapshot import Message, TurnStart
from tests.agents.mock_model import say
from tests.compat.outcome import Found, Outcome, outcome_of
from tests.compat.subject import Subject

ANSWERS = ["First.", "Second."]

MINUTE_S = 60
"""Some agents name a session's file after the minute of its start, and confuse two of one minute."""


def probe(subject: Subject) -> Outcome:
    if not subject.session.agent.capabilities.load:
        return Outcome("not offered")
    if subject.answers_scripts:
        subject.needs_model()
    begun = _minute()
    found = outcome_of(lambda: _loaded(subject))
    if found.word == "ok" and _minute() != begun:
        found = outcome_of(
            lambda: _loaded(subject)
        )  # again after a minute, so that the result is the same each time
    if found.word == "defect":
        later = outcome_of(lambda: _loaded(subject, later=True))
        early = "a session that is loaded in the minute in which it was begun is lost; later ones are not"
        return Outcome("defect", early) if later.word == "ok" else found
    return found


def _loaded(subject: Subject, *, later: bool = False) -> None:
    first = subject.connect()
    for answer in ANSWERS:
        subject.prompt(first, say(answer))
    id = first.id
    first.agent.close()
    if later:
        threading.Event().wait(MINUTE_S - time.time() % MINUTE_S)
    loaded = subject.connect().agent.load(id)
    if subject.answers_scripts:
        _told_once(loaded)
    if not subject.usable(loaded):
        raise Found("defect", "a loaded session does not go on")
    loaded.agent.close()


def _told_once(loaded: acp.Session) -> None:
    items = loaded.transcript.items
    prompts = [it.text for it in items if isinstance(it, TurnStart)]
    answers = [it.text for it in items if isinstance(it, Message) and it.role == "agent"]
    asked = [answer for prompt in prompts for answer in ANSWERS if answer in prompt]
    if (asked, [it for it in answers if it in ANSWERS]) != (ANSWERS, ANSWERS):
        raise Found("defect", f"tells its history as prompts {asked}, answers {answers}"[:120])


def _minute() -> int:
    return int(time.time() // MINUTE_S)
