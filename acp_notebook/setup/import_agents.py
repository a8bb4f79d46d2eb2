"""import_agents(): the agents of a registry's JSON, made the user's own by an explicit call.

Fetches the one file that it is told, and nothing of what that names: packages are run by npx and uvx with
consent, as always, and binaries are not downloaded.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from ..agent.files.user_files import change_json, config_folder
from ..core.registry import agents_of
from ..core.settings import OwnAgent
from ..core.tables import html_table, text_table
from ..errors import Error, UsageError
from .config import IMPORTED_NAME, reserved_names

MAX_BYTES = 8_000_000
"""The registry is some 200 kB."""

FETCH_S = 30.0
"""For each step of the download."""

HEAD = ("agent", "runs by", "left out because")


class Imported:
    """What came of an import, as a table: the agents that are yours now, and those that were left out."""

    def __init__(self, agents: dict[str, OwnAgent], left_out: dict[str, str]) -> None:
        self.agents = tuple(agents)
        self.left_out = left_out
        self._rows = [(name, _way(it), "") for name, it in agents.items()]
        self._rows += [(name, "", why) for name, why in left_out.items()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.agents)

    def __len__(self) -> int:
        return len(self.agents)

    def __repr__(self) -> str:
        return text_table(HEAD, self._rows)

    def _repr_html_(self) -> str:
        return html_table(HEAD, self._rows)


def import_agents(source: str | os.PathLike[str]) -> Imported:
    """Make the agents of a registry yours: `source` is its JSON, a file or an https address.

    Those that were imported before are replaced. Agents of the catalog and of your own file keep their
    names. `acp.connect(name, install=True)` then runs one.
    """
    value = _parsed(_read(source))
    try:
        agents, left_out = agents_of(value, reserved_names())
    except ValueError as error:
        raise UsageError(f"{os.fspath(source)}: {error}") from None
    entries = [_kept(it) for it in value["agents"] if isinstance(it, dict) and it.get("id") in agents]
    change_json(config_folder() / IMPORTED_NAME, lambda _: {"acp_imported": 1, "agents": _once(entries)})
    return Imported(agents, left_out)


def _kept(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("id", "version", "distribution") if key in entry}


def _once(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first: dict[str, dict[str, Any]] = {}
    for entry in entries:
        first.setdefault(entry["id"], entry)
    return list(first.values())


def _way(agent: OwnAgent) -> str:
    return f"npx {agent.npx}" if agent.npx else f"uvx {agent.uvx}" if agent.uvx else "install by hand"


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError("this is no registry of agents: it is no JSON") from None


def _read(source: str | os.PathLike[str]) -> bytes:
    text = os.fspath(source)
    if "://" in text:
        return _fetched(text)
    try:
        with open(Path(text).expanduser(), "rb") as file:
            return _bounded(file)
    except OSError as error:
        raise UsageError(f"cannot read {text}: {error.strerror}") from None


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetched(url: str) -> bytes:
    _check_https(url)
    opener = urllib.request.build_opener(_HttpsOnly())
    try:
        with opener.open(urllib.request.Request(url), timeout=FETCH_S) as answer:
            return _bounded(answer)
    except urllib.error.URLError as error:
        raise Error(f"cannot fetch {url}: {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise Error(f"cannot fetch {url}: {error}") from None


def _check_https(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise UsageError(f"{url}: a registry is read from a file or by https only")


def _bounded(file: IO[bytes]) -> bytes:
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"this is no registry of agents: it is bigger than {MAX_BYTES:,} bytes")
    return data
