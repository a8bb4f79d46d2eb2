"""Keeps our connections out of the libraries' own logs, which contain addresses, headers and cookies.

Users who turn logging on for their own requests still see those, and nothing of ours.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar

_NAMES = (
    "httpx",  # each request with its whole address, at the level INFO
    *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
    *("hpack.hpack", "hpack.table"),
)

_is_ours: ContextVar[bool] = ContextVar("acp_notebook_request", default=False)


class _OthersOnly(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours.get()


_others_only = _OthersOnly()

WEBSOCKET = logging.getLogger(f"{__name__}.websocket")
"""What a WebSocket logs: below warnings, everything that it sends."""

WEBSOCKET.setLevel(logging.WARNING)


def leave_out_this_task() -> None:
    """From now on, nothing that the task or one that it creates does by HTTP is logged by a library."""
    for name in _NAMES:
        logging.getLogger(name).addFilter(_others_only)  # once: it is the same object
    _is_ours.set(True)
