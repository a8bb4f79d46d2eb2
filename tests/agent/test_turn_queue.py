"""The queue of prompts by itself: what waits is begun, whenever it was added."""

from __future__ import annotations

import asyncio

from acp_notebook.agent.turn_queue import TurnQueue, TurnRun

LIMIT_S = 60.0


async def _at_once() -> None:
    """Ready: nothing is in the way."""


def test_a_prompt_that_comes_just_as_the_queue_ran_dry_is_begun() -> None:
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
            # As many steps later as it takes until the pump has looked for the last time.
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
