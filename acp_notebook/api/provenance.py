"""Writes notebooks of what an agent ran: gathers the conversation and the user's cells, without secrets."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from ..core.ipynb.json_layout import STANDARD, dump
from ..core.provenance import HistoryCell, to_notebook
from ..core.records import Json
from ..core.saved_transcript import redacted
from ..core.snapshot import item_from_plain
from ..errors import UsageError
from ..notebook.history import as_python
from ..notebook.static_bundle import Redact, checked


def notebook_of(
    items: Sequence[dict[str, Json]],
    history: Sequence[HistoryCell],
    *,
    agent: str,
    cwd: str,
    redact: Redact | None,
    turn: str | None = None,
) -> dict[str, Json]:
    """The notebook of a session, or of one turn. Raises UsageError if `redact` fails."""
    if redact is not None:
        try:
            function = checked(redact)
            items = [redacted(item, function) for item in items]
            history = [HistoryCell(it.number, function(it.source), it.failed) for it in history]
        except Exception as error:  # the user's function
            raise UsageError(
                f"nothing was written, because the function `redact` failed: {error!r}"
            ) from error
    records = [item_from_plain(item) for item in items]
    title = f"What {agent} ran"
    return to_notebook(records, as_python, title=title, cwd=cwd, history=history, turn=turn)


def notebook_text(notebook: dict[str, Json]) -> str:
    """The text of the notebook's file."""
    cells = [_lines(cell) for cell in notebook["cells"]]
    return dump({**notebook, "cells": cells}, STANDARD) + "\n"


def write_notebook(path: str | os.PathLike[str], notebook: dict[str, Json], *, overwrite: bool) -> None:
    """Write the file as a whole, or not at all.

    Raises UsageError if it exists, unless `overwrite`, or cannot be written.
    """
    text = notebook_text(notebook)
    target = Path(path)
    try:
        if overwrite and target.exists():
            _replace(target.resolve(), text)
        else:
            _create(target, text)
    except FileExistsError:
        raise UsageError(f"{path} exists; overwrite=True replaces it") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _create(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _replace(path: Path, text: str) -> None:
    """Replace a file; if that fails, the old one stays as it is."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        _create(fresh, text)
        shutil.copymode(path, fresh)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def _lines(cell: dict[str, Json]) -> dict[str, Json]:
    """The cell as files have it: fields by name, texts as lists of lines."""
    made = {**cell, "source": cell["source"].splitlines(keepends=True)}
    if "outputs" in cell:
        made["outputs"] = [_by_name(_output_lines(it)) for it in cell["outputs"]]
    return _by_name(made)


def _output_lines(output: dict[str, Json]) -> dict[str, Json]:
    if "text" in output:
        return {**output, "text": output["text"].splitlines(keepends=True)}
    if "data" in output:
        data = {
            mime: it.splitlines(keepends=True) if mime.startswith("text/") else it
            for mime, it in output["data"].items()
        }
        return {**output, "data": _by_name(data)}
    return output


def _by_name(fields: dict[str, Json]) -> dict[str, Json]:
    return {name: fields[name] for name in sorted(fields)}
