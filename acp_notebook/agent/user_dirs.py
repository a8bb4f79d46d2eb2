"""The folder of what is kept between sessions, and locks on files in it. Knows nothing of what is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

STATE_VARIABLE = "ACP_NOTEBOOK_STATE"


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """What we keep between sessions. A relative XDG_STATE_HOME does not count."""
    if chosen := environ.get(STATE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "acp_notebook"


def lock(fd: int, *, exclusive: bool) -> None:
    """Wait for a shared lock, or take an exclusive one without waiting; raises OSError."""
    try:
        import fcntl
    except ImportError:
        raise OSError("there are no locks on this system") from None
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
