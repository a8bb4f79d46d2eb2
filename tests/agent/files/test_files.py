"""A read is exact or fails; a write keeps the file's encoding and mode, and changes nothing if it fails."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_notebook.agent.files import text_encoding, text_reader, text_writer
from acp_notebook.agent.files.roots import BadRequest, Failed, NotFound, NotText, Refused, Roots, TooLarge
from tests.agent.files.served import peek, read_text, write_text


@pytest.fixture
def its(tmp_path: Path) -> Roots:
    return Roots([str(tmp_path)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


# ---- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "limit", "part"),
    [
        (None, None, "1\n2\r\n3\u20283\r3\n\n5"),
        (1, None, "1\n2\r\n3\u20283\r3\n\n5"),
        (0, None, "1\n2\r\n3\u20283\r3\n\n5"),  # the schema allows 0
        (0, 1, "1\n"),
        (None, 1, "1\n"),
        (None, 2, "1\n2\r\n"),
        (2, 1, "2\r\n"),
        (3, 1, "3\u20283\r3\n"),
        (3, 2, "3\u20283\r3\n\n"),
        (5, None, "5"),
        (5, 1, "5"),
        (5, 4_294_967_295, "5"),
        (6, None, ""),
        (4_294_967_295, 4_294_967_295, ""),
        (10**30, 10**30, ""),
        (1, 0, ""),
        (None, 0, ""),
        (None, 99, "1\n2\r\n3\u20283\r3\n\n5"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_a_part_is_counted_in_lines_with_their_line_ends(
    its: Roots,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: int | None,
    limit: int | None,
    part: str,
    chunk: int,
) -> None:
    path.write_bytes("1\n2\r\n3\u20283\r3\n\n5".encode())
    monkeypatch.setattr(text_reader, "CHUNK", chunk)
    assert read_text(its, str(path), line, limit) == part


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.sampled_from("ab\r\n\u2028é🙂"), max_size=40),
    st.integers(0, 12),
    st.none() | st.integers(0, 12),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.integers(1, 9),
)
def test_a_part_equals_a_slice_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, line: int, limit: int | None, codec: str, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("part") / "a"
    path.write_bytes(text.encode(codec))
    pieces = text.split("\n")
    lines = [f"{it}\n" for it in pieces[:-1]] + pieces[-1:]
    start = max(line - 1, 0)
    wanted = "".join(lines[start:] if limit is None else lines[start : start + limit])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_reader, "CHUNK", chunk)
        assert read_text(Roots([str(path.parent)]), str(path), line, limit) == wanted


def test_an_empty_file_is_an_empty_text_and_a_missing_one_is_an_error(its: Roots, path: Path) -> None:
    for limit in (None, 0, 1):
        with pytest.raises(NotFound, match=r"a\.txt is not there"):
            read_text(its, str(path), None, limit)
    path.write_bytes(b"")
    assert read_text(its, str(path)) == read_text(its, str(path), 1, 5) == read_text(its, str(path), 7) == ""


@pytest.mark.parametrize(("line", "limit"), [(-1, None), (None, -1), (-(10**30), 1), (1, -5)])
def test_a_negative_number_is_an_error(its: Roots, path: Path, line: int | None, limit: int | None) -> None:
    path.write_text("x")
    with pytest.raises(BadRequest, match="must not be negative"):
        read_text(its, str(path), line, limit)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"caf\xe9", "not UTF-8 text (byte 3)"),
        (b"\xff", "byte 0"),
        (b"ab\xc3", "byte 2"),  # cut in the middle of a character
        (b"\xed\xa0\x80", "byte 0"),  # a surrogate
        (b"\xc0\xaf", "byte 0"),  # overlong
        (codecs.BOM_UTF8 + b"a\xff", "byte 4"),
        (codecs.BOM_UTF16_LE + b"a\0b", "not UTF-16-LE text (byte 4)"),
        (codecs.BOM_UTF16_BE + b"\xd8\x00", "UTF-16-BE"),
        (codecs.BOM_UTF32_LE + b"\xff\xff\xff\xff", "UTF-32-LE"),
        (b"\x89PNG\r\n\x1a\n\0\0", "byte 0"),
        (b"text\0more", "binary"),
        ("utf-16 without a mark".encode("utf-16-le"), "binary"),
        (codecs.BOM_UTF16_LE + b"\0\0", ""),  # also the BOM of UTF-32 with an empty text
        (b"x" * 100 + b"\xff", "byte 100"),
    ],
)
def test_binary_data_is_an_error_and_never_altered_text(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, says: str
) -> None:
    path.write_bytes(data)
    for chunk in (1, 4, 7, 1000):
        monkeypatch.setattr(text_reader, "CHUNK", chunk)
        if not says:
            assert read_text(its, str(path)) == ""
            continue
        for line in (None, 1, 5):
            with pytest.raises(NotText) as caught:
                read_text(its, str(path), line)
            assert says in str(caught.value) and str(path) in str(caught.value)
        assert peek(its, str(path)) is None


def test_a_part_before_binary_data_can_be_read(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_reader, "CHUNK", 8)
    path.write_bytes(b"1\n2\n3\n4\n\xff\n")
    assert read_text(its, str(path), 2, 2) == "2\n3\n"


def test_a_file_that_is_too_large_says_so_and_what_to_do(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"")
    os.truncate(path, text_encoding.MAX_TEXT + 1)
    with pytest.raises(TooLarge, match=r"\(32\.0 MB, at most 32 MB .*\): read parts, with line and limit"):
        read_text(its, str(path))
    assert peek(its, str(path)) is None
    monkeypatch.setattr(text_reader, "MAX_TEXT", 2**20)
    path.write_bytes(b"x" * 2**20)
    assert len(read_text(its, str(path))) == 2**20
    path.write_bytes(b"one\n" + b"x" * (2**20 + 1))
    assert read_text(its, str(path), 1, 1) == "one\n"
    with pytest.raises(TooLarge, match="at most 1 MB"):
        read_text(its, str(path), 2, 1)


def test_the_search_for_a_line_is_limited(its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_reader, "MAX_SCAN", 1000)
    monkeypatch.setattr(text_reader, "CHUNK", 100)
    path.write_text("x\n" * 5000)
    assert read_text(its, str(path), 300, 1) == "x\n"
    with pytest.raises(TooLarge, match="too long to search for that line"):
        read_text(its, str(path), 3000, 1)


def test_a_part_of_a_huge_file_costs_little_memory(its: Roots, path: Path) -> None:
    with path.open("wb") as file:
        for number in range(110_000):
            file.write(b"%07d" % number + b"." * 992 + b"\n")
    assert path.stat().st_size > 100 * 2**20
    with pytest.raises(TooLarge):
        read_text(its, str(path))
    tracemalloc.start()
    try:
        part = read_text(its, str(path), 100_001, 2)
        assert [line[:8] for line in part.splitlines()] == ["0100000.", "0100001."]
        assert len(read_text(its, str(path), 110_000)) == 1000
        assert read_text(its, str(path), 110_002, 1) == ""
        assert tracemalloc.get_traced_memory()[1] < 16 * text_reader.CHUNK
        with pytest.raises(TooLarge):
            read_text(its, str(path), 2)
        assert tracemalloc.get_traced_memory()[1] < text_encoding.MAX_TEXT + 16 * text_reader.CHUNK
    finally:
        tracemalloc.stop()


def test_a_peek_returns_the_old_text_or_none(its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peek(its, str(path)) is None
    assert peek(its, str(path.parent / "no" / "such")) is None
    path.write_bytes(codecs.BOM_UTF8 + b"a\r\nb")
    assert peek(its, str(path)) == "a\r\nb"
    with pytest.raises(Refused):
        peek(its, str(path.parent))
    monkeypatch.setattr(text_encoding, "MAX_BEFORE", 6)
    assert peek(its, str(path)) is None


# ---- what a write keeps -------------------------------------------------------------------------


def test_a_write_reports_what_it_did(its: Roots, path: Path) -> None:
    written = write_text(its, str(path), "one\n")
    assert (written.path, written.created, written.before, written.after) == (str(path), True, None, "one\n")
    written = write_text(its, str(path), "zwei ü\n")
    assert (written.created, written.before, written.after) == (False, "one\n", "zwei ü\n")
    assert (written.encoding, written.data) == ("utf-8", "zwei ü\n".encode())
    assert path.read_bytes() == "zwei ü\n".encode()
    assert os.listdir(path.parent) == ["a.txt"]


BOMS = {
    "utf-8": b"",
    "utf-8-sig": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30) | st.text(
    st.sampled_from("a\r\n\ufeffü🙂"), max_size=12
)


@settings(max_examples=150, deadline=None)
@given(texts, texts, st.sampled_from(sorted(BOMS)))
@example("a\r\nb\r\n", "c\nd\n", "utf-16-be")
@example("a\r\nb\n", "c\nd\n", "utf-8")
@example("a\r\nb\r\n", "c\r\nd\n", "utf-8-sig")
@example("a\r\n", "\ufeffb\n", "utf-8-sig")
@example("a\r\n", "b\rc\n", "utf-8")
@example("", "\ufeff\ufeff", "utf-16-be")
def test_encoding_bom_and_line_ends_of_the_old_file_are_kept(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, codec: str
) -> None:
    path, bom = tmp_path_factory.mktemp("form") / "a", BOMS[codec]
    plain = codec.removesuffix("-sig")
    if not bom:
        old = old.lstrip("\ufeff")  # else that is the BOM
    path.write_bytes(bom + old.encode(plain))
    its = Roots([str(path.parent)])
    written = write_text(its, str(path), new)
    wanted = new.removeprefix("\ufeff") if bom and not old.startswith("\ufeff") else new
    if "\n" in old and "\n" not in old.replace("\r\n", "") and "\r" not in wanted:
        wanted = wanted.replace("\n", "\r\n")
    assert path.read_bytes() == bom + wanted.encode(plain)
    assert (written.before, written.after) == (old, wanted)
    # What was written is read back, and writing back what was read changes nothing.
    data, text = path.read_bytes(), read_text(its, str(path))
    assert text == (wanted if bom else wanted.removeprefix("\ufeff"))
    write_text(its, str(path), text)
    assert path.read_bytes() == data


def test_a_binary_file_becomes_utf_8(its: Roots, path: Path) -> None:
    path.write_bytes(b"caf\xe9\r\n")
    written = write_text(its, str(path), "café\n")
    assert (written.created, written.before) == (False, None)
    assert path.read_bytes() == "café\n".encode()


def test_a_very_long_old_file_is_detected_by_its_start(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_encoding, "MAX_TEXT", 10)
    monkeypatch.setattr(text_encoding, "MAX_BEFORE", 5)
    path.write_bytes(codecs.BOM_UTF16_LE + ("a\r\n" * 50).encode("utf-16-le"))
    assert write_text(its, str(path), "b\n").before is None
    assert path.read_bytes() == codecs.BOM_UTF16_LE + "b\r\n".encode("utf-16-le")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o222 | 0o444])
def test_the_mode_is_kept_with_any_umask(its: Roots, path: Path, mode: int) -> None:
    path.write_text("old")
    path.chmod(mode)
    write_text(its, str(path), "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755])
def test_new_content_does_not_inherit_setuid(its: Roots, path: Path, mode: int) -> None:
    path.write_text("old")
    path.chmod(mode)
    write_text(its, str(path), "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_a_new_file_and_new_folders_follow_the_umask(its: Roots, path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_text(its, str(path.parent / "x" / "y" / "z"), "new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((path.parent / "x/y/z").stat().st_mode) == 0o640
    assert {stat.S_IMODE((path.parent / it).stat().st_mode) for it in ("x", "x/y")} == {0o750}


def test_the_owner_is_kept_if_permitted(its: Roots, path: Path) -> None:
    path.write_text("old")
    others = (4242, 4343) if os.geteuid() == 0 else (os.geteuid(), os.getgid())
    os.chown(path, *others)
    write_text(its, str(path), "new")
    assert (path.stat().st_uid, path.stat().st_gid) == others


def test_extended_attributes_are_kept(its: Roots, path: Path) -> None:
    path.write_text("old")
    try:
        os.setxattr(path, "user.note", b"mine")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    write_text(its, str(path), "new")
    assert os.getxattr(path, "user.note") == b"mine"


def test_a_link_stays_a_link_and_its_target_is_replaced(its: Roots, path: Path) -> None:
    path.write_text("old")
    link, chain = path.parent / "link", path.parent / "chain"
    link.symlink_to("a.txt")
    chain.symlink_to(link)
    written = write_text(its, str(chain), "new")
    assert (written.path, written.before, path.read_text()) == (str(path), "old", "new")
    assert link.is_symlink() and chain.is_symlink() and not path.is_symlink()


def test_other_hard_links_keep_the_old_text(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    path, other = tmp_path / "root" / "a", tmp_path / "outside"
    other.write_text("old")
    os.link(other, path)
    write_text(Roots([str(path.parent)]), str(path), "new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


def test_a_reader_of_the_old_file_goes_on_reading_it(its: Roots, path: Path) -> None:
    path.write_text("old text")
    with path.open() as reader:
        assert reader.read(4) == "old "
        write_text(its, str(path), "")
        assert reader.read() == "text"


# ---- what a write refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("half \ud83d", "a lone surrogate, which is half a character (at 5)"),
        ("\udcff", "lone surrogate"),
        ("a\0b", "NUL"),
    ],
)
def test_a_text_that_cannot_be_encoded_is_an_error(its: Roots, path: Path, text: str, says: str) -> None:
    path.write_text("old")
    for target in (path, path.parent / "new" / "b.txt"):
        with pytest.raises(NotText) as caught:
            write_text(its, str(target), text)
        assert says in str(caught.value)
    assert os.listdir(path.parent) == ["a.txt"] and path.read_text() == "old"


def test_a_read_only_file_is_not_replaced_even_by_root(its: Roots, path: Path) -> None:
    path.write_text("old")
    path.chmod(0o444)
    inode = path.stat().st_ino
    with pytest.raises(Refused, match="read-only"):
        write_text(its, str(path), "new")
    assert (path.read_text(), path.stat().st_ino, os.listdir(path.parent)) == ("old", inode, ["a.txt"])


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fchmod"])
@pytest.mark.parametrize(
    ("number", "says"), [(errno.ENOSPC, "free some space"), (errno.EIO, "try again"), (errno.EDQUOT, "space")]
)
def test_a_disk_error_changes_nothing(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, says: str
) -> None:
    path.write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    targets = [path] if call == "fchmod" else [path, path.parent / "new" / "folder" / "b.txt"]
    for target in targets:
        with pytest.raises(Failed) as caught:
            write_text(its, str(target), "new")
        assert str(target) in str(caught.value) and says in str(caught.value)
    assert os.listdir(path.parent) == ["a.txt"] and path.read_text() == "old"


def test_a_partial_write_is_continued(its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    write_text(its, str(path), "all of it")
    assert path.read_text() == "all of it"


def test_a_failed_write_removes_only_its_own_folders(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        (path.parent / "x" / "theirs").write_text("theirs")
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(Failed):
        write_text(its, str(path.parent / "x" / "y" / "z"), "new")
    assert [it.name for it in path.parent.rglob("*")] == ["x", "theirs"]


# ---- others write too ---------------------------------------------------------------------------


def once(happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run something after the old text was read and before the new one is in place."""
    fsync, left = os.fsync, [happens]

    def sync(fd: int) -> None:
        fsync(fd)
        if left:
            left.pop()()

    monkeypatch.setattr(os, "fsync", sync)


