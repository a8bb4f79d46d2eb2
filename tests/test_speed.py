"""A guard: nobody loses speed unseen. Prints two ratios, and fails only if one is beyond twice its aim.

`dev.py bench` measures more, and more exactly; docs/speed.md has its figures.
"""

from __future__ import annotations

import pytest

from benchmarks import guard

TOLERANCE = 2
"""How far beyond its aim a ratio may be on a machine that does other work."""


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def show(what: str, ratio: guard.Ratio, peer: str, aim: float) -> None:
        with capsys.disabled():
            unit, scale = ("ms", 1e3) if ratio.peer > 1e-3 else ("µs", 1e6)
            figures = f"{ratio.ours * scale:.1f} {unit}, {peer} {ratio.peer * scale:.1f} {unit}"
            print(f"\n{what}: {figures}, ratio {ratio.value:.2f} (aim ≤ {aim:g})")

    return show


def test_a_chunk_costs_little_more_than_to_decode_it(report) -> None:  # type: ignore[no-untyped-def]
    ratio = guard.chunk()
    report("a chunk", ratio, "a bare loop", guard.CHUNK_AIM)
    assert ratio.value <= TOLERANCE * guard.CHUNK_AIM


def test_connect_imports_little_more_than_it_needs(report) -> None:  # type: ignore[no-untyped-def]
    ratio = guard.imports()
    report("what connect() imports", ratio, "asyncio and msgspec", guard.IMPORT_AIM)
    assert ratio.value <= TOLERANCE * guard.IMPORT_AIM
