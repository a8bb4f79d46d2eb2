"""Scenes that really do something, once they are allowed to: write a file, run a command.

How files and commands are reached is in files.py and shell.py.
"""

from __future__ import annotations

from collections.abc import Callable

from ..blocks import fenced
from ..commands import Misuse, command
from ..files import FileTrouble, inside, read_text, write_text
from ..rpc import Json
from ..shell import ShellTrouble, execute
from ..turn import Tool, Turn

DEFAULT_TEXT = "Written by the demo agent.\n"


@command("edit", "Write TEXT into a file below the working directory, if allowed", "PATH [TEXT]")
async def edit(turn: Turn, args: str) -> None:
    words = args.split(maxsplit=1)
    if not words:
        raise Misuse
    text = words[1] + "\n" if len(words) > 1 else DEFAULT_TEXT
    await _edit(turn, words[0], lambda _: text)


@command("rework", "Change the first and the last line of files, if allowed", "PATH…")
async def rework(turn: Turn, args: str) -> None:
    if not args.split():
        raise Misuse
    for name in args.split():
        await _edit(turn, name, _reworked)


def _reworked(old: str | None) -> str:
    lines = (old or "").splitlines(keepends=True) or ["\n"]
    for at in sorted({0, len(lines) - 1}):
        lines[at] = f"reworked {lines[at]}"
    return "".join(lines)


async def _edit(turn: Turn, name: str, change: Callable[[str | None], str]) -> None:
    try:
        path = inside(turn.session.cwd, name)
        old = await read_text(turn, path)
    except FileTrouble as trouble:
        tool = await turn.tool(f"Edit {name}", "edit", rawInput={"path": name, "text": change(None)})
        await _give_up(turn, tool, name, str(trouble))
        return
    text = change(old)
    tool = await turn.tool(
        f"Edit {name}",
        "edit",
        content=[{"type": "diff", "path": path, "oldText": old, "newText": text}],
        locations=[{"path": path, "line": 1}],
        rawInput={"path": name, "text": text},
    )
    if not await turn.allowed(tool):
        await _give_up(turn, tool, name, "rejected")
        return
    await tool.start()
    try:
        await write_text(turn, path, text)
    except FileTrouble as trouble:
        await _give_up(turn, tool, name, str(trouble))
        return
    await tool.complete(rawOutput={"characters": len(text)})
    await turn.say(f"Wrote `{name}`.")


async def _give_up(turn: Turn, tool: Tool, name: str, reason: str) -> None:
    await tool.fail(reason)
    await turn.say(f"`{name}` is unchanged: {reason}.")


@command("run", "Run a shell command, if allowed", "CMD")
async def run(turn: Turn, args: str) -> None:
    if not args:
        raise Misuse
    tool = await turn.tool(args, "execute", rawInput={"command": args})
    if not await turn.allowed(tool):
        await tool.fail("rejected")
        await turn.say("The command did not run: rejected.")
        return
    try:
        outcome = await execute(turn, tool, args)
    except ShellTrouble as trouble:
        await tool.fail(str(trouble))
        await turn.say(f"The command failed: {trouble}.")
        return
    fields: Json = {"status": "completed" if outcome.code == 0 else "failed", "rawOutput": outcome.raw()}
    if not turn.client.terminal:
        fields["content"] = [{"type": "content", "content": fenced(outcome.output)}]
    await tool.update(**fields)
    ending = f"by the signal {outcome.signal}" if outcome.code is None else f"with exit code {outcome.code}"
    await turn.say(f"The command ended {ending}.")
