"""A scene that changes files in every way: creates, edits, moves, deletes, through the client or directly.

Gives a client changes to show and to undo.
"""

from __future__ import annotations

from pathlib import Path

from ..commands import command
from ..files import FileTrouble, inside, write_text
from ..turn import Turn

FOLDER = "demo_project"

_MIDDLE = "".join(f"step_{number} = total + {number}\n" for number in range(1, 16))

BEFORE = {
    "report.py": f"total = 1\n{_MIDDLE}print(total)\n",
    "helper.py": "def help():\n    return 42\n",
    "old.txt": "nobody needs this\n",
}

AFTER = f"total = 100\n{_MIDDLE}print(f'{{total:,}}')\n"


@command(
    "refactor",
    f"Change files in {FOLDER}/, some through the client and some directly; the first time, create them",
)
async def refactor(turn: Turn, args: str) -> None:
    folder = Path(turn.session.cwd, FOLDER)
    try:
        inside(turn.session.cwd, FOLDER)
        if not (folder / "helper.py").exists():
            await _made(turn, folder)
            return
        await _edited(turn, folder)
        await _by_itself(turn, folder)
    except (FileTrouble, OSError) as trouble:
        await turn.say(f"It did not work: {trouble}.")
        return
    await turn.say("Two files were changed through you, and two by myself.")


async def _made(turn: Turn, folder: Path) -> None:
    places = [{"path": str(folder / name)} for name in BEFORE]
    tool = await turn.tool(f"Make {FOLDER}", "edit", locations=places)
    if not await turn.allowed(tool):
        await tool.fail("rejected")
        return
    folder.mkdir(exist_ok=True)
    for name, text in BEFORE.items():
        (folder / name).write_text(text)
    await tool.complete()
    await turn.say(f"`{FOLDER}` is there. Say it again, and I change it.")


async def _edited(turn: Turn, folder: Path) -> None:
    """Through the client."""
    for name, text in (("report.py", AFTER), ("chart.py", "import report\n")):
        path = str(folder / name)
        old = (folder / name).read_text() if (folder / name).exists() else None
        shown = {"type": "diff", "path": path, "oldText": old, "newText": text}
        tool = await turn.tool(f"Edit {name}", "edit", content=[shown], locations=[{"path": path, "line": 1}])
        if not await turn.allowed(tool):
            await tool.fail("rejected")
            continue
        await write_text(turn, path, text)
        await tool.complete()


async def _by_itself(turn: Turn, folder: Path) -> None:
    places = [{"path": str(folder / name)} for name in ("old.txt", "helper.py", "lib/helper.py")]
    tool = await turn.tool("Delete old.txt, move helper.py to lib/", "move", locations=places)
    if not await turn.allowed(tool):
        await tool.fail("rejected")
        return
    (folder / "old.txt").unlink(missing_ok=True)
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "helper.py").rename(folder / "lib" / "helper.py")
    await tool.complete()
