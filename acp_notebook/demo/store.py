"""Sessions on disk: one JSON file each, in one directory.

It knows no protocol method and does not look into the history that it keeps.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from typing import Any

from .rpc import Json

SESSION_ID = re.compile(r"demo-([1-9][0-9]{0,8})", re.ASCII)
PAGE = 10


class Store:
    """The directory. Session ids are checked before they become file names."""

    def __init__(self, home: str) -> None:
        self._home = home
        os.makedirs(home, exist_ok=True)

    def create(self, record: Json) -> str:
        """Keep a new record under a new id; exclusive, since several agents may share the directory."""
        number = max([*self._numbers(), 0]) + 1
        while True:
            try:
                with open(self._path(number), "x", encoding="utf-8") as file:
                    json.dump(record, file)
                return f"demo-{number}"
            except FileExistsError:
                number += 1

    def save(self, session_id: str, record: Json) -> None:
        path = self._path(_number(session_id))
        draft = f"{path}.{os.getpid()}.new"
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.replace(draft, path)

    def read(self, session_id: str) -> Json:
        """The record; KeyError if there is none."""
        try:
            with open(self._path(_number(session_id)), encoding="utf-8") as file:
                record: Any = json.load(file)
        except (FileNotFoundError, ValueError) as error:
            raise KeyError(session_id) from error
        if not isinstance(record, dict) or not isinstance(record.get("cwd"), str):
            raise KeyError(session_id)
        return record

    def delete(self, session_id: str) -> None:
        """Forget a session; KeyError if there is none."""
        try:
            os.unlink(self._path(_number(session_id)))
        except FileNotFoundError as error:
            raise KeyError(session_id) from error

    def page(self, cursor: str | None, cwd: str | None) -> tuple[list[Json], str | None]:
        """Sessions, newest first, and the cursor of the next page; ValueError for a foreign cursor.

        The cursor is the last number of the page before, so that deleting while paging skips nothing.
        """
        below = int(cursor) if cursor is not None else None
        found: list[Json] = []
        for number in sorted(self._numbers(), reverse=True):
            if below is not None and number >= below:
                continue
            info = self._info(number)
            if info is None or (cwd is not None and info["cwd"] != cwd):
                continue
            if len(found) == PAGE:
                return found, found[-1]["sessionId"].removeprefix("demo-")
            found.append(info)
        return found, None

    def _info(self, number: int) -> Json | None:
        session_id = f"demo-{number}"
        try:
            record = self.read(session_id)
        except KeyError:  # deleted by another agent since we looked, or no session at all
            return None
        return {
            "sessionId": session_id,
            "cwd": record["cwd"],
            "title": record.get("title"),
            "updatedAt": self._time(number),
        }

    def _time(self, number: int) -> str:
        """When it was last saved, by the file system."""
        seconds = int(os.stat(self._path(number)).st_mtime)
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")

    def _numbers(self) -> list[int]:
        names = (name.removesuffix(".json") for name in os.listdir(self._home) if name.endswith(".json"))
        return [int(match[1]) for name in names if (match := SESSION_ID.fullmatch(name))]

    def _path(self, number: int) -> str:
        return os.path.join(self._home, f"demo-{number}.json")


def _number(session_id: str) -> int:
    match = SESSION_ID.fullmatch(session_id)
    if not match:
        raise KeyError(session_id)
    return int(match[1])
