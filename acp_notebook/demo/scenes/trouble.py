"""A scene about what no client knows: kinds, types and statuses that are not in the schema.

This one alone sends what is not valid, and says so.
"""

from __future__ import annotations

from ..commands import command
from ..turn import Turn


@command("unknown", "Send an update, a content type, a tool kind and a status that nobody knows")
async def unknown(turn: Turn, args: str) -> None:
    await turn.send({"sessionUpdate": "demo_unknown_update", "text": "an update of an unknown kind"})
    await turn.show({"type": "hologram", "depth": 3, "data": "a content block of an unknown type"})
    tool = await turn.tool("Teleport", "teleport", status="paused")
    await tool.update(status="beamed")
    await turn.say("You have just seen four things that are not in the protocol.")
