"""Scenes about what a turn costs, and about limits of an agent's own.

The counts live in the session: a prompt that is sent again finds them as it left them.
"""

from __future__ import annotations

import asyncio

from ..commands import Misuse, command, number, waiting
from ..rpc import INTERNAL_ERROR, RpcError
from ..turn import Turn
from .state import USAGE, notice


@command("cost", "Work in steps that cost AMOUNT each, and tell so", "[AMOUNT] [STEPS] [wait]")
async def cost(turn: Turn, args: str) -> None:
    words = args.split()
    try:
        amount = float(words[0]) if words else 0.01
    except ValueError:
        raise Misuse from None
    waits = waiting(args, position=2)
    for step in range(1, number(args, 1, position=1) + 1):
        turn.session.cost += amount
        await turn.send({**USAGE, "cost": {"amount": round(turn.session.cost, 6), "currency": "USD"}})
        await turn.say(f"Step {step}. ")
    if waits:
        await asyncio.Event().wait()
    await turn.say(f"This session has cost {turn.session.cost:g} USD.")


@command("ratelimit", "Fail TIMES times because of a rate limit, then answer", "[SECONDS] [TIMES]")
async def ratelimit(turn: Turn, args: str) -> None:
    seconds, times = number(args, 20), number(args, 1, position=1)
    if turn.session.refused >= times:
        turn.session.refused = 0
        await turn.say("It went through.")
        return
    turn.session.refused += 1
    data = {"status": 429, "headers": {"retry-after": str(seconds)}}
    raise RpcError(INTERNAL_ERROR, f"rate limit exceeded, try again in {seconds} s", data)


@command("throttled", "Tell of a rate limit by a notice, and go on by itself", "[SECONDS]")
async def throttled(turn: Turn, args: str) -> None:
    seconds = number(args, 20)
    if turn.client.notices:
        await turn.send(notice("warning", "Rate limit reached", f"I try again in {seconds} seconds."))
    await turn.say("And it goes on.")
