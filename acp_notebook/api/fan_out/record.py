"""The folder of results: a file for each run that has ended, so that a later call goes on with the others."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ...agent.locked_file import sync_folder
from ...core.fan_out.task import IncompatibleVersion, Result, result_from, to_bytes
from ...errors import UsageError
from ...log import logger, suppressed

_log = logger(__name__)

SUFFIX = ".run"


class RecordFolder:
    """Reads and writes results by the key of their run."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Raises UsageError."""
        self.path = Path(folder).expanduser().absolute()
        try:
            is_new = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            if is_new:  # in a folder of the user's, it would hide other files from git
                (self.path / ".gitignore").write_text("*\n")
        except OSError as error:
            raise UsageError(f"record={os.fspath(folder)!r} cannot be used: {error.strerror}") from None

    def read(self, key: str) -> Result | None:
        """The result of a run that is done; None if there is none, or it cannot be read."""
        try:
            result = result_from((self.path / f"{key}{SUFFIX}").read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, IncompatibleVersion):
            _log.warning("a recorded run cannot be read", exc_info=True)
            return None
        return result if result.state == "done" else None

    def write(self, key: str, result: Result) -> None:
        """Write the result so that it is there completely or not at all. Raises OSError."""
        draft = self.path / f".{key}.{secrets.token_hex(4)}"
        try:
            with open(draft, "wb") as file:
                file.write(to_bytes(result))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path / f"{key}{SUFFIX}")
            with suppressed(_log, OSError):
                sync_folder(self.path)
        finally:
            draft.unlink(missing_ok=True)
