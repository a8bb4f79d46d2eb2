"""Two trees of a private repository compared: the states of each path that differs, as far as they are kept.

Knows git's plumbing; nothing of how the trees were made. Blocks, so it belongs on a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.changes import Version
from .covers import Found
from .git import Git, tree_entries
from .trees import Tree

MOST_TURN = 512 * 2**20
"""Bytes of all states that one turn changed: beyond that, files are named and cannot be undone."""

TOO_MUCH = f"the turn changed too much to keep it (more than {MOST_TURN >> 20} MB)"

_LINK, _NESTED = 0o120000, 0o160000


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    sides: tuple[tuple[int, str], tuple[int, str]]
    """Mode and object, before and after; mode 0: there is nothing."""

    @property
    def oids(self) -> list[str]:
        return [oid for mode, oid in self.sides if mode]

    @property
    def action(self) -> str:
        (old, _), (new, _) = self.sides
        return "created" if not old else "deleted" if not new else "modified"


def compare(git: Git, top: str, before: Tree, after: Tree) -> Iterator[Found]:
    """What differs; raises GitTrouble."""
    unknown = {*before.large, *after.large}
    entries = [it for it in _differing(git, before, after) if it.path not in unknown]
    blobs = _blobs(git, [oid for it in entries for oid in it.oids])
    for entry in entries:
        path = os.path.join(top, entry.path)
        if any(oid not in blobs for oid in entry.oids):
            yield Found(path, why_not=TOO_MUCH, action=entry.action)
            continue
        one, other = (
            _version(mode, blobs[oid], tree.rights.get(entry.path)) if mode else None
            for (mode, oid), tree in zip(entry.sides, (before, after), strict=True)
        )
        if one != other:
            yield Found(path, one, other)
    yield from _not_kept(top, before, after)


def _differing(git: Git, before: Tree, after: Tree) -> list[_Entry]:
    found: list[_Entry] = []
    if before.id != after.id:
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before.id, after.id)
        fields = git.run(*words).split(b"\0")
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            old, new, old_id, new_id, _ = head.decode().lstrip(":").split()
            found.append(_Entry(os.fsdecode(path), (_side(int(old, 8), old_id), _side(int(new, 8), new_id))))
    return found + _other_rights(git, before, after, {it.path for it in found})


def _other_rights(git: Git, before: Tree, after: Tree, known: set[str]) -> list[_Entry]:
    """Files of which only rights changed that git does not know."""
    if before.rights is after.rights:
        return []
    changed = {path for path, _ in before.rights.items() ^ after.rights.items()} - known - after.large.keys()
    return [
        _Entry(path, (_side(mode, oid), _side(mode, oid)))
        for path, mode, oid in tree_entries(git, after.id, sorted(changed))
    ]


def _side(mode: int, oid: str) -> tuple[int, str]:
    return (0 if mode == _NESTED else mode, oid)


def _version(mode: int, data: bytes, rights: int | None) -> Version:
    if mode == _LINK:
        return Version(data, 0o777, link=True)
    return Version(data, rights if rights is not None else mode & 0o777)


def _blobs(git: Git, wanted: list[str]) -> dict[str, bytes]:
    """What these objects hold, as far as it may be kept."""
    blobs: dict[str, bytes] = {}
    if not wanted:
        return blobs
    total = 0
    ids = [f"{oid}\n".encode() for oid in dict.fromkeys(wanted)]
    with git.start("cat-file", "--batch", "--buffer", given=ids) as reading:
        for _ in ids:
            oid, kind, *size = reading.stdout.readline().decode().split()
            if kind != "blob":
                continue  # missing
            total += int(size[0])
            if total > MOST_TURN:
                return blobs
            blobs[oid] = reading.stdout.read(int(size[0]))
            reading.stdout.read(1)
    return blobs


def _not_kept(top: str, before: Tree, after: Tree) -> Iterator[Found]:
    for path in sorted({*before.large, *after.large}):
        one, other = before.large.get(path), after.large.get(path)
        if one != other:
            action = "deleted" if not os.path.lexists(os.path.join(top, path)) else "modified"
            why = next(it.why for it in (other, one) if it is not None)
            yield Found(os.path.join(top, path), why_not=why, action=action)
