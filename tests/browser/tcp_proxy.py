"""A proxy between the browser and a Jupyter server that can be stopped and started again, as a hub's is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

CALL_S = 30.0
READ = 64 << 10


class TcpProxy:
    """A context manager; forwards bytes from a loopback port of its own, always the same one."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def __enter__(self) -> TcpProxy:
        self._thread.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S)
        self._loop.close()

    def start(self) -> None:
        self._call(self._listen())

    def stop(self) -> None:
        """Refuses connections from now on, and closes those that are open."""
        self._call(self._close())

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)

    # ---- on the thread of the proxy

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._server = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server: asyncio.StreamWriter | None = None
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(_copy(reader, server), _copy(answers, writer))
        except OSError:
            pass  # either side is gone
        finally:
            writer.transport.abort()
            if server is not None:
                server.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the reader's end, which the other side is told."""
    while data := await reader.read(READ):
        writer.write(data)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()
