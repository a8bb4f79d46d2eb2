"""What we do with a ZMQStream works on real ones."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import zmq
from tornado.ioloop import IOLoop
from zmq.eventloop.zmqstream import ZMQStream

from acp_notebook.notebook.ipykernel_compat import POLLIN, POLLOUT, flush


@contextlib.contextmanager
def connected() -> Iterator[tuple[ZMQStream, Any]]:
    """A stream, and the socket that sends to it."""
    context: Any = zmq.Context()
    here, there = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    here.bind("inproc://shell")
    there.connect("inproc://shell")
    stream = ZMQStream(here, IOLoop.current())
    try:
        yield stream, there
    finally:
        stream.close()
        there.close()
        context.term()


@pytest.mark.timeout(30)
def test_a_nested_flush_does_not_affect_the_outer_one() -> None:
    """As when the page sends two messages, and ipykernel 6 flushes its shell after an interrupted cell."""

    async def scene() -> list[bytes]:
        read: list[bytes] = []
        with connected() as (stream, there):

            def receive(frames: list[bytes]) -> None:
                read.extend(frames)
                stream.send(b"an answer")
                flush(stream, POLLOUT)

            stream.on_recv(receive)
            for message in (b"one", b"two", b"three"):
                there.send(message)
            stream.flush()  # ipykernel's
        return read

    assert asyncio.run(scene()) == [b"one", b"two", b"three"]


@pytest.mark.timeout(30)
def test_a_stream_keeps_reading_after_a_flush() -> None:
    async def scene() -> list[bytes]:
        read: list[bytes] = []
        with connected() as (stream, there):
            three = asyncio.Event()

            def receive(frames: list[bytes]) -> None:
                read.extend(frames)
                if len(read) == 3:
                    three.set()

            stream.on_recv(receive)
            for message in (b"one", b"two", b"three"):
                there.send(message)
            flush(stream, POLLIN, limit=1)
            assert read == [b"one"]
            async with asyncio.timeout(10):
                await three.wait()
        return read

    assert asyncio.run(scene()) == [b"one", b"two", b"three"]
