"""The kernel is shown as busy while code of an agent runs, and never longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from acp_notebook.notebook import busy_sign
from acp_notebook.notebook.busy_sign import BusySign


def test_the_sign_is_shown_again_only_while_it_is_up() -> None:
    told: list[tuple[str, Any]] = []
    kernel = SimpleNamespace(
        session=SimpleNamespace(msg=lambda kind: {"header": kind}),
        _publish_status=lambda state, channel, parent: told.append((state, parent["header"])),
    )
    sign = BusySign(kernel)
    busy_sign.show_again()
    assert told == [] and not busy_sign.is_shown()
    sign.show()
    assert busy_sign.is_shown()
    busy_sign.show_again()
    sign.hide()
    busy_sign.show_again()
    sign.show_again()
    assert told == [("busy", "acp_run"), ("busy", "acp_run"), ("idle", "acp_run")]
    assert not busy_sign.is_shown()
