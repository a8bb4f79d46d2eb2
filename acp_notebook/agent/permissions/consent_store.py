"""What the user has decided for good, beside permissions: packages to run, project files to trust.

One file of the user's. Knows nothing of what a project file says, nor who asks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files.user_files import change_json, config_folder, read_json

FILE_NAME = "decisions.json"
FORMAT = 1


class ConsentStore:
    """Stores the user's lasting decisions in one file, which is read again for every question."""

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder if folder is not None else config_folder()) / FILE_NAME

    def packages(self) -> list[str]:
        """What npx and uvx may always run, as "npx NAME"; raises Error for a damaged file."""
        found = read_json(self.path).get("packages")
        return [it for it in found if isinstance(it, str)] if isinstance(found, list) else []

    def allow_package(self, way: str) -> None:
        def changed(value: dict[str, Any]) -> dict[str, Any]:
            return {**value, "acp_decisions": FORMAT, "packages": [*self._others(value, way), way]}

        change_json(self.path, changed)

    def _others(self, value: dict[str, Any], way: str) -> list[Any]:
        found = value.get("packages")
        return [it for it in found if it != way] if isinstance(found, list) else []

    def trusted(self, path: str) -> str | None:
        """The hash of the content that was trusted, of the file at this resolved path."""
        found = read_json(self.path).get("projects")
        hash = found.get(path) if isinstance(found, dict) else None
        return hash if isinstance(hash, str) else None

    def trust(self, path: str, hash: str | None) -> None:
        """None: no longer."""

        def changed(value: dict[str, Any]) -> dict[str, Any]:
            found = value.get("projects")
            others = (
                {name: it for name, it in found.items() if name != path} if isinstance(found, dict) else {}
            )
            projects = others if hash is None else {**others, path: hash}
            return {**value, "acp_decisions": FORMAT, "projects": projects}

        change_json(self.path, changed)
