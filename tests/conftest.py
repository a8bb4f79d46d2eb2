"""What all tests share: what we keep between sessions is kept apart from the user's, and what was measured is
told at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folders = {"ACP_NOTEBOOK_STATE": "state", "ACP_NOTEBOOK_CONFIG": "settings"}
    os.environ |= {name: str(tmp_path_factory.mktemp(folder)) for name, folder in folders.items()}
    yield
    for name in folders:
        del os.environ[name]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Times that are worth knowing, and that no test hangs on: `record_property("measured", …)`."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(f"measured: {value}")
