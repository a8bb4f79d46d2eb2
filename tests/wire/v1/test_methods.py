"""Which names of methods belong to the protocol."""

from __future__ import annotations

import pytest

from acp_notebook.wire import v1
from tests import schema


def test_we_know_every_method_of_the_schema() -> None:
    sides = ("agent", "client", "protocol")
    known = {
        it for side in sides for part in ("Request", "Notification") for it in schema.methods(side, part)
    }
    assert known == v1.METHODS


@pytest.mark.parametrize(
    "name", [*sorted(v1.METHODS), "session/fork", "session/set_model", "$/progress", "auth/status"]
)
def test_methods_of_the_protocol_and_its_drafts_are_owned(name: str) -> None:
    assert v1.owner(name) is not None


@pytest.mark.parametrize(
    "name",
    ["_x", "_session/prompt", "vendor/session/prompt", "sessions/list", "session", "x", "Session/prompt"],
)
def test_other_names_are_free(name: str) -> None:
    assert v1.owner(name) is None
