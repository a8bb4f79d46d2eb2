"""What the agent asks of us, and how we answer.

Knows the forms, not the deeds: who reads a file or asks the user is decided elsewhere.
"""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from ...core import records as rec
from ...core.facts import PermissionAsked
from .. import schema as s
from .parts import tool_event
from .reading import read

AGENT_REQUESTS: dict[str, tuple[type[s.Wire], type[s.Wire]]] = {
    "session/request_permission": (s.RequestPermissionRequest, s.RequestPermissionResponse),
    "fs/read_text_file": (s.ReadTextFileRequest, s.ReadTextFileResponse),
    "fs/write_text_file": (s.WriteTextFileRequest, s.Empty),
    "terminal/create": (s.CreateTerminalRequest, s.CreateTerminalResponse),
    "terminal/output": (s.TerminalRequest, s.TerminalOutputResponse),
    "terminal/wait_for_exit": (s.TerminalRequest, s.TerminalExitStatus),
    "terminal/kill": (s.TerminalRequest, s.Empty),
    "terminal/release": (s.TerminalRequest, s.Empty),
    "elicitation/create": (s.CreateElicitationRequest, s.CreateElicitationResponse),
}
"""Every request that version 1 lets an agent make: how it is asked, and how it is answered."""


def read_permission(params: Raw) -> PermissionAsked:
    asked, raw = read(s.RequestPermissionRequest, params)
    options = tuple(rec.Option(it.option_id, it.name, it.kind) for it in asked.options)
    return PermissionAsked(asked.session_id, replace(tool_event(asked.tool_call), raw=raw), options, raw)


def permission_answer(option_id: str | None) -> s.RequestPermissionResponse:
    """The chosen option; None: cancelled."""
    if option_id is None:
        return s.RequestPermissionResponse(outcome=s.PermissionCancelled())
    return s.RequestPermissionResponse(outcome=s.PermissionSelected(option_id=option_id))


def read_cancel_request(params: Raw) -> int | str | None:
    """The id of the request that the agent takes back."""
    asked, _ = read(s.CancelRequest, params)
    return asked.request_id
