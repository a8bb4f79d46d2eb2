"""A kernel restarted in mid-turn leaves no agent process behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from acp_notebook.agent.processes.guardian import MARKER
from tests.agent.process_helpers import wait_until
from tests.browser.conftest import Open

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo')"


def agents_of(folder: Path) -> list[int]:
    """The agents, and their guardians, of the server that has its files there."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:  # it has just ended, or is another user's
            continue
        if MARKER.encode() in environment and str(folder).encode() in environment:
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_the_kernel_restarts_in_mid_turn(open_notebook: Open, times: int) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/slow 600')"])
    folder = notebook.server.folder
    for _ in range(times):
        notebook.wait_idle()
        notebook.run(0, 1)
        notebook.says(1, "tick2")
        assert agents_of(folder)
        notebook.restart()
        expect(notebook.output(1).locator(".acp")).to_have_attribute("data-acp-link", "gone")
        notebook.says(1, "the kernel is gone")
    notebook.wait_idle()
    wait_until(lambda: not agents_of(folder), "no agent is left")
