"""Stores grants: those of a session in memory, lasting ones in one file of the user.

The file is read for each check, so that a grant revoked in another process ends at once. It is replaced as a
whole under a lock, so that a crash leaves either the old or the new file. A file that is damaged, or that
others could have written, grants nothing (see `warning`). `core.grants` decides what a grant covers.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from ...core.actions import Action, Command, real_path
from ...core.grants import Grant, Offer, grant_from_plain, grant_to_plain, inside, matches, problem
from ...errors import Error, UsageError
from ..locked_file import Untrusted, bytes_of, check_mine, locked, sync_folder, write_new
from ..user_dirs import config_folder

FORMAT = 1
FILE_NAME = "permissions.json"

LASTING = ("workspace", "always")


def new_id() -> str:
    return f"g{secrets.token_hex(4)}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class SessionGrants:
    """Holds the grants that end with the session."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else config_folder()
        self._grants: tuple[Grant, ...] = ()

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._grants)

    def add(self, offer: Offer, *, agent: str, workspace: str) -> Grant:
        grant = offer.grant(id=new_id(), agent=agent, workspace=workspace, created=now())
        _check(grant, ("session",))
        known = _same_in(self._grants, grant)
        self._grants += () if known else (grant,)
        return known or grant

    def find(self, agent: str, workspace: str, action: Action, roots: Iterable[str] = ()) -> Grant | None:
        """The grant that allows the action, or None. No grant allows writing the file of lasting grants."""
        return _first(self._grants, agent, workspace, action, tuple(roots), self._folder)

    def revoke(self, id: str) -> bool:
        before = self._grants
        self._grants = tuple(grant for grant in before if grant.id != id)
        return self._grants != before


class _Contents(Struct, frozen=True):
    """The content of the file. `entries`: its grants as stored, valid or not."""

    grants: tuple[Grant, ...] = ()
    entries: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    warning: str | None = None
    damaged: bool = False
    """The file may be replaced after a copy is made."""
    untrusted: bool = False
    """The file must not be changed until the user has checked it."""


