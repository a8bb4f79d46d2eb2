"""Scenes about tool calls and questions that touch nothing: no file, no process.

Those that really write and run are in work.py.
"""

from __future__ import annotations

import asyncio
import contextlib

from ..blocks import text_block
from ..commands import Misuse, command, number, waiting
from ..files import FileTrouble, read_text
from ..rpc import Json
from ..turn import OPTIONS, Turn


def said(text: str) -> list[Json]:
    """Tool content that is one text."""
    return [{"type": "content", "content": text_block(text)}]


@command("tools", "N tool calls, one after the other; with “wait”, go on until stopped", "[N] [wait]")
async def tools(turn: Turn, args: str) -> None:
    count, waits = number(args, 3), waiting(args, position=1)
    for index in range(1, count + 1):
        tool = await turn.tool(f"Read part {index}", "read", rawInput={"part": index})
        await tool.complete(content=said(f"The text of part {index}."), rawOutput={"lines": index})
    if waits:
        await asyncio.Event().wait()
    await turn.say(f"Made {count} tool calls.")


@command("parallel", "Three tool calls at the same time")
async def parallel(turn: Turn, args: str) -> None:
    names = ("alpha", "beta", "gamma")
    calls = [await turn.tool(f"Search for {name}", "search", rawInput={"query": name}) for name in names]
    for tool in calls:
        await tool.start()
    for name, tool in reversed(
        list(zip(names, calls, strict=True))
    ):  # they end in another order than they began
        await tool.complete(content=said(f"Found {name}."))
    await turn.say("Made three tool calls at once.")


@command("look", "A tool call about a place: a line of a file, or a cell of a notebook", "PATH [LINE|CELL]")
async def look(turn: Turn, args: str) -> None:
    name, _, where = args.partition(" ")
    if not name:
        raise Misuse
    place: Json = {"path": name if name.startswith("/") else f"{turn.session.cwd}/{name}"}
    raw: Json = {"path": name}
    if where.isdigit():
        place["line"] = int(where)
    elif where:
        raw["cell_id"] = where
    tool = await turn.tool("Look at", "read", locations=[place], rawInput=raw)
    if "line" in place and name.endswith(".ipynb"):  # what is in a line of it, only who reads it knows
        with contextlib.suppress(FileTrouble):
            await read_text(turn, place["path"])
    await tool.complete(content=said("There it is."))
    await turn.say(f"Looked at `{name}`.")


@command("fail", "A tool call that fails")
async def fail(turn: Turn, args: str) -> None:
    tool = await turn.tool("Fetch what is not there", "fetch", rawInput={"url": "https://example.org/none"})
    await tool.start()
    await tool.fail("404: not found", rawOutput={"status": 404})
    await turn.say("The tool failed.")


@command("ask", "Ask for permission, with every kind of option")
async def ask(turn: Turn, args: str) -> None:
    tool = await turn.tool("Do something", "other", rawInput={"nothing": "really"})
    kind = await turn.ask(tool, *OPTIONS)
    if kind.startswith("allow"):
        await tool.complete()
    else:
        await tool.fail("rejected")
    await turn.say(f"You answered {kind}.")
