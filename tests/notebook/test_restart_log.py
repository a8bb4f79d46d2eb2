"""A kernel restarted in mid-turn leaves no traceback in the server's log."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_client.manager import KernelManager

from tests.agent.process_helpers import ROOT, WAIT_S

PROMPT = """
import time
import acp_notebook as acp
turn = acp.connect('demo', undo=False).start('/slow 600')
while 'tick' not in turn.text:
    time.sleep(0.05)
print('it is at work', flush=True)
turn.wait()
"""


def test_a_restart_in_mid_turn_logs_no_error(tmp_path: Path) -> None:
    manager = KernelManager(connection_file=str(tmp_path / "connection.json"))
    log = tmp_path / "log"
    with log.open("wb") as file:
        manager.start_kernel(env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=file, stderr=file)
        client = manager.client()
        try:
            client.start_channels()
            client.wait_for_ready(timeout=WAIT_S)
            client.execute(PROMPT)
            while client.get_iopub_msg(timeout=WAIT_S)["msg_type"] != "stream":
                pass
            manager.shutdown_kernel(restart=True)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    assert "Traceback" not in log.read_text()
