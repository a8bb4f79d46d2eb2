"""How long a turn has worked, without the time that it waited for the user."""

from __future__ import annotations

from acp_notebook.core import events as ev
from acp_notebook.core.records import SignIn
from acp_notebook.frontend.panel.work_clock import WorkClock


class Time:
    now = 100.0


def clock() -> tuple[WorkClock, Time]:
    time = Time()
    return WorkClock(lambda: time.now), time


ASKED, SETTLED = ev.QuestionAsked("q1", "c1", ()), ev.QuestionSettled("q1", "yes", "user")


def test_it_runs_during_a_turn_only() -> None:
    made, time = clock()
    assert made.elapsed is None
    assert made.see(ev.TurnStarted((), "t1"))
    time.now += 5
    assert made.elapsed == 5
    assert made.see(ev.TurnEnded("done"))
    assert made.elapsed is None


def test_it_stops_while_a_question_is_open() -> None:
    made, time = clock()
    made.see(ev.TurnStarted((), "t1"))
    time.now += 2
    assert not made.see(ASKED)
    time.now += 60
    assert made.elapsed == 2
    assert made.see(SETTLED), "pages are told the new time"
    time.now += 1
    assert made.elapsed == 3


def test_it_goes_on_after_the_last_of_several_waits() -> None:
    made, time = clock()
    made.see(ev.TurnStarted((), "t1"))
    made.see(ASKED)
    time.now += 10
    made.see(ev.SignInChanged(SignIn(())))
    assert not made.see(SETTLED)
    time.now += 10
    made.see(ev.SignInChanged(SignIn((), error="no")))
    assert made.see(ev.SignInChanged(None))
    assert not made.see(ev.SignInChanged(None))
    assert made.elapsed == 0


def test_a_question_that_a_rule_answers_is_not_told() -> None:
    made, time = clock()
    made.see(ev.TurnStarted((), "t1"))
    made.see(ASKED)
    time.now += 0.01
    assert not made.see(SETTLED)


def test_a_sign_in_that_began_before_the_turn_counts_from_its_start() -> None:
    made, time = clock()
    made.see(ev.SignInChanged(SignIn(())))
    time.now += 50
    made.see(ev.TurnStarted((), "t1"))
    time.now += 10
    made.see(ev.SignInChanged(None))
    time.now += 1
    assert made.elapsed == 1
