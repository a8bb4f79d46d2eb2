"""load_transcript(): reads the conversations in a saved notebook.

Needs no kernel and no agent, and runs nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..core.loaded_transcript import loaded
from ..core.snapshot import Snapshot
from ..errors import UsageError
from ..notebook.saved_conversations import html_of, transcript_outputs
from ..notebook.static_bundle import TRANSCRIPT_MIME


def load_transcript(path: str | Path) -> Snapshot:
    """Read the conversations in a notebook's outputs, in the order of its cells, as one snapshot.

    Ids and the working directory are not those of the original run. Raises `acp.UsageError` if the file is
    not a notebook or contains no conversation.
    """
    outputs = [data for _, data in transcript_outputs(_notebook(Path(path)))]
    if not outputs:
        raise UsageError(
            f"{path} contains no conversation; run a cell with a prompt and save the notebook first"
        )
    try:
        return loaded((data[TRANSCRIPT_MIME] for data in outputs), map(html_of, outputs))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def _notebook(path: Path) -> dict[str, Any]:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not a notebook: it is not JSON") from None
    match notebook:
        case {"cells": list()}:
            return dict(notebook)
        case {"worksheets": list()}:
            raise UsageError(f"{path} is a notebook in an old format; use `jupyter nbconvert` to convert it")
    raise UsageError(f"{path} is not a notebook: it has no cells")
