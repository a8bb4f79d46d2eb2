"""Long timeouts for tests: a slow machine must not change results.

In the process of the tests by `be_patient`, in kernels by a start-up file of IPython. For the tutorials this
is a plugin of pytest (`-p tests.patience`): nbval starts their kernels.
"""

from __future__ import annotations

import os
from pathlib import Path

from acp_notebook import timeouts
from acp_notebook.timeouts import Timeouts
from tests import demo_agent

WAITS_S = 60.0


@timeouts.takes_fields_of(Timeouts)
def code_to_replace(**fields: float) -> str:
    """`timeouts.replace(…)` for another process: a kernel, a script."""
    words = ", ".join(f"{name}={value!r}" for name, value in fields.items())
    return f"from acp_notebook import timeouts\ntimeouts.replace({words})\ndel timeouts\n"


STARTUP = code_to_replace(
    checkpoint_start=WAITS_S,
    changes_settle=WAITS_S,
    page_answer=WAITS_S,  # the open notebook counts as out of reach
    page_hello=WAITS_S,
    completion=WAITS_S,  # nothing is offered
)


def be_patient() -> None:
    """Until the test ends (`tests/conftest.py`)."""
    timeouts.replace(
        checkpoint_start=WAITS_S,  # a turn begins without a checkpoint, and says so
        changes_settle=WAITS_S,  # its changes are shown later
        cancel_grace=WAITS_S,  # a cancelled turn is abandoned
    )


def patient_kernels(ipython: Path, *, probes: bool = True) -> Path:
    """Make kernels and IPython scripts with this IPYTHONDIR patient; returns the folder.

    `probes`: in them, "demo" starts the demo agent with the scenes of the tests."""
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "patience.py").write_text(STARTUP)
    if probes:
        (startup / "demo_agent.py").write_text(demo_agent.STARTUP)
    return ipython


def pytest_configure() -> None:
    """As a plugin: `dev.py` sets IPYTHONDIR, so that the user's own is not written to."""
    if folder := os.environ.get("IPYTHONDIR"):
        patient_kernels(Path(folder), probes=False)  # users have the built-in agent
