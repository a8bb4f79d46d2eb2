"""How the cost of a chunk grows with the conversation.

Measured in this process, without a pipe, from the bytes of a message to the patches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from acp_notebook.core import events as ev
from acp_notebook.core.records import Text
from acp_notebook.core.transcript import Transcript
from acp_notebook.wire import v1
from acp_notebook.wire.jsonrpc import Notification, Peer

from .source import chunk, tool

AIM = 1.2
SHORT = 10_000
BATCH = 2_000
BATCHES = 9


def _feeder(transcript: Transcript) -> Callable[[bytes], None]:
    peer = Peer()

    def feed(data: bytes) -> None:
        for message in peer.receive(data):
            assert isinstance(message, Notification)
            transcript.apply(v1.read_update(message.params)[1])

    return feed


def _cpu(feed: Callable[[bytes], None], data: bytes) -> float:
    began = time.process_time()
    feed(data)
    return time.process_time() - began


def growth(filler: bytes) -> float:
    """The cost of a chunk after the filler, relative to that in a conversation of 10,000 chunks."""
    ratios: list[float] = []
    for _ in range(3):
        short, long = Transcript(), Transcript()
        feed_short, feed_long = _feeder(short), _feeder(long)
        for transcript in (short, long):
            transcript.apply(ev.TurnStarted((Text("go"),)))
        feed_short(b"".join(chunk(f"word{n} ") for n in range(SHORT)))
        feed_long(filler)
        data = b"".join(chunk(f"word{n} ") for n in range(BATCH))
        costs = [(_cpu(feed_long, data), _cpu(feed_short, data)) for _ in range(BATCHES)]
        ours, peer = (min(each) for each in zip(*costs, strict=True))
        ratios.append(ours / peer)
    return statistics.median(ratios)


def after_chunks(count: int) -> float:
    return growth(b"".join(chunk(f"word{n} ") for n in range(count)))


def after_tools(count: int) -> float:
    return growth(b"".join(tool(n) for n in range(count)))
