"""Find the conversations in the outputs of a notebook file.

The file may be of other people: it is read with a limit, and nothing in it is run or rendered. Blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.loaded_transcript import conversation_of
from ..core.snapshot import Snapshot
from ..log import logger, suppressed
from .static_bundle import TRANSCRIPT_MIME

_log = logger(__name__)

MOST_BYTES = 100_000_000
"""The largest file to look into without being told to: reading it takes about a second."""

Data = dict[str, Any]
"""The data of an output, by MIME type."""


def transcript_outputs(notebook: dict[str, Any]) -> Iterator[tuple[str | None, Data]]:
    """The outputs that have a transcript, with the ids of their cells."""
    for cell in notebook["cells"]:
        match cell:
            case {"outputs": list(outputs)}:
                id = cell.get("id")
                for output in outputs:
                    match output:
                        case {"data": {"application/vnd.acp-notebook.transcript+json": _} as data}:
                            yield id if isinstance(id, str) else None, data


def html_of(data: Data) -> str:
    """The HTML, which a file stores as lines."""
    match data.get("text/html"):
        case str(text):
            return text
        case list(lines):
            return "".join(it for it in lines if isinstance(it, str))
    return ""


def conversation_in(path: str, cell: str) -> Snapshot | None:
    """The conversation that a cell of the file shows; None if there is none, or if it cannot be read."""
    with suppressed(_log, OSError, ValueError, RecursionError):
        outputs = list(transcript_outputs(_notebook(path)))
        own = [data for id, data in outputs if id == cell]
        if own:
            values = [data[TRANSCRIPT_MIME] for _, data in outputs]
            return conversation_of(own[-1][TRANSCRIPT_MIME], values, [html_of(data) for _, data in outputs])
    return None


def _notebook(path: str) -> dict[str, Any]:
    """The notebook; raises OSError, ValueError."""
    with Path(path).open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError(f"{path} is too large to look for an earlier conversation")
    match json.loads(text):
        case {"cells": list()} as notebook:
            return dict(notebook)
    raise ValueError(f"{path} is not a notebook")
