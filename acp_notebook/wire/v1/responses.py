"""Translate the agent's responses to our records, for every method that we call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Raw

from ...core import events as ev
from ...core import records as rec
from ...core.requests import AgentFacts, AuthMethod, Capabilities, PromptAnswer, SessionFacts, SessionInfo
from .. import schema as s
from .. import tolerant_json
from .meta import methods
from .parts import config_options, meta_of
from .reading import read


def read_initialize(result: Raw) -> AgentFacts:
    answer, raw = read(s.InitializeResponse, result)
    can, session = answer.agent_capabilities, answer.agent_capabilities.session_capabilities
    prompt, mcp = can.prompt_capabilities, can.mcp_capabilities
    return AgentFacts(
        protocol_version=answer.protocol_version,
        name=answer.agent_info.name if answer.agent_info else None,
        title=answer.agent_info.title if answer.agent_info else None,
        version=answer.agent_info.version if answer.agent_info else None,
        capabilities=Capabilities(
            load=can.load_session,
            resume=_offered(session.get("resume")),
            list=_offered(session.get("list")),
            fork=_offered(session.get("fork")),
            close=_offered(session.get("close")),
            delete=_offered(session.get("delete")),
            additional_directories=_offered(session.get("additionalDirectories")),
            image=prompt.image,
            audio=prompt.audio,
            embedded_context=prompt.embedded_context,
            mcp_http=mcp.http,
            mcp_sse=mcp.sse,
            logout=_offered(can.auth.get("logout")),
            meta=meta_of(can),
            methods=methods(can.meta),
        ),
        auth_methods=tuple(
            AuthMethod(
                *(it.id, it.name, it.description, it.type, tuple(it.args), it.env),
                tuple((variable.name, variable.label) for variable in it.vars),
            )
            for it in answer.auth_methods
        ),
        raw=raw,
        meta=meta_of(answer),
    )


def _offered(capability: Any) -> bool:
    """Whether a capability is offered: an object, mostly empty, means yes; null and false mean no."""
    return capability is not None and capability is not False


def read_new_session(result: Raw) -> SessionFacts:
    answer, raw = read(s.NewSessionResponse, result)
    return SessionFacts(answer.session_id, tuple(_session_events(answer, raw)))


def read_session(result: Raw) -> SessionFacts:
    """Read the response to load and resume, which may be null."""
    if bytes(result) == b"null":
        return SessionFacts(None)
    answer, raw = read(s.SessionResponse, result)
    return SessionFacts(None, tuple(_session_events(answer, raw)))


def _session_events(answer: s.SessionResponse, raw: Any) -> Iterable[ev.Event]:
    if (meta := meta_of(answer)) is not None:
        yield ev.InfoChanged(meta=meta)
    # Config options win over modes, which then only repeat the same.
    if answer.config_options:
        yield ev.ConfigReplaced(config_options(answer.config_options), raw)
        return
    if answer.modes is not None:
        modes = tuple(rec.Mode(mode.id, mode.name, mode.description) for mode in answer.modes.available_modes)
        yield ev.ModesReplaced(modes, answer.modes.current_mode_id, raw)
    if (model := _model_option(answer.models)) is not None:
        yield ev.ConfigReplaced((model,))


def _model_option(models: Any) -> rec.ConfigOption | None:
    """The models of an agent that predates config options, as the config option that replaced them."""
    match models:
        case {"availableModels": list(available), "currentModelId": str(current)}:
            choices = tuple(
                rec.Choice(id, _text(it.get("name")) or id, _text(it.get("description")))
                for it in available
                if isinstance(it, dict) and isinstance(id := it.get("modelId"), str)
            )
            return rec.ConfigOption(
                "model", "Model", "select", current, choices, category="model", set_by="model"
            )
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def read_sessions(result: Raw) -> tuple[tuple[SessionInfo, ...], str | None]:
    """One page of the agent's sessions, and the cursor of the next."""
    answer, _ = read(s.ListSessionsResponse, result)
    found = tuple(
        SessionInfo(
            it.session_id, it.cwd, it.title, it.updated_at, tuple(it.additional_directories), meta_of(it)
        )
        for it in answer.sessions
    )
    return found, answer.next_cursor


def read_config(result: Raw) -> ev.ConfigReplaced:
    answer, raw = read(s.SetConfigResponse, result)
    return ev.ConfigReplaced(config_options(answer.config_options), raw, meta_of(answer))


def read_prompt_response(result: Raw, *, usage_in_meta: bool = False) -> PromptAnswer:
    """How the turn ended. `usage_in_meta`: look for token counts in `_meta`, too."""
    answer, raw = read(s.PromptResponse, result)
    usage = answer.usage
    if usage is None and usage_in_meta:
        return PromptAnswer(answer.stop_reason, _quota(result), raw, meta_of(answer))
    tokens = usage and rec.TokenUsage(
        usage.total_tokens,
        usage.input_tokens,
        usage.output_tokens,
        usage.thought_tokens,
        usage.cached_read_tokens,
        usage.cached_write_tokens,
    )
    return PromptAnswer(answer.stop_reason, tokens or None, raw, meta_of(answer))


def _quota(result: Raw) -> rec.TokenUsage | None:
    """Read `_meta.quota.token_count`, which gemini sends."""
    found: Any = tolerant_json.loads(bytes(result))
    for name in ("_meta", "quota", "token_count"):
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        return None
    counts = [found.get(name) for name in ("input_tokens", "output_tokens")]
    known = [it for it in counts if type(it) is int and it >= 0]
    return rec.TokenUsage(sum(known), *known) if len(known) == len(counts) else None
