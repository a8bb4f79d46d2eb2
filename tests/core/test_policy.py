"""A policy and the agent's options give one answer; a doubt is never an allow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.policy import WORDS, Decision, PermissionRequest, checked, decide, word_for
from acp_notebook.core.records import Option
from acp_notebook.core.snapshot import ToolCall

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")


def options(*kinds: str) -> tuple[Option, ...]:
    return tuple(Option(f"{kind} {number}", kind, kind) for number, kind in enumerate(kinds))


def request(kind: str = "edit") -> PermissionRequest:
    return PermissionRequest(ToolCall("k1", None, "t1", "a title", kind, "pending"), options(*KINDS))


@pytest.mark.parametrize(
    ("said", "kinds", "option"),
    [
        ("allow", KINDS, "allow_once 0"),
        ("allow", ("allow_always", "allow_once"), "allow_once 1"),
        ("allow", ("reject_once", "allow_always"), "allow_always 1"),
        ("allow", ("allow_once", "allow_once"), "allow_once 0"),
        ("allow", ("reject_once",), "reject_once 0"),
        ("allow", ("allow_forever", "ALLOW_ONCE", ""), None),
        ("allow", ("allow_forever", "reject_always"), "reject_always 1"),
        ("allow", (), None),
        ("reject", KINDS, "reject_once 2"),
        ("reject", ("reject_always", "reject_once"), "reject_once 1"),
        ("reject", ("allow_once", "reject_always"), "reject_always 1"),
        ("reject", ("allow_once", "reject_softly"), None),
        ("reject", (), None),
        ("allow_always 1", KINDS, "allow_always 1"),
        ("brand_new 0", ("brand_new",), "brand_new 0"),
        ("no such option", KINDS, "reject_once 2"),
        ("no such option", ("allow_once",), None),
        ("ask", KINDS, "reject_once 2"),
        ("Allow", KINDS, "reject_once 2"),
    ],
)
def test_the_selected_option(said: str, kinds: tuple[str, ...], option: str | None) -> None:
    assert decide(said, options(*kinds), by="policy").option == option


@given(
    st.sampled_from(["allow", "reject", "ask", "", "0", None, True, 1]) | st.text(),
    st.lists(st.sampled_from([*KINDS, "allow", "allow_forever", "unknown", ""]), max_size=4),
)
def test_only_allow_selects_an_option_that_allows(said: Any, kinds: list[str]) -> None:
    offered = options(*kinds)
    decision = decide(said, offered, by="policy")
    taken = next((option.kind for option in offered if option.id == decision.option), None)
    if said == "allow":
        assert taken in (None, *KINDS)
    else:
        assert taken in (None, "reject_once", "reject_always")


class Odd:
    """Cannot be compared, like arrays and data frames."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("said", [None, True, 0, [], {"allow": True}, b"allow", Odd()])
def test_an_invalid_decision_rejects_and_says_so(said: Any) -> None:
    decision = decide(said, options(*KINDS), by="policy")
    assert decision.option == "reject_once 2"
    assert "rejected" in str(decision.reason)


def test_a_decision_says_who_and_why() -> None:
    assert decide("reject", (), by="user", reason="no") == Decision(None, "user", "no")
    assert decide("allow", options("allow_once"), by="user", reason="yes").reason == "yes"
    assert "no option to allow" in str(decide("allow", (), by="policy").reason)


@pytest.mark.parametrize(
    "policy", [*WORDS, {}, {"edit": "allow", "other": "ask"}, lambda request: "allow", print]
)
def test_policies(policy: Any) -> None:
    assert checked(policy) is policy


@pytest.mark.parametrize(
    "policy", ["", "ALLOW", "deny", None, True, 5, ["allow"], {"edit": "maybe"}, {"edit": None}]
)
def test_an_invalid_policy_is_refused_with_the_valid_ones(policy: Any) -> None:
    with pytest.raises(ValueError, match='"ask", "allow"'):
        checked(policy)


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("pytest *", "permissions.rules"),
        ("Edit", "the kinds are read, edit"),
        ("*", "left out is asked"),
        (5, "not a tool kind"),
    ],
)
def test_an_unknown_kind_is_refused_instead_of_ignored(kind: Any, meant: str) -> None:
    with pytest.raises(ValueError, match="not a tool kind") as caught:
        checked({kind: "allow"})
    assert meant in str(caught.value)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_applies_to_every_kind(word: Any) -> None:
    assert word_for(word, request("edit")) == word_for(word, request("brand_new")) == word


def test_a_mapping_asks_for_the_kinds_that_it_leaves_out() -> None:
    policy: dict[str, Any] = {"read": "allow", "execute": "reject"}
    assert [word_for(policy, request(kind)) for kind in ("read", "execute", "edit")] == [
        "allow",
        "reject",
        "ask",
    ]
