"""Settings are left, secrets are not: by name, by shape, by length; in doubt it is a secret."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.redaction import REDACTED, Redactor
from acp_notebook.core.variables import LONGEST_SETTING, can_be_hidden, holds_secret

SETTINGS = [
    ("DEBUG", "true"),
    ("MODE", "development"),
    ("LEVEL", "info"),
    ("LEVEL", "WARNING"),
    ("MODE", "Alpha"),
    ("REGION", "us-east-1"),
    ("PORT", "65535"),
    ("LOCALE", "en_US.UTF-8"),
    ("MODEL", "gpt-4o"),
    ("PYTHON", "3.11"),
    ("FEATURES", "load,resume"),
    ("AWS_REGION", "eu-west-2"),
    ("X", "info"),
    ("X", "UTF-8"),
]

SECRETS = [
    ("API_KEY", "banana"),
    ("apiKey", "banana"),
    ("OPENAI_API_KEY", "test"),
    ("X-Api-Key", "banana"),
    ("GH_PAT", "banana"),
    ("DB_PASS", "monkey"),
    ("password", "monkey"),
    ("SERVICE_AUTH", "basic"),
    ("X", "hunter2"),
    ("X", "swordfish"),
    ("TEAM", "Alpha"),
    ("PASSPORT", "qwerty"),
    ("X", "p@ss"),
    ("X", "sk-Ab12345"),
    ("X", "a1b2-c3d4"),
    ("X", "aBcDeFgH"),
    ("X", "123456"),
    ("X", "1234-5678"),
    ("X", "tr0ub4dor&3"),
    ("X", "geheimnisvoller"),
    ("X", "correct horse battery"),
    ("DATABASE", "pg://me:pw@host"),
    ("X", "пароль"),
]

NAMES = st.sampled_from(["MODE", "APP_LEVEL", "AWS_REGION"])
SECRET_NAMES = st.sampled_from(
    ["API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "my_secret", "Authorization", "pin"]
)
SIGNS = st.text(string.ascii_letters + string.digits + string.punctuation + "äß€ ", min_size=4, max_size=40)
WORDS = st.text(string.ascii_lowercase, min_size=4, max_size=12)


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_what_reads_as_a_setting_is_left(name: str, value: str) -> None:
    assert not holds_secret(name, value)
    assert Redactor({name: value}).text(f"it is {value}") == f"it is {value}"


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_what_may_be_a_secret_is_taken_out(name: str, value: str) -> None:
    assert holds_secret(name, value)
    assert Redactor({name: value}).text(f"it is {value}") == f"it is {REDACTED}"


@given(SECRET_NAMES, SIGNS)
def test_a_name_that_says_so_is_enough(name: str, value: str) -> None:
    assert holds_secret(name, value) == can_be_hidden(value)


@given(NAMES, st.text(min_size=LONGEST_SETTING + 1, max_size=80))
def test_whatever_is_long_is_a_secret(name: str, value: str) -> None:
    assert holds_secret(name, value)


@given(NAMES, SIGNS, st.sampled_from("!@#$%^&*()=?~|€ß"))
def test_a_sign_that_no_setting_has_makes_it_one(name: str, value: str, sign: str) -> None:
    assert holds_secret(name, value + sign)


@given(NAMES, WORDS, WORDS)
def test_letters_and_digits_mixed_make_it_one(name: str, one: str, other: str) -> None:
    assert holds_secret(name, f"{one}1{other}")


@given(NAMES, WORDS)
def test_a_word_is_none_where_the_name_says_that_it_is_a_setting(name: str, word: str) -> None:
    assert not holds_secret(name, word)
    assert holds_secret("X", f"{word}{word}")


@given(st.dictionaries(NAMES | SECRET_NAMES, SIGNS), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_is_left_in_any_text(env: dict[str, str], before: str, after: str) -> None:
    redactor = Redactor(env)
    for name, value in env.items():
        if holds_secret(name, value) and not value.isalpha():  # a word may stay inside of another one
            assert value not in redactor.text(f"{before} {value} {after}").replace(REDACTED, "\0")
