"""Scenes about how a turn can end, other than well.

They say little: the ending is the point.
"""

from __future__ import annotations

import os

from ..commands import Misuse, command, number
from ..rpc import INTERNAL_ERROR, RpcError
from ..turn import Turn

FLUSH_S = 5.0
"""How long the last words may take to leave a dying process: much longer than a client needs to read them."""


@command("refuse", "End with the stop reason refusal")
async def refuse(turn: Turn, args: str) -> str:
    await turn.say("I refuse.")
    return "refusal"


@command("max", "End with the stop reason max_tokens")
async def max_tokens(turn: Turn, args: str) -> str:
    await turn.say("I could go on, but")
    return "max_tokens"


@command("error", "Answer the prompt with a JSON-RPC error", "[CODE] [MESSAGE]")
async def error(turn: Turn, args: str) -> None:
    code, _, message = args.partition(" ")
    try:
        raise RpcError(int(code or INTERNAL_ERROR), message.strip() or "the demo failed on purpose")
    except ValueError:
        raise Misuse from None


@command("die", "Write to stderr and exit in mid-turn", "[CODE]")
async def die(turn: Turn, args: str) -> None:
    code = number(args, 3)
    await turn.say("I am about to die.")
    await turn.tool("A last tool call", "other")
    turn.stderr.put(b"demo: something went wrong\ndemo: no really\ndemo: giving up\n")
    turn.stderr.flush(FLUSH_S)
    turn.peer.outbox.flush(FLUSH_S)
    os._exit(code & 0xFF)
