"""Addresses and headers of remote agents: what is accepted, and what is never shown."""

from __future__ import annotations

import pytest

from acp_notebook.core.agent_url import (
    check_header,
    check_headers,
    is_absolute,
    is_address,
    is_loopback,
    read_url,
    secrets_in_query,
)


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/plain,x",
        "ftp://host/acp",
        "wss://user:password@host/acp",
        "https://token@host/acp",
        "https://host\\@evil/acp",
        "wss:///acp",
        "wss://host:port/acp",
        "wss://host:0/acp",
        "wss://a..b/acp",
        "wss://.b/acp",
        f"wss://{'a' * 64}.example/acp",
        "wss://host/acp#part",
        "wss://ho st/acp",
        "wss://host/acp\r\nX-Header: 1",
        "wss://hóst/acp",
        "http://[::1/acp",
    ],
)
def test_an_address_that_is_not_one_of_an_agent_is_refused_without_repeating_it(text: str) -> None:
    assert is_address(text)
    with pytest.raises(ValueError) as caught:
        read_url(text)
    assert "password" not in str(caught.value).replace("a user or a password", "")
    assert "token@" not in str(caught.value)


@pytest.mark.parametrize(
    "host", ["build.example.com", "10.0.0.1", "127.1", "0x7f000001", "localhost.evil.com"]
)
@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_plain_text_goes_to_this_machine_only(scheme: str, host: str) -> None:
    with pytest.raises(ValueError, match="not encrypted"):
        read_url(f"{scheme}://{host}/acp")
    assert read_url(f"{scheme}://{host}/acp", insecure=True).host == host


@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost", "127.0.0.1", "127.8.0.1", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_this_machine_by_its_spelling(host: str) -> None:
    assert read_url(f"ws://{host}:8080/acp").is_loopback
    assert is_loopback(host.strip("[]"))


@pytest.mark.parametrize(
    ("text", "identity", "name"),
    [
        ("wss://host/acp", "wss://host/acp", "host"),
        ("wss://HOST:443/acp", "wss://host/acp", "host"),
        ("https://host:8443/team/acp?token=secret", "https://host:8443/team/acp", "host:8443/team"),
        ("https://host", "https://host/", "host"),
    ],
)
def test_the_identity_is_the_origin_and_the_path(text: str, identity: str, name: str) -> None:
    url = read_url(text)
    assert (url.identity, url.name) == (identity, name)
    assert "host" not in url.without_host


def test_a_token_in_the_query_is_found() -> None:
    assert secrets_in_query(read_url("wss://host/acp?token=abc&page=2&api_key=def")) == ["abc", "def"]


@pytest.mark.parametrize(
    "name", ["Host", "acp-connection-id", "Content-Length", "Sec-WebSocket-Key", "a b", "", 3]
)
def test_headers_of_the_connection_cannot_be_set(name: object) -> None:
    with pytest.raises(ValueError):
        check_header(name, "x")


@pytest.mark.parametrize("value", ["secret\r\nX: 1", "secret\n", "sécret", 7, None])
def test_a_value_that_cannot_be_sent_is_not_repeated(value: object) -> None:
    with pytest.raises(ValueError) as caught:
        check_header("Authorization", value)
    assert "secret" not in str(caught.value)


def test_headers_as_users_write_them() -> None:
    check_headers(None)
    check_headers(dict)
    check_headers({"Authorization": {"env": "TOKEN"}, "X-Key": lambda: "x", "X-Team": "data"})
    for wrong in ("Bearer x", [("a", "b")], {"X": {"file": "x"}}):
        with pytest.raises(ValueError):
            check_headers(wrong)


@pytest.mark.parametrize(
    ("path", "yes"), [("/srv", True), ("C:\\x", True), ("c:/x", True), ("srv", False), ("~/x", False)]
)
def test_a_path_may_be_absolute_on_another_system(path: str, yes: bool) -> None:
    assert is_absolute(path) is yes


def test_a_header_in_place_of_a_name_is_not_repeated() -> None:
    for name in ("Authorization: Bearer t0ps3cr3t", "Bearer t0ps3cr3t", "t0ps3cr3t=", "t0ps3cr3t\n"):
        with pytest.raises(ValueError, match="not the name of a header") as caught:
            check_header(name, "")
        assert "t0ps3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["token", "access_token", "key", "jwt", "id_jwt", "sig", "code", "session", "session_id"],
)
def test_parameters_that_let_somebody_in_are_secrets(name: str) -> None:
    assert secrets_in_query(read_url(f"https://host/acp?team=blue&{name}=abcdef123456")) == ["abcdef123456"]


def test_parameters_that_let_nobody_in_are_none() -> None:
    assert (
        secrets_in_query(read_url("https://host/acp?team=blue&design=dark1234&sessions=20&codec=opus")) == []
    )


def test_port_0_is_not_called_a_missing_host() -> None:
    with pytest.raises(ValueError, match="port 0"):
        read_url("https://host:0")
