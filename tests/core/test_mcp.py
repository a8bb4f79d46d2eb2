"""MCP servers as users write them: friendly forms are read, all else is an error without secrets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.mcp import McpServer, expanded, read_server, read_servers
from acp_notebook.wire import v1
from tests.schema import validate

SECRET = "sk-very-secret"

FORMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"name": "a", "command": "/bin/x", "args": ["-y"], "env": {"K": SECRET}},
        {"name": "a", "command": "/bin/x", "args": ["-y"], "env": [{"name": "K", "value": SECRET}]},
    ),
    (
        {"name": "a", "command": ["/bin/x", "-y"], "args": ["z"]},
        {"name": "a", "command": "/bin/x", "args": ["-y", "z"], "env": []},
    ),
    ({"name": "a", "command": "/bin/x"}, {"name": "a", "command": "/bin/x", "args": [], "env": []}),
    (
        {"name": "a", "url": "https://x.example/mcp", "headers": {"Authorization": SECRET}},
        {
            "type": "http",
            "name": "a",
            "url": "https://x.example/mcp",
            "headers": [{"name": "Authorization", "value": SECRET}],
        },
    ),
    (
        {"name": "a", "type": "sse", "url": "http://127.0.0.1:8000/sse"},
        {"type": "sse", "name": "a", "url": "http://127.0.0.1:8000/sse", "headers": []},
    ),
]


@pytest.mark.parametrize(("form", "wanted"), FORMS)
def test_the_short_form_becomes_the_protocols_form(form: dict[str, Any], wanted: dict[str, Any]) -> None:
    servers = v1.mcp_servers([read_server(form)])
    assert servers == [wanted]
    params = {"cwd": "/x", "mcpServers": servers}
    validate({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}, "c2a")
    assert v1.mcp_servers([read_server(wanted)]) == servers, "the protocol's own form is taken as well"


def test_a_mapping_from_names_to_servers_is_a_list_of_servers() -> None:
    (one,) = read_servers({"files": {"command": "x"}})
    assert isinstance(one, McpServer) and one.name == "files"
    assert read_servers(["known", {"name": "b", "command": "y"}])[0] == "known"
    assert read_servers(()) == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("files", r"write mcp_servers=\['files'\]"),
        (7, "is a list"),
        ([7], "is a mapping"),
        ({"name": "a", "command": "x"}, "a list of servers, or a mapping"),
        ([{"command": "x"}], "needs a name"),
        ([{"name": "", "command": "x"}], "needs a name"),
        ([{"name": "a"}], "a command or a url"),
        ([{"name": "a", "command": "x", "url": "http://x"}], "a command or a url"),
        ([{"name": "a", "comand": "x"}], "did you mean 'command'"),
        ([{"name": "a", "command": ""}], "are texts"),
        ([{"name": "a", "command": 7}], "command is a text"),
        ([{"name": "a", "command": "x", "args": "-y"}], "args is a list"),
        ([{"name": "a", "command": "x", "env": {"K": 7}}], "'K' must be a text, not int"),
        ([{"name": "a", "command": "x", "env": {"A=B": "x"}}], "cannot be the name of a variable"),
        ([{"name": "a", "command": "x", "headers": {"K": SECRET}}], "has no headers"),
        ([{"name": "a", "url": "http://x", "env": {"K": SECRET}}], "has no env"),
        ([{"name": "a", "url": "file:///etc/passwd"}], "not an http"),
        ([{"name": "a", "url": "http://["}], "not an http"),
        ([{"name": "a", "url": "http://x", "headers": {"a b": SECRET}}], "cannot be sent as a header"),
        ([{"name": "a", "url": "http://x", "headers": {"a": f"{SECRET}\r\nx: y"}}], "cannot be sent"),
        ([{"name": "a", "url": "http://x", "headers": [SECRET]}], "write a mapping"),
        ([{"name": "a", "url": "http://x", "type": "ws"}], "it may be stdio, http, sse"),
        ([{"name": "a", "command": "x"}, {"name": "a", "command": "y"}], "two MCP servers are called 'a'"),
    ],
)
def test_errors_contain_no_secrets(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read_servers(value)
    assert SECRET not in str(caught.value)


def test_values_are_never_shown() -> None:
    servers = [read_server(form) for form, _ in FORMS]
    assert SECRET not in repr(servers)
    assert [value for _, value in servers[0].variables] == [SECRET]


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda it: st.lists(it) | st.dictionaries(st.text(), it)
    )
)
def test_any_value_is_valid_or_a_value_error(value: Any) -> None:
    try:
        found = read_servers(value)
    except ValueError:
        return
    assert all(isinstance(it, str | McpServer) for it in found)


def test_variables_are_expanded_and_a_missing_one_is_named() -> None:
    environ = {"TOKEN": SECRET}
    assert expanded({"A": "Bearer ${TOKEN}", "B": "$TOKEN"}, environ, "x") == {
        "A": f"Bearer {SECRET}",
        "B": "$TOKEN",
    }
    with pytest.raises(ValueError, match="the server wants the environment variable GONE"):
        expanded({"A": "${GONE}"}, environ, "the server")
