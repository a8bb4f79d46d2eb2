"""Text files of the session: through the client where it offers that, else straight from disk.

It asks no permission and knows no tool call; it only refuses what leaves the working directory.
"""

from __future__ import annotations

import os
from pathlib import Path

from .rpc import NOT_FOUND, ClientError
from .turn import Turn


class FileTrouble(Exception):
    """A file cannot be read or written; the message says why."""


def inside(cwd: str, path: str) -> str:
    """The absolute path, spelled from the cwd; FileTrouble if it leaves it, be it through a symlink."""
    absolute = os.path.normpath(os.path.join(cwd, path))
    root = os.path.realpath(cwd)
    if os.path.commonpath([root, os.path.realpath(absolute)]) != root or os.path.realpath(absolute) == root:
        raise FileTrouble("the path leaves the working directory")
    return absolute


async def read_text(turn: Turn, path: str) -> str | None:
    """The file's text; None if there is no file. A file that cannot be read is never an empty text."""
    if turn.client.reads:
        return await _read_by_client(turn, path)
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise FileTrouble(f"cannot read it: {_why(error)}") from error


async def write_text(turn: Turn, path: str, text: str) -> None:
    if turn.client.writes:
        request = {"sessionId": turn.session.id, "path": path, "content": text}
        try:
            await turn.peer.request("fs/write_text_file", request)
        except ClientError as error:
            raise FileTrouble(f"the client cannot write it: {error}") from error
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileTrouble(f"cannot write it: {_why(error)}") from error


async def _read_by_client(turn: Turn, path: str) -> str | None:
    try:
        answer = await turn.peer.request("fs/read_text_file", {"sessionId": turn.session.id, "path": path})
    except ClientError as error:
        if error.code == NOT_FOUND:
            return None
        raise FileTrouble(f"the client cannot read it: {error}") from error
    return str(answer.get("content", ""))


def _why(error: Exception) -> str:
    """The reason without the path, which the client already knows."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
