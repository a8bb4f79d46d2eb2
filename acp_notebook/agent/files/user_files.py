"""A file in the folder of the user's settings: read once and whole, replaced as a whole.

Knows nothing of what stands in it. What others could have written is not believed.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import Error
from ..permissions.grant_store import (
    Untrusted,
    bytes_of,
    check_mine,
    config_folder,
    locked,
    sync_folder,
    write_new,
)

__all__ = ["Untrusted", "change_json", "config_folder", "read_json", "read_own"]


def read_own(path: Path) -> bytes | None:
    """The file's bytes; None: there is none. Raises Untrusted where it must not be believed.

    A link is followed: people keep their settings in other places. What it leads to must be theirs.
    """
    try:
        check_mine(os.stat(path.parent), f"the folder {path.parent}", "700")
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Untrusted(str(error.strerror)) from None
    try:
        return bytes_of(handle)
    except OSError as error:
        raise Untrusted(str(error.strerror)) from None
    finally:
        os.close(handle)


def read_json(path: Path) -> dict[str, Any]:
    """An object; empty if there is no file. Raises Error with what is wrong."""
    try:
        data = read_own(path)
        value = {} if data is None else json.loads(data)
    except Untrusted as error:
        raise Error(f"{path} is not used: {error}") from None
    except (ValueError, RecursionError):
        raise Error(f"{path} is damaged: remove it, and decide anew") from None
    if not isinstance(value, dict):
        raise Error(f"{path} is damaged: remove it, and decide anew")
    return value


def change_json(path: Path, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replace the object by what `changed` makes of it, under a lock; a crash leaves the old or the new."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path.with_name(f"{path.name}.lock")):
            for left in path.parent.glob(f"{path.name}.*.tmp"):  # of a crash: who makes one holds the lock
                left.unlink(missing_ok=True)
            fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
            write_new(fresh, json.dumps(changed(read_json(path)), indent=1).encode() + b"\n")
            os.replace(fresh, path)
            sync_folder(path.parent)
    except OSError as error:
        raise Error(f"cannot write {path}: {error.strerror or error}") from None
