"""The user's lasting decisions other than permissions: packages to run, project files to trust.

Keeps them in one file of the user. Knows neither the content of project files nor who asks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files.user_files import change_json, read_json
from ..user_dirs import config_folder

FILE_NAME = "decisions.json"
FORMAT = 1


class ConsentStore:
    """Stores lasting decisions in a file and reads it again for each question."""

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder if folder is not None else config_folder()) / FILE_NAME

    def packages(self) -> list[str]:
        """Packages that npx and uvx may always run, as "npx NAME". Raises Error if the file is damaged."""
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
        """The hash of the trusted content of the file at this resolved path, or None."""
        found = read_json(self.path).get("projects")
        hash = found.get(path) if isinstance(found, dict) else None
        return hash if isinstance(hash, str) else None

    def trust(self, path: str, hash: str | None) -> None:
        """Trust content with this hash; None revokes the trust."""

        def changed(value: dict[str, Any]) -> dict[str, Any]:
            found = value.get("projects")
            others = (
                {name: it for name, it in found.items() if name != path} if isinstance(found, dict) else {}
            )
            projects = others if hash is None else {**others, path: hash}
            return {**value, "acp_decisions": FORMAT, "projects": projects}

        change_json(self.path, changed)
