"""What all tests share: what we keep between sessions is kept apart from the user's, and what was measured is
told at the end; what chance there is in them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("by chance", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("the same every time", settings.get_profile("by chance"), derandomize=True)


def pytest_configure(config: pytest.Config) -> None:
    """No time is a test of Hypothesis'. Every run tries the same examples; with --full others, each time.

    The caller's SIGINT and umask do not matter: a shell has its background jobs ignore SIGINT, and so would
    everything that the tests start."""
    os.umask(0o022)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    everything = config.getoption("markexpr") == ""
    settings.load_profile("by chance" if everything else "the same every time")


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folders = {"ACP_NOTEBOOK_STATE": "state", "ACP_NOTEBOOK_CONFIG": "settings"}
    os.environ |= {name: str(tmp_path_factory.mktemp(folder)) for name, folder in folders.items()}
    yield
    for name in folders:
        del os.environ[name]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped, a line for each reason; times that are worth knowing, and that no test hangs on:
    `record_property("measured", …)`."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(it.longrepr[2]).removeprefix("Skipped: ") for it in skipped if it.longrepr)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"skipped {count}: {reason}")
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(f"measured: {value}")
