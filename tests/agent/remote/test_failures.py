"""Failures in words: they fit a server, name no host and repeat no page."""

from __future__ import annotations

import errno
import socket
import ssl

import httpx
import pytest

from acp_notebook.agent.remote import failures


@pytest.mark.parametrize(
    ("error", "words", "passing"),
    [
        (socket.gaierror(-2, "Name or service not known"), "DNS", True),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 80)"), "refused", True),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "online", True),
        (ConnectionResetError(), "interrupted", True),
        (EOFError(), "interrupted", True),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]"), "TLS", False),
    ],
)
def test_an_exception_is_explained(error: Exception, words: str, passing: bool) -> None:
    found = failures.of_exception(error)
    assert words in found.reason
    assert found.is_passing is passing
    assert "10.0.0.1" not in found.reason


def test_the_cause_decides() -> None:
    try:
        try:
            raise socket.gaierror(-2, "unknown")
        except OSError as error:
            raise RuntimeError("All connection attempts failed") from error
    except RuntimeError as error:
        assert "DNS" in failures.of_exception(error).reason


def chained(outer: Exception, inner: Exception) -> Exception:
    """As httpx reports what happened below it."""
    outer.__cause__ = inner
    return outer


BAD_MAC = ssl.SSLError(1, "[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC]")
NO_ROUTE = OSError(errno.EHOSTUNREACH, "No route to host")


@pytest.mark.parametrize(
    ("error", "unsent"),
    [
        (chained(httpx.ConnectError(""), ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]")), True),
        (chained(httpx.ConnectError(""), NO_ROUTE), True),
        (chained(httpx.ConnectTimeout(""), TimeoutError()), True),
        (chained(httpx.ReadError(""), BAD_MAC), False),
        (chained(httpx.WriteError(""), BAD_MAC), False),
        (chained(httpx.ReadError(""), NO_ROUTE), False),
        (chained(httpx.WriteError(""), NO_ROUTE), False),
        (chained(httpx.ReadError(""), ConnectionRefusedError(errno.ECONNREFUSED, "refused")), False),
        (chained(httpx.RemoteProtocolError(""), BAD_MAC), False),
        (BAD_MAC, False),
    ],
)
def test_only_what_fails_before_the_request_was_certainly_not_sent(error: Exception, unsent: bool) -> None:
    found = failures.of_exception(error)
    assert found.unsent is unsent
    if not unsent:
        assert "speak TLS" not in found.reason or error is BAD_MAC


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "token"),
        (403, "refuses access"),
        (404, "/acp"),
        (405, "wss://"),
        (413, "larger"),
        (502, "proxy"),
        (302, "redirect"),
    ],
)
def test_a_status_is_explained(status: int, words: str) -> None:
    found = failures.of_status(status, "<html><script>x</script><h1>Oh</h1>" + "y" * 1000)
    assert words in found.reason
    assert "<" not in found.reason and "x" not in found.reason.split(")")[-1][:3]
    assert len(found.reason) < 600


@pytest.mark.parametrize(
    ("code", "words"), [(1009, "larger"), (1008, "token"), (1006, "interrupted"), (1001, "closed")]
)
def test_a_close_is_explained(code: int, words: str) -> None:
    assert words in failures.of_close(code, "going away").reason
