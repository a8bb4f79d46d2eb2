"""Scenes that ask the user for something other than permission: a form to fill in, an address to open.

Forms that the client does not support are not sent, except by "/form anyway"; the scene says so instead.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..commands import Misuse, command, number
from ..rpc import ClientError, Json, encode
from ..turn import Turn, TurnCancelled

LINK = "https://example.org/sign-in?state=demo"
DONE_S = 0.2
"""After which what the address was opened for counts as done."""

FULL: Json = {
    "type": "object",
    "title": "A new experiment",
    "description": "Everything that a form can ask for.",
    "properties": {
        "name": {
            "type": "string",
            "title": "Name",
            "description": "Letters, digits and dashes",
            "minLength": 3,
            "maxLength": 20,
            "pattern": "^[a-z][a-z0-9-]*$",
        },
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "start": {"type": "string", "title": "First day", "format": "date", "default": "2026-01-31"},
        "runs": {"type": "integer", "title": "Runs", "minimum": 1, "maximum": 100, "default": 10},
        "rate": {
            "type": "number",
            "title": "Learning rate",
            "minimum": 0,
            "maximum": 1,
            "description": "Between 0 and 1",
        },
        "model": {
            "type": "string",
            "title": "Model",
            "oneOf": [
                {"const": "linear", "title": "Linear", "description": "quick and plain"},
                {"const": "forest", "title": "Random forest", "description": "slower, and often better"},
                {"const": "net", "title": "Neural network"},
            ],
        },
        "metrics": {
            "type": "array",
            "title": "Metrics",
            "minItems": 1,
            "items": {
                "anyOf": [
                    {"const": "rmse", "title": "RMSE"},
                    {"const": "mae", "title": "MAE"},
                    {"const": "r2", "title": "R²"},
                ]
            },
            "default": ["rmse"],
        },
        "notify": {"type": "boolean", "title": "Tell me when it is done", "default": True},
    },
    "required": ["name", "model"],
}

CHOICE: Json = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "green", "blue"]},
        "other": {"type": "string", "title": "Other", "description": "Or in your own words"},
    },
}

SECRET: Json = {
    "type": "object",
    "properties": {
        "user": {"type": "string", "title": "User"},
        "pin": {"type": "string", "title": "PIN", "format": "password", "minLength": 4},
    },
    "required": ["user", "pin"],
}

HOSTILE: Json = {
    "type": "object",
    "title": "<img src=x onerror=alert(1)><b>Bold</b>",
    "description": "<script>alert(2)</script> \u202etxt.exe",
    "properties": {
        "<script>alert(3)</script>": {"type": "string", "title": "<b>title</b>", "description": "<i>x</i>"},
        "slow": {"type": "string", "title": "Slow", "pattern": "^(a+)+$"},
        "odd": {"type": "hologram", "title": "Odd", "depth": 3},
        "worse": 7,
        "long": {"type": "string", "title": "L" * 10_000, "default": "d" * 100, "maxLength": "many"},
        "__proto__": {"type": "string", "title": "Prototype"},
        "pick": {
            "type": "string",
            "oneOf": [{"const": "<b>", "title": "<img src=x onerror=alert(4)>"}, 5, {}],
        },
    },
    "required": ["slow", 5],
}

FORMS = {"": FULL, "anyway": FULL, "choice": CHOICE, "secret": SECRET, "hostile": HOSTILE}
KINDS = "[choice|secret|hostile|huge|required|withdraw|later|request|anyway]"


def _form(schema: Json, scope: Json) -> Json:
    return {"mode": "form", "message": "I need a few things from you.", "requestedSchema": schema, **scope}


@command("form", "Ask for a form to be filled in", KINDS)
async def form(turn: Turn, args: str) -> None:
    kind = args.split()[0] if args else ""
    if kind not in (*FORMS, "huge", "required", "withdraw", "later", "request"):
        raise Misuse
    if not turn.client.forms and kind != "anyway":
        await turn.say("Your client shows no forms.")
        return
    scope: Json = {"sessionId": turn.session.id}
    if kind == "withdraw":
        await _withdraw(turn, _form(CHOICE, scope))
    elif kind == "later":
        turn.afterwards = lambda: _later(turn, _form(CHOICE, scope))
        await turn.say("I ask when this turn is over.")
    else:
        await _say_answer(
            turn,
            await _ask(turn, _form(_schema(kind, args), scope if kind != "request" else {"requestId": 1})),
        )


def _schema(kind: str, args: str) -> Json:
    if kind == "huge":
        count = number(args, 1000, position=1)
        return {"type": "object", "properties": {f"field{at}": {"type": "string"} for at in range(count)}}
    if kind == "required":  # of a type that nobody knows
        return {"type": "object", "properties": {"odd": {"type": "hologram"}}, "required": ["odd"]}
    return FORMS.get(kind, CHOICE)


async def _ask(turn: Turn, params: Json) -> Json:
    answer = await turn.peer.request("elicitation/create", params)
    if answer.get("action") == "cancel":
        raise TurnCancelled
    return answer


async def _say_answer(turn: Turn, answer: Json) -> None:
    content: Any = answer.get("content")
    if isinstance(content, dict) and isinstance(content.get("pin"), str):
        content = {**content, "pin": f"{len(content['pin'])} characters"}  # it is not mine to repeat
    values = f": `{encode(content)}`" if content is not None else ""
    await turn.say(f"You answered {answer.get('action')}{values}.")


async def _withdraw(turn: Turn, params: Json) -> None:
    request_id, answer = turn.peer.start_request("elicitation/create", params)
    turn.peer.notify("$/cancel_request", {"requestId": request_id})
    try:
        await answer
    except ClientError as error:
        await turn.say(f"I withdrew my form, and got the error {error.code}.")
    else:
        await turn.say("I withdrew my form, and got an answer all the same.")


def _later(turn: Turn, params: Json) -> None:
    _, answer = turn.peer.start_request("elicitation/create", params)

    def report(answer: asyncio.Future[Any]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            title = f"{answer.result().get('action')} {encode(answer.result().get('content'))}"
            turn.session.send({"sessionUpdate": "session_info_update", "title": title})

    answer.add_done_callback(report)


@command("open", "Ask for an address to be opened, and report when that is done", "[URL]")
async def open_(turn: Turn, args: str) -> None:
    if not turn.client.urls:
        await turn.say("Your client opens no addresses.")
        return
    id = turn.session.next_id("link")
    params: Json = {
        "mode": "url",
        "message": "Please sign in there, then come back.",
        "sessionId": turn.session.id,
    }
    answer = await _ask(turn, {**params, "elicitationId": id, "url": args.strip() or LINK})
    if answer.get("action") == "accept":
        await asyncio.sleep(DONE_S)
        turn.peer.notify("elicitation/complete", {"elicitationId": id})
    await _say_answer(turn, answer)
