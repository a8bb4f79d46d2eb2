"""Faults at random moments on both wires: no text doubled, no prompt sent twice, nothing hangs or leaks.

Each case is made from its number, so that it can be repeated.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from tests.agent.remote.conftest import Connect
from tests.agent.remote.fault_proxy import KINDS, Fault, FaultProxy
from tests.agent.remote.outcome import is_marked, numbers
from tests.agent.remote.servers import Server
from tests.waiting import wait_until

WORDS, PAUSE_MS = 30, 5
BYTES = {
    (True, "ws", "up"): 190,
    (True, "ws", "down"): 5_800,
    (True, "http", "up"): 510,
    (True, "http", "down"): 6_300,
    (False, "ws", "up"): 600,
    (False, "ws", "down"): 450,
    (False, "http", "up"): 1_400,
    (False, "http", "down"): 950,
}
"""What a turn of the scene takes at least, or what comes before it: by turn, wire and side."""

MOST_S = 60.0
FEW = 20
MANY = 200
BATCH = 20

MOST_STRIKE = 0.9
"""Of all faults; one may meet a stream that is not used at the moment."""

COMPLETE = 0.35
"""Of the turns of a batch, so many at least show all words: what is kept alive, or filled in."""


@dataclass(frozen=True)
class Case:
    """A fault, the wire and the server that it happens to, and when: before the session, or in a turn."""

    fault: Fault
    wire: str
    server: str
    in_turn: bool
    heals: bool
    """Whether the fault is over before the next prompt."""
    number: int

    def __str__(self) -> str:
        when = "" if self.in_turn else "at the start "
        fault = self.fault
        what = f"{fault.kind} {fault.side} after {fault.after}"
        return f"case {self.number}: {when}{what} on {self.server} {self.wire}"


@dataclass(frozen=True)
class Survived:
    """What happened in a case."""

    struck: bool
    complete: bool


def case(number: int) -> Case:
    chance = random.Random(number)
    side: Any = chance.choice(["down", "down", "down", "up"])
    wire = chance.choice(["ws", "http", "http"])  # HTTP has more to break
    in_turn = chance.random() < 0.85
    fault = Fault(
        KINDS[number % len(KINDS)],
        side,
        after=chance.randrange(BYTES[in_turn, wire, side]),
        seconds=chance.choice([0.1, 0.5, 1.5]),
        everywhere=chance.random() < 0.5,
        status=chance.choice([500, 502, 503, 504]),
        seed=number,
    )
    server = chance.choice(["python", "typescript"])
    return Case(fault, wire, server, in_turn, chance.random() < 0.5, number)


@pytest.fixture(autouse=True)
def impatience() -> None:
    timeouts.replace(
        remote_connect=5.0,
        remote_post=5.0,
        remote_doubt=1.0,
        remote_ping=0.5,
        remote_pong=3.0,
        remote_silence=3.0,
        remote_gap=2.0,
        remote_reconnect=5.0,
        remote_close=1.0,
    )


def survive(case: Case, server: Server, connect: Connect) -> Survived:
    with FaultProxy(server.port) as proxy:
        if case.in_turn:
            session = connect(proxy.url(case.wire))
            proxy.arm(case.fault)
        else:
            proxy.arm(case.fault)
            try:
                session = connect(proxy.url(case.wire), start_timeout=5.0)
            except acp.Error:
                proxy.heal()
                session = connect(proxy.url(case.wire))
        prompt = f"words {WORDS} {PAUSE_MS} {session.id}"
        turn = session.start(prompt)
        wait_until(lambda: turn.done, f"the turn ends after {case}", MOST_S)
        if case.heals:
            proxy.heal()
        shown = numbers(turn)
        assert shown == sorted(set(shown)), "no text is doubled, and none is in the wrong place"
        assert server.ledger.prompts(prompt) <= 1, "no prompt is sent twice"
        assert len(shown) == WORDS or is_marked(turn), f"{len(shown)} words, and the turn says it is complete"
        struck = proxy.struck.is_set()
        again(session, server)
        wait_until(lambda: session.status == "idle", f"the session is ready after {case}", MOST_S)
        session.agent.close()
        wait_until(lambda: proxy.open == 0, f"no connection is left after {case}", MOST_S)
        return Survived(struck, turn.status == "done" and len(shown) == WORDS)


def again(session: acp.Session, server: Server) -> None:
    """The session works again. A prompt that is sent into a dead connection may fail, but not be repeated."""
    for attempt in range(4):
        text = f"attempt {attempt} {session.id}"
        turn = session.start(text)
        wait_until(partial(getattr, turn, "done"), "the next turn ends", MOST_S)
        assert server.ledger.prompts(text) <= 1
        if turn.status == "done":
            assert turn.text == f"You said: {text}" or is_marked(turn)
            return
        with suppress(acp.Error):
            turn.wait(MOST_S)
    pytest.fail(f"the session does not recover: {turn.error}")


@pytest.mark.parametrize("number", range(FEW))
def test_a_session_survives_a_fault(
    number: int, request: pytest.FixtureRequest, connect: Connect, record_property: Any
) -> None:
    chosen = case(number)
    survive(chosen, request.getfixturevalue(chosen.server), connect)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW, MANY, BATCH))
def test_a_session_survives_many_faults_most_of_which_strike(
    first: int, request: pytest.FixtureRequest, connect: Connect
) -> None:
    cases = [case(number) for number in range(first, first + BATCH)]
    found = [survive(it, request.getfixturevalue(it.server), connect) for it in cases]
    missed = [str(it) for it, result in zip(cases, found, strict=True) if not result.struck]
    assert len(missed) <= (1 - MOST_STRIKE) * BATCH, f"faults that never happened: {missed}"
    assert sum(it.complete for it in found) >= COMPLETE * BATCH
