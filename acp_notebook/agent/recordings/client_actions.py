"""What the client does itself and no message tells, in the words of a recording.

Knows events and endings; a recorder writes these down, and a replay waits for the same ones or does them
in the place of those who did them: the user who clicked, the command that wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import events as ev
from ..transport import CLOSED, Ending

ClientAction = dict[str, Any]

MOST_BEFORE = 1_000_000
"""Characters of a file as it was before a write; a longer one is not kept."""

MOST_STDERR = 10_000


def folders(cwd: str, roots: Sequence[str], *, covered: bool = False) -> ClientAction:
    """A session is about to be opened there; `covered`: what its turns change there is looked for."""
    told = {"covered": True} if covered else {}
    return {"what": "folders", "cwd": cwd, "roots": list(roots)} | told


def before(session: str, path: str, text: str | None) -> ClientAction:
    """A file is about to be written; None: there was none, or no text."""
    kept = text if text is not None and len(text) <= MOST_BEFORE else None
    return {"what": "before", "session": session, "path": path, "text": kept}


def ended(ending: Ending | None, untaken: Sequence[int] = ()) -> ClientAction:
    """The connection is over: by us, or by the agent's own end, which came before it read these requests."""
    if ending is None or ending.mismatch or ending.reason == CLOSED:
        return {"what": "closed"}
    stderr = ending.stderr[-MOST_STDERR:]
    said = {"what": "ended", "reason": ending.reason, "exit_code": ending.exit_code, "stderr": stderr}
    return said | ({"untaken": list(untaken)} if untaken else {})


def of(event: ev.Event, session: str, made: Callable[[str], bool]) -> ClientAction | None:
    """None: an event of the agent's, which its message tells. `made`: whether we have run a terminal."""
    match event:
        case ev.QuestionAsked():
            said: ClientAction = {"what": "asked", "id": event.id, "tool": event.tool_id}
        case ev.QuestionSettled():
            said = {"what": "settled"} | _fields(event)
        case ev.ElicitationOpened():
            said = {"what": "form", "id": event.id}
        case ev.ElicitationSettled():  # what was filled in, its message tells
            said = {"what": "filled", "id": event.id, "action": event.action, "by": event.by}
            said |= {"reason": event.reason} if event.reason is not None else {}
        case ev.TerminalChanged(id=id) | ev.TerminalOutput(id=id) if not made(id):
            return None
        case ev.TerminalChanged():
            said = {"what": "terminal"} | _fields(event)
        case ev.TerminalOutput():
            said = {"what": "output"} | _fields(event)
        case ev.ToolChanged() if event.unprompted is True or event.id.startswith("acp:"):
            said = {"what": "card", "id": event.id}
        case _:
            return None
    return said | {"session": session}


def key(action: ClientAction) -> tuple[Any, ...]:
    """What makes two of them the same one."""
    return tuple(repr(action.get(name)) for name in ("what", "session", "id", "path", "status", "released"))


def is_told(action: ClientAction) -> bool:
    """What a command did, and not we: a replay tells it."""
    return action["what"] == "output" or (
        action["what"] == "terminal" and action.get("status") in ("exited", "killed")
    )


def _fields(event: ev.QuestionSettled | ev.TerminalChanged | ev.TerminalOutput) -> ClientAction:
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return {name: value for name, value in fields.items() if value is not ev.UNSET}
