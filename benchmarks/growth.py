"""How the cost of a chunk grows with the conversation.

Measured in a whole session, from the agent's pipe to the patches: a listener takes the CPU time of this
process at every 10,000th chunk of one turn.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AIM = 1.2
SHORT = 10_000
SLICE = 10_000
SLICES = 5
"""The best of so many counts, at the beginning and at the end: other work of the machine disturbs some."""

RUNS = 3


def slices(calls: int, chunks: int) -> list[float]:
    """CPU seconds of every 10,000 chunks of a turn that begins with this many tool calls."""
    import acp_notebook as acp

    from .contenders import SOURCE, WARM_UP

    seen, times = 0, []

    def listen(event: object, _: object) -> None:
        nonlocal seen
        if type(event).__name__ == "MessageChunk":
            if seen % SLICE == 0:
                times.append(time.process_time())
            seen += 1

    with _empty_folder(), acp.connect(SOURCE, permissions="allow") as session:
        conversation: Any = session._conversation
        session.prompt(WARM_UP)
        conversation.state.listen(listen)
        session.prompt(f"after {calls} {chunks}")
    assert seen == chunks, f"{seen} of {chunks} chunks arrived"
    return [end - begin for begin, end in itertools.pairwise(times)]


def after_chunks(count: int) -> float:
    """The cost of a chunk at the end of so many, relative to that after 10,000."""
    runs = [slices(0, count) for _ in range(RUNS)]
    first = SHORT // SLICE
    return min(min(run[-SLICES:]) for run in runs) / min(min(run[first : first + SLICES]) for run in runs)


def after_tools(count: int) -> float:
    """The cost of a chunk in a turn that began with so many tool calls, relative to one without any."""
    chunks = SHORT + (SLICES + 1) * SLICE
    runs = [(slices(count, chunks), slices(0, chunks)) for _ in range(RUNS)]
    long, short = (min(min(run[side][-SLICES:]) for run in runs) for side in (0, 1))
    return long / short


@contextmanager
def _empty_folder() -> Iterator[None]:
    """The working directory, so that no checkpoint of the user's files is measured."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    print(f"1,000,000 chunks: {after_chunks(1_000_000):.2f}, 20,000 tool calls: {after_tools(20_000):.2f}")
