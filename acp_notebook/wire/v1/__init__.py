"""Protocol version 1 <-> our events, requests and answers: the only place that knows its field names.

Does no I/O and keeps no state. Reading never fails on what an agent adds: messages go through the
typed fast path, or else through the tolerant one, and then the event carries the raw message.
"""

from .answers import (
    read_config,
    read_initialize,
    read_new_session,
    read_prompt_answer,
    read_session,
    read_sessions,
)
from .calls import (
    VERSION,
    Call,
    authenticate,
    cancel,
    cancel_request,
    close_session,
    delete_session,
    fork_session,
    initialize,
    list_sessions,
    load_session,
    logout,
    new_session,
    prompt,
    resume_session,
    set_config,
    set_mode,
    set_model,
)
from .meta import terminal_events, whole_output
from .reading import Malformed
from .requests import (
    AGENT_REQUESTS,
    done,
    exit_status,
    file_answer,
    output_answer,
    permission_answer,
    read_cancel_request,
    read_create_terminal,
    read_permission,
    read_read_file,
    read_terminal,
    read_write_file,
    terminal_made,
)
from .servers import mcp_servers
from .updates import read_update

__all__ = [
    "AGENT_REQUESTS",
    "VERSION",
    "Call",
    "Malformed",
    "authenticate",
    "cancel",
    "cancel_request",
    "close_session",
    "delete_session",
    "done",
    "exit_status",
    "file_answer",
    "fork_session",
    "initialize",
    "list_sessions",
    "load_session",
    "logout",
    "mcp_servers",
    "new_session",
    "output_answer",
    "permission_answer",
    "prompt",
    "read_cancel_request",
    "read_config",
    "read_create_terminal",
    "read_initialize",
    "read_new_session",
    "read_permission",
    "read_prompt_answer",
    "read_read_file",
    "read_session",
    "read_sessions",
    "read_terminal",
    "read_update",
    "read_write_file",
    "resume_session",
    "set_config",
    "set_mode",
    "set_model",
    "terminal_events",
    "terminal_made",
    "whole_output",
]
