"""In tests and their kernels, "demo" starts the demo agent with the scenes of `agents/demo_probes.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

SCRIPT = Path(__file__).parent / "agents" / "demo_probes.py"
COMMAND = (sys.executable, "-P", str(SCRIPT))

STARTUP = f"""
import sys
from acp_notebook.agent.known_agents import catalog
catalog.DEMO = (sys.executable, "-P", {str(SCRIPT)!r})
del catalog
"""
"""The same for another process: a kernel, a script."""


class Patches(Protocol):
    """The part of pytest.MonkeyPatch that is used here."""

    def setattr(self, target: str, name: object) -> None: ...


def use_probes(patches: Patches) -> None:
    patches.setattr("acp_notebook.agent.known_agents.catalog.DEMO", COMMAND)
