"""Forms: which answers fit, what is wrong with the others, and what is kept of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.elicitation import (
    ElicitationRequest,
    Outcome,
    checked_policy,
    fillable,
    host_of,
    outcome_of,
    problem_of,
)
from acp_notebook.core.forms import HIDDEN, Field, Misfit, checked, fitting, kept, unanswerable
from acp_notebook.core.records import Choice
from tests.core.strategies import json_values

CHOICES = (Choice("a", "A"), Choice("b", "B"))


class Odd:
    """A number of a foreign type, like NumPy's."""

    def __index__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("field", "value", "sent"),
    [
        (Field("x", "string"), "", ""),
        (Field("x", "string", least=2, most=3), "ab", "ab"),
        (Field("x", "string", format="email"), "a@b.example", "a@b.example"),
        (Field("x", "string", format="uri"), "https://a.example/?q=1", "https://a.example/?q=1"),
        (Field("x", "string", format="uri"), "urn:isbn:1", "urn:isbn:1"),
        (Field("x", "string", format="date"), "2024-02-29", "2024-02-29"),
        (Field("x", "string", format="date-time"), "2024-02-29T10:00:00Z", "2024-02-29T10:00:00Z"),
        (Field("x", "string", format="never-heard-of"), "anything", "anything"),
        (Field("x", "string", pattern="^[a-z]+$"), "the agent checks it", "the agent checks it"),
        (Field("x", "number"), 1, 1),
        (Field("x", "number", least=0, most=1), 0.5, 0.5),
        (Field("x", "integer"), 3.0, 3),
        (Field("x", "integer"), Odd(), 7),
        (Field("x", "boolean"), False, False),
        (Field("x", "select", choices=CHOICES), "b", "b"),
        (Field("x", "multiselect", choices=CHOICES, least=1), ("b", "a", "b"), ["b", "a"]),
        (Field("x", "multiselect", choices=CHOICES), [], []),
        (Field("x", "unknown"), ["as", "it", "is"], ["as", "it", "is"]),
    ],
)
def test_a_valid_value_is_sent(field: Field, value: Any, sent: Any) -> None:
    found = fitting(field, value)
    assert (found, type(found)) == (sent, type(sent))


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        (Field("x", "string"), 5, "must be a text"),
        (Field("x", "string"), "x" * 100_001, "longer than 100,000"),
        (Field("x", "string", least=2), "a", "at least 2 characters"),
        (Field("x", "string", most=1), "ab", "at most 1 character$"),
        (Field("x", "string", format="email"), "nobody", "e-mail"),
        (Field("x", "string", format="email"), "a b@c", "e-mail"),
        (Field("x", "string", format="uri"), "no address", "an address"),
        (Field("x", "string", format="date"), "2023-02-29", "a date"),
        (Field("x", "string", format="date"), "20240229", "a date"),
        (Field("x", "string", format="date"), "2024-13-01", "a date"),
        (Field("x", "string", format="date-time"), "2024-02-29", "date and time"),
        (Field("x", "string", format="date-time"), "2024-02-29T25:00", "date and time"),
        (Field("x", "number"), "5", "a number"),
        (Field("x", "number"), True, "a number"),
        (Field("x", "number"), math.nan, "a number"),
        (Field("x", "number"), math.inf, "a number"),
        (Field("x", "number", least=0.5), 0.25, "at least 0.5"),
        (Field("x", "integer"), 1.5, "a whole number"),
        (Field("x", "integer", most=10), 11, "at most 10"),
        (Field("x", "integer"), 2**63, "too large"),
        (Field("x", "integer"), None, "a whole number"),
        (Field("x", "boolean"), "yes", "true or false"),
        (Field("x", "boolean"), 1, "true or false"),
        (Field("x", "select", choices=CHOICES), "c", "one of a, b"),
        (Field("x", "select", choices=CHOICES), ["a"], "one of"),
        (Field("x", "select"), "a", "one of"),
        (Field("x", "multiselect", choices=CHOICES), "a", "a list"),
        (Field("x", "multiselect", choices=CHOICES), ["c"], "one of"),
        (Field("x", "multiselect", choices=CHOICES, least=2), ["a"], "choose at least 2"),
        (Field("x", "multiselect", choices=CHOICES, most=1), ["a", "b"], "choose at most 1"),
        (Field("x", "unknown"), {"deep": 1}, "a text, a number"),
    ],
)
def test_an_invalid_value_says_why(field: Field, value: Any, why: str) -> None:
    with pytest.raises(Misfit, match=why):
        fitting(field, value)


