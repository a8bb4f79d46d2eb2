"""Run any coding agent that speaks ACP inside a notebook: the public names of the package.

Each name is imported on first use, so that `import acp_notebook` is fast.
PYTEST_DONT_REWRITE: keeps pytest from warning if the package is imported before its plugin.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api.agent import Agent
    from .api.cassette import Cassette
    from .api.connect import connect
    from .api.fan_out.call import fan_out
    from .api.fan_out.judge import judge
    from .api.fan_out.run import Run
    from .api.fan_out.runs import Runs
    from .api.load import load_transcript
    from .api.session import Session
    from .api.tools import tool
    from .api.turn import Turn
    from .core import events
    from .core.elicitation import ElicitationRequest
    from .core.policy import PermissionRequest
    from .core.records import Audio, Image, Resource, ResourceLink, Text
    from .core.snapshot import Snapshot
    from .errors import (
        AgentDied,
        AgentError,
        AgentNotFound,
        AuthenticationRequired,
        CassetteMismatch,
        Conflict,
        ConnectionLost,
        Error,
        ExtensionError,
        ProtocolError,
        RecordingError,
        SessionClosed,
        SessionLost,
        Timeout,
        UsageError,
    )
    from .setup.agents import agents
    from .setup.doctor import doctor
    from .setup.import_agents import import_agents
    from .setup.permissions import permissions
    from .setup.trust import trust

__all__ = [
    "Agent",
    "AgentDied",
    "AgentError",
    "AgentNotFound",
    "Audio",
    "AuthenticationRequired",
    "Cassette",
    "CassetteMismatch",
    "Conflict",
    "ConnectionLost",
    "ElicitationRequest",
    "Error",
    "ExtensionError",
    "Image",
    "PermissionRequest",
    "ProtocolError",
    "RecordingError",
    "Resource",
    "ResourceLink",
    "Run",
    "Runs",
    "Session",
    "SessionClosed",
    "SessionLost",
    "Snapshot",
    "Text",
    "Timeout",
    "Turn",
    "UsageError",
    "__version__",
    "agents",
    "connect",
    "doctor",
    "events",
    "fan_out",
    "import_agents",
    "judge",
    "load_transcript",
    "permissions",
    "tool",
    "trust",
]

_HOMES = {
    "setup.doctor": ("doctor",),
    "api.cassette": ("Cassette",),
    "api.connect": ("connect",),
    "api.fan_out.call": ("fan_out",),
    "api.fan_out.judge": ("judge",),
    "api.fan_out.run": ("Run",),
    "api.fan_out.runs": ("Runs",),
    "core": ("events",),
    "core.elicitation": ("ElicitationRequest",),
    "core.policy": ("PermissionRequest",),
    "core.records": ("Audio", "Image", "Resource", "ResourceLink", "Text"),
    "core.snapshot": ("Snapshot",),
    "errors": (
        "AgentDied",
        "AgentError",
        "AgentNotFound",
        "AuthenticationRequired",
        "CassetteMismatch",
        "Conflict",
        "ConnectionLost",
        "Error",
        "ExtensionError",
        "ProtocolError",
        "RecordingError",
        "SessionClosed",
        "SessionLost",
        "Timeout",
        "UsageError",
    ),
    "setup.import_agents": ("import_agents",),
    "setup.agents": ("agents",),
    "api.load": ("load_transcript",),
    "setup.permissions": ("permissions",),
    "api.agent": ("Agent",),
    "api.session": ("Session",),
    "api.tools": ("tool",),
    "setup.trust": ("trust",),
    "api.turn": ("Turn",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("connect", "fan_out"):  # start the guardian, which starts agents, while the rest is imported
        import_module(".agent.processes.guardian_client", __name__).guardian().prepare()
    module = import_module(f".{home}", __name__)
    value = getattr(module, name) if hasattr(module, name) else import_module(f".{home}.{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext acp_notebook`."""
    import_module(".frontend.magics.acp_magics", __name__).load(shell)


def unload_ipython_extension(shell: Any) -> None:
    import_module(".frontend.magics.acp_magics", __name__).unload(shell)
