"""The kernel is shown as busy while an agent's code runs, and no longer."""

from __future__ import annotations

from typing import Any

from acp_notebook.notebook.busy_sign import BusySign


class Session:
    def msg(self, kind: str) -> str:
        return kind


class Kernel:
    session = Session()

    def __init__(self) -> None:
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


def test_the_kernel_s_own_method_is_back_afterwards() -> None:
    kernel = Kernel()
    sign = BusySign(kernel)
    sign.show()
    assert kernel._publish_status != sign._publish
    sign.hide()
    assert kernel._publish_status == sign._publish
