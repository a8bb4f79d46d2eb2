"""Where a message belongs."""

from __future__ import annotations

import pytest

from acp_notebook.wire.v1.routing import Route, read_route


@pytest.mark.parametrize(
    ("line", "route"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', Route("initialize", 1, True, None)),
        (
            b'{"method":"session/cancel","params":{"sessionId":"s"}}',
            Route("session/cancel", None, False, "s"),
        ),
        (b'{"id":"a","result":{"sessionId":"n"}}', Route(None, "a", True, None, "n")),
        (b'{"id":null,"result":null}', Route(None, None, True, None)),
        (b'{"id":2,"error":{"code":1,"message":"x"}}', Route(None, 2, True, None, is_error=True)),
        (b'{"id":2,"result":{},"error":null}', Route(None, 2, True, None)),
        (b'{"id":3,"method":"x","params":{"sessionId":5}}', Route("x", 3, True, None)),
        (b'{"id":3,"method":"x","params":[1]}', Route("x", 3, True, None)),
    ],
)
def test_the_parts_that_a_transport_needs(line: bytes, route: Route) -> None:
    assert read_route(line) == route


@pytest.mark.parametrize("line", [b"", b"[]", b"nonsense", b"[" * 5000, b'{"id":[]}'])
def test_what_is_no_message_has_no_route(line: bytes) -> None:
    assert read_route(line) is None
