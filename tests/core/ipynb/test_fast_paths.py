"""What is faster than the general case has the same result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from acp_notebook.core.ipynb import Conflict, Invalid, as_agent_sees, merge, read
from acp_notebook.core.ipynb.align import pair_by_key
from acp_notebook.core.ipynb.json_layout import dump_sorted
from tests.core.ipynb.books import Plain, agent_edits, code, file, layouts, notebook, user_edits
from tests.core.ipynb.test_properties import Scene, any_book, often, scenes, twins

any_scene = scenes | st.builds(Scene, twins, layouts, agent_edits, user_edits)
leaves = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()))
without_floats = st.recursive(
    leaves, lambda it: st.lists(it, max_size=3) | st.dictionaries(st.text(), it, max_size=3), max_leaves=15
)


@given(without_floats)
@example({"é": "\ud800", "b": [2**70, -(2**70)], "a": [[], {}, [{}], '\x00\x1f\x7f\u2028"\\/\t']})
@often
def test_a_value_without_floats_is_written_as_if_it_had_some(value: Any) -> None:
    assert dump_sorted(value, floats=False) == dump_sorted(value, floats=True)


def test_floats_in_metadata_are_written_as_python_does() -> None:
    book = notebook(code("x", "a", metadata={"f": [1e16, 1e-5]}), metadata={"g": {"h": 2e30}})
    shown = as_agent_sees(file(book)).text
    assert all(it in shown for it in ("1e+16", "1e-05", "2e+30"))


@given(any_scene)
@often
def test_cells_that_were_copied_are_the_same_as_decoded_ones(scene: Scene) -> None:
    result = scene.merged()
    if result is not None:
        assert result.comparison.after == read(result.data)


def outcome(scene: Scene) -> Any:
    try:
        merged = merge(scene.view, scene.written, scene.now)
    except (Conflict, Invalid) as error:
        return str(error)
    return merged.data, merged.notes, merged.comparison, merged.base


@given(any_scene)
@often
def test_cells_that_are_as_the_agent_read_them_need_no_merge(scene: Scene) -> None:
    fast = outcome(scene)
    with patch.dict(merge.__globals__, _is_as_read=lambda written, cell: False):
        assert outcome(scene) == fast


@given(scenes)
@often
def test_a_parsed_notebook_is_merged_like_its_file(scene: Scene) -> None:
    result = scene.merged()
    if result is not None:
        assert merge(scene.view, scene.written, read(scene.now)) == result


def paired_one_by_one(left: Mapping[int, int], right: Mapping[int, int]) -> dict[int, int]:
    pairs: dict[int, int] = {}
    for index, key in left.items():
        free = [it for it, other in right.items() if other == key and it not in pairs.values()]
        if free:
            pairs[index] = free[0]
    return pairs


keys = st.lists(st.integers(0, 8), max_size=8).map(lambda it: dict(enumerate(it)))


@given(keys, keys | st.permutations(range(6)).map(lambda it: dict(enumerate(it))))
@often
def test_equal_keys_are_paired_in_order(left: dict[int, int], right: dict[int, int]) -> None:
    assert pair_by_key(left, right) == paired_one_by_one(left, right)


@given(any_book, layouts, st.data())
@often
def test_a_damaged_file_is_refused_if_it_is_not_json(book: Plain, layout: Any, data: Any) -> None:
    text = file(book, **{**layout, "bom": False}).decode()
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from(["", ",", "]", "}", "[", " ", '"'])) + text[at + 1 :]
    with suppress(Invalid):
        read(damaged)
        json.loads(damaged)
