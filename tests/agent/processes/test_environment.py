"""Which environment variables an agent inherits from the kernel."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook.agent.processes.environment import agent_environment

KERNEL = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C",
    "XDG_CONFIG_HOME": "/home/me/.config",
    "ANTHROPIC_API_KEY": "mine",
    "JUPYTER_PATH": "/data",
    "JUPYTER_CONFIG_DIR": "/config",
}

SERVER = {
    "JUPYTERHUB_API_TOKEN": "x",
    "JUPYTERHUB_USER": "x",
    "JPY_API_TOKEN": "x",
    "JPY_PARENT_PID": "1",
    "JPY_SESSION_NAME": "a.ipynb",
    "JUPYTER_TOKEN": "x",
    "JUPYTER_TOKEN_FILE": "x",
    "JUPYTER_SERVER_TOKEN": "x",
    "JUPYTER_SERVER_PASSWORD": "x",
    "JUPYTER_PASSWORD": "x",
    "JUPYTER_COOKIE_SECRET": "x",
    "CONFIGPROXY_AUTH_TOKEN": "x",
}


def test_the_environment_is_inherited_without_the_servers_secrets() -> None:
    assert agent_environment(KERNEL | SERVER) == KERNEL


@pytest.mark.parametrize(
    ("backend", "kept"),
    [
        ("module://matplotlib_inline.backend_inline", False),
        ("module://ipykernel.pylab.backend_inline", False),
        ("module://my.backend", True),
        ("agg", True),
    ],
)
def test_only_the_kernels_own_matplotlib_backend_is_removed(backend: str, kept: bool) -> None:
    assert ("MPLBACKEND" in agent_environment({"MPLBACKEND": backend})) is kept


def test_without_inheritance_only_basic_variables_are_passed() -> None:
    basics = {name: KERNEL[name] for name in ("PATH", "HOME", "LC_ALL", "XDG_CONFIG_HOME")}
    assert agent_environment(KERNEL | SERVER, inherit=False) == basics


def test_names_select_exactly_these_variables() -> None:
    wanted = (name for name in ("PATH", "JUPYTER_TOKEN", "NOT_THERE"))
    assert agent_environment(KERNEL | SERVER, inherit=wanted) == {"PATH": "/bin", "JUPYTER_TOKEN": "x"}
    assert agent_environment(KERNEL, inherit=[]) == {}


def test_given_variables_take_precedence() -> None:
    given = {"PATH": "/other", "JUPYTER_TOKEN": "on purpose"}
    assert agent_environment(KERNEL | SERVER, given) == KERNEL | given
    assert agent_environment(KERNEL, given, inherit=[]) == given


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"PORT": 8080}, "PORT must be a string, not int: write env={'PORT': '8080'}"),
        ({"X": None}, "X must be a string, not NoneType"),
        ({"A=B": "c"}, "'A=B' cannot be the name"),
        ({"": "c"}, "'' cannot be the name"),
        ({1: "c"}, "1 cannot be the name"),
        ({"X": "a\0b"}, "NUL"),
    ],
)
def test_an_invalid_environment_is_refused_with_a_reason(extra: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        agent_environment(KERNEL, extra)
    assert message in str(caught.value)


@pytest.mark.parametrize("inherit", ["PATH", [1]])
def test_inherit_accepts_names(inherit: Any) -> None:
    with pytest.raises(TypeError, match="inherit must"):
        agent_environment(KERNEL, inherit=inherit)
