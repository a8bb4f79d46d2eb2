"""A scene that mends a failed cell: it corrects a misspelt name, the only mistake that it understands."""

from __future__ import annotations

import difflib
import json
import re

from ..commands import Misuse, command
from ..files import FileTrouble, inside, read_text, write_text
from ..turn import Turn

CELL = re.compile(r"of `(?P<notebook>[^`]+)` \(id `(?P<id>[^`]+)`\)")
UNKNOWN = re.compile(r"NameError: name '(\w+)' is not defined")
NAME = re.compile(r"\b[^\W\d]\w*\b")


@command("mend", "Mend a cell that failed because of a misspelt name", "CELL AND ERROR")
async def mend(turn: Turn, args: str) -> None:
    cell, unknown = CELL.search(args), UNKNOWN.search(args)
    if cell is None:
        raise Misuse
    if unknown is None:
        await turn.say("I am a script: I only know how to mend a misspelt name, and this is another error.")
        return
    name = cell["notebook"]
    try:
        path = inside(turn.session.cwd, name)
        text = await read_text(turn, path)
        if text is None:
            raise FileTrouble("it is not there")
        notebook = json.loads(text)
        found = next((it for it in notebook["cells"] if it.get("id") == cell["id"]), None)
        if found is None:
            raise FileTrouble("the cell is not in it")
        right = _meant(unknown[1], ["".join(it["source"]) for it in notebook["cells"]])
        if right is None:
            await turn.say(f"No name in `{name}` resembles `{unknown[1]}`.")
            return
        mended = re.sub(rf"\b{unknown[1]}\b", right, "".join(found["source"]))
        found["source"] = mended.splitlines(keepends=True)
        await turn.say(f"`{unknown[1]}` is not defined; `{right}` is. ")
        await write_text(turn, path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    except (FileTrouble, ValueError, LookupError) as trouble:
        await turn.say(f"`{name}` is unchanged: {trouble}.")
        return
    await turn.say("I have corrected the cell.")


def _meant(unknown: str, sources: list[str]) -> str | None:
    names = {name for source in sources for name in NAME.findall(source)} - {unknown}
    return next(iter(difflib.get_close_matches(unknown, sorted(names), n=1)), None)
