"""Where grants are remembered: those of a session in memory, the lasting ones in one file of the user's.

Knows no session and no question; what a grant reaches is `core.grants`' business. The file is read at
each check, so that what is revoked elsewhere is gone at once; it is replaced as a whole, under a lock,
so that a crash leaves the old one or the new one. A file that is damaged, or that others could have
written, grants nothing and says so (`warning`).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ...core.actions import Action, Command, real_path
from ...core.grants import Grant, Offer, grant_from_plain, grant_to_plain, inside, matches, problem
from ...errors import Error, UsageError

FORMAT = 1
FOLDER_VARIABLE = "ACP_NOTEBOOK_CONFIG"
FILE_NAME = "permissions.json"

LOCK_S = 5.0
"""Another kernel holds the lock for some milliseconds; longer only if it is stopped, or the disk is."""

LOCK_PAUSE_S = 0.01

MAX_BYTES = 4_000_000
"""Some ten thousand grants: a bigger file is not ours, and a check must not take long."""

LASTING = ("workspace", "always")


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's settings. A relative XDG_CONFIG_HOME does not count (as its rules say)."""
    if chosen := environ.get(FOLDER_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "acp_notebook"


def new_id() -> str:
    return f"g{secrets.token_hex(4)}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class SessionGrants:
    """What is allowed as long as the session lives."""

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
        """The grant that allows the action; never one to write the file of the lasting grants."""
        return _first(self._grants, agent, workspace, action, tuple(roots), self._folder)

    def revoke(self, id: str) -> bool:
        before = self._grants
        self._grants = tuple(grant for grant in before if grant.id != id)
        return self._grants != before


@dataclass(frozen=True, slots=True)
class _Contents:
    """The file as it was read. `entries` are its grants as they stand there, readable or not."""

    grants: tuple[Grant, ...] = ()
    entries: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    warning: str | None = None
    damaged: bool = False
    """It may be replaced, after a copy was made."""
    untrusted: bool = False
    """It must not be touched before the user has looked at it."""


class GrantStore:
    """The file of lasting grants. From any thread; `add` and `revoke` may wait for LOCK_S."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else config_folder()
        self.path = self.folder / FILE_NAME
        self._read: tuple[bytes, _Contents] | None = None

    # ---- reading ------------------------------------------------------------------------------

    @property
    def warning(self) -> str | None:
        """Why the file, or a part of it, grants nothing."""
        return self._contents().warning

    def grants(self) -> tuple[Grant, ...]:
        return self._contents().grants

    def find(self, agent: str, workspace: str, action: Action, roots: Iterable[str] = ()) -> Grant | None:
        """The grant that allows the action; never one to write this very file, or beside it."""
        return _first(self.grants(), agent, workspace, action, tuple(roots), self.folder)

    def _contents(self) -> _Contents:
        try:
            data = self._bytes()
        except Untrusted as error:
            return _Contents(warning=f"{self.path} grants nothing: {error}", untrusted=True)
        if data is None:
            return _Contents()
        # Compared, not by its time: files that are replaced twice at once may look the same by that.
        if self._read is None or self._read[0] != data:
            self._read = (data, _parsed(data, self.path))
        return self._read[1]

    def _bytes(self) -> bytes | None:
        """None: there is no file."""
        try:
            check_mine(os.stat(self.folder), f"the folder {self.folder}", "700")
            # Not blocked by a pipe of that name, and no link to elsewhere followed.
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
        """The grant, remembered; one that says the same is not added twice."""
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
        """Whether there was one."""
        return self._remove(lambda entry: isinstance(entry, Mapping) and entry.get("id") == id) > 0

    def revoke_all(self) -> int:
        """How many there were; what could not be read as a grant goes as well."""
        return self._remove(lambda entry: True)

    def _remove(self, goes: Callable[[Any], bool]) -> int:
        count = 0

        def kept(contents: _Contents) -> tuple[Any, ...]:
            nonlocal count
            stays = tuple(entry for entry in contents.entries if not goes(entry))
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
        for left in self.folder.glob(f"{FILE_NAME}.*.tmp"):  # of a crash: who makes one holds the lock
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


class Untrusted(Exception):
    """The file must not be believed; the text says why."""


def bytes_of(handle: int) -> bytes:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise Untrusted("it is no regular file")
    check_mine(status, "it", "600")
    data = b""
    while part := os.read(handle, MAX_BYTES + 1 - len(data)):
        data += part
    if len(data) > MAX_BYTES:
        raise Untrusted(f"it is bigger than {MAX_BYTES} bytes")
    return data


def check_mine(status: os.stat_result, what: str, mode: str) -> None:
    if status.st_uid != os.geteuid():
        raise Untrusted(f"{what} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Untrusted(f"{what} can be written by others; look at it, then chmod {mode}")


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
    """`ours`: the folder that no grant reaches, for who writes there allows himself anything."""
    path = None if isinstance(action, Command) else real_path(action)
    if path is not None and inside(os.path.realpath(ours), path):
        return None
    return next((grant for grant in grants if matches(grant, agent, workspace, action, roots)), None)


def _same_in(grants: Iterable[Grant], grant: Grant) -> Grant | None:
    def says(it: Grant) -> Grant:
        return msgspec.structs.replace(it, id="", created="")

    return next((it for it in grants if says(it) == says(grant)), None)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Held by one process and one thread at a time; the system lets go of a dead holder's."""
    try:
        import fcntl
    except ImportError:
        raise Error("permissions can be remembered on Linux and macOS only") from None
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Error(f"{path} is held by another process; nothing was changed") from None
                time.sleep(LOCK_PAUSE_S)
        yield
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes) -> None:
    """A new file of the user's own, on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