@given(
    st.sampled_from(["string", "number", "integer", "boolean", "select", "multiselect", "unknown"]),
    json_values,
)
def test_any_value_is_valid_or_says_why(kind: str, value: Any) -> None:
    found, wrong = checked([Field("x", kind, choices=CHOICES)], {"x": value})
    assert (value is None) or (len(found) + len(wrong) == 1)


FORM = (
    Field("name", "string", required=True),
    Field("runs", "integer", default=3),
    Field("pin", "string", secret=True),
)


def test_defaults_fill_missing_fields_and_none_omits_them() -> None:
    assert checked(FORM, {"name": "a"}) == ({"name": "a", "runs": 3}, {})
    assert checked(FORM, {"name": "a", "runs": None, "pin": None}) == ({"name": "a"}, {})


def test_missing_and_unknown_fields_are_named() -> None:
    assert checked(FORM, {"nmae": "a"})[1] == {
        "nmae": "the form has no such field",
        "name": "this field is required",
    }


def test_secrets_are_not_kept() -> None:
    assert kept(FORM, {"name": "a", "pin": "1234"}) == {"name": "a", "pin": HIDDEN}


def test_a_required_field_of_an_unknown_type_can_only_be_declined() -> None:
    assert unanswerable([Field("odd", "unknown")]) is None
    assert "“Odd”" in (unanswerable([Field("odd", "unknown", "Odd", required=True)]) or "")


# ---- addresses and policies


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.example/x?y#z", "a.example"),
        ("HTTP://A.example:8080/", "a.example:8080"),
        ("https://good.example@evil.example/", "evil.example"),
        ("https://\u0430pple.example/", "xn--pple-43d.example"),  # a Cyrillic letter
        ("https://[::1]:99/", "::1:99"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://", None),
        ("https://a.example:port/", None),
        ("https://a.example/\\@evil", None),
        ("https://a.example/ b", None),
        ("https://a\u202e.example", None),
        ("mailto:a@b.example", None),
        ("", None),
    ],
)
def test_the_host_of_an_address(url: str, host: str | None) -> None:
    assert host_of(url) == host
    request = ElicitationRequest("m", "url", url=url)
    assert (problem_of(request) is None) == (host is not None)


def test_an_unknown_mode_is_not_a_form() -> None:
    assert "'voice'" in (fillable(ElicitationRequest("m", "voice")) or "")


ASKED = ElicitationRequest("m", "form", FORM)
LINK = ElicitationRequest("m", "url", url="https://a.example")


@pytest.mark.parametrize(
    ("said", "request_", "action", "why"),
    [
        ({"name": "a"}, ASKED, "accept", ""),
        ("decline", ASKED, "decline", ""),
        ("cancel", ASKED, "cancel", ""),
        ({"name": 5}, ASKED, "decline", "does not fit: name: it must be a text"),
        ("yes", ASKED, "decline", "must return a mapping"),
        (None, ASKED, "decline", "it returned None"),
        (True, ASKED, "decline", "must return a mapping"),
        ({}, LINK, "accept", ""),
        (True, LINK, "accept", ""),
        ("accept", LINK, "accept", ""),
        (None, LINK, "decline", "must return"),
    ],
)
def test_results_of_a_function(said: Any, request_: ElicitationRequest, action: str, why: str) -> None:
    outcome = outcome_of(said, request_)
    assert (outcome.action, outcome.by) == (action, "policy")
    assert why in (outcome.reason or "")


def test_an_accepted_form_has_its_values() -> None:
    assert outcome_of({"name": "a"}, ASKED) == Outcome("accept", "policy", None, {"name": "a", "runs": 3})


@pytest.mark.parametrize("policy", ["accept", "", None, 1, {"x": "ask"}])
def test_an_invalid_policy_is_refused(policy: Any) -> None:
    with pytest.raises(ValueError, match='"ask", "decline" or a function'):
        checked_policy(policy)
