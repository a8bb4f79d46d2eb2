"""A server that attacks its client costs bounded memory and time, and the error says what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.remote.hostile_server import HostileServer

ROOT = Path(__file__).parents[3]
START_S = 2.0
LIMIT_S = 120.0
"""Ends what hangs: an attack takes two or three seconds, on a busy machine ten times as long."""

MOST_CPU_S = 15.0
MOST_MB = 200.0
"""The probe takes messages of up to 32 MB; a buffer that grows is copied, and decoding copies once more."""

ALWAYS = ("endless_headers", "slow_loris", "body_bomb", "event_bomb", "huge_frame", "deflate_bomb")
"""In every run; each attack starts a process, so that the others are for --full."""

QUICK = ("endless_error", "endless_header", "endless_body", "redirect_loop")
"""By HTTP also in every run: about two seconds each."""

BY_HTTP = (
    "endless_headers",
    "endless_header",
    "slow_loris",
    "slow_body",
    "silence",
    "endless_body",
    "endless_error",
    "body_bomb",
    "event_bomb",
    "endless_event",
    "endless_lines",
    "endless_keepalives",
    "deep_event",
    "redirect_loop",
)
BY_WEBSOCKET = (
    "endless_headers",
    "endless_header",
    "slow_loris",
    "silence",
    "endless_error",
    "huge_frame",
    "endless_fragments",
    "deflate_bomb",
    "ping_flood",
    "deep_frame",
    "redirect_loop",
)


def probe(url: str) -> dict[str, Any]:
    """How a connection from another process ends; the memory of this one is of the attacker."""
    command = [sys.executable, "-m", "tests.agent.remote.client_probe", url, str(START_S)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "nothing is written to the terminal"
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def cases() -> Iterator[Any]:
    for wire, attacks in (("http", BY_HTTP), ("ws", BY_WEBSOCKET)):
        for name in attacks:
            always = name in ALWAYS or (wire == "http" and name in QUICK)
            yield pytest.param(wire, name, marks=() if always else pytest.mark.slow)


@pytest.mark.parametrize(("wire", "attack"), list(cases()))
def test_an_attack_ends_with_an_error_in_bounded_memory_and_time(
    wire: str, attack: str, record_property: Any
) -> None:
    with HostileServer(attack) as server:
        result = probe(server.url(wire))
    cost = f"{result['grown_mb']:.0f} MB, {result['seconds']:.1f} s, {result['cpu']:.1f} s CPU"
    record_property("measured", f"{attack} by {wire}: {cost}: {result['outcome']}")
    assert result["outcome"] != "connected"
    assert result["grown_mb"] < MOST_MB, result
    assert result["cpu"] < MOST_CPU_S, result
    assert len(result["message"]) < 2_000, "the server's words are cut off"
