"""What is read from the network together is passed on together, in order, before any other report."""

from __future__ import annotations

import asyncio

from acp_notebook.agent.remote.failures import Failure
from acp_notebook.agent.remote.outbox import MAX_BATCH, Outlet
from acp_notebook.agent.transport import Ending


class Reports:
    """An outlet, and what it passed on."""

    def __init__(self) -> None:
        self.outlet = Outlet()
        self.all: list[bytes | Ending] = []
        self.outlet.start(self.all.append, self.all.append)


def test_messages_of_one_step_are_passed_on_together() -> None:
    async def run() -> list[bytes | Ending]:
        reports = Reports()
        for message in (b"1", b"2", b"3"):
            reports.outlet.receive(message)
        assert reports.all == []
        await asyncio.sleep(0)
        reports.outlet.receive(b"4")
        await asyncio.sleep(0)
        return reports.all

    assert asyncio.run(run()) == [b"1\n2\n3\n", b"4\n"]


def test_many_bytes_do_not_wait() -> None:
    async def run() -> list[bytes | Ending]:
        reports = Reports()
        reports.outlet.receive(b"a" * MAX_BATCH)
        reports.outlet.receive(b"b")
        return reports.all

    assert asyncio.run(run()) == [b"a" * MAX_BATCH + b"\nb\n"]


def test_the_ending_comes_last_and_nothing_after_it() -> None:
    async def run() -> list[bytes | Ending]:
        reports = Reports()
        reports.outlet.receive(b"1")
        reports.outlet.end(Failure("cut"), 0)
        reports.outlet.receive(b"2")
        reports.outlet.close("closed")
        await asyncio.sleep(0)
        return reports.all

    assert asyncio.run(run()) == [b"1\n", Ending("cut", unread=0, is_lost=True, may_pass=False)]
