"""Three-way merge of metadata by key and of attachments by name.

Independent of cells and files. A placeholder that the agent writes back leaves the original unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..records import Json
from .elide import MARK, is_placeholder, shown_metadata
from .validate import is_bundle

_ABSENT = object()


class MetadataClash(Exception):
    """Both sides changed this key, in different ways."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def merged_metadata(
    base: Mapping[str, Json], written: Mapping[str, Json], now: Mapping[str, Json]
) -> dict[str, Json]:
    """Apply the agent's edits (from `base` to `written`) to `now`; raises `MetadataClash`."""
    if same(written, base):
        return dict(now)
    return _merged(base, written, now, shown_metadata(now), "")


def _merged(
    base: Mapping[str, Json],
    written: Mapping[str, Json],
    now: Mapping[str, Json],
    shown: Mapping[str, Json],
    path: str,
) -> dict[str, Json]:
    """`shown` is `now` as the agent would see it, to compare with `base`."""
    result = dict(now)
    for key in [*written, *(key for key in base if key not in written)]:
        old, new, there = (side.get(key, _ABSENT) for side in (base, written, shown))
        if same(new, old) or same(new, there) or _is_elided(new):
            continue
        if isinstance(old, dict) and isinstance(new, dict) and isinstance(there, dict) and MARK not in there:
            result[key] = _merged(old, new, now[key], there, f"{path}{key}.")
        elif not same(there, old) and not same(now.get(key, _ABSENT), old):
            raise MetadataClash(f"{path}{key}")
        elif new is _ABSENT:
            del result[key]
        else:
            result[key] = new
    return result


def same(one: Json, other: Json) -> bool:
    """Whether both are equal as JSON: True is not 1, 1 is not 1.0; NaN, which some files have, equals NaN."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(it, other[name]) for name, it in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))


def _is_elided(value: Json) -> bool:
    """Whether it is a placeholder, such as one from a copied cell."""
    match value:
        case {"acp_notebook": note}:
            return is_placeholder(note)
    return is_placeholder(value)


def without_placeholders(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """The metadata of a new cell, without placeholders that were copied along."""
    return {name: it for name, it in metadata.items() if not _is_elided(it)}


def added_attachments(
    written: Mapping[str, Json], now: Mapping[str, Json], known: Mapping[tuple[str, str], Json]
) -> tuple[dict[str, Json], list[str]]:
    """The attachments that the agent adds, and the names of those that were refused.

    Existing attachments stay as they are. A placeholder is replaced by its original if that is `known`, so
    that a cell that is split or copied keeps its pictures.
    """
    added: dict[str, Json] = {}
    refused: list[str] = []
    for name, bundle in written.items():
        if name in now:
            continue
        if not is_bundle(bundle):
            refused.append(name)
        elif any(is_placeholder(it) for it in bundle.values()):
            whole = known.get(attachment_key(name, bundle))
            if whole is None:
                refused.append(name)
            else:
                added[name] = whole
        else:
            added[name] = bundle
    return added, refused


def attachment_key(name: str, shown: Mapping[str, Json]) -> tuple[str, str]:
    return name, "\n".join(sorted(f"{mime}: {it}" for mime, it in shown.items()))
