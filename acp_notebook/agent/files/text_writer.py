"""Write text files for an agent so that a crash leaves either the old or the new file.

Independent of the protocol; does not ask for permission; `roots` resolves the paths. Blocks, so call it on a
thread.

A write creates a new file next to the old one and moves it into place. It keeps the old file's encoding, byte
order mark, line ends (if all are CRLF), mode, access list and, if permitted, owner. A symlink stays a
symlink: its target is replaced. If a file has several hard links, only the requested name gets the new text,
because the others may be outside of the roots.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from msgspec import Struct

from ...core.describe import FileState
from ...log import logger, suppressed
from .roots import Folder, NotFound, NotText, Refused, ResolvedPath, parent_of
from .safe_open import as_file_trouble, identity, reader, status_of
from .text_encoding import TextEncoding, survey
from .text_reader import Bytes
from .unfinished import new_name, writes

_log = logger(__name__)

ATTEMPTS = 5
"""How often a write is retried because the file changed during it."""

_ACCESS_LIST = "system.posix_acl_access"


class Written(Struct, frozen=True):
    """The result of a write."""

    path: str
    """The real path, with symlinks resolved; it may contain any character (see `roots.visible`)."""
    created: bool
    before: str | None
    """The old text; None if there was none, if it was not text, or if it was longer than MAX_BEFORE."""
    after: str
    """The new text as it is in the file, with the line ends of the old one."""
    encoding: str
    data: bytes
    """The whole file, or document, as it was written."""
    replaced: bytes | None = None
    """A notebook: what it was before, if there was one."""
    live: bool = False
    """Whether it was changed in its page, and not on disk."""


class _Old(Struct, frozen=True):
    """The file that a write replaces."""

    fd: int
    status: os.stat_result
    text: str | None
    form: TextEncoding


def write_text(place: ResolvedPath, text: str, shown: FileState | None = None) -> Written:
    """Write the text, completely or not at all; create missing folders.

    The place must be the one that was permitted: a link that has been put into the path since is an error. So
    is a file that is no longer as it was `shown`.
    """
    check_text(place, text)
    with as_file_trouble(place, "written"), parent_of(place, create=True) as folder:
        for _ in range(ATTEMPTS):
            written = _attempt(folder, place, text, shown)
            if written is not None:
                return written
        raise Refused(f"{place.shown} keeps changing while it is written: read it again, then try again")


def write_bytes(place: ResolvedPath, data: bytes, before: Bytes | None) -> Written | None:
    """Replace what was read (None: no file) by the data; return None if the file has changed since."""
    with as_file_trouble(place, "written"), parent_of(place, create=before is None) as folder:
        with contextlib.ExitStack() as held:
            old = _open_old(folder, place, held)
            known = None if before is None else before.identity
            if (old and identity(old.status)) != known or not _put(folder, place, data, old):
                return None
        _sync(folder)
        text = None if old is None else old.text
        replaced = None if before is None else before.data
        after = data.decode(errors="replace")
        return Written(place.path, old is None, text, after, "utf-8", data, replaced)


def check_text(place: ResolvedPath, text: str) -> None:
    """Raise NotText if it could not be read back."""
    if "\0" in text:
        raise NotText(f"the text for {place.shown} contains NUL characters: it could not be read back")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotText(
            f"the text for {place.shown} contains a lone surrogate, which is half a character "
            f"(at {error.start}): send whole characters"
        ) from None


def _attempt(folder: Folder, place: ResolvedPath, text: str, shown: FileState | None) -> Written | None:
    """Try to write; return None if the file changed during the attempt, so that `before` would be wrong."""
    with contextlib.ExitStack() as held:
        old = _open_old(folder, place, held)
        if shown is not None and (old is not None, old and old.text) != (shown.exists, shown.text):
            raise Refused(f"{place.shown} changed while the user was asked: read it again, then write")
        form = old.form if old is not None else TextEncoding()
        after = form.fitted(text)
        data = form.bom + after.encode(form.codec)
        if not _put(folder, place, data, old):
            return None
    _sync(folder)
    before = old.text if old is not None else None
    return Written(place.path, old is None, before, after, form.codec, data)


def _put(folder: Folder, place: ResolvedPath, data: bytes, old: _Old | None) -> bool:
    """Move the data into place; return False if the old file has changed."""
    name = new_name()
    noted = writes.noting(os.path.join(os.path.dirname(place.path), name))
    with noted, _unfinished(folder, name, data, old) as unfinished:
        if status_of(folder, place) != (old and identity(old.status)):
            return False
        os.replace(unfinished, place.name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        return True


def _open_old(folder: Folder, place: ResolvedPath, held: contextlib.ExitStack) -> _Old | None:
    try:
        file = held.enter_context(reader(folder, place, writable=True))
    except NotFound:
        return None
    status = os.fstat(file.fileno())
    return _Old(file.fileno(), status, *survey(file))


@contextlib.contextmanager
def _unfinished(folder: Folder, name: str, data: bytes, old: _Old | None) -> Iterator[str]:
    """Create a file with the data, safely on disk; remove it afterwards unless it was moved into place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # A new file gets the rights of the umask and the folder; a copy of an old one must be private at first.
    fd = os.open(name, flags, 0o666 if old is None else 0o600, dir_fd=folder.fd)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            if old is not None:
                _keep_rights(fd, old)
            os.fsync(fd)
        finally:
            os.close(fd)
        yield name
    finally:
        with suppressed(_log, OSError):  # it was moved into place, or another error is already raised
            os.unlink(name, dir_fd=folder.fd)


def _keep_rights(fd: int, old: _Old) -> None:
    """Copy owner, access list and mode of the old file; never give anyone more rights than before."""
    with suppressed(_log, OSError):  # only root can give files to others
        os.fchown(fd, old.status.st_uid, -1)
    with suppressed(_log, OSError):  # the user is not in that group
        os.fchown(fd, -1, old.status.st_gid)
    ours = os.fstat(fd)
    # As with a plain write(2): new content must not run with the rights of the old one.
    mode = stat.S_IMODE(old.status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
    same_group = ours.st_gid == old.status.st_gid
    if not same_group:
        mode = mode & ~0o070 | (mode & 0o007) << 3  # another group gets the rights of others
    _keep_attributes(fd, old, access_list=same_group)
    with suppressed(_log, PermissionError):  # a file system without modes
        os.fchmod(fd, mode)


def _keep_attributes(fd: int, old: _Old, *, access_list: bool) -> None:
    if not hasattr(os, "listxattr"):
        return  # macOS
    with suppressed(_log, OSError):  # the file system has none, or the folder passed none on
        os.removexattr(fd, _ACCESS_LIST)
    with suppressed(_log, OSError):
        for name in os.listxattr(old.fd):
            if name.startswith("user.") or (access_list and name == _ACCESS_LIST):
                os.setxattr(fd, name, os.getxattr(old.fd, name))


def _sync(folder: Folder) -> None:
    """Sync the folders, too. The text is already in place, so an error here does not concern the agent."""
    for fd in (folder.fd, *(holder for holder, _ in reversed(folder.made))):
        with suppressed(_log, OSError):
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
            try:
                os.fsync(listed)
            finally:
                os.close(listed)
