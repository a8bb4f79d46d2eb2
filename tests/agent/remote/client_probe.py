"""Connects to a server in a process of its own, and prints how that ended: outcome, seconds, memory.

`python -m tests.agent.remote.client_probe URL SECONDS`; SECONDS is the `start_timeout`.
"""

from __future__ import annotations

import json
import resource
import sys
import time

MAX_LINE = 32 << 20


def main(url: str, seconds: float) -> None:
    import httpx  # noqa: F401  # not to be counted
    import websockets.asyncio.client  # noqa: F401

    import acp_notebook as acp
    from acp_notebook.agent.remote import http_transport, ws_transport

    for module in (http_transport, ws_transport):
        assert hasattr(module, "MAX_LINE")
        setattr(module, "MAX_LINE", MAX_LINE)  # noqa: B010  # 256 MiB would be as bounded, but slow
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    try:
        acp.connect(url, cwd="/srv", start_timeout=seconds).agent.close()
        outcome, message = "connected", ""
    except acp.Error as error:
        outcome, message = type(error).__name__, str(error)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "outcome": outcome,
        "message": message,
        "seconds": time.monotonic() - began,
        "cpu": usage.ru_utime + usage.ru_stime,
        "grown_mb": (usage.ru_maxrss - before) / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
