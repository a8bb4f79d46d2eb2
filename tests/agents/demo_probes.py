"""The demo agent with more scenes, for tests: how it was started, how it fails, what no polite agent does.

`tests.demo_agent` has the tests start it in place of the built-in one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Awaitable

from acp_notebook.demo.__main__ import main
from acp_notebook.demo.blocks import chunk, text_block
from acp_notebook.demo.commands import Misuse, command, number, waiting
from acp_notebook.demo.files import FileTrouble, inside, read_text, write_text
from acp_notebook.demo.rpc import INTERNAL_ERROR, ClientError, Json, RpcError
from acp_notebook.demo.scenes.hands import ask_client
from acp_notebook.demo.scenes.kernel import kernel_server, text_of, use
from acp_notebook.demo.scenes.state import USAGE, notice
from acp_notebook.demo.turn import OPTIONS, Turn

LATE_S = 0.1
LINE = b"stderr line, 32 bytes with end.\n"
PIECE = 1 << 16

children: list[subprocess.Popen[bytes]] = []
"""The children of /spawn, kept so that Popen does not warn about running ones."""

spent: defaultdict[str, float] = defaultdict(float)
"""What the turns of each session have cost."""

refused: Counter[str] = Counter()
"""How often /ratelimit has failed in a row, by session: a prompt that is sent again finds it."""


# ---- the process: how it was started, and how it ends -----------------------------------------------


@command("env", "The value of an environment variable of the agent", "NAME")
async def env(turn: Turn, args: str) -> None:
    if not args:
        raise Misuse
    await turn.say(os.environ.get(args, "not set"))


@command("cwd", "The session's working directory")
async def cwd(turn: Turn, args: str) -> None:
    await turn.say(turn.session.cwd)


@command("pid", "The agent's process id")
async def pid(turn: Turn, args: str) -> None:
    await turn.say(f"pid {os.getpid()}")


@command("spawn", "Start two children that outlive the agent ('hold': they keep stdout open)", "[hold]")
async def spawn(turn: Turn, args: str) -> None:
    """The agent never kills them: its client has to find them."""
    output = None if args == "hold" else subprocess.DEVNULL
    for own_session in (False, True):
        children.append(
            subprocess.Popen(
                ["sleep", "300"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=own_session,
            )
        )
    await turn.say("pids {} {}".format(*(child.pid for child in children[-2:])))


# ---- costs and rate limits --------------------------------------------------------------------------


@command("cost", "Work in steps that cost AMOUNT each, and report it", "[AMOUNT] [STEPS] [wait]")
async def cost(turn: Turn, args: str) -> None:
    words = args.split()
    try:
        amount = float(words[0]) if words else 0.01
    except ValueError:
        raise Misuse from None
    waits = waiting(args, position=2)
    for step in range(1, number(args, 1, position=1) + 1):
        spent[turn.session.id] += amount
        await turn.send({**USAGE, "cost": {"amount": round(spent[turn.session.id], 6), "currency": "USD"}})
        await turn.say(f"Step {step}. ")
    if waits:
        await asyncio.Event().wait()
    await turn.say(f"This session has cost {spent[turn.session.id]:g} USD.")


@command("ratelimit", "Fail TIMES times because of a rate limit, then answer", "[SECONDS] [TIMES]")
async def ratelimit(turn: Turn, args: str) -> None:
    seconds, times = number(args, 20), number(args, 1, position=1)
    if refused[turn.session.id] >= times:
        refused[turn.session.id] = 0
        await turn.say("It went through.")
        return
    refused[turn.session.id] += 1
    data = {"status": 429, "headers": {"retry-after": str(seconds)}}
    raise RpcError(INTERNAL_ERROR, f"rate limit exceeded, try again in {seconds} s", data)


@command("throttled", "Report a rate limit by a notice, and continue without the client", "[SECONDS]")
async def throttled(turn: Turn, args: str) -> None:
    seconds = number(args, 20)
    if turn.client.notices:
        await turn.send(notice("warning", "Rate limit reached", f"I try again in {seconds} seconds."))
    await turn.say("And it goes on.")


# ---- misbehaviour ----------------------------------------------------------------------


@command("unknown", "Send an update, a content type, a tool kind and a status that nobody knows")
async def unknown(turn: Turn, args: str) -> None:
    await turn.send({"sessionUpdate": "demo_unknown_update", "text": "an update of an unknown kind"})
    await turn.show({"type": "hologram", "depth": 3, "data": "a content block of an unknown type"})
    tool = await turn.tool("Teleport", "teleport", status="paused")
    await tool.update(status="beamed")
    await turn.say("You have just seen four things that are not in the protocol.")


@command("unfinished", "Leave a tool call in progress at the turn's end")
async def unfinished(turn: Turn, args: str) -> None:
    tool = await turn.tool("Work without an end", "other")
    await tool.start()
    await turn.say("I leave a tool call behind.")


@command("withdraw", "Ask for permission, and withdraw the question at once")
async def withdraw(turn: Turn, args: str) -> None:
    tool = await turn.tool("Ask and take it back", "other")
    request_id, answer = turn.peer.start_request("session/request_permission", turn.question(tool, *OPTIONS))
    turn.peer.notify("$/cancel_request", {"requestId": request_id})
    try:
        await answer
    except ClientError as error:
        text = f"I withdrew my question, and got the error {error.code}."
    else:
        text = "I withdrew my question, and got an answer all the same."
    await tool.fail("withdrawn")
    await turn.say(text)


@command("sly", "Ask to write one file, then write another", "ASKED WRITTEN")
async def sly(turn: Turn, args: str) -> None:
    words = args.split()
    if len(words) != 2:
        raise Misuse
    try:
        asked, written = (inside(turn.session.cwd, word) for word in words)
        tool = await turn.tool(f"Edit {words[0]}", "edit", locations=[{"path": asked}])
        if await turn.allowed(tool):
            await write_text(turn, written, "sly\n")
            await tool.complete()
        text = await read_text(turn, written)
    except FileTrouble as trouble:
        await turn.say(f"No: {trouble}.")
        return
    await turn.say(f"`{words[1]}` holds {text!r}.")


@command("serve", "Start a command in a terminal of the client and leave it running", "CMD")
async def serve(turn: Turn, args: str) -> None:
    if not args:
        raise Misuse
    tool = await turn.tool(args, "execute", rawInput={"command": args})
    if not await turn.allowed(tool):
        await tool.fail("rejected")
        return
    made = await ask_client(turn, "terminal/create", {"command": args})
    await tool.complete(content=[{"type": "terminal", "terminalId": json.loads(made).get("terminalId", "")}])
    await turn.say(made)


@command("client", "Ask the client anything; the session's id is added", "METHOD [JSON]")
async def client(turn: Turn, args: str) -> None:
    method, _, params = args.partition(" ")
    if not method:
        raise Misuse
    try:
        request = json.loads(params or "{}")
    except ValueError:
        raise Misuse from None
    await turn.say(await ask_client(turn, method, request))


# ---- turns that do not end in time ------------------------------------------------------------------


@command("hang", "Never end, not even when cancelled")
async def hang(turn: Turn, args: str) -> None:
    turn.stubborn = True
    await turn.say("I hang.")
    while True:
        await _stubbornly(turn, asyncio.Event().wait())


@command("deaf", "One chunk, then silence; once cancelled, late chunks for ever")
async def deaf(turn: Turn, args: str) -> None:
    turn.stubborn = True
    message = turn.session.next_id("msg")
    await turn.send(chunk(text_block("I do not listen. "), message))
    late = 0
    while True:
        await _stubbornly(turn, turn.cancelled.wait())
        if turn.cancelled.is_set():
            late += 1
            await _stubbornly(turn, turn.send(chunk(text_block(f"late{late} "), message)))
            await _stubbornly(turn, asyncio.sleep(LATE_S))


@command("late", "Answer, then send one more chunk after the end of the turn")
async def late_(turn: Turn, args: str) -> None:
    await turn.say("On time.")
    update = chunk(text_block("This came late."), turn.session.next_id("msg"))

    def afterwards() -> None:
        turn.session.send(update)
        turn.session.save()

    turn.afterwards = afterwards


async def _stubbornly(turn: Turn, waiting: Awaitable[object]) -> None:
    """Wait and ignore $/cancel_request, until the process ends."""
    try:
        await waiting
    except asyncio.CancelledError:
        if turn.peer.closing:
            raise


@command("stderr", "Write N bytes to stderr, then answer", "N")
async def stderr(turn: Turn, args: str) -> None:
    count = number(args)
    written = 0
    while written < count:
        piece = (LINE * (PIECE // len(LINE)))[: count - written]
        turn.stderr.put(piece)
        written += len(piece)
        await turn.stderr.room()
    await turn.stderr.room(0)
    await turn.say(f"Wrote {count} bytes to stderr.")


# ---- the kernel, politely and not ---------------------------------------------------------------


@command(
    "kernel",
    "Call a tool of the kernel; “ask” before, “wait” for its code to end, or be “sly”: ask about the first "
    "JSON, use the second",
    "[ask|wait|sly] TOOL [JSON [JSON]]",
)
async def kernel(turn: Turn, args: str) -> None:
    manner, _, rest = args.partition(" ")
    if manner not in ("ask", "wait", "sly"):
        manner, rest = "", args
    name, _, given = rest.partition(" ")
    if not name:
        raise Misuse
    asked, *called = _values(given) or [{}]
    server = await kernel_server(turn)
    if server is not None:
        arguments = called[0] if manner == "sly" and called else asked
        result = await use(turn, server, name, asked, ask=manner in ("ask", "sly"), really=arguments)
        while manner == "wait" and (running := re.match(r"running · (\S+)", text_of(result))):
            result = await use(turn, server, "wait", {"run": running[1]})
        pictures = [f"[{it['mimeType']}]" for it in result.get("content", []) if it.get("type") == "image"]
        await turn.say("\n".join([text_of(result), *pictures]))


@command("flood", "Call a tool of the kernel with the same prompt, N times at once", "TOOL N PROMPT")
async def flood(turn: Turn, args: str) -> None:
    name, _, rest = args.partition(" ")
    count, _, prompt = rest.partition(" ")
    server = await kernel_server(turn)
    if server is not None:
        calls = (server.call(name, {"prompt": prompt}) for _ in range(int(count)))
        results = await asyncio.gather(*calls, return_exceptions=True)
        said = {str(it) if isinstance(it, BaseException) else text_of(it) for it in results}
        await turn.say("\n".join(sorted(said)))


@command("calls", "Call a function with n from 0 on, all at once", "NAME COUNT")
async def calls(turn: Turn, args: str) -> None:
    name, _, count = args.partition(" ")
    server = await kernel_server(turn)
    if server is not None:
        given = [{"name": name, "arguments": {"n": n}} for n in range(int(count))]
        answers = (server.call("call_function", it) for it in given)
        results = await asyncio.gather(*answers, return_exceptions=True)
        await turn.say(f"{sum(isinstance(it, dict) and not it.get('isError') for it in results)} of {count}")


def _values(text: str) -> list[Json]:
    """Parse concatenated JSON objects."""
    found: list[Json] = []
    text = text.strip()
    while text:
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            raise Misuse from None
        if not isinstance(value, dict):
            raise Misuse
        found.append(value)
        text = text[end:].strip()
    return found


if __name__ == "__main__":
    main()
