"""Shows why this package does not use nest-asyncio: a cell that waits with it stops the kernel permanently.

    pip install ipykernel nest-asyncio acp-notebook
    python docs/nest_asyncio_wedge.py

Each way of waiting gets a kernel of its own: one cell waits in that way, another cell is queued behind it,
as when a user runs two cells, and both should be answered.
"""

from __future__ import annotations

import queue
import time
from importlib.metadata import version

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

PATIENCE_S = 15.0
"""For both cells together: they need two seconds."""

NEST = """
import asyncio, nest_asyncio
nest_asyncio.apply()
asyncio.get_event_loop().run_until_complete(asyncio.sleep(1))
"""

OURS = """
import acp_notebook
with acp_notebook.connect("demo") as session:
    session.prompt("/slow 1")
"""

WAYS = {"time.sleep": "import time; time.sleep(1)", "nest_asyncio": NEST, "acp_notebook": OURS}


def answered(client: BlockingKernelClient, cells: list[str]) -> list[bool]:
    """Run the cells at once, and say which of them the kernel has answered in time."""
    sent = [client.execute(cell) for cell in cells]
    replies: set[str] = set()
    limit = time.monotonic() + PATIENCE_S
    while not replies.issuperset(sent) and time.monotonic() < limit:
        try:
            replies.add(client.get_shell_msg(timeout=1)["parent_header"]["msg_id"])
        except queue.Empty:
            continue
    return [it in replies for it in sent]


def main() -> None:
    print(f"ipykernel {version('ipykernel')}")
    for name, cell in WAYS.items():
        manager, client = start_new_kernel()
        try:
            first, second = answered(client, [cell, "1 + 1"])
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        ran = "runs" if second else f"NEVER RUNS (waited {PATIENCE_S:g} s)"
        print(f"{name:13} the cell {'ends' if first else 'never ends'}; the next cell {ran}")


if __name__ == "__main__":
    main()
