"""The messages of protocol version 1 as msgspec types: the official schema, field by field.

Defines the form of messages, not their meaning. Enumerations are plain strings on purpose: a message with an
unknown kind or status is still a message. These types refuse unknown fields, so that the tolerant path
notices them and keeps the raw message.
Names follow the schema in snake case (`tool_call_id` is `toolCallId` on the wire).
"""

# No `from __future__ import annotations`: msgspec takes twice as long to read annotations that are text.

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field


class Wire(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Any message or part of one. Both sides may use `meta` for extensions."""

    meta: Any = field(name="_meta", default=UNSET)


# ---- content ------------------------------------------------------------------------------


class Annotations(Wire):
    audience: list[str] | None = None
    last_modified: str | None = None
    priority: float | None = None


class TextContent(Wire, tag="text"):
    text: str
    annotations: Annotations | None = None


class ImageContent(Wire, tag="image"):
    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None


class AudioContent(Wire, tag="audio"):
    data: str
    mime_type: str
    annotations: Annotations | None = None


class ResourceLink(Wire, tag="resource_link"):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None


class ResourceContents(Wire):
    """TextResourceContents or BlobResourceContents: either `text` or `blob` is present."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class EmbeddedResource(Wire, tag="resource"):
    resource: ResourceContents
    annotations: Annotations | None = None


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class ContentItem(Wire, tag="content"):
    content: ContentBlock


class DiffItem(Wire, tag="diff"):
    path: str
    new_text: str
    old_text: str | None = None


class TerminalItem(Wire, tag="terminal"):
    terminal_id: str


ToolCallContent = ContentItem | DiffItem | TerminalItem


class ToolCallLocation(Wire):
    path: str
    line: int | None = None


# ---- session/update -----------------------------------------------------------------------


class Update(Wire, tag_field="sessionUpdate"):
    """The base of all session updates."""


class UserMessageChunk(Update, tag="user_message_chunk"):
    content: ContentBlock
    message_id: str | None = None


class AgentMessageChunk(Update, tag="agent_message_chunk"):
    content: ContentBlock
    message_id: str | None = None


class AgentThoughtChunk(Update, tag="agent_thought_chunk"):
    content: ContentBlock
    message_id: str | None = None


class ToolFields(Wire):
    """The fields of a tool call in tool_call, tool_call_update and permission requests."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: list[ToolCallContent] | None = None
    locations: list[ToolCallLocation] | None = None
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    name: str | None = None


class ToolCall(ToolFields, tag_field="sessionUpdate", tag="tool_call"):
    pass


class ToolCallUpdate(ToolFields, tag_field="sessionUpdate", tag="tool_call_update"):
    pass


class PlanEntry(Wire):
    content: str
    priority: str
    status: str


class Plan(Update, tag="plan"):
    entries: list[PlanEntry]


class PlanItems(Wire, tag="items"):
    plan_id: str
    entries: list[PlanEntry]


class PlanMarkdown(Wire, tag="markdown"):
    plan_id: str
    content: str


class PlanFile(Wire, tag="file"):
    plan_id: str
    uri: str


class PlanUpdate(Update, tag="plan_update"):
    """Unstable, but agents already send it."""

    plan: PlanItems | PlanMarkdown | PlanFile


class PlanRemoved(Update, tag="plan_removed"):
    """Unstable, but agents already send it."""

    plan_id: str


class CommandInput(Wire):
    hint: str


class AvailableCommand(Wire):
    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommandsUpdate(Update, tag="available_commands_update"):
    available_commands: list[AvailableCommand]


class CurrentModeUpdate(Update, tag="current_mode_update"):
    current_mode_id: str


class SelectOption(Wire):
    value: str
    name: str
    description: str | None = None


class SelectGroup(Wire):
    group: str
    name: str
    options: list[SelectOption]


class ConfigSelect(Wire, tag="select"):
    id: str
    name: str
    current_value: str
    options: list[Any]
    """SelectOption or SelectGroup, distinguished by `group`; `v1` reads them."""
    description: str | None = None
    category: str | None = None


class ConfigBoolean(Wire, tag="boolean"):
    id: str
    name: str
    current_value: bool
    description: str | None = None
    category: str | None = None


ConfigOption = ConfigSelect | ConfigBoolean


class ConfigOptionUpdate(Update, tag="config_option_update"):
    config_options: list[ConfigOption]


class SessionInfoUpdate(Update, tag="session_info_update"):
    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET


class Cost(Wire):
    amount: float
    currency: str


class UsageUpdate(Update, tag="usage_update"):
    used: int | None
    size: int | None
    cost: Cost | None = None


class Notice(Update, tag="notice"):
    severity: str
    title: str
    description: str | None = None


class CompactionUpdate(Update, tag="compaction_update"):
    compaction_id: str
    status: str
    summary: list[ContentBlock] | None = None
    error: str | None = None


class CompactionSummaryChunk(Update, tag="compaction_summary_chunk"):
    compaction_id: str
    content: ContentBlock


SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
)


class SessionNotification(Wire):
    session_id: str
    update: SessionUpdate


# ---- our requests and their responses ------------------------------------------------------


class Implementation(Wire):
    name: str
    version: str
    title: str | None = None


class InitializeRequest(Wire):
    protocol_version: int
    client_capabilities: dict[str, Any]
    client_info: Implementation


class PromptCapabilities(Wire):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Wire):
    http: bool = False
    sse: bool = False


class AgentCapabilities(Wire):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = field(default_factory=PromptCapabilities)
    mcp_capabilities: McpCapabilities = field(default_factory=McpCapabilities)
    session_capabilities: dict[str, Any] = field(default_factory=dict)
    auth: dict[str, Any] = field(default_factory=dict)


class AuthVariable(Wire):
    name: str
    label: str | None = None


class AuthMethod(Wire):
    id: str
    name: str
    description: str | None = None
    type: str = "agent"
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    vars: list[AuthVariable] = field(default_factory=list)
    """Of the type "env_var", which is no part of the protocol yet."""


class InitializeResponse(Wire):
    protocol_version: int
    agent_capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: list[AuthMethod] = field(default_factory=list)
    agent_info: Implementation | None = None


class AuthenticateRequest(Wire):
    method_id: str


class LogoutRequest(Wire):
    pass


class EnvVariable(Wire):
    name: str
    value: str


class McpServerStdio(Wire):
    name: str
    command: str
    args: list[str]
    env: list[EnvVariable]


class McpServerHttp(Wire, tag="http"):
    name: str
    url: str
    headers: list[EnvVariable]


class McpServerSse(Wire, tag="sse"):
    name: str
    url: str
    headers: list[EnvVariable]


class NewSessionRequest(Wire):
    cwd: str
    mcp_servers: list[Any]
    additional_directories: list[str] = field(default_factory=list)


class LoadSessionRequest(Wire):
    session_id: str
    cwd: str
    mcp_servers: list[Any]
    additional_directories: list[str] = field(default_factory=list)


class ResumeSessionRequest(LoadSessionRequest):
    pass


class SessionMode(Wire):
    id: str
    name: str
    description: str | None = None


class SessionModeState(Wire):
    current_mode_id: str
    available_modes: list[SessionMode]


class SessionResponse(Wire):
    """The response to session/load and session/resume."""

    modes: SessionModeState | None = None
    config_options: list[ConfigOption] | None = None
    models: Any = UNSET
    """From agents that predate config options; read together with them."""


class NewSessionResponse(SessionResponse, kw_only=True):
    session_id: str


class ListSessionsRequest(Wire):
    cwd: str | None = None
    cursor: str | None = None


class SessionInfo(Wire):
    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None
    additional_directories: list[str] = field(default_factory=list)


class ListSessionsResponse(Wire):
    sessions: list[SessionInfo]
    next_cursor: str | None = None


class SessionRequest(Wire):
    """The parameters of session/close, session/delete and session/cancel."""

    session_id: str


class ForkSessionRequest(LoadSessionRequest):
    """Unstable, but agents already support it; has the same response as session/new."""


class SetSessionModelRequest(Wire):
    """For agents that predate config options."""

    session_id: str
    model_id: str


class SetSessionModeRequest(Wire):
    session_id: str
    mode_id: str


class SetConfigValueRequest(Wire):
    session_id: str
    config_id: str
    value: str


class SetConfigBooleanRequest(Wire, tag="boolean"):
    session_id: str
    config_id: str
    value: bool


class SetConfigResponse(Wire):
    config_options: list[ConfigOption]


class PromptRequest(Wire):
    session_id: str
    prompt: list[ContentBlock]


class TokenUsage(Wire):
    """Unstable, but agents already send it."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptResponse(Wire):
    stop_reason: str
    usage: TokenUsage | None = None


class CancelRequest(Wire):
    """The parameters of $/cancel_request, from either side."""

    request_id: int | str | None


# ---- the agent's requests and our responses ------------------------------------------------


class PermissionOption(Wire):
    option_id: str
    name: str
    kind: str


class RequestPermissionRequest(Wire):
    session_id: str
    tool_call: ToolFields
    options: list[PermissionOption]


class PermissionCancelled(Wire, tag_field="outcome", tag="cancelled"):
    pass


class PermissionSelected(Wire, tag_field="outcome", tag="selected"):
    option_id: str


class RequestPermissionResponse(Wire):
    outcome: PermissionCancelled | PermissionSelected


class ReadTextFileRequest(Wire):
    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class ReadTextFileResponse(Wire):
    content: str


class WriteTextFileRequest(Wire):
    session_id: str
    path: str
    content: str


class CreateTerminalRequest(Wire):
    session_id: str
    command: str
    args: list[str] = field(default_factory=list)
    env: list[EnvVariable] = field(default_factory=list)
    cwd: str | None = None
    output_byte_limit: int | None = None


class CreateTerminalResponse(Wire):
    terminal_id: str


class TerminalRequest(Wire):
    """The parameters of terminal/output, wait_for_exit, kill and release."""

    session_id: str
    terminal_id: str


class TerminalExitStatus(Wire):
    exit_code: int | None = None
    signal: str | None = None


class TerminalOutputResponse(Wire):
    output: str
    truncated: bool
    exit_status: TerminalExitStatus | None = None


class CreateElicitationRequest(Wire):
    """`mode` is "form" (with `requested_schema`) or "url" (with `elicitation_id` and `url`)."""

    message: str
    mode: str
    session_id: str | None = None
    tool_call_id: str | None = None
    request_id: int | str | UnsetType | None = UNSET
    requested_schema: dict[str, Any] | None = None
    elicitation_id: str | None = None
    url: str | None = None


class CreateElicitationResponse(Wire):
    """`action`: accept, decline or cancel."""

    action: str
    content: dict[str, Any] | None = None


class CompleteElicitationNotification(Wire):
    elicitation_id: str


class Empty(Wire):
    """A response without content."""
