"""Find the conversations in the outputs of a notebook: in its file, or as a page remembers them.

They may be of other people: a file is read with a limit, and nothing in it is run or rendered. Blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..core.loaded_transcript import Conversations, is_whole
from ..core.snapshot import Snapshot, TurnStart
from ..log import logger, suppressed
from .static_bundle import TRANSCRIPT_MIME

_log = logger(__name__)

MOST_BYTES = 100_000_000
"""The largest file to look into without being told to: reading it takes about a second."""

MOST_OUTPUTS = 20
"""How many conversations of a cell to look at: a cell shows one or two."""

Data = dict[str, Any]
"""The data of an output, by MIME type."""

Output = tuple[str | None, Data]
"""The id of its cell, and its data."""


def transcript_outputs(notebook: dict[str, Any]) -> Iterator[Output]:
    """The outputs that have a transcript."""
    for cell in notebook["cells"]:
        match cell:
            case {"outputs": list(outputs)}:
                id = cell.get("id")
                for output in outputs:
                    match output:
                        case {"data": dict(data)} if TRANSCRIPT_MIME in data:
                            yield id if isinstance(id, str) else None, data


def html_of(data: Data) -> str:
    """The HTML, which a file stores as lines."""
    match data.get("text/html"):
        case str(text):
            return text
        case list(lines):
            return "".join(it for it in lines if isinstance(it, str))
    return ""


def outputs_in(path: str) -> list[Output]:
    """The outputs of a notebook file that have a transcript; none if it cannot be read."""
    with suppressed(_log, OSError, ValueError, RecursionError):
        return list(transcript_outputs(_notebook(path)))
    return []


def newest_conversation(outputs: Sequence[Output], cell: str) -> Snapshot | None:
    """The newest conversation with turns that the cell shows; parts of it may be in other outputs.

    Looks at its newest outputs only, so that a hostile file takes no longer than another of its size.
    """
    values = [data.get(TRANSCRIPT_MIME) for _, data in outputs]
    conversations = Conversations(values, [html_of(data) for _, data in outputs])
    shown = [data.get(TRANSCRIPT_MIME) for id, data in outputs if id == cell]
    for own in islice(filter(_is_whole, reversed(shown)), MOST_OUTPUTS):
        with suppressed(_log, ValueError):
            found = conversations.of(own)
            if any(isinstance(it, TurnStart) for it in found.items):
                return found
    return None


def _is_whole(transcript: Any) -> bool:
    with suppressed(_log, ValueError):
        return is_whole(transcript)
    return False


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
