"""Translate the agent's requests and our responses.

Only their form: other modules read files, run commands and ask the user.
"""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from ...core import records as rec
from ...core.elicitation import ElicitationRequest, Outcome
from ...core.forms import Form
from ...core.requests import (
    CreateElicitation,
    CreateTerminalRequest,
    ReadTextFileRequest,
    RequestPermission,
    TerminalNamed,
    WriteTextFileRequest,
)
from .. import schema as s
from .forms import read_form
from .parts import meta_of, tool_event
from .reading import Malformed, read, read_exactly

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
"""Every request that an agent may make in version 1, with the types of its parameters and its response."""


def read_permission(params: Raw) -> RequestPermission:
    asked, raw = read(s.RequestPermissionRequest, params)
    options = tuple(rec.Option(it.option_id, it.name, it.kind) for it in asked.options)
    call = replace(tool_event(asked.tool_call), raw=raw)
    return RequestPermission(asked.session_id, call, options, raw, meta_of(asked))


def permission_response(option_id: str | None) -> s.RequestPermissionResponse:
    """The response with the chosen option; None: cancelled."""
    if option_id is None:
        return s.RequestPermissionResponse(outcome=s.PermissionCancelled())
    return s.RequestPermissionResponse(outcome=s.PermissionSelected(option_id=option_id))


def read_elicitation(params: Raw) -> CreateElicitation:
    asked, raw = read(s.CreateElicitationRequest, params)
    form = read_form(asked.requested_schema or {}) if asked.mode == "form" else Form()
    url = asked.url if asked.mode == "url" else None
    if asked.mode == "url" and url is None:
        raise Malformed('the elicitation has the mode "url", but no url')
    request = ElicitationRequest(
        asked.message, asked.mode, form.fields, url, title=form.title, description=form.description
    )
    return CreateElicitation(
        asked.session_id, request, asked.tool_call_id, asked.elicitation_id, form.problem, raw, meta_of(asked)
    )


def elicitation_response(outcome: Outcome) -> s.CreateElicitationResponse:
    content = None if outcome.content is None else dict(outcome.content)
    return s.CreateElicitationResponse(action=outcome.action, content=content)


def read_elicitation_complete(params: Raw) -> str:
    """The id of the elicitation that is complete."""
    return read(s.CompleteElicitationNotification, params)[0].elicitation_id


def read_read_file(params: Raw) -> ReadTextFileRequest:
    asked = read_exactly(s.ReadTextFileRequest, params)
    for name, number in (("line", asked.line), ("limit", asked.limit)):
        if number is not None and number < 0:
            raise Malformed(f"{name} is {number}; it must be 0 or more")
    return ReadTextFileRequest(asked.session_id, asked.path, asked.line, asked.limit)


def file_response(text: str) -> s.ReadTextFileResponse:
    return s.ReadTextFileResponse(content=text)


def read_write_file(params: Raw) -> WriteTextFileRequest:
    asked = read_exactly(s.WriteTextFileRequest, params)
    return WriteTextFileRequest(asked.session_id, asked.path, asked.content)


def read_create_terminal(params: Raw) -> CreateTerminalRequest:
    asked = read_exactly(s.CreateTerminalRequest, params)
    limit = asked.output_byte_limit
    if limit is not None and limit < 0:
        raise Malformed(f"outputByteLimit is {limit}; it must be 0 or more")
    env = {variable.name: variable.value for variable in asked.env}
    return CreateTerminalRequest(asked.session_id, asked.command, tuple(asked.args), env, asked.cwd, limit)


def terminal_response(id: str) -> s.CreateTerminalResponse:
    return s.CreateTerminalResponse(terminal_id=id)


def read_terminal(params: Raw) -> TerminalNamed:
    asked = read_exactly(s.TerminalRequest, params)
    return TerminalNamed(asked.session_id, asked.terminal_id)


def exit_status(code: int | None, signal: str | None) -> s.TerminalExitStatus:
    return s.TerminalExitStatus(exit_code=code, signal=signal)


def output_response(
    text: str, truncated: bool, exit: s.TerminalExitStatus | None
) -> s.TerminalOutputResponse:
    return s.TerminalOutputResponse(output=text, truncated=truncated, exit_status=exit)


def empty_response() -> s.Empty:
    return s.Empty()


def read_cancel_request(params: Raw) -> int | str | None:
    """The id of the request that the agent cancels."""
    asked, _ = read(s.CancelRequest, params)
    return asked.request_id
