"""Scores from what test runners and judges say."""

from __future__ import annotations

import pytest

from acp_notebook.core.fan_out.scores import command_score, judge_prompt, verdict_in

UNITTEST = "..F\n-----\nRan 10 tests in 0.1s\n\nFAILED (failures=2, errors=1)\n"


@pytest.mark.parametrize(
    ("code", "output", "score"),
    [
        (0, "....\n12 passed in 0.1s", 1.0),
        (1, "=== 1 failed, 3 passed, 2 skipped in 0.1s ===", 0.75),
        (1, "\x1b[31m1 failed\x1b[0m, \x1b[32m1 passed\x1b[0m in 1s", 0.5),
        (2, "1 error in 0.1s", 0.0),
        (1, UNITTEST, 0.7),
        (0, "Ran 10 tests in 0.1s\n\nOK\n", 1.0),
        (101, "test result: FAILED. 3 passed; 1 failed; 0 ignored", 0.75),
        (1, "Tests:       1 failed, 4 passed, 5 total", 0.8),
        (1, "12 passed in 0.1s\nFAIL Required test coverage", 0.0),
        (0, "all good", 1.0),
        (3, "", 0.0),
        (0, "5 passed cars on the road\n" + "line\n" * 40, 1.0),
    ],
)
def test_the_share_of_tests_that_passed(code: int, output: str, score: float) -> None:
    assert command_score(code, output)[0] == score


def test_a_verdict_is_the_last_line_that_has_one() -> None:
    said = 'I was told {"score": 10, "reason": "…"} but:\n{"score": 7.5, "reason": "short"}'
    assert verdict_in(said) == (7.5, "short")


@pytest.mark.parametrize("said", ["very good", '{"score": 11}', '{"score": "high"}', "{'score': 5}"])
def test_no_verdict_is_an_error(said: str) -> None:
    with pytest.raises(ValueError, match="no score from 0 to 10"):
        verdict_in(said)


def test_a_judge_gets_no_more_than_it_can_read() -> None:
    assert len(judge_prompt("r", "t", "a" * 10**6, "p" * 10**6)) < 130_000
