"""The agent refuses an unknown request, ignores an unknown notification, and goes on."""

from __future__ import annotations

import acp_notebook as acp
from acp_notebook.wire.jsonrpc import METHOD_NOT_FOUND
from tests.compat.outcome import Found, brief
from tests.compat.subject import Subject

ANSWER_S = 10.0
METHOD = "_acp_notebook/unknown"


def probe(subject: Subject) -> None:
    session = subject.connect()
    try:
        subject.call(session, METHOD, {}, ANSWER_S)
        problem: str | None = "takes a request that it cannot know"
    except acp.AgentError as error:
        wrong = f"refuses an unknown request with {error.code} in place of {METHOD_NOT_FOUND}"
        problem = None if error.code == METHOD_NOT_FOUND else wrong
    except TimeoutError:
        problem = "does not answer an unknown request"
    subject.notify(session, METHOD)
    try:
        session.agent.new_session().close()
    except acp.Error as error:
        raise Found("defect", f"does not survive unknown messages: {brief(error)}") from None
    if problem:
        raise Found("defect", problem)
    session.agent.close()
