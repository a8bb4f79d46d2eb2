from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.core import patches
from acp_notebook.core.patches import (
    SESSION,
    Add,
    Append,
    Patch,
    Pieces,
    Remove,
    Set,
    State,
    coalesce,
    from_wire,
    settled,
    to_wire,
)
from acp_notebook.core.records import Json
from acp_notebook.core.transcript import Transcript
from tests.core.strategies import event_runs, patch_runs, reference_apply

EMPTY: Json = {"session": {"key": SESSION}, "items": []}


def after(start: Json, run: Iterable[Patch]) -> Json:
    state = State.from_plain(start)
    for patch in run:
        state.apply(patch)
    return state.plain()


def cut(run: list[Patch], at: list[int]) -> list[list[Patch]]:
    edges = [0, *sorted(min(place, len(run)) for place in at), len(run)]
    return [run[a:b] for a, b in pairwise(edges)]


# ---- the meaning of a patch -----------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(patch_runs())
def test_any_sequence_of_patches_matches_the_reference(case: tuple[Json, list[Patch]]) -> None:
    start, run = case
    expected = start
    for patch in run:
        expected = reference_apply(expected, to_wire(patch))
    assert after(start, run) == expected


@settings(deadline=None, max_examples=40)
@given(patch_runs())
def test_a_patch_survives_the_wire_unchanged(case: tuple[Json, list[Patch]]) -> None:
    _, run = case
    assert [from_wire(json.loads(json.dumps(to_wire(patch)))) for patch in run] == run


def test_items_stay_in_the_order_in_which_they_were_added() -> None:
    run: list[Patch] = [Add({"key": key}) for key in ("k2", "k1", "k3")]
    run += [Set("k1", ("x",), 1), Remove("k2"), Add({"key": "k2"})]
    assert [item["key"] for item in after(EMPTY, run)["items"]] == ["k1", "k3", "k2"]


def test_the_header_is_set_and_replaced_and_is_not_an_item() -> None:
    run: list[Patch] = [
        Set(SESSION, ("title",), "t"),
        Add({"key": SESSION, "mode": "m"}),
        Set(SESSION, ("a",), [1]),
    ]
    assert after(EMPTY, run) == {"session": {"key": SESSION, "mode": "m", "a": [1]}, "items": []}


def test_text_is_appended_at_any_path() -> None:
    run: list[Patch] = [Add({"key": "k1", "content": [{"text": "a"}]})]
    run += [Append("k1", ("content", 0, "text"), piece) for piece in "bcd"]
    assert after(EMPTY, run)["items"] == [{"key": "k1", "content": [{"text": "abcd"}]}]


def test_appended_text_can_be_read_and_appended_again() -> None:
    state = State()
    state.apply(Add({"key": "k1", "text": ""}))
    seen = []
    for piece in "abc":
        state.apply(Append("k1", ("text",), piece))
        seen.append(state.plain()["items"][0]["text"])
    assert seen == ["a", "ab", "abc"]


def test_appended_text_can_be_replaced() -> None:
    run: list[Patch] = [Add({"key": "k1", "t": "a"}), Append("k1", ("t",), "b"), Set("k1", ("t",), "c")]
    assert after(EMPTY, [*run, Append("k1", ("t",), "d")])["items"][0]["t"] == "cd"


@pytest.mark.parametrize("patch", [Append("k9", ("x",), "t"), Set("k9", ("x",), 1), Remove("k9")])
def test_a_patch_of_an_unknown_item_is_an_error(patch: Patch) -> None:
    with pytest.raises(KeyError, match="k9"):
        State().apply(patch)


@settings(deadline=None, max_examples=40)
@given(patch_runs())
def test_a_state_shares_nothing_with_the_patches_that_made_it(case: tuple[Json, list[Patch]]) -> None:
    start, run = case
    before = copy.deepcopy((start, run))
    after(start, run)
    assert (start, run) == before


def test_changing_a_patch_after_it_was_applied_does_not_change_the_state() -> None:
    item: Json = {"key": "k1", "list": [{"x": 1}]}
    entries: list[Json] = [{"y": 1}]
    state = State()
    state.apply(Add(item))
    state.apply(Append("k1", ("list",), entries))
    state.apply(Set("k1", ("more",), entries))
    item["list"][0]["x"] = entries[0]["y"] = 2
    assert state.plain()["items"] == [{"key": "k1", "list": [{"x": 1}, {"y": 1}], "more": [{"y": 1}]}]


def test_changing_the_plain_form_does_not_change_the_state() -> None:
    state = State.from_plain({"session": {"key": SESSION, "x": [1]}, "items": [{"key": "k1", "x": [1]}]})
    plain = state.plain()
    plain["session"]["x"].append(2)
    plain["items"][0]["x"].append(2)
    assert state.plain() == {"session": {"key": SESSION, "x": [1]}, "items": [{"key": "k1", "x": [1]}]}


# ---- growing text ---------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(max_size=3) | st.none(), max_size=40))
def test_pieces_join_to_the_text_however_often_they_are_read(steps: list[str | None]) -> None:
    pieces, text = Pieces("é"), "é"
    for step in steps:
        if step is None:
            assert str(pieces) == text
        else:
            pieces.add(step)
            text += step
    assert str(pieces) == text


def test_joining_the_pieces_of_a_long_text_copies_each_character_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patches, "_PIECES_JOINED_AT", 8)
    pieces, copied, parts = Pieces(), 0, 0
    for _ in range(1000):
        tail = len(pieces._tail)
        pieces.add("ab")
        copied += 2 * (tail + 1) if not pieces._tail else 0
        parts = max(parts, len(pieces._full) + len(pieces._tail))
    assert str(pieces) == "ab" * 1000
    assert copied == 2000
    assert parts <= 1000 // 8 + 8
    assert len(pieces._full) + len(pieces._tail) == 1


