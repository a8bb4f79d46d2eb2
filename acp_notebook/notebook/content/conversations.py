"""Transcripts, such as `acp.load_transcript` reads them, as prompt content: bounded and quoted."""

from __future__ import annotations

from typing import Any

from ...core.conversation_context import quoted_context
from ...core.records import Content
from ...core.snapshot import Snapshot
from .labels import Label


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if not isinstance(value, Snapshot):
        return None
    found = quoted_context(value)
    return None if found is None else (found,)
