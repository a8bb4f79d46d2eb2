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
    initialize,
    list_sessions,
    load_session,
    logout,
    new_session,
    prompt,
    resume_session,
    set_config,
    set_mode,
)
from .reading import Malformed
from .requests import AGENT_REQUESTS, permission_answer, read_cancel_request, read_permission
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
    "initialize",
    "list_sessions",
    "load_session",
    "logout",
    "new_session",
    "permission_answer",
    "prompt",
    "read_cancel_request",
    "read_config",
    "read_initialize",
    "read_new_session",
    "read_permission",
    "read_prompt_answer",
    "read_session",
    "read_sessions",
    "read_update",
    "resume_session",
    "set_config",
    "set_mode",
]
