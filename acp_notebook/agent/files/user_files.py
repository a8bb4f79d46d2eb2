"""Read and replace files in the user's settings folder, each as a whole.

Independent of their contents. Refuses files that other users could have written.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import Error
from ..locked_file import Untrusted, bytes_of, check_mine, locked, sync_folder, write_new


def read_own(path: Path) -> bytes | None:
    """The file's bytes; None if there is no file. Raises Untrusted if others could have written it.

    Follows a link, because people keep their settings elsewhere; its target must belong to the user.
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
    """Read a JSON object; empty if there is no file. Raises Error if the file is untrusted or damaged."""
    try:
        data = read_own(path)
        value = {} if data is None else json.loads(data)
    except Untrusted as error:
        raise Error(f"{path} is not used: {error}") from None
    except (ValueError, RecursionError):
        raise Error(f"{path} is damaged: remove it, then decide again") from None
    if not isinstance(value, dict):
        raise Error(f"{path} is damaged: remove it, then decide again")
    return value


def change_json(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replace the object by the result of `change`, under a lock; a crash leaves the old or the new one."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path.with_name(f"{path.name}.lock")):
            # Left by a crash: only the holder of the lock creates such a file.
            for left in path.parent.glob(f"{path.name}.*.tmp"):
                left.unlink(missing_ok=True)
            fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
            write_new(fresh, json.dumps(change(read_json(path)), indent=1).encode() + b"\n")
            os.replace(fresh, path)
            sync_folder(path.parent)
    except OSError as error:
        raise Error(f"cannot write {path}: {error.strerror or error}") from None
