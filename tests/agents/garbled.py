"""An agent that says what real agents said, a little wrong, and then answers as it should: `garbled.py SEED`.

The same seed says the same. Nothing of the package is used: it is a peer.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[1] / "data" / "transcripts"

MESSAGES = 150

NUMBERS = [0, -1, 3.5, 1e308, 2**70, True]
TEXTS = [
    "",
    "x" * 5000,
    "\ud800",
    "\0",
    "\u202e",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "tool_call",
]
SHAPES: list[Any] = [None, [], {}, [None], {"a": None}, [[[]]], {"type": "text"}, {"type": "text", "text": 5}]
ODD: list[Any] = [*NUMBERS, *TEXTS, *SHAPES]
NAMES = ["__proto__", "", "status", "kind", "type", "_meta"]
NO_MESSAGES = ["{broken", "  ", "null", "\ufeff{}", '{"jsonrpc": "2.0"}']


def recorded() -> list[dict[str, Any]]:
    """Every notification and request of the recorded agents."""
    lines = [line for path in sorted(RECORDINGS.glob("*.jsonl")) for line in path.read_text().splitlines()]
    entries = [json.loads(line) for line in lines]
    return [it["msg"] for it in entries if it.get("dir") == "a2c" and "method" in it["msg"]]


class Garbler:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._recorded = recorded()
        self._id = 1000

    def lines(self, session: str) -> list[str]:
        return [self._line(session) for _ in range(MESSAGES)]

    def _line(self, session: str) -> str:
        if self._chance(0.02):
            return self._random.choice(NO_MESSAGES)
        said = self._random.choice(self._recorded)
        garbled = self._garbled(said) if self._chance(0.7) else dict(said)
        if isinstance(garbled, dict):
            self._address(garbled, session)
        return json.dumps(garbled)

    def _address(self, message: dict[str, Any], session: str) -> None:
        """Mostly for the open session, with its own ids."""
        params = message.get("params")
        if isinstance(params, dict) and "sessionId" in params and self._chance(0.97):
            message["params"] = {**params, "sessionId": session}
        if "id" in message and self._chance(0.95):
            self._id += 1
            message["id"] = self._id

    def _garbled(self, value: Any) -> Any:
        if self._chance(0.06):
            return self._random.choice(ODD)
        if isinstance(value, dict):
            return self._garbled_object(value)
        if isinstance(value, list):
            items = [self._garbled(it) for it in value] * (3 if self._chance(0.03) else 1)
            return [*items, self._random.choice(ODD)] if self._chance(0.02) else items
        if isinstance(value, str) and self._chance(0.03):
            return value[: len(value) // 2] + self._random.choice(["", "\n", "```", "é"])
        return value

    def _garbled_object(self, value: dict[str, Any]) -> dict[str, Any]:
        kept = [name for name in value if not self._chance(0.03)]
        made = {name + ("X" if self._chance(0.02) else ""): self._garbled(value[name]) for name in kept}
        if self._chance(0.02):
            made[self._random.choice(NAMES)] = self._random.choice(ODD)
        return made

    def _chance(self, share: float) -> bool:
        return self._random.random() < share


def main(seed: int) -> None:
    garbler = Garbler(seed)
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": 1}
            case "session/new":
                result = {"sessionId": "s1"}
            case "session/prompt":
                for each in garbler.lines("s1") if message["params"]["prompt"][0]["text"] == "garble" else ():
                    print(each)
                text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "plain"}}
                said = {"method": "session/update", "params": {"sessionId": "s1", "update": text}}
                print(json.dumps({"jsonrpc": "2.0", **said}))
                result = {"stopReason": "end_turn"}
            case _:
                continue  # responses to its requests, and any other request of the client
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