def test_a_text_saved_in_between_is_the_text_before(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("old")
    once(lambda: path.write_bytes(b"saved in between\r\n"), monkeypatch)
    written = write_text(its, str(path), "new\n")
    assert (written.created, written.before, written.after) == (False, "saved in between\r\n", "new\r\n")
    assert path.read_bytes() == b"new\r\n" and os.listdir(path.parent) == ["a.txt"]


def test_a_file_created_in_between_is_not_a_creation(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(lambda: path.write_text("first"), monkeypatch)
    written = write_text(its, str(path), "second")
    assert (written.created, written.before, path.read_text()) == (False, "first", "second")


def test_a_file_deleted_in_between_is_a_creation(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("old")
    once(path.unlink, monkeypatch)
    assert write_text(its, str(path), "new").created


def test_a_link_created_in_between_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root").mkdir()
    path, outside = tmp_path / "root" / "a", tmp_path / "outside"
    outside.write_text("secret")
    path.write_text("old")

    def put_link() -> None:
        path.unlink()
        path.symlink_to(outside)

    once(put_link, monkeypatch)
    with pytest.raises(Refused, match="changed while"):
        write_text(Roots([str(path.parent)]), str(path), "new")
    assert outside.read_text() == "secret" and os.listdir(path.parent) == ["a"]


def test_a_file_that_keeps_changing_is_an_error(
    its: Roots, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("")
    monkeypatch.setattr(os, "fsync", lambda fd: path.write_text(path.read_text() + "x"))
    with pytest.raises(Refused, match="keeps changing"):
        write_text(its, str(path), "new")
    assert path.read_text() == "x" * text_writer.ATTEMPTS and os.listdir(path.parent) == ["a.txt"]


def test_many_writers_of_one_file_leave_one_of_their_texts(its: Roots, path: Path) -> None:
    texts = [f"{letter}\n" * 5000 for letter in "abcd"]
    path.write_text(texts[0])
    refused: list[BaseException] = []
    read: list[str] = []

    def write(text: str) -> None:
        for _ in range(20):
            try:
                write_text(its, str(path), text)
                read.append(read_text(its, str(path)))
            except Refused as error:
                refused.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert set(read) <= set(texts) and len(read) + len(refused) == 80
    assert path.read_text() in texts and os.listdir(path.parent) == ["a.txt"]
    assert all("keeps changing" in str(error) for error in refused)
