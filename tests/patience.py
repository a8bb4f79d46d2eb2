"""What the package gives up after a moment, the tests wait for: slow machines must not change what comes out.

In the process of the tests by `be_patient`, in kernels by a start-up file of IPython. For the tutorials this
is a plugin of pytest (`-p tests.patience`): nbval starts their kernels.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

WAITS_S = 60.0

UNDO = "acp_notebook.agent.undo"
NAMES = (
    f"{UNDO}.checkpoints.START_S",  # a turn begins without a checkpoint, and says so
    f"{UNDO}.change_tracker.SETTLE_S",  # its changes are shown later
    "acp_notebook.agent.conversation.CANCEL_GRACE_S",  # a cancelled turn is abandoned
)
IN_KERNELS = (
    *NAMES[:2],
    "acp_notebook.notebook.open_documents.ANSWER_S",  # the open notebook counts as out of reach
    "acp_notebook.notebook.open_documents.HELLO_S",
    "acp_notebook.frontend.panel.composer.OFFER_S",  # nothing is offered
)

STARTUP = f"""
from importlib import import_module
for name in {IN_KERNELS!r}:
    module, _, constant = name.rpartition(".")
    setattr(import_module(module), constant, {WAITS_S})
del import_module, name, module, constant
"""


class Patches(Protocol):
    """As much of pytest.MonkeyPatch as is needed."""

    def setattr(self, target: str, name: object) -> None: ...


def be_patient(patches: Patches) -> None:
    for name in NAMES:
        patches.setattr(name, WAITS_S)


def patient_kernels(ipython: Path) -> Path:
    """Kernels, and scripts run by IPython, with this IPYTHONDIR are patient; gives the folder."""
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "patience.py").write_text(STARTUP)
    return ipython


def pytest_configure() -> None:
    """As a plugin, with an IPYTHONDIR that `dev.py` has set: the user's own is not ours to write to."""
    if folder := os.environ.get("IPYTHONDIR"):
        patient_kernels(Path(folder))