def test_settled_joins_growing_texts_at_any_depth_and_copies() -> None:
    inner: Json = {"x": [Pieces("a", "b"), None, 1]}
    made = settled(inner)
    assert made == {"x": ["ab", None, 1]}
    assert made["x"] is not inner["x"]


# ---- coalescing -----------------------------------------------------------------------------


@settings(deadline=None)
@given(patch_runs(), st.lists(st.integers(0, 12), max_size=3))
def test_coalescing_any_patches_in_any_batches_changes_nothing(
    case: tuple[Json, list[Patch]], at: list[int]
) -> None:
    start, run = case
    before = copy.deepcopy(run)
    batches = [coalesce(batch) for batch in cut(run, at)]
    assert after(start, [patch for batch in batches for patch in batch]) == after(start, run)
    assert all(len(made) <= len(batch) for made, batch in zip(batches, cut(run, at), strict=True))
    assert run == before


@settings(deadline=None, max_examples=40)
@given(event_runs, st.lists(st.integers(0, 60), max_size=3))
def test_coalescing_a_transcripts_patches_changes_nothing(run: list[Any], at: list[int]) -> None:
    made = Transcript().apply_all(run)
    before = copy.deepcopy(made)
    batches = [coalesce(batch) for batch in cut(made, at)]
    assert after(EMPTY, [patch for batch in batches for patch in batch]) == after(EMPTY, made)
    assert sum(map(len, batches)) <= len(made)
    assert made == before


@settings(deadline=None, max_examples=40)
@given(patch_runs())
def test_coalescing_twice_changes_nothing_more(case: tuple[Json, list[Patch]]) -> None:
    start, run = case
    once = coalesce(run)
    assert after(start, coalesce(once)) == after(start, run)
    assert len(coalesce(once)) <= len(once)


def test_alternating_chunks_of_two_messages_become_one_patch_each() -> None:
    run: list[Patch] = [Append(f"k{n % 2}", ("content", 0, "text"), str(n % 10)) for n in range(2000)]
    assert coalesce(run) == [
        Append("k0", ("content", 0, "text"), "02468" * 200),
        Append("k1", ("content", 0, "text"), "13579" * 200),
    ]


def test_patches_after_an_added_item_are_folded_into_it() -> None:
    run: list[Patch] = [
        Add({"key": "k1", "text": "a", "list": []}),
        Append("k1", ("text",), "b"),
        Set("k1", ("status",), "done"),
        Append("k1", ("list",), [{"x": 1}]),
        Set("k1", ("list", 0, "x"), 2),
    ]
    assert coalesce(run) == [Add({"key": "k1", "text": "ab", "list": [{"x": 2}], "status": "done"})]


def test_the_last_of_several_values_wins() -> None:
    assert coalesce([Set("k1", ("s",), 1), Set("k1", ("s",), 2)]) == [Set("k1", ("s",), 2)]
    assert coalesce([Append("k1", ("s",), "a"), Set("k1", ("s",), "b")]) == [Set("k1", ("s",), "b")]
    assert coalesce([Set("k1", ("s",), "a"), Append("k1", ("s",), "b")]) == [Set("k1", ("s",), "ab")]


def test_text_for_an_entry_is_not_folded_into_entries_whose_place_is_unknown() -> None:
    run: list[Patch] = [
        Append("k1", ("content",), [{"text": "a"}]),
        Append("k1", ("content", 4, "text"), "b"),
    ]
    assert coalesce(run) == run


def test_an_item_removed_and_added_again_moves_to_the_end() -> None:
    start: Json = {"session": {"key": SESSION}, "items": [{"key": "k1", "old": 1}, {"key": "k2"}]}
    run: list[Patch] = [Set("k1", ("x",), 1), Remove("k1"), Add({"key": "k1"}), Set("k1", ("y",), 2)]
    assert after(start, coalesce(run))["items"] == [{"key": "k2"}, {"key": "k1", "y": 2}]


def test_coalescing_nothing_gives_nothing() -> None:
    assert coalesce([]) == []


def test_coalescing_takes_any_iterable() -> None:
    assert coalesce(iter([Remove("k1")])) == [Remove("k1")]


# ---- the wire -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "wire"),
    [
        (Add({"key": "k1"}), ["add", {"key": "k1"}]),
        (Append("k1", ("content", 0, "text"), "x"), ["append", "k1", ["content", 0, "text"], "x"]),
        (Append("k1", ("raw",), [{}]), ["append", "k1", ["raw"], [{}]]),
        (Set("session", ("mode",), None), ["set", "session", ["mode"], None]),
        (Remove("k1"), ["remove", "k1"]),
    ],
)
def test_a_patch_is_a_short_list_on_the_wire(patch: Patch, wire: list[Json]) -> None:
    assert to_wire(patch) == wire
    assert from_wire(wire) == patch


@pytest.mark.parametrize(
    "message",
    [
        [],
        ["add"],
        ["add", "item"],
        ["add", {"type": "message"}],
        ["add", {"key": 1}],
        ["append", "k1", ["x"]],
        ["append", "k1", ["x"], 1],
        ["append", "k1", "x", "text"],
        ["append", "k1", [], "text"],
        ["set", 1, ["x"], 1],
        ["set", "k1", [], 1],
        ["set", "k1", [None], 1],
        ["set", "k1", ["x"]],
        ["remove", 1],
        ["remove", "k1", "more"],
        ["move", "k1", "k2"],
        {"add": {}},
        None,
    ],
)
def test_an_invalid_patch_is_refused_with_the_message(message: Any) -> None:
    with pytest.raises(ValueError, match="not a patch"):
        from_wire(message)
