"""Jobs: requests to run code or change the notebook. Permission and run may both outlast a call.

Knows no MCP messages and no permissions. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any

from ...core.kernel_tools.interface import RUNS_KEPT, Run, RunState

MOST_OPEN = 32
"""Of a session: questions and runs. More is a flood."""


class Job:
    """A request that starts a run or, for a change, ends with a text. `seen`: the state that the agent got
    last."""

    def __init__(self, id: str, starting: asyncio.Task[Run | str]) -> None:
        self.id = id
        self.starting = starting
        self.seen: RunState | None = None

    @property
    def run(self) -> Run | None:
        """The run; None while it waits for permission, or if it was denied."""
        done = self.starting.done() and not self.starting.cancelled() and self.starting.exception() is None
        result = self.starting.result() if done else None
        return None if isinstance(result, str) else result

    @property
    def is_over(self) -> bool:
        run = self.run
        return self.starting.done() and (run is None or run.state.is_over)

    def stop(self) -> None:
        """Withdraw the question, or interrupt the code."""
        if (run := self.run) is not None:
            run.interrupt()
        else:
            self.starting.cancel()  # does nothing if it has ended


class Jobs:
    """Keeps the jobs of one session and finds them by their own ids or those of their runs."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    def begin(self, starting: Coroutine[Any, Any, Run | str]) -> Job:
        """Start a job; raises ValueError if too many are open. Only jobs that are over are dropped."""
        over = [id for id, it in self._jobs.items() if it.is_over]
        if len(self._jobs) - len(over) >= MOST_OPEN:
            starting.close()
            raise ValueError(f"{MOST_OPEN} requests of this session wait or run: wait for them first.")
        for id in over[: max(0, len(self._jobs) + 1 - RUNS_KEPT)]:
            del self._jobs[id]
        task = asyncio.get_running_loop().create_task(starting)
        task.add_done_callback(lambda it: it.cancelled() or it.exception())  # marks it as retrieved
        job = Job(f"ask-{next(self._numbers)}", task)
        self._jobs[job.id] = job
        return job

    def find(self, id: str) -> Job | None:
        named = (it for it in self._jobs.values() if it.run is not None and it.run.id == id)
        return self._jobs.get(id) or next(named, None)

    def stop_all(self) -> None:
        for job in self._jobs.values():
            job.stop()
