"""Secrets are recognised by name or because they look random; everything else is kept."""

from __future__ import annotations

import base64
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.redaction import REDACTED, Redactor
from acp_notebook.core.variables import can_be_hidden, holds_secret, looks_random

SETTINGS = [
    ("DEBUG", "true"),
    ("MODE", "development"),
    ("REGION", "us-east-1"),
    ("PORT", "65535"),
    ("LOCALE", "en_US.UTF-8"),
    ("USER", "margaret"),
    ("USER", "svc4notebook2team7x9"),
    ("GOOSE_PROVIDER", "openrouter"),
    ("MODEL", "gpt-4o-mini-2024-07-18"),
    ("X", "claude-sonnet-4-5-20250929"),
    ("X", "Qwen/Qwen2.5-Coder-32B-Instruct"),
    ("OPENAI_BASE_URL", "https://api.example.com/openai/v1/chat"),
    ("X", "correct horse battery"),
    ("X", "myProjectNameIsVeryLong"),
    ("X", "hunter2"),
    ("PYTHON", "3.11"),
    ("FEATURES", "load,resume"),
    ("PASSPORT", "qwerty"),
    ("X", "2026-11-16T21:28:30Z"),
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
    ("SESSION_COOKIE", "monkey"),
    ("AWS_CREDENTIALS", "monkey"),
    ("X", "sk-ant-api03-Ab12Cd34Ef56"),
    ("X", "AKIAIOSFODNN7EXAMPLE"),
    ("X", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
    ("X", "d41d8cd98f00b204e9800998ecf8427e"),
    ("X", "1234567890123456"),
    ("X", "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.abc"),
]

SECRET_NAMES = st.sampled_from(
    ["API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "my_secret", "Authorization", "pin"]
)
SIGNS = st.text(string.ascii_letters + string.digits + string.punctuation + "äß€ ", min_size=4, max_size=40)
WORDS = st.text(string.ascii_lowercase, min_size=4, max_size=12)


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_values_that_are_not_secrets_stay(name: str, value: str) -> None:
    assert not holds_secret(name, value)
    assert Redactor({name: value}).text(f"it is {value}") == f"it is {value}"


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_a_secret_is_removed(name: str, value: str) -> None:
    assert holds_secret(name, value)
    assert Redactor({name: value}).text(f"it is {value}") == f"it is {REDACTED}"


@given(SECRET_NAMES, SIGNS)
def test_a_name_that_says_so_is_enough(name: str, value: str) -> None:
    assert holds_secret(name, value) == can_be_hidden(value)


@given(st.lists(WORDS, min_size=1, max_size=6), st.integers(0, 99_999_999))
def test_words_and_a_number_are_not_a_secret(words: list[str], number: int) -> None:
    assert not looks_random("-".join([*words, str(number)]))


def test_keys_look_random() -> None:
    generator = random.Random(7)
    keys = [generator.randbytes(24) for _ in range(1000)]
    spelled = [
        *(key.hex() for key in keys),
        *(base64.b64encode(key).decode() for key in keys),
        *(base64.urlsafe_b64encode(key).decode() for key in keys),
    ]
    missed = [key for key in spelled if not looks_random(key)]
    assert all(not any(map(str.isdigit, key)) for key in missed)  # as good as words
    assert len(missed) <= 10


@given(st.dictionaries(SECRET_NAMES, SIGNS), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_is_left_in_any_text(env: dict[str, str], before: str, after: str) -> None:
    redactor = Redactor(env)
    for name, value in env.items():
        if holds_secret(name, value) and not value.isalpha():  # a word may stay inside of another one
            assert value not in redactor.text(f"{before} {value} {after}").replace(REDACTED, "\0")
