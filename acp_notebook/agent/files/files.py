"""Text files for an agent: read whole or in part, written so that a crash leaves the old one or the new one.

Knows no protocol and asks no permission; `roots` says where. Blocks, so it belongs on a thread of its own.

Reading is exact or fails: UTF-8, or UTF-16 and UTF-32 with a byte order mark; no other encoding is guessed.

Writing makes a new file beside the old one and puts it in its place. The old one's encoding, byte order mark,
line ends (if all are CRLF), mode, access list and, where we may, owner are kept. A symlink stays one: what
it points at is replaced. Of a file with several hard links only the name that was asked for gets the new
text: the others may be outside of the roots.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from .roots import (
    BadRequest,
    Failed,
    Folder,
    NotFound,
    NotText,
    Place,
    Refused,
    Roots,
    TooLarge,
    parent_of,
    swapped,
)

MAX_TEXT = 32 * 2**20
"""Bytes of a file that is read whole, characters of a part: no agent has a use for more in one message."""

MAX_BEFORE = 4 * 2**20
"""Bytes of an old text that is kept for a diff: nobody reads a longer one."""

MAX_SCAN = 8 * 2**30
"""Bytes that are read in search of a line: some ten seconds. A thread must not read for hours."""

CHUNK = 2**20
"""Bytes read at once: a part of a file of any size costs a few of these in memory."""

ATTEMPTS = 5
"""How often a write is begun anew because the file changed under it."""

LEFTOVER = re.compile(r"\.acp-notebook-[0-9a-f]{16}\.tmp")
"""The names of unfinished files. One that is older than a minute is left of a crash and can be deleted."""

_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LONGEST_BOM = 4

_ACCESS_LIST = "system.posix_acl_access"

_ADVICE = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EACCES: "the user must change the permissions first",
    errno.EPERM: "the user must change the permissions first",
    errno.ETXTBSY: "end the program that runs from it first",
    errno.ENAMETOOLONG: "choose a shorter name",
}


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
class _Form:
    """How a text is put into bytes."""

    codec: str = "utf-8"
    bom: bytes = b""
    crlf: bool = False
    """Every line ends in CRLF."""
    doubled: bool = False
    """The text itself begins with a mark: then one in a new text is no copy of ours."""

    def fitted(self, text: str) -> str:
        text = text.removeprefix("\ufeff") if self.bom and not self.doubled else text
        return text.replace("\n", "\r\n") if self.crlf and "\r" not in text else text


@dataclass(frozen=True, slots=True)
class _Old:
    """The file that a write replaces."""

    fd: int
    status: os.stat_result
    text: str | None
    form: _Form


# ---- reading ------------------------------------------------------------------------------------


def read_text(roots: Roots, path: str, line: int | None = None, limit: int | None = None) -> str:
    """The text, from that line on (1 is the first; 0 means the same) and at most so many lines.

    Lines end at \\n and nowhere else, and keep their ends. Beyond the end there is "". A part is only checked
    as far as it had to be read.
    """
    for name, number in (("line", line), ("limit", limit)):
        if number is not None and number < 0:
            raise BadRequest(f"{name} must not be negative ({number})")
    place = roots.resolve(path)
    with _told(place, "read"), parent_of(place) as folder, _reader(folder, place) as file:
        if line is None and limit is None:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_TEXT:
                raise TooLarge(_too_large(place, size))
            return _part(file, place, 1, None)
        return _part(file, place, line or 1, limit)


@dataclass(frozen=True, slots=True)
class Bytes:
    """A whole file as it was at one moment."""

    data: bytes
    identity: tuple[int, ...]
    """Another one, another state of the file."""
    modified: float
    """Seconds since 1970."""


def read_bytes(roots: Roots, path: str, most: int) -> Bytes:
    """The file, whatever is in it; raises TooLarge beyond `most` bytes."""
    place = roots.resolve(path)
    with _told(place, "read"), parent_of(place) as folder, _reader(folder, place) as file:
        status = os.fstat(file.fileno())
        data = file.read(most + 1)
        if len(data) > most:
            raise TooLarge(f"{place.shown} is too large ({status.st_size / 2**20:.1f} MB)")
        return Bytes(data, _identity(status), status.st_mtime)


def peek(roots: Roots, path: str) -> str | None:
    """The text that a write would replace; None if it is missing, no text, or too long to be shown."""
    place = roots.resolve(path)
    try:
        with _told(place, "read"), parent_of(place) as folder, _reader(folder, place) as file:
            return _survey(file)[0]
    except NotFound:
        return None


def _part(file: BinaryIO, place: Place, line: int, limit: int | None) -> str:
    kept: list[str] = []
    size, skip, left = 0, line - 1, limit
    for text in _texts(file, place):
        if skip:
            ends = text.count("\n")
            if ends < skip:
                skip -= ends
                continue
            text, skip = text[_after_line(text, skip) :], 0
        if left is not None:
            ends = text.count("\n")
            if ends >= left:
                text, left = text[: _after_line(text, left)], 0
            else:
                left -= ends
        kept.append(text)
        size += len(text)
        if size > MAX_TEXT:
            raise TooLarge(_too_large(place, os.fstat(file.fileno()).st_size))
        if left == 0:
            break
    return "".join(kept)


def _texts(file: BinaryIO, place: Place) -> Iterator[str]:
    """The text piece by piece; raises NotText where it is none."""
    bom, codec = _mark(file.read(_LONGEST_BOM))
    decoder = codecs.getincrementaldecoder(codec)()
    done = file.seek(len(bom))
    data = b"more"
    while data:
        if done > MAX_SCAN:
            raise TooLarge(f"{place.shown} is too long to look for that line: more than {MAX_SCAN >> 30} GB")
        data = file.read(CHUNK)
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            offset = done - waiting + error.start
            raise NotText(
                f"{place.shown} is not {codec.upper()} text (byte {offset}): convert it to UTF-8 first"
            ) from None
        if "\0" in text:
            raise NotText(f"{place.shown} is binary, not text: it has NUL characters in it")
        done += len(data)
        yield text


def _survey(file: BinaryIO) -> tuple[str | None, _Form]:
    """The text if it can be shown, and its form, which a very long file tells by its beginning."""
    data = file.read(MAX_TEXT + 1)
    bom, codec = _mark(data)
    try:
        text = codecs.getincrementaldecoder(codec)().decode(data[len(bom) :], final=len(data) <= MAX_TEXT)
    except UnicodeDecodeError:
        return None, _Form()
    if "\0" in text:
        return None, _Form()
    ends = text.count("\n")
    crlf = ends > 0 and ends == text.count("\r\n")
    form = _Form(codec, bom, crlf, doubled=text.startswith("\ufeff"))
    return (text if len(data) <= MAX_BEFORE else None), form


def _mark(data: bytes) -> tuple[bytes, str]:
    return next(((bom, codec) for bom, codec in _BOMS if data.startswith(bom)), (b"", "utf-8"))


def _after_line(text: str, number: int) -> int:
    position = 0
    for _ in range(number):
        position = text.index("\n", position) + 1
    return position


def _too_large(place: Place, size: int) -> str:
    most = f"{MAX_TEXT >> 20} MB at most in one answer"
    return f"{place.shown} is too large ({size / 2**20:.1f} MB, {most}): read parts, with line and limit"


# ---- writing ------------------------------------------------------------------------------------


def write_text(roots: Roots, path: str, text: str) -> Written:
    """Put the text there, whole or not at all; folders that are missing are created."""
    place = roots.resolve(path)
    _check_text(place, text)
    with _told(place, "written"), parent_of(place, create=True) as folder:
        for _ in range(ATTEMPTS):
            written = _attempt(folder, place, text)
            if written is not None:
                return written
        raise Refused(f"{place.shown} keeps changing while it is written: read it again, then try again")


def write_bytes(roots: Roots, path: str, data: bytes, before: Bytes | None) -> Written | None:
    """Put the data there, in place of what was read (None: of nothing); None if that has changed since."""
    place = roots.resolve(path)
    with _told(place, "written"), parent_of(place, create=before is None) as folder:
        with contextlib.ExitStack() as held:
            old = _open_old(folder, place, held)
            known = None if before is None else before.identity
            if (old and _identity(old.status)) != known or not _put(folder, place, data, old):
                return None
        _sync(folder)
        text = None if old is None else old.text
        return Written(place.path, old is None, text, data.decode(errors="replace"), "utf-8", len(data))


def _check_text(place: Place, text: str) -> None:
    if "\0" in text:
        raise NotText(f"the text for {place.shown} has NUL characters in it: it could not be read back")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotText(
            f"the text for {place.shown} has half a character in it (a lone surrogate, at {error.start}): "
            "send whole characters"
        ) from None


def _attempt(folder: Folder, place: Place, text: str) -> Written | None:
    """None: the file changed meanwhile, so that `before` and the form would be of another one."""
    with contextlib.ExitStack() as held:
        old = _open_old(folder, place, held)
        form = old.form if old is not None else _Form()
        after = form.fitted(text)
        data = form.bom + after.encode(form.codec)
        if not _put(folder, place, data, old):
            return None
    _sync(folder)
    before = old.text if old is not None else None
    return Written(place.path, old is None, before, after, form.codec, len(data))


def _put(folder: Folder, place: Place, data: bytes, old: _Old | None) -> bool:
    """The data in the old one's place, unless that is no longer there as it was."""
    with _unfinished(folder, data, old) as unfinished:
        if _status(folder, place) != (old and _identity(old.status)):
            return False
        os.replace(unfinished, place.name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        return True


def _open_old(folder: Folder, place: Place, held: contextlib.ExitStack) -> _Old | None:
    try:
        file = held.enter_context(_reader(folder, place, writable=True))
    except NotFound:
        return None
    status = os.fstat(file.fileno())
    return _Old(file.fileno(), status, *_survey(file))


@contextlib.contextmanager
def _unfinished(folder: Folder, data: bytes, old: _Old | None) -> Iterator[str]:
    """The name of a file with the data, safely on disk; it goes again unless it was put in its place."""
    name = f".acp-notebook-{secrets.token_hex(8)}.tmp"
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
    mode = stat.S_IMODE(old.status.st_mode)
    same_group = ours.st_gid == old.status.st_gid
    if not same_group:
        mode = mode & ~0o070 | (mode & 0o007) << 3  # another group gets what everybody gets
    if not same_group or ours.st_uid != old.status.st_uid:
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
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


# ---- opening ------------------------------------------------------------------------------------


@contextlib.contextmanager
def _reader(folder: Folder, place: Place, *, writable: bool = False) -> Iterator[BinaryIO]:
    """The regular file of that name, open; with `writable`, only if a plain write could change it too."""
    try:
        # Looked at before it is opened: opening a device can already do something.
        _check_kind(os.stat(place.name, dir_fd=folder.fd, follow_symlinks=False), place, writable)
        fd = _open_file(folder, place, writable)
    except FileNotFoundError:
        raise NotFound(f"{place.shown} is not there") from None
    with contextlib.ExitStack() as opening:
        opening.callback(os.close, fd)
        _check_kind(os.fstat(fd), place, writable)
        file = os.fdopen(fd, "rb")
        opening.pop_all()  # the file closes it now
    with file:
        yield file


def _open_file(folder: Folder, place: Place, writable: bool) -> int:
    # O_NONBLOCK: a FIFO that was swapped in must not hold us.
    flags = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return os.open(place.name, flags | (os.O_RDWR if writable else os.O_RDONLY), dir_fd=folder.fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise swapped(place) from None
        if writable and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _read_only(place) from None
        raise


def _check_kind(status: os.stat_result, place: Place, writable: bool) -> None:
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        raise swapped(place)
    if stat.S_ISDIR(mode):
        raise Refused(f"{place.shown} is a folder: name a file in it")
    if not stat.S_ISREG(mode):
        raise Refused(f"{place.shown} is a device, a pipe or a socket: only plain files are served")
    if writable and not mode & 0o222:  # root could, but whoever set it so meant it
        raise _read_only(place)


def _read_only(place: Place) -> Refused:
    return Refused(f"{place.shown} is read-only for us: the user must change its permissions first")


def _status(folder: Folder, place: Place) -> tuple[int, ...] | None:
    try:
        return _identity(os.stat(place.name, dir_fd=folder.fd, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@contextlib.contextmanager
def _told(place: Place, doing: str) -> Iterator[None]:
    """What the operating system says, as an error of ours."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        advice = _ADVICE.get(error.errno or 0, "try again")
        raise Failed(f"{place.shown} cannot be {doing} ({why}): {advice}") from None
