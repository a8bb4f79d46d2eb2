"""Every error that this package raises, by who caused it.

    Error
    ├── UsageError            the caller: an invalid argument or call (also a ValueError)
    │   └── SessionClosed     the session or its agent is closed
    ├── AgentNotFound         the environment: the command is missing or cannot be started
    ├── AgentError            the agent: it answered with an error: .code, .data
    │   ├── AuthenticationRequired    it requires a sign-in: .methods
    │   └── SessionLost               it no longer knows the session: session.reopen()
    ├── AgentDied             the agent exited or closed its output: .exit_code, .stderr, .untaken
    │   └── ConnectionLost    the network: a remote agent cannot be reached, or no longer: .may_pass
    ├── ProtocolError         the agent violates the protocol or speaks another version
    ├── ExtensionError        a handler of yours: the error that the agent gets: .code, .data
    ├── Conflict              a change cannot be undone: the file changed since, or no copy exists
    ├── Timeout               something took too long (also a TimeoutError)
    └── RecordingError        a recording cannot be read or written
        └── CassetteMismatch  a request differs from the recording

Knows nothing of the rest of the package. Each message says what happened and what to do next.
"""

from __future__ import annotations

from typing import Any, Self


class Error(Exception):
    """The base class of every error that this package raises."""


class UsageError(Error, ValueError):
    """The call or one of its arguments is invalid."""


class SessionClosed(UsageError):
    """The session or its agent is closed."""


class AgentNotFound(Error):
    """The agent's command is missing or cannot be started."""


class AgentError(Error):
    """The agent answered a request with an error."""

    def __init__(self, message: str, *, code: int, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class AuthenticationRequired(AgentError):
    """The agent requires a sign-in; `methods` lists the ways it offers."""

    def __init__(self, message: str, *, code: int, data: Any = None, methods: tuple[Any, ...] = ()) -> None:
        super().__init__(message, code=code, data=data)
        self.methods = methods


class SessionLost(AgentError):
    """The agent is running but no longer knows the session; see `session.reopen()`."""


class AgentDied(Error):
    """The agent exited, or closed its output, during a request.

    `untaken`: True if the agent certainly had not read the request; False if that is unknown.
    """

    def __init__(
        self, message: str, *, exit_code: int | None = None, stderr: str = "", untaken: bool = False
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr
        self.untaken = untaken

    def reworded(self, message: str, *, untaken: bool | None = None) -> Self:
        """The same error with another message."""
        # Not with `copy`: once distributed is imported, a copied exception shares the original's attributes.
        changed = type(self).__new__(type(self), message)
        changed.__dict__.update(self.__dict__)
        changed.untaken = self.untaken if untaken is None else untaken
        return changed


class ConnectionLost(AgentDied):
    """A remote agent cannot be reached, or the connection to it broke; the agent itself may still be running.

    It is an AgentDied, so that code for agents on this machine handles it, too. `may_pass`: whether another
    attempt may succeed without you doing anything.
    """

    def __init__(self, message: str, *, may_pass: bool = False, untaken: bool = False) -> None:
        super().__init__(message, untaken=untaken)
        self.may_pass = may_pass


class ProtocolError(Error):
    """The agent violates the protocol or speaks another version of it."""


class ExtensionError(Error):
    """Raise it in a handler of an extension method to answer the agent with this error.

    `code` is a JSON-RPC code, by default that of an internal error; `data` is plain JSON.
    """

    def __init__(self, message: str, *, code: int = -32603, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Conflict(Error):
    """A change cannot be undone or redone; nothing was overwritten."""


class Timeout(Error, TimeoutError):
    """A wait ended before its event; the operation itself continues."""


class RecordingError(Error):
    """A recording cannot be read or written, or does not match a request."""


class CassetteMismatch(RecordingError):
    """A request in a replay differs from the recording; the message shows the difference."""
