"""What all tests share: what we keep between sessions is kept apart from the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folders = {"ACP_NOTEBOOK_STATE": "state", "ACP_NOTEBOOK_CONFIG": "settings"}
    os.environ |= {name: str(tmp_path_factory.mktemp(folder)) for name, folder in folders.items()}
    yield
    for name in folders:
        del os.environ[name]
