"""The signals, umask, locale and home of whoever runs the tests do not matter."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dev import ROOT

LIMIT_S = 300.0

# As a shell leaves it to its background jobs, and a careful user to everything.
CALLER = 'trap "" INT HUP; umask 077; exec "$@"'

TESTS = (
    "tests/agent/files/test_files.py",
    "tests/core/export/test_export.py",
    "tests/notebook/test_interrupts.py",
    "tests/notebook/test_kernel.py::test_an_interrupt_is_reported_and_ends_the_cell[newest-wait]",
    "tests/session/test_cancelling.py::test_an_interrupt_cancels_the_turn_and_leaves_the_session_usable",
    "tests/session/test_prompting.py",
    "tests/setup/test_doctor.py",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "home",
    [
        pytest.param({"HOME": "/dev/null/home"}, id="a home that nobody can make"),
        pytest.param({}, id="without HOME", marks=pytest.mark.slow),
    ],
)
def test_tests_pass_whatever_the_caller_left(home: dict[str, str]) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "ACP_TEST_KERNELS") if name in os.environ}
    command = ["/bin/sh", "-c", CALLER, "sh", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    chosen = ["-m", "not slow and not real_agent and not hypothesis", *TESTS]
    done = subprocess.run(
        [*command, *chosen],
        cwd=ROOT,
        env={**kept, **home, "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout[-8000:]
