"""The turn queue on its own: what waits is started, whenever it was added."""

from __future__ import annotations

import asyncio

from acp_notebook.agent.turn_queue import TurnQueue, TurnRun

LIMIT_S = 60.0


async def _at_once() -> None:
    """A queue whose turns can start immediately."""


def test_a_prompt_queued_just_as_the_queue_empties_is_started() -> None:
    async def scene() -> list[str]:
        begun: list[str] = []
        loop = asyncio.get_running_loop()

        def begin(run: TurnRun) -> None:
            begun.append(run.id)
            if run.id == "t1":
                run.finish()

        queue = TurnQueue(_at_once, begin)
        first, second = TurnRun((), "t1"), TurnRun((), "t2")
        added = asyncio.Event()

        def add_second(steps: int) -> None:
            # After enough steps for the pump to have checked for the last time.
            if queue._pump is not None and queue._pump.done():
                queue.add(second)
                added.set()
            elif steps:
                loop.call_soon(add_second, steps - 1)

        queue.add(first)
        add_second(1000)
        async with asyncio.timeout(LIMIT_S):
            await added.wait()
            while "t2" not in begun:
                await asyncio.sleep(0)
        second.finish()
        return begun

    assert asyncio.run(scene()) == ["t1", "t2"]
