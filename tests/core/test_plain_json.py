"""Values of the user are sent as they are, or refused by name."""

from __future__ import annotations

import enum
import math
from types import MappingProxyType
from typing import Any

import pytest

from acp_notebook.core.plain_json import MAX_NESTING, plain_json, plain_object


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize("value", [None, True, 0, -(2**63), 2**64 - 1, 1.5, "", "ü", [], {}, [{"a": [None]}]])
def test_json_stays_as_it_is(value: Any) -> None:
    assert plain_json(value, "it") == value


def test_tuples_and_mappings_become_lists_and_dicts() -> None:
    assert plain_json(MappingProxyType({"a": (1, (2,))}), "it") == {"a": [1, [2]]}


def test_later_changes_of_the_value_change_nothing() -> None:
    value: dict[str, Any] = {"a": [1]}
    made = plain_json(value, "it")
    value["a"].append(2)
    assert made == {"a": [1]}


@pytest.mark.parametrize(
    "value",
    [math.nan, -math.inf, 2**64, -(2**63) - 1, b"", {1}, object(), 1j, Colour.RED, range(2)],
    ids=lambda it: type(it).__name__,
)
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^it\['a'\]\[1\] is .* which JSON does not have$"):
        plain_json({"a": [0, value]}, "it")


@pytest.mark.parametrize("key", [1, None, (1, 2), Colour.RED])
def test_keys_are_text(key: Any) -> None:
    with pytest.raises(ValueError, match="in JSON, keys are text"):
        plain_json({key: 1}, "it")


def test_nesting_is_bounded() -> None:
    value: Any = 1
    for _ in range(MAX_NESTING):
        value = [value]
    assert plain_json(value, "it") == value
    with pytest.raises(ValueError, match="nested deeper than 64 levels, or contains itself") as raised:
        plain_json([value], "it")
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_an_object_is_a_mapping(value: Any) -> None:
    with pytest.raises(ValueError, match="it must be a mapping with names as keys"):
        plain_object(value, "it")
