"""A scene beyond the protocol: methods of the demo agent's own, and `_meta`."""

from __future__ import annotations

from ..blocks import chunk, text_block
from ..commands import command
from ..rpc import ClientError, Json, encode
from ..turn import Turn

CHOICES = ["red", "green", "blue"]


@command("extension", "Call a method of your own client, and add _meta to what I say", "[METHOD]")
async def extension(turn: Turn, args: str) -> None:
    method = args or "_demo/choose"
    if not method.startswith("_"):
        await turn.say("The name of an extension begins with an underscore.")
        return
    turn.peer.notify("_demo/progress", {"sessionId": turn.session.id, "text": f"I call {method}"})
    asked: Json = {"sessionId": turn.session.id, "choices": CHOICES}
    try:
        _, answer = turn.peer.start_request(method, asked)
        said = f"You answered {encode(await answer)}."
    except ClientError as error:
        said = f"You answered with the error {error.code}: {error}."
    message = turn.session.next_id("msg")
    await turn.send({**chunk(text_block(said), message), "_meta": {"demo/method": method}})
    if turn.meta:
        more = f"\n\nYour prompt came with {encode(turn.meta)}."
        await turn.send({**chunk(text_block(more), message), "_meta": {"demo/received": turn.meta}})
    turn.answer_meta = {"demo/done": True}
