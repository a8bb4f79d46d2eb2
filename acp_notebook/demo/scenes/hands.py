"""Scenes that use the client's hands, politely and not: files and terminals, asked about before or not.

How an agent *should* do it is in work.py.
"""

from __future__ import annotations

import json

from ..commands import Misuse, command, number
from ..files import FileTrouble, inside, write_text
from ..rpc import ClientError, Json
from ..shell import ShellTrouble, execute
from ..turn import Turn


@command("read", "Read a file through the client, from LINE on, LIMIT lines", "PATH [LINE [LIMIT]]")
async def read(turn: Turn, args: str) -> None:
    path, *numbers = args.split() or [""]
    if not path:
        raise Misuse
    request: Json = {"path": path if path.startswith("/") else f"{turn.session.cwd}/{path}"}
    request.update(zip(("line", "limit"), (number(it) for it in numbers), strict=False))
    await turn.say(await ask_client(turn, "fs/read_text_file", request))


@command("write", "Write TEXT into a file without asking anybody", "PATH [TEXT]")
async def write(turn: Turn, args: str) -> None:
    name, _, text = args.partition(" ")
    if not name:
        raise Misuse
    try:
        await write_text(turn, inside(turn.session.cwd, name), f"{text}\n")
    except FileTrouble as trouble:
        await turn.say(f"`{name}` is unchanged: {trouble}.")
        return
    await turn.say(f"Wrote `{name}`.")


@command("sh", "Run a shell command without asking anybody", "CMD")
async def sh(turn: Turn, args: str) -> None:
    if not args:
        raise Misuse
    tool = await turn.tool("Some command", "execute")
    try:
        outcome = await execute(turn, tool, args)
    except ShellTrouble as trouble:
        await tool.fail(str(trouble))
        await turn.say(f"The command failed: {trouble}.")
        return
    await tool.update(status="completed" if outcome.code == 0 else "failed", rawOutput=outcome.raw())
    await turn.say(f"The command ended with exit code {outcome.code}.")


async def ask_client(turn: Turn, method: str, request: Json) -> str:
    """The client's answer as JSON; an error too is an answer."""
    try:
        answer = await turn.peer.request(method, {"sessionId": turn.session.id, **request})
    except ClientError as error:
        return json.dumps({"error": {"code": error.code, "message": str(error)}})
    return json.dumps(answer)
