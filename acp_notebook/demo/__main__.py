"""Start the demo agent on this process's stdin and stdout.

Everything is set by the environment (see the package's docstring); the one argument, ``--login``, is the
sign-in in a terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable

from .agent import Agent
from .login import ARGUMENT, in_a_terminal
from .outbox import Outbox
from .settings import Settings

FLUSH_S = 1.0
"""How long the last bytes may take at exit: a client that has gone never reads them."""


def read_lines(on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
    """Hand each line of stdin to the loop; a thread, since files and pipes both must work as stdin."""
    with contextlib.suppress(OSError):
        for line in sys.stdin.buffer:
            on_line(line)
    on_end()


async def run() -> int:
    """Serve until stdin ends, stdout breaks or a signal comes; the process's exit code."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def post(callback: Callable[..., object], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody is listening
            loop.call_soon_threadsafe(callback, *args)

    stdout, stderr = Outbox(1, loop, on_broken=lambda: post(end, 0)), Outbox(2, loop)
    agent = Agent(Settings.from_environment(os.environ), stdout, stderr)
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers on its loop
        loop.add_signal_handler(signal.SIGTERM, end, 128 + signal.SIGTERM)
        loop.add_signal_handler(signal.SIGINT, end, 128 + signal.SIGINT)
    reader = threading.Thread(
        target=read_lines,
        args=(lambda line: post(agent.peer.receive, line), lambda: post(end, 0)),
        daemon=True,
    )
    reader.start()
    code = await ended
    await agent.peer.close()
    stdout.flush(FLUSH_S)
    return code


def main() -> None:
    if sys.argv[1:] == [ARGUMENT]:
        sys.exit(in_a_terminal(os.environ))
    code = asyncio.run(run())
    # Not sys.exit: after a signal the reader thread holds stdin's lock, and finalising would abort on it.
    os._exit(code)


if __name__ == "__main__":
    main()
