"""import_agents(): adds the agents of a registry's JSON to the user's own.

Fetches only the given file, and nothing that it names: npx and uvx still run packages only with consent, and
binaries are not downloaded.
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

from .. import timeouts
from ..agent.files.user_files import change_json
from ..agent.user_dirs import config_folder
from ..core.registry import agents_of
from ..core.settings import OwnAgent
from ..core.tables import html_table, text_table
from ..errors import Error, UsageError
from .config import IMPORTED_NAME, reserved_names

MAX_BYTES = 8_000_000
"""Far above the official registry, which has some 200 kB."""

HEAD = ("agent", "runs by", "left out because")


class Imported:
    """The result of an import, as a table: the agents that were added, and those that were left out."""

    def __init__(self, agents: dict[str, OwnAgent], left_out: dict[str, str]) -> None:
        self.agents = tuple(agents)
        self.left_out = left_out
        self._rows = [(name, _launcher(it), "") for name, it in agents.items()]
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
    """Add the agents of a registry to your own. `source` is its JSON: a file or an https address.

    Replaces earlier imports. Known agents and the agents in your settings file take precedence over imported
    ones of the same name. Start one with `acp.connect(name, install=True)`.
    """
    value = _parse(_read(source))
    try:
        agents, left_out = agents_of(value, reserved_names())
    except ValueError as error:
        raise UsageError(f"{os.fspath(source)}: {error}") from None
    entries = [
        _stored_fields(it) for it in value["agents"] if isinstance(it, dict) and it.get("id") in agents
    ]
    change_json(
        config_folder() / IMPORTED_NAME, lambda _: {"acp_imported": 1, "agents": _without_duplicates(entries)}
    )
    return Imported(agents, left_out)


def _stored_fields(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("id", "version", "distribution") if key in entry}


def _without_duplicates(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first: dict[str, dict[str, Any]] = {}
    for entry in entries:
        first.setdefault(entry["id"], entry)
    return list(first.values())


def _launcher(agent: OwnAgent) -> str:
    return f"npx {agent.npx}" if agent.npx else f"uvx {agent.uvx}" if agent.uvx else "install by hand"


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError("not a registry of agents: the file is not JSON") from None


def _read(source: str | os.PathLike[str]) -> bytes:
    text = os.fspath(source)
    if "://" in text:
        return _fetch(text)
    try:
        with open(Path(text).expanduser(), "rb") as file:
            return _read_bounded(file)
    except OSError as error:
        raise UsageError(f"cannot read {text}: {error.strerror}") from None


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Refuses redirects away from https."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(url: str) -> bytes:
    _check_https(url)
    opener = urllib.request.build_opener(_HttpsOnly())
    try:
        with opener.open(urllib.request.Request(url), timeout=timeouts.get().registry_fetch) as response:
            return _read_bounded(response)
    except urllib.error.URLError as error:
        raise Error(f"cannot fetch {url}: {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise Error(f"cannot fetch {url}: {error}") from None


def _check_https(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise UsageError(f"{url}: a registry must be a file or an https address")


def _read_bounded(file: IO[bytes]) -> bytes:
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"not a registry of agents: the file is larger than {MAX_BYTES:,} bytes")
    return data
