"""Shared by all tests: separate settings and state, Hypothesis profiles, a summary at the end."""

from __future__ import annotations

import os
import pkgutil
import signal
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import acp_notebook
from acp_notebook import timeouts
from tests.demo_agent import use_probes

settings.register_profile("by chance", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("the same every time", settings.get_profile("by chance"), derandomize=True)


def pytest_configure(config: pytest.Config) -> None:
    """Every run tries the same examples of Hypothesis; --full tries new ones each time. None has a deadline.

    The caller's umask and signals do not matter: a shell lets its background jobs ignore SIGINT, nohup lets
    them ignore SIGHUP, and what the tests start would inherit that."""
    os.umask(0o022)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    everything = config.getoption("markexpr") == ""
    settings.load_profile("by chance" if everything else "the same every time")
    import_the_package()


def import_the_package() -> None:
    """Import all modules on one thread. pytest parses them to rewrite them, and in older releases of Python
    3.11 two threads that parse at once can fail (python/cpython#106905): in the first run of a fresh clone,
    two lazy imports did."""
    for module in pkgutil.walk_packages(acp_notebook.__path__, "acp_notebook."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folders = {"ACP_NOTEBOOK_STATE": "state", "ACP_NOTEBOOK_CONFIG": "settings"}
    os.environ |= {name: str(tmp_path_factory.mktemp(folder)) for name, folder in folders.items()}
    yield
    for name in folders:
        del os.environ[name]


@pytest.fixture(autouse=True, scope="session")
def probing_demo_agent() -> Iterator[None]:
    """The name "demo" starts the demo agent with more scenes; tests/demo starts the built-in one itself."""
    with pytest.MonkeyPatch.context() as patches:
        use_probes(patches)
        yield


@pytest.fixture(autouse=True)
def own_timeouts() -> Iterator[None]:
    """What a test replaces by `timeouts.replace` is at its end as it was before."""
    with timeouts.replaced():
        yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each reason to skip, and the measurements of tests: `record_property("measured", …)`."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(it.longrepr[2]).removeprefix("Skipped: ") for it in skipped if it.longrepr)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"skipped {count}: {reason}")
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(f"measured: {value}")
