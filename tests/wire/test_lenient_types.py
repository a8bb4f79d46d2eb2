"""A value is read into a message type as far as it fits."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, Struct, ValidationError, to_builtins

from acp_notebook.wire import lenient_types
from acp_notebook.wire import schema as s
from acp_notebook.wire.lenient_types import Opaque


class Inner(Struct, forbid_unknown_fields=True):
    word: str
    number: int | None = None


class Cat(Struct, tag="cat", forbid_unknown_fields=True):
    name: str


class Dog(Struct, tag="dog", forbid_unknown_fields=True):
    name: str
    toys: list[str] = []


class Outer(Struct, forbid_unknown_fields=True):
    needed: str
    inner: Inner | None = None
    many: list[Inner] = []
    perhaps: list[Inner] | None = None
    pet: Cat | Dog | None = None
    pets: list[Cat | Dog] = []
    anything: Any = UNSET


def read(**fields: Any) -> Outer:
    return lenient_types.read(Outer, {"needed": "x", **fields})


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, {"needed": 5}, {"needed": None}])
def test_an_invalid_required_field_refuses_the_whole_value(value: Any) -> None:
    with pytest.raises(ValidationError):
        lenient_types.read(Outer, value)


@pytest.mark.parametrize("wrong", [5, "x", True, [5], {"word": 5}, {}])
@pytest.mark.parametrize("field", ["inner", "many", "perhaps"])
def test_an_invalid_optional_field_takes_its_default(field: str, wrong: Any) -> None:
    found = getattr(read(**{field: wrong}), field)
    assert found in (None, [])


def test_unknown_fields_are_ignored_at_every_level() -> None:
    found = read(new=1, inner={"word": "w", "new": 2}, many=[{"word": "v", "new": {}}])
    assert found == Outer("x", inner=Inner("w"), many=[Inner("v")])


def test_invalid_entries_are_left_out_and_others_keep_their_order() -> None:
    entries = [{"word": "a"}, 5, None, {"number": 1}, {"word": "b", "number": "no"}, [], {"word": "c"}]
    assert read(many=entries).many == [Inner("a"), Inner("b"), Inner("c")]
    assert read(perhaps=entries).perhaps == [Inner("a"), Inner("b"), Inner("c")]


def test_an_unknown_tag_is_kept_unchanged() -> None:
    fish = {"type": "fish", "name": "f", "fins": [1]}
    found: object = read(pet=fish).pet
    assert found == Opaque(fish)
    assert read(pets=[{"type": "cat", "name": "c"}, fish, {"type": "dog", "name": "d", "x": 1}]).pets == [
        Cat("c"),
        Opaque(fish),
        Dog("d"),
    ]


def test_a_known_tag_without_its_required_field_is_left_out() -> None:
    assert read(pets=[{"type": "cat"}, {"type": "dog", "name": "d", "toys": ["a", 5]}]).pets == [
        Dog("d", ["a"])
    ]


def test_any_value_is_accepted_unchanged() -> None:
    assert read(anything={"x": [None]}).anything == {"x": [None]}
    assert read(anything=None).anything is None
    assert read().anything is UNSET


def test_valid_values_are_read_like_msgspec_does() -> None:
    value = {"needed": "x", "inner": {"word": "w", "number": 1}, "pets": [{"type": "cat", "name": "c"}]}
    assert to_builtins(lenient_types.read(Outer, value))["inner"] == value["inner"]
    assert lenient_types.read(Outer, value).pets == [Cat("c")]


def test_fields_are_read_by_their_wire_names() -> None:
    found = lenient_types.read(
        s.ToolFields, {"toolCallId": "t", "rawInput": 1, "tool_call_id": "no", "_meta": {}}
    )
    assert (found.tool_call_id, found.raw_input, found.meta) == ("t", 1, {})
