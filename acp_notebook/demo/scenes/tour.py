"""The scene that shows everything in one turn, as a small story.

It writes nothing and runs nothing: its edit and its command are only shown.
"""

from __future__ import annotations

import os

from ..blocks import fenced, image_block, link_block, resource_block, text_block
from ..commands import command
from ..turn import Turn
from .progress import plan_update
from .state import USAGE, notice
from .texts import SAMPLE_NEW, SAMPLE_OLD
from .tools import said

FINDINGS = r"""## What I found

The mean of an empty list failed. It is now an error that says so:

| input | before | after |
|:------|:-------|:------|
| `[]` | ZeroDivisionError | ValueError |
| `[1, 2]` | 1.5 | 1.5 |

```python
mean([1, 2])  # 1.5
```

The formula is $\bar{x} = \frac{1}{n} \sum_i x_i$, so:

1. without values there is no mean
2. with values nothing changes
"""


@command("tour", "See every feature in one turn")
async def tour(turn: Turn, args: str) -> None:
    await turn.send({"sessionUpdate": "session_info_update", "title": "A tour of the demo"})
    turn.session.title = "A tour of the demo"
    await turn.think("The user wants to see everything. A small story about a mean function will do.")
    await turn.say(
        "Welcome! I show what an agent can do, in a small story. Nothing of it touches your files."
    )
    await turn.send(plan_update(0))
    await _look(turn)
    await turn.send(plan_update(1))
    allowed = await _change(turn)
    await turn.send(plan_update(2))
    if allowed:
        await _test(turn)
        await turn.say(FINDINGS)
    await _attach(turn)
    await turn.send(plan_update(3))
    await _close(turn)


async def _look(turn: Turn) -> None:
    path = os.path.join(turn.session.cwd, "stats.py")
    where = [{"path": path, "line": 1}]
    reading = await turn.tool("Read stats.py", "read", locations=where, rawInput={"path": "stats.py"})
    await reading.start()
    await reading.complete(content=[{"type": "content", "content": fenced(SAMPLE_OLD, "python")}])
    search = await turn.tool("Search for “mean(”", "search", rawInput={"pattern": "mean("})
    await search.complete(content=said("stats.py:1\nreport.py:12"), rawOutput={"matches": 2})
    await turn.say("I have read the function, and found who calls it.")


async def _change(turn: Turn) -> bool:
    """The edit, shown as a diff, with the tour's one question."""
    path = os.path.join(turn.session.cwd, "stats.py")
    tool = await turn.tool(
        "Edit stats.py",
        "edit",
        content=[{"type": "diff", "path": path, "oldText": SAMPLE_OLD, "newText": SAMPLE_NEW}],
        locations=[{"path": path, "line": 2}],
    )
    kind = await turn.ask(tool, "allow_once", "allow_always", "reject_once")
    if not kind.startswith("allow"):
        await tool.fail("rejected")
        await turn.say("You rejected the change, so I leave it, and go on.")
        return False
    await tool.start()
    await tool.complete()
    return True


async def _test(turn: Turn) -> None:
    tool = await turn.tool("pytest -q", "execute", rawInput={"command": "pytest -q"})
    await tool.start(content=[{"type": "content", "content": fenced("..")}])
    await tool.complete(
        content=[{"type": "content", "content": fenced("....\n4 passed\n")}], rawOutput={"exitCode": 0}
    )


async def _attach(turn: Turn) -> None:
    """A message that holds more than text."""
    await turn.say("A picture, a link and a file come along:")
    for block in (image_block(), link_block(), resource_block()):
        await turn.show(block)


async def _close(turn: Turn) -> None:
    if turn.client.notices:
        await turn.send(notice("info", "The tour is over", "A notice appears next to the conversation."))
    await turn.send(USAGE)
    await turn.show(text_block("That was the tour. `/help` lists the single commands."))
