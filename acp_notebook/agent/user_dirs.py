"""The user's folders for settings and for state that outlives a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CONFIG_VARIABLE = "ACP_NOTEBOOK_CONFIG"
STATE_VARIABLE = "ACP_NOTEBOOK_STATE"


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's settings. Ignores a relative XDG_CONFIG_HOME, as its specification says."""
    if chosen := environ.get(CONFIG_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "acp_notebook"


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of state that outlives a session. Ignores a relative XDG_STATE_HOME."""
    if chosen := environ.get(STATE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "acp_notebook"
