"""What both transports over a network do."""

from __future__ import annotations

import asyncio

from acp_notebook import timeouts
from acp_notebook.agent.remote.remote_transport import CANCELLED_AT_MOST, end


async def goes_on(cancellations: int) -> None:
    """A task that loses some cancellations, as those of libraries may."""
    for _ in range(cancellations):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue
    await asyncio.Event().wait()


def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    async def run() -> bool:
        task = asyncio.create_task(goes_on(1))
        await asyncio.sleep(0)
        await end([task])
        return task.cancelled()

    timeouts.replace(remote_close=0.01)
    assert asyncio.run(run())


def test_a_task_that_never_ends_is_no_hang() -> None:
    async def run() -> bool:
        task = asyncio.create_task(goes_on(CANCELLED_AT_MOST))
        await asyncio.sleep(0)
        await end([task])
        was_done = task.done()
        task.cancel()
        return was_done

    timeouts.replace(remote_close=0.01)
    assert not asyncio.run(run())


def test_tasks_that_have_ended_are_not_waited_for() -> None:
    async def run() -> None:
        task = asyncio.create_task(goes_on(0))
        task.cancel()
        await asyncio.wait([task])
        await end([task])
        await end([])

    asyncio.run(run())
