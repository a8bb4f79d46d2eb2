"""A session that was opened with a click gets a variable, and never that of something else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acp_notebook.notebook import namespace
from acp_notebook.notebook.namespace import bind_to_free_name


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found: dict[str, Any] = {"gemini": 1}
    kernel = SimpleNamespace(shell=SimpleNamespace(user_ns=found))
    monkeypatch.setattr(namespace, "running_kernel", lambda: kernel)
    return found


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        *(("demo", "demo"), ("claude-agent-acp", "claude_agent_acp"), ("gemini", "gemini_2")),
        *(("print", "agent_print"), ("if", "agent_if"), ("--", "agent"), ("3d", "agent_3d")),
    ],
)
def test_the_name_is_valid_and_free(variables: dict[str, Any], wish: str, name: str) -> None:
    value = object()
    assert bind_to_free_name(wish, value) == name
    assert variables[name] is value and variables["gemini"] == (1 if name != "gemini" else value)


def test_without_a_kernel_nothing_is_bound() -> None:
    assert bind_to_free_name("demo", object()) is None
