"""An outcome names whose fault it is, by what a probe raised; notes are reproducible."""

from __future__ import annotations

import pytest

import acp_notebook as acp
from tests.compat.outcome import LONGEST_NOTE, OK, Found, Outcome, brief, outcome_of


def raising(error: Exception) -> Outcome:
    def probe() -> None:
        raise error

    return outcome_of(probe)


def test_a_probe_that_raises_nothing_is_ok_unless_it_says_otherwise() -> None:
    assert outcome_of(lambda: None) == OK
    assert outcome_of(lambda: Outcome("by itself")) == Outcome("by itself")


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (Found("not offered"), "not offered"),
        (acp.AgentError("no", code=-32603), "defect"),
        (acp.AgentError("what?", code=-32602), "FAIL"),
        (acp.AgentDied("gone", exit_code=1, stderr=""), "defect"),
        (acp.Timeout("silent"), "defect"),
        (acp.AgentNotFound("nowhere"), "absent"),
        (acp.AuthenticationRequired("first", code=-32000, data=None, methods=()), "sign-in"),
        (acp.UsageError("ours"), "FAIL"),
        (AssertionError("lost"), "FAIL"),
        (KeyError("bug"), "FAIL"),
    ],
)
def test_failures_are_classified_by_their_error(error: Exception, word: str) -> None:
    assert raising(error).word == word


def test_a_note_names_no_path_and_no_id_and_is_short() -> None:
    said = "no /tmp/acp-1/home/x.json of\n 0a1b2c3d-0000-4000-8000-00000000abcd"
    assert brief(said) == "no <path> of <id>"
    assert len(brief("x" * 1000)) == LONGEST_NOTE