class GrantStore:
    """Reads and changes the file of lasting grants. Safe from any thread.

    `add` and `revoke` may wait for `file_lock`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else config_folder()
        self.path = self.folder / FILE_NAME
        self._read: tuple[bytes, _Contents] | None = None

    # ---- reading ------------------------------------------------------------------------------

    @property
    def warning(self) -> str | None:
        """Why the file or a part of it grants nothing, or None."""
        return self._contents().warning

    def grants(self) -> tuple[Grant, ...]:
        return self._contents().grants

    def find(self, agent: str, workspace: str, action: Action, roots: Iterable[str] = ()) -> Grant | None:
        """The grant that allows the action, or None. No grant allows writing into this file's folder."""
        return _first(self.grants(), agent, workspace, action, tuple(roots), self.folder)

    def _contents(self) -> _Contents:
        try:
            data = self._bytes()
        except Untrusted as error:
            return _Contents(warning=f"{self.path} grants nothing: {error}", untrusted=True)
        if data is None:
            return _Contents()
        # Compares the bytes, not the time: two replacements in quick succession may have the same time.
        if self._read is None or self._read[0] != data:
            self._read = (data, _parsed(data, self.path))
        return self._read[1]

    def _bytes(self) -> bytes | None:
        """The content of the file, or None if there is no file. Raises Untrusted."""
        try:
            check_mine(os.stat(self.folder), f"the folder {self.folder}", "700")
            # Does not block on a pipe and does not follow a link.
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            linked = self.path.is_symlink()
            raise Untrusted("it is a symbolic link" if linked else f"{error.strerror}") from None
        try:
            return bytes_of(handle)
        except OSError as error:
            raise Untrusted(f"{error.strerror}") from None
        finally:
            os.close(handle)

    # ---- changing -----------------------------------------------------------------------------

    def add(self, offer: Offer, *, agent: str, workspace: str) -> Grant:
        """Store and return the grant; return the existing one if it is the same."""
        grant = offer.grant(id=new_id(), agent=agent, workspace=workspace, created=now())
        _check(grant, LASTING)
        known: list[Grant] = []

        def added(contents: _Contents) -> tuple[Any, ...]:
            same = _same_in(contents.grants, grant)
            known.append(same or grant)
            return contents.entries if same else (*contents.entries, grant_to_plain(grant))

        self._change(added)
        return known[-1]

    def revoke(self, id: str) -> bool:
        """Remove a grant; return whether it existed."""
        return self._remove(lambda entry: isinstance(entry, Mapping) and entry.get("id") == id) > 0

    def revoke_all(self) -> int:
        """Remove all entries, invalid ones included; return how many there were."""
        return self._remove(lambda entry: True)

    def _remove(self, is_removed: Callable[[Any], bool]) -> int:
        count = 0

        def kept(contents: _Contents) -> tuple[Any, ...]:
            nonlocal count
            stays = tuple(entry for entry in contents.entries if not is_removed(entry))
            count = len(contents.entries) - len(stays)
            return stays

        self._change(kept)
        return count

    def _change(self, entries_of: Callable[[_Contents], tuple[Any, ...]]) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self.folder / f"{FILE_NAME}.lock"):
                contents = self._contents()
                if contents.untrusted:
                    raise Error(f"{contents.warning}; nothing was changed")
                entries = entries_of(contents)
                if entries == contents.entries:
                    return
                if contents.damaged:
                    self._keep_a_copy()
                self._replace({**contents.fields, "acp_permissions": FORMAT, "grants": list(entries)})
        except OSError as error:
            raise Error(f"cannot write {self.path}: {error.strerror or error}") from None

    def _replace(self, value: Any) -> None:
        for left in self.folder.glob(f"{FILE_NAME}.*.tmp"):  # from a crash: only the lock holder writes them
            left.unlink(missing_ok=True)
        fresh = self.path.with_name(f"{FILE_NAME}.{secrets.token_hex(4)}.tmp")
        write_new(fresh, json.dumps(value, indent=1).encode() + b"\n")
        try:
            os.replace(fresh, self.path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        sync_folder(self.folder)

    def _keep_a_copy(self) -> None:
        data = self._bytes()
        if data is not None:
            write_new(self.path.with_name(f"{FILE_NAME}.{secrets.token_hex(4)}.damaged"), data)


def _parsed(data: bytes, path: Path) -> _Contents:
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return _Contents(warning=f"{path} is damaged, and grants nothing", damaged=True)
    match value:
        case {"acp_permissions": int(version)} if version > FORMAT:
            newer = f"{path} grants nothing: a newer version wrote it (format {version})"
            return _Contents(warning=newer, untrusted=True)
        case {"acp_permissions": 1, "grants": [*entries]}:
            return _read_entries(entries, value, path)
    return _Contents(warning=f"{path} is damaged, and grants nothing", damaged=True)


def _read_entries(entries: list[Any], fields: Mapping[str, Any], path: Path) -> _Contents:
    grants: list[Grant] = []
    wrong: list[str] = []
    for number, entry in enumerate(entries, 1):
        try:
            grant = grant_from_plain(entry)
            if grant.scope not in LASTING:
                raise ValueError(f"the scope {grant.scope} does not last")
            grants.append(grant)
        except ValueError as error:
            wrong.append(f"{path}, grant {number} grants nothing: {error}")
    return _Contents(tuple(grants), tuple(entries), fields, "; ".join(wrong) or None)


def _check(grant: Grant, scopes: tuple[str, ...]) -> None:
    if grant.scope not in scopes:
        raise UsageError(f"scope is {grant.scope!r}; here it may be {' or '.join(scopes)}")
    if (wrong := problem(grant)) is not None:
        raise UsageError(wrong)


def _first(
    grants: Iterable[Grant], agent: str, workspace: str, action: Action, roots: tuple[str, ...], ours: Path
) -> Grant | None:
    """The first grant that allows the action.

    No grant covers files in `ours`: an agent that writes there could grant itself everything.
    """
    path = None if isinstance(action, Command) else real_path(action)
    if path is not None and inside(os.path.realpath(ours), path):
        return None
    return next((grant for grant in grants if matches(grant, agent, workspace, action, roots)), None)


def _same_in(grants: Iterable[Grant], grant: Grant) -> Grant | None:
    def content(it: Grant) -> Grant:
        return msgspec.structs.replace(it, id="", created="")

    return next((it for it in grants if content(it) == content(grant)), None)
