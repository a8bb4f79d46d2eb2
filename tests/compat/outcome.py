"""What a probe found: a word for the table, and a note that explains it.

Knows no agent. Whose fault a failure is, is decided here by what was raised: an agent that answers with an
error, dies or does not answer is at fault itself; a message of ours that it calls wrong, is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import acp_notebook as acp
from acp_notebook.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

Word = Literal["ok", "not offered", "by itself", "no model", "sign-in", "absent", "defect", "FAIL"]

OURS = frozenset({INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR})
"""Error codes with which an agent says that our request was wrong."""

LONGEST_NOTE = 160


@dataclass(frozen=True)
class Outcome:
    word: Word
    note: str = ""


OK = Outcome("ok")


class Found(Exception):
    """Ends a probe early, with its outcome."""

    def __init__(self, word: Word, note: str = "") -> None:
        super().__init__(note)
        self.outcome = Outcome(word, note)


def outcome_of(probe: Callable[[], Outcome | None]) -> Outcome:
    """Run a probe; whatever it raises becomes its outcome."""
    try:
        return probe() or OK
    except Found as found:
        return found.outcome
    except acp.AuthenticationRequired as error:
        ways = ", ".join(it.name for it in error.methods)
        return Outcome("sign-in", f"wants a sign-in first{f': {ways}' if ways else ''}")
    except acp.AgentNotFound as error:
        return Outcome("absent", brief(error))
    except acp.AgentError as error:
        return Outcome("FAIL" if error.code in OURS else "defect", f"answers {brief(error)}")
    except acp.AgentDied as error:
        return Outcome("defect", f"ends by itself: {brief(error)}")
    except acp.Timeout as error:
        return Outcome("defect", f"does not answer: {brief(error)}")
    except acp.ProtocolError as error:
        return Outcome("defect", brief(error))
    except Exception as error:  # our error, or the probe's: it only affects its own cell
        return Outcome("FAIL", f"{type(error).__name__}: {brief(error)}")


def brief(error: object) -> str:
    """Format on one line, reproducibly."""
    text = " ".join(str(error).split())
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}|\b(ses|sess|session)[-_]\w{8,}", "<id>", text)
    text = re.sub(r"(/[\w.@+-]+){2,}", "<path>", text)
    return text if len(text) <= LONGEST_NOTE else f"{text[: LONGEST_NOTE - 1]}…"
