"""What all tests share: what we keep between sessions is kept apart from the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("state")
    os.environ["ACP_NOTEBOOK_STATE"] = str(folder)
    yield
    del os.environ["ACP_NOTEBOOK_STATE"]
