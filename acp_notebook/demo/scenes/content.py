"""Scenes about what a message can hold: markdown, pictures, sound, links, resources, and long streams.

They need nothing from the client.
"""

from __future__ import annotations

from ..blocks import audio_block, image_block, link_block, resource_block
from ..commands import COMMANDS, command, number
from ..turn import Turn
from .texts import MARKDOWN

BATCH = 256
"""Chunks that /stream writes at once: enough that a write costs nothing per chunk, few enough to cancel."""


@command("help", "List the commands")
async def help_(turn: Turn, args: str) -> None:
    lines = [f"- `{found.usage}` — {found.description}" for _, found in sorted(COMMANDS.items())]
    await turn.say("I am a scripted demo agent. I know these commands:\n\n" + "\n".join(lines))


@command("markdown", "A long, rich markdown text")
async def markdown(turn: Turn, args: str) -> None:
    await turn.say(MARKDOWN)


@command("image", "A small picture")
async def image(turn: Turn, args: str) -> None:
    await turn.show(image_block())


@command("audio", "A short sound")
async def audio(turn: Turn, args: str) -> None:
    await turn.show(audio_block())


@command("link", "A link to a resource")
async def link(turn: Turn, args: str) -> None:
    await turn.show(link_block())


@command("resource", "An embedded resource")
async def resource(turn: Turn, args: str) -> None:
    await turn.show(resource_block())


@command("stream", "Many small chunks, as fast as possible", "N [SIZE]")
async def stream(turn: Turn, args: str) -> None:
    count, size = number(args), number(args, 0, position=1)
    message = turn.session.next_id("msg")
    for start in range(1, count + 1, BATCH):
        words = range(start, min(start + BATCH, count + 1))
        await turn.send_texts(message, [f"word{word} ".ljust(size) for word in words])
