"""The answers to a question: the same order and keys whatever the agent offers, and names that do not lie."""

from __future__ import annotations

import pytest

from acp_notebook.core.answers import NAME_CHARS, REJECT, answers, label, unambiguous
from acp_notebook.core.records import Answer, Offer, Option

ONCE, ALWAYS = Option("o", "Allow", "allow_once"), Option("a", "Always Allow", "allow_always")
NO, NEVER = Option("n", "Reject", "reject_once"), Option("x", "Always reject", "reject_always")
SESSION, FOLDER = Offer("s", "For this session", "session"), Offer("f", "In this folder", "workspace")


def keys(found: tuple[Answer, ...]) -> dict[str | None, str]:
    return {it.key: it.id for it in found}


@pytest.mark.parametrize("options", [(ALWAYS, ONCE, NO), (NO, ALWAYS, ONCE), (ONCE, NO, ALWAYS)])
def test_keys_depend_on_meaning_not_on_the_agents_order(options: tuple[Option, ...]) -> None:
    found = answers(options, (SESSION, FOLDER))
    assert keys(found) == {"1": "o", "2": "n", "3": "s", "4": "f", "5": "a"}
    assert [it.id for it in found] == ["o", "n", "s", "f", "a"]


def test_the_agents_own_always_gets_the_key_if_we_offer_none() -> None:
    assert keys(answers((ALWAYS, ONCE, NO), ())) == {"1": "o", "2": "n", "4": "a"}


def test_the_key_for_once_never_selects_an_allow_always() -> None:
    found = answers((ALWAYS, NO), ())
    assert keys(found) == {"2": "n", "4": "a"} and all(it.meaning != "allow_once" for it in found)


def test_there_is_always_a_way_to_reject() -> None:
    assert answers((ONCE,), ())[-1] == Answer(REJECT, "Reject", "reject", "2")
    assert keys(answers((ONCE, NEVER), ()))["2"] == "x"
    assert keys(answers((), ())) == {"2": REJECT}


def test_further_options_get_further_keys_while_there_are_some() -> None:
    many = tuple(Option(f"m{number}", "Allow", "allow_once") for number in range(8))
    found = answers((*many, NO), ())
    assert [it.key for it in found] == ["1", "2", "5", "6", "7", "8", "9", None, None]


def test_an_always_that_the_agent_remembers_is_marked_as_such() -> None:
    [_, _, always] = answers((ONCE, ALWAYS, NO), (), "claude", "until its session ends")
    assert always.note == "claude itself remembers this, until its session ends"
    [_, _, always] = answers((ONCE, ALWAYS, NO), ())
    assert always.note == "the agent itself remembers this, for as long as it decides"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("Allow", "allow_once"), ("Yes", "allow_once"), ("Approve once", "allow_once")),
        *(("Always Allow", "allow_always"), ("Yes, and don't ask again", "allow_always")),
        *(
            ("Allow for this session", "allow_always"),
            ("Reject", "reject_once"),
            ("No, cancel", "reject_once"),
        ),
        *(("Reject always", "reject_always"), ("Proceed", "allow_once")),
    ],
)
def test_a_clear_option_name_stays(name: str, kind: str) -> None:
    assert label(Option("x", name, kind)) == (name, None)


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("Reject", "allow_always", "Always allow"),
        ("Reject", "allow_once", "Allow once"),
        ("Allow", "reject_once", "Reject"),
        ("Allow", "allow_always", "Always allow"),
        ("Always allow", "allow_once", "Allow once"),
        ("Do not allow", "allow_once", "Allow once"),
        ("Never", "allow_always", "Always allow"),
        ("R\u0435ject", "allow_always", "Always allow"),  # a Cyrillic letter
        ("", "allow_once", "Allow once"),
        ("Option 1", "allow_once", "Allow once"),
    ],
)
def test_a_misleading_option_name_is_replaced(name: str, kind: str, shown: str) -> None:
    assert label(Option("x", name, kind)) == (shown, f"the agent calls this {name!r}")


def test_an_option_of_an_unknown_kind_says_so() -> None:
    name, note = label(Option("x", "Allow", "allow_everything"))
    assert name == "Allow" and note is not None and "unknown kind" in note


@pytest.mark.parametrize(
    "options",
    [
        (Option("x", "Reject", "reject_once"), Option("x", "Allow", "allow_once")),
        (Option("x", "Allow", "allow_once"), Option("x", "Always allow", "allow_always")),
        (Option("allow", "Reject", "reject_once"),),
        (Option("allow", "Maybe", "allow_maybe"),),
        (Option(REJECT, "Allow", "allow_once"),),
    ],
)
def test_an_option_whose_id_means_something_else_too_cannot_be_chosen(options: tuple[Option, ...]) -> None:
    assert unambiguous((*options, NO)) == (NO,)


def test_options_with_distinct_ids_stay() -> None:
    usual = (
        Option("allow", "Allow", "allow_once"),
        Option("reject", "Reject", "reject_once"),
        ALWAYS,
        ALWAYS,
    )
    assert unambiguous(usual) == usual[:3]


def test_a_long_name_pushes_no_other_answer_out_of_sight() -> None:
    for option in (Option("x", "Allow " + "x" * 5000, "allow_once"), Option("x", "y" * 5000, "allow_once")):
        name, note = label(option)
        assert len(name) <= NAME_CHARS and len(note or "") <= 2 * NAME_CHARS
