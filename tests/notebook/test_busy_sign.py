"""The kernel is shown as busy while an agent's code runs or a cell waits, and no longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from acp_notebook.notebook.busy_sign import BusySign


class Session:
    def msg(self, kind: str) -> str:
        return kind


class Kernel:
    session = Session()

    def __init__(self, *, in_a_cell: bool = False) -> None:
        self.shell = SimpleNamespace(builtin_trap=SimpleNamespace(_nested_level=int(in_a_cell)))
        self.published: list[tuple[str, Any]] = []

    def _publish_status(self, status: str, channel: str, parent: Any = None) -> None:
        self.published.append((status, parent))


BUSY, IDLE = ("busy", "acp_run"), ("idle", "acp_run")


def test_after_every_other_idle_the_kernel_is_busy_again() -> None:
    kernel = Kernel()
    sign = BusySign(kernel)
    sign.show()
    kernel._publish_status("busy", "shell", "comm")
    kernel._publish_status("idle", "shell", "comm")
    kernel._publish_status("idle", "control")
    sign.hide()
    assert kernel.published == [BUSY, ("busy", "comm"), ("idle", "comm"), BUSY, ("idle", None), BUSY, IDLE]


def test_once_hidden_it_publishes_nothing() -> None:
    kernel = Kernel()
    sign = BusySign(kernel)
    sign.show()
    late = kernel._publish_status  # another thread holds it while the code ends
    sign.hide()
    late("idle", "shell", "comm")
    kernel._publish_status("idle", "shell", "other")
    assert kernel.published == [BUSY, IDLE, ("idle", "comm"), ("idle", "other")]


def test_in_a_cell_the_kernel_stays_busy() -> None:
    kernel = Kernel(in_a_cell=True)
    sign = BusySign(kernel)
    sign.show()
    kernel._publish_status("idle", "shell", "comm")
    sign.hide()
    assert kernel.published == [BUSY, ("idle", "comm"), BUSY]


def test_signs_are_nested() -> None:
    kernel = Kernel()
    publish = kernel._publish_status
    outer, inner = BusySign(kernel), BusySign(kernel)
    outer.show()
    inner.show()
    inner.hide()  # outside of a cell, this publishes idle
    assert kernel.published[-1] == BUSY
    outer.hide()
    assert kernel.published[-1] == IDLE
    assert kernel._publish_status == publish


def test_showing_it_again_and_hiding_a_hidden_one_do_nothing() -> None:
    kernel = Kernel()
    sign = BusySign(kernel)
    sign.hide()
    sign.show()
    sign.show()
    sign.hide()
    sign.hide()
    assert kernel.published == [BUSY, IDLE]


def test_the_kernel_s_own_method_is_back_afterwards() -> None:
    kernel = Kernel()
    publish = kernel._publish_status
    sign = BusySign(kernel)
    sign.show()
    assert kernel._publish_status != publish
    sign.hide()
    assert kernel._publish_status == publish
