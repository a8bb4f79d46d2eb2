"""Build our requests to an agent: each function returns a method and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET

from ...core import records as rec
from .. import lenient_types
from .. import schema as s

VERSION = 1

Call = tuple[str, s.Wire | Mapping[str, Any]]
"""A method and its parameters: a message of the schema, or plain JSON for a method beyond the protocol."""

Meta = Mapping[str, Any] | None
"""What the user adds to a request, in its field `_meta`."""


def initialize(capabilities: Mapping[str, Any], *, name: str, title: str, version: str) -> Call:
    client = s.Implementation(name=name, title=title, version=version)
    return "initialize", s.InitializeRequest(
        protocol_version=VERSION, client_capabilities=dict(capabilities), client_info=client
    )


def authenticate(method_id: str) -> Call:
    return "authenticate", s.AuthenticateRequest(method_id=method_id)


def logout() -> Call:
    return "logout", s.LogoutRequest()


def new_session(
    cwd: str, mcp_servers: Iterable[Mapping[str, Any]], directories: Iterable[str] = (), meta: Meta = None
) -> Call:
    return "session/new", s.NewSessionRequest(
        cwd=cwd,
        mcp_servers=list(mcp_servers),
        additional_directories=list(directories),
        meta=_given(meta),
    )


def load_session(
    id: str,
    cwd: str,
    mcp_servers: Iterable[Mapping[str, Any]],
    directories: Iterable[str] = (),
    meta: Meta = None,
) -> Call:
    return "session/load", s.LoadSessionRequest(
        session_id=id,
        cwd=cwd,
        mcp_servers=list(mcp_servers),
        additional_directories=list(directories),
        meta=_given(meta),
    )


def resume_session(
    id: str,
    cwd: str,
    mcp_servers: Iterable[Mapping[str, Any]],
    directories: Iterable[str] = (),
    meta: Meta = None,
) -> Call:
    return "session/resume", s.ResumeSessionRequest(
        session_id=id,
        cwd=cwd,
        mcp_servers=list(mcp_servers),
        additional_directories=list(directories),
        meta=_given(meta),
    )


def fork_session(
    id: str,
    cwd: str,
    mcp_servers: Iterable[Mapping[str, Any]],
    directories: Iterable[str] = (),
    meta: Meta = None,
) -> Call:
    """Unstable, but agents already support it."""
    return "session/fork", s.ForkSessionRequest(
        session_id=id,
        cwd=cwd,
        mcp_servers=list(mcp_servers),
        additional_directories=list(directories),
        meta=_given(meta),
    )


def list_sessions(cwd: str | None, cursor: str | None) -> Call:
    return "session/list", s.ListSessionsRequest(cwd=cwd, cursor=cursor)


def of_session(method: str, id: str) -> Call:
    """A method beyond the protocol that only names the session."""
    return method, s.SessionRequest(session_id=id)


def close_session(id: str) -> Call:
    return "session/close", s.SessionRequest(session_id=id)


def delete_session(id: str) -> Call:
    return "session/delete", s.SessionRequest(session_id=id)


def set_mode(session_id: str, mode_id: str) -> Call:
    return "session/set_mode", s.SetSessionModeRequest(session_id=session_id, mode_id=mode_id)


def set_config(session_id: str, config_id: str, value: str | bool) -> Call:
    if isinstance(value, bool):
        body: s.Wire = s.SetConfigBooleanRequest(session_id=session_id, config_id=config_id, value=value)
    else:
        body = s.SetConfigValueRequest(session_id=session_id, config_id=config_id, value=value)
    return "session/set_config_option", body


def set_model(session_id: str, model_id: str) -> Call:
    """For agents that predate config options."""
    return "session/set_model", s.SetSessionModelRequest(session_id=session_id, model_id=model_id)


def prompt(session_id: str, content: Iterable[rec.Content], meta: Meta = None) -> Call:
    blocks = [_block(it) for it in content]
    return "session/prompt", s.PromptRequest(session_id=session_id, prompt=blocks, meta=_given(meta))


def cancel(session_id: str) -> Call:
    """A notification."""
    return "session/cancel", s.SessionRequest(session_id=session_id)


def cancel_request(id: int) -> Call:
    """A notification: we no longer wait for the response to our request `id`."""
    return "$/cancel_request", s.CancelRequest(request_id=id)


def _given(meta: Meta) -> Any:
    return UNSET if meta is None else dict(meta)


def _block(content: rec.Content) -> s.ContentBlock:
    match content:
        case rec.Text(text, annotations):
            return s.TextContent(text=text, annotations=_annotations_out(annotations))
        case rec.Image(data, mime_type, uri, annotations):
            return s.ImageContent(
                data=data, mime_type=mime_type, uri=uri, annotations=_annotations_out(annotations)
            )
        case rec.Audio(data, mime_type, annotations):
            return s.AudioContent(data=data, mime_type=mime_type, annotations=_annotations_out(annotations))
        case rec.ResourceLink(uri, name, title, description, mime_type, size, annotations):
            return s.ResourceLink(
                uri=uri,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                size=size,
                annotations=_annotations_out(annotations),
            )
        case rec.Resource(uri, text, blob, mime_type, annotations):
            inner = s.ResourceContents(uri=uri, text=text, blob=blob, mime_type=mime_type)
            return s.EmbeddedResource(resource=inner, annotations=_annotations_out(annotations))
    raise TypeError(f"{type(content).__name__} cannot be sent to an agent")


def _annotations_out(annotations: Mapping[str, Any] | None) -> s.Annotations | None:
    return None if annotations is None else lenient_types.read(s.Annotations, dict(annotations))
