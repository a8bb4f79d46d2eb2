"""Scenes about time: thinking, plans, slow answers, answers that never end, updates that come late.

Only here does the agent wait on a timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from ..blocks import chunk, text_block
from ..commands import Misuse, command
from ..rpc import Json
from ..turn import Turn

TICK_S = 0.05
LATE_S = 0.1
STEPS = (("Look at the data", "high"), ("Find what is slow", "medium"), ("Write it down", "low"))


def plan_update(done: int) -> Json:
    """The plan with so many steps done and the next one under way."""
    entries = [
        {
            "content": content,
            "priority": priority,
            "status": "completed" if step < done else "in_progress" if step == done else "pending",
        }
        for step, (content, priority) in enumerate(STEPS)
    ]
    return {"sessionUpdate": "plan", "entries": entries}


@command("plan", "A plan that makes progress")
async def plan(turn: Turn, args: str) -> None:
    for done in range(len(STEPS) + 1):
        await turn.send(plan_update(done))
    await turn.say("All steps of the plan are done.")


@command("think", "Think aloud, then answer", "[TEXT]")
async def think(turn: Turn, args: str) -> None:
    await turn.think(args or "Let me think about that. First one thing, then the other.")
    await turn.say("I have thought about it.")


@command("slow", "One chunk every 0.05 s, until done or cancelled", "[SECONDS]")
async def slow(turn: Turn, args: str) -> None:
    try:
        ticks = round(float(args or 10) / TICK_S)
    except (ValueError, OverflowError):
        raise Misuse from None
    message = turn.session.next_id("msg")
    for tick in range(1, ticks + 1):
        await turn.send(chunk(text_block(f"tick{tick} "), message))
        await asyncio.sleep(TICK_S)


@command("hang", "Never end, not even when cancelled")
async def hang(turn: Turn, args: str) -> None:
    turn.stubborn = True
    await turn.say("I hang.")
    while True:
        await _stubbornly(turn, asyncio.Event().wait())


@command("deaf", "One chunk, then silence; once cancelled, late chunks for ever")
async def deaf(turn: Turn, args: str) -> None:
    turn.stubborn = True
    message = turn.session.next_id("msg")
    await turn.send(chunk(text_block("I do not listen. "), message))
    late = 0
    while True:
        await _stubbornly(turn, turn.cancelled.wait())
        if turn.cancelled.is_set():
            late += 1
            await _stubbornly(turn, turn.send(chunk(text_block(f"late{late} "), message)))
            await _stubbornly(turn, asyncio.sleep(LATE_S))


async def _stubbornly(turn: Turn, waiting: Awaitable[object]) -> None:
    """Wait, and take a $/cancel_request for nothing; only the end of the process counts."""
    try:
        await waiting
    except asyncio.CancelledError:
        if turn.peer.closing:
            raise


@command("late", "Answer, then send one more chunk after the end of the turn")
async def late_(turn: Turn, args: str) -> None:
    await turn.say("On time.")
    update = chunk(text_block("This came late."), turn.session.next_id("msg"))

    def afterwards() -> None:
        turn.session.send(update)
        turn.session.save()

    turn.afterwards = afterwards
