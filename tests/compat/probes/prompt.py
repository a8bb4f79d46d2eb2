"""The answer to a prompt is complete."""

from __future__ import annotations

import acp_notebook as acp
from tests.agents.mock_model import say
from tests.compat.outcome import Found
from tests.compat.subject import Subject

ANSWER = "Grüße, **world**: 1 < 2."


def probe(subject: Subject) -> None:
    try:
        turn = subject.prompt(subject.session, say(ANSWER))
    except acp.Error:
        if subject.answers_scripts and not subject.model_reached():
            raise Found("no model") from None
        raise
    if not subject.answers_scripts:
        assert turn.stop_reason == "end_turn", turn.stop_reason
        return
    if not subject.model_reached():
        raise Found("no model")
    if ANSWER not in turn.text:
        raise Found("defect", f"its answer is {turn.text[:60]!r} in place of the model's")
    assert turn.stop_reason == "end_turn", turn.stop_reason
