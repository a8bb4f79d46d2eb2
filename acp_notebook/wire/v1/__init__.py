"""Translate protocol version 1 to and from our events and records: only this package uses its field names.

Does no I/O and keeps no state. Reading never fails on fields that an agent adds: messages go through the
typed fast path, or else through the tolerant one, and then the event carries the raw message.
"""

from . import requests
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
    of_session,
    prompt,
    resume_session,
    set_config,
    set_mode,
    set_model,
)
from .meta import terminal_events, whole_output
from .methods import METHODS, extension, owner, read_extension, session_named
from .reading import Malformed
from .responses import (
    read_config,
    read_initialize,
    read_new_session,
    read_prompt_response,
    read_session,
    read_sessions,
)
from .servers import mcp_servers
from .updates import (
    ASIDE,
    Update,
    read_unknown_notification,
    read_update,
    read_updates,
    typed_updates,
)

__all__ = [
    "ASIDE",
    "METHODS",
    "VERSION",
    "Call",
    "Malformed",
    "Update",
    "authenticate",
    "cancel",
    "cancel_request",
    "close_session",
    "delete_session",
    "extension",
    "fork_session",
    "initialize",
    "list_sessions",
    "load_session",
    "logout",
    "mcp_servers",
    "new_session",
    "of_session",
    "owner",
    "prompt",
    "read_config",
    "read_extension",
    "read_initialize",
    "read_new_session",
    "read_prompt_response",
    "read_session",
    "read_sessions",
    "read_unknown_notification",
    "read_update",
    "read_updates",
    "requests",
    "resume_session",
    "session_named",
    "set_config",
    "set_mode",
    "set_model",
    "terminal_events",
    "typed_updates",
    "whole_output",
]
