"""Text files for an agent: written so that a crash leaves the old one or the new one.

Knows no protocol and asks no permission; `roots` says where. Blocks, so it belongs on a thread of its own.

Writing makes a new file beside the old one and puts it in its place. The old one's encoding, byte order mark,
line ends (if all are CRLF), mode, access list and, where we may, owner are kept. A symlink stays one: what
it points at is replaced. Of a file with several hard links only the name that was asked for gets the new
text: the others may be outside of the roots.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.describe import FileState
from .roots import Folder, NotFound, NotText, Refused, ResolvedPath, parent_of
from .safe_open import identity, reader, status_of, told
from .text_encoding import TextEncoding, survey
from .text_reader import Bytes
from .unfinished import new_name, writes

ATTEMPTS = 5
"""How often a write is begun anew because the file changed under it."""

_ACCESS_LIST = "system.posix_acl_access"


@dataclass(frozen=True, slots=True)
class Written:
    """What a write has done."""

    path: str
    """The real one, symlinks resolved; it may hold any character (see `roots.visible`)."""
    created: bool
    before: str | None
    """The old text; None if there was none, if it was no text, or longer than MAX_BEFORE."""
    after: str
    """The new text as it is in the file: with the line ends of the old one."""
    encoding: str
    size: int
    """Bytes."""
    states: tuple[bytes, bytes] | None = None
    """Of a notebook that was changed in its page: the whole of it, before and after."""


@dataclass(frozen=True, slots=True)
class _Old:
    """The file that a write replaces."""

    fd: int
    status: os.stat_result
    text: str | None
    form: TextEncoding


def write_text(place: ResolvedPath, text: str, shown: FileState | None = None) -> Written:
    """Put the text there, whole or not at all; folders that are missing are created.

    The place is the one that was judged: a link that was put on the way since then is an error. So is a file
    that is no longer as it was `shown`.
    """
    _check_text(place, text)
    with told(place, "written"), parent_of(place, create=True) as folder:
        for _ in range(ATTEMPTS):
            written = _attempt(folder, place, text, shown)
            if written is not None:
                return written
        raise Refused(f"{place.shown} keeps changing while it is written: read it again, then try again")


def write_bytes(place: ResolvedPath, data: bytes, before: Bytes | None) -> Written | None:
    """Put the data there, in place of what was read (None: of nothing); None if that has changed since."""
    with told(place, "written"), parent_of(place, create=before is None) as folder:
        with contextlib.ExitStack() as held:
            old = _open_old(folder, place, held)
            known = None if before is None else before.identity
            if (old and identity(old.status)) != known or not _put(folder, place, data, old):
                return None
        _sync(folder)
        text = None if old is None else old.text
        return Written(place.path, old is None, text, data.decode(errors="replace"), "utf-8", len(data))


def _check_text(place: ResolvedPath, text: str) -> None:
    if "\0" in text:
        raise NotText(f"the text for {place.shown} has NUL characters in it: it could not be read back")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotText(
            f"the text for {place.shown} has half a character in it (a lone surrogate, at {error.start}): "
            "send whole characters"
        ) from None


def _attempt(folder: Folder, place: ResolvedPath, text: str, shown: FileState | None) -> Written | None:
    """None: the file changed meanwhile, so that `before` and the form would be of another one."""
    with contextlib.ExitStack() as held:
        old = _open_old(folder, place, held)
        if shown is not None and (old is not None, old and old.text) != (shown.exists, shown.text):
            raise Refused(f"{place.shown} changed while the write was asked about: read it again, then write")
        form = old.form if old is not None else TextEncoding()
        after = form.fitted(text)
        data = form.bom + after.encode(form.codec)
        if not _put(folder, place, data, old):
            return None
    _sync(folder)
    before = old.text if old is not None else None
    return Written(place.path, old is None, before, after, form.codec, len(data))


def _put(folder: Folder, place: ResolvedPath, data: bytes, old: _Old | None) -> bool:
    """The data in the old one's place, unless that is no longer there as it was."""
    name = new_name()
    noted = writes.noted(os.path.join(os.path.dirname(place.path), name))
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
    """A file of that name with the data, safely on disk; it goes again unless it was put in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # A new file gets what the umask and the folder say; nobody may read a copy of an old one meanwhile.
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
        with contextlib.suppress(OSError):  # it is in its place; or why it is not says more than this
            os.unlink(name, dir_fd=folder.fd)


def _keep_rights(fd: int, old: _Old) -> None:
    """Owner, access list and mode of the old file; never more rights for anyone than they had."""
    with contextlib.suppress(OSError):  # only root gives files away
        os.fchown(fd, old.status.st_uid, -1)
    with contextlib.suppress(OSError):  # a group that we are not in
        os.fchown(fd, -1, old.status.st_gid)
    ours = os.fstat(fd)
    # As with a plain write(2): new content must not run with the rights of the old one.
    mode = stat.S_IMODE(old.status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
    same_group = ours.st_gid == old.status.st_gid
    if not same_group:
        mode = mode & ~0o070 | (mode & 0o007) << 3  # another group gets what everybody gets
    _keep_attributes(fd, old, access_list=same_group)
    with contextlib.suppress(PermissionError):  # a file system without modes
        os.fchmod(fd, mode)


def _keep_attributes(fd: int, old: _Old, *, access_list: bool) -> None:
    if not hasattr(os, "listxattr"):
        return  # macOS
    with contextlib.suppress(OSError):  # a file system without them, or one that the folder did not pass on
        os.removexattr(fd, _ACCESS_LIST)
    with contextlib.suppress(OSError):
        for name in os.listxattr(old.fd):
            if name.startswith("user.") or (access_list and name == _ACCESS_LIST):
                os.setxattr(fd, name, os.getxattr(old.fd, name))


def _sync(folder: Folder) -> None:
    """The names on disk too. The text is in its place already, so trouble here is none of the agent's."""
    for fd in (folder.fd, *(holder for holder, _ in reversed(folder.made))):
        with contextlib.suppress(OSError):
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
            try:
                os.fsync(listed)
            finally:
                os.close(listed)
