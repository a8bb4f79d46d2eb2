"""The end of a run says what was skipped, and why, in a line for each reason."""

from __future__ import annotations

from types import SimpleNamespace

from tests.conftest import pytest_terminal_summary

CURE = "no browser (sudo apt-get install chromium)"


def skipped(reason: str) -> SimpleNamespace:
    return SimpleNamespace(longrepr=("tests/x.py", 7, f"Skipped: {reason}"))


def test_a_hundred_skipped_tests_are_one_line_with_what_to_do() -> None:
    lines: list[str] = []
    reports = {"skipped": [*(skipped(CURE) for _ in range(100)), skipped("only Linux has subreapers")]}
    pytest_terminal_summary(SimpleNamespace(stats=reports, write_line=lines.append))
    assert lines == [f"skipped 100: {CURE}", "skipped 1: only Linux has subreapers"]
