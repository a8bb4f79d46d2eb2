"""Every error that this package raises, by whose doing it is.

    Error
    ├── UsageError            the caller's: an argument or a call that cannot be (also a ValueError)
    │   └── SessionClosed     the session or its agent was closed before
    ├── AgentNotFound         the environment's: the command is not there or cannot be started
    ├── AgentError            the agent answered with an error: .code, .data
    │   ├── AuthenticationRequired    it wants a sign-in first: .methods
    │   └── SessionLost               it does not know the session any more: session.reopen()
    ├── AgentDied             the agent ended or closed its output: .exit_code, .stderr, .untaken
    ├── ProtocolError         the agent speaks something that we cannot
    ├── Conflict              what an agent changed cannot be undone: changed again since, or never kept
    ├── Timeout               a wait ended without its event (also a TimeoutError)
    └── RecordingError        a recording cannot be read or written
        └── CassetteMismatch  what is asked of it is not what was recorded

Knows nothing of the rest of the package. Each message says what happened and what to do next.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The root: `except acp.Error` catches all that this package raises."""


class UsageError(Error, ValueError):
    """The call itself is wrong."""


class SessionClosed(UsageError):
    """The session, or its agent, was closed before."""


class AgentNotFound(Error):
    """The agent's command is not there, or cannot be started."""


class AgentError(Error):
    """The agent answered a request with an error."""

    def __init__(self, message: str, *, code: int, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class AuthenticationRequired(AgentError):
    """The agent wants a sign-in before it works; `methods` are the ways it offers."""

    def __init__(self, message: str, *, code: int, data: Any = None, methods: tuple[Any, ...] = ()) -> None:
        super().__init__(message, code=code, data=data)
        self.methods = methods


class SessionLost(AgentError):
    """The agent lives and does not know the session any more; `session.reopen()` leads on."""


class AgentDied(Error):
    """The agent ended, or closed its output, while it was needed.

    `untaken`: it certainly had not read what it was asked; False where that is not known.
    """

    def __init__(
        self, message: str, *, exit_code: int | None = None, stderr: str = "", untaken: bool = False
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr
        self.untaken = untaken


class ProtocolError(Error):
    """The agent violates the protocol, or speaks another version of it."""


class Conflict(Error):
    """What an agent changed cannot be undone, or done again; nothing was overwritten."""


class Timeout(Error, TimeoutError):
    """A wait ended without its event; what was waited for goes on."""


class RecordingError(Error):
    """A recording cannot be read or written, or does not match what is asked of it."""


class CassetteMismatch(RecordingError):
    """A replay was asked for something else than was recorded; the message shows the difference."""
