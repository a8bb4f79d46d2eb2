"""Scenes about the session's state: title, mode, options, usage, notices, compaction.

What the client did not advertise is not sent; the scene says so instead.
"""

from __future__ import annotations

from ..blocks import text_block
from ..commands import Misuse, command
from ..rpc import Json
from ..turn import Turn

USAGE: Json = {
    "sessionUpdate": "usage_update",
    "used": 12_345,
    "size": 200_000,
    "cost": {"amount": 0.0421, "currency": "USD"},
}


def notice(severity: str, title: str, description: str) -> Json:
    return {"sessionUpdate": "notice", "severity": severity, "title": title, "description": description}


@command("title", "Name the session", "TEXT")
async def title(turn: Turn, args: str) -> None:
    if not args:
        raise Misuse
    turn.session.title = args
    await turn.send({"sessionUpdate": "session_info_update", "title": args})
    await turn.say(f"This session is now called “{args}”.")


@command("mode", "Change the mode, as an agent may", "ID")
async def mode(turn: Turn, args: str) -> None:
    await _choose(turn, "mode", args)


@command("config", "Change a config option, as an agent may", "ID VALUE")
async def config(turn: Turn, args: str) -> None:
    option, _, value = args.partition(" ")
    if not value:
        raise Misuse
    if not turn.session.options.has_config:
        await turn.say("I have no config options.")
        return
    await _choose(turn, option, {"true": True, "false": False}.get(value.strip(), value.strip()))


async def _choose(turn: Turn, option: str, value: str | bool) -> None:
    """Choose a value and report it: a mode in both ways, since a client reads only one of them."""
    options = turn.session.options
    try:
        options.choose(option, value)
    except ValueError as error:
        await turn.say(f"No: {error}.")
        return
    if option == "mode":
        await turn.send({"sessionUpdate": "current_mode_update", "currentModeId": value})
    if options.has_config:
        await turn.send({"sessionUpdate": "config_option_update", "configOptions": options.config()})
    await turn.say(f"The {option} is now {value}.")


@command("usage", "Report how full the context is, and the cost")
async def usage(turn: Turn, args: str) -> None:
    await turn.send(USAGE)
    await turn.say("12345 of 200000 tokens are used.")


@command("notice", "Send a notice of each severity")
async def notices(turn: Turn, args: str) -> None:
    if not turn.client.notices:
        await turn.say("Your client takes no notices.")
        return
    for severity in ("info", "warning", "error"):
        await turn.send(notice(severity, f"A notice: {severity}", "Notices are not part of the history."))
    await turn.say("Sent three notices.")


@command("compact", "Compact the conversation (or pretend to)")
async def compact(turn: Turn, args: str) -> None:
    if not turn.client.compaction:
        await turn.say("Your client takes no compaction updates.")
        return
    compaction = {"compactionId": turn.session.next_id("compact")}
    await turn.send({"sessionUpdate": "compaction_update", **compaction, "status": "in_progress"})
    for piece in ("The user tried a demo; ", "the demo did as it was told."):
        block = text_block(piece)
        await turn.send({"sessionUpdate": "compaction_summary_chunk", **compaction, "content": block})
    await turn.send({"sessionUpdate": "compaction_update", **compaction, "status": "completed"})
    await turn.say("Compacted.")
