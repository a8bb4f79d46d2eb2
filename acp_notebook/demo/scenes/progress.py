"""Scenes about time: thinking, plans, slow answers.

Only here does the agent wait on a timer.
"""

from __future__ import annotations

import asyncio

from ..blocks import chunk, text_block
from ..commands import Misuse, command
from ..rpc import Json
from ..turn import Turn

TICK_S = 0.05
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
