"""A minimal client for the demo agent: raw JSON lines, each checked against the official schema.

It uses nothing of acp_notebook: the agent has to be right by the schema, not by our own client.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from tests.demo_agent import COMMAND

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0
"""The timeout of every wait; nothing here takes long on an idle machine."""

Json = dict[str, Any]
FULL: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
}


@cache
def _schema() -> Json:
    schema: Json = json.loads((ROOT / "tests/data/v1.schema.json").read_text())
    return schema


@cache
def _type_of(method: str, ending: str) -> str:
    names = [n for n, d in _schema()["$defs"].items() if d.get("x-method") == method and n.endswith(ending)]
    assert len(names) == 1, f"{method} has no single {ending}: {names}"
    return str(names[0])


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": _schema()["$defs"]})


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def text_of(updates: list[Json], kind: str = "agent_message_chunk") -> str:
    """The joined text of all chunks of a kind."""
    return "".join(u["content"].get("text", "") for u in updates if u["sessionUpdate"] == kind)


def of_kind(updates: list[Json], *kinds: str) -> list[Json]:
    return [update for update in updates if update["sessionUpdate"] in kinds]


class Ended(Exception):
    """The agent closed its stdout."""


class Turn:
    """All messages received while a request was running."""

    def __init__(self, response: Json, updates: list[Json], requests: list[Json]) -> None:
        self.response, self.updates, self.requests = response, updates, requests

    @property
    def text(self) -> str:
        return text_of(self.updates)

    @property
    def stop(self) -> str:
        return str(self.response["result"]["stopReason"])

    @property
    def asked(self) -> list[str]:
        return [request["method"] for request in self.requests]


class Alive:
    """Detects whether the processes of a command still run, by a pipe that they all hold open."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "alive"
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def line(self, command: str) -> str:
        return f"(echo up; {command}) > {self.path}"

    def _read(self) -> bytes:
        assert select.select([self._fd], [], [], WAIT_S)[0], "still alive, and silent"
        return os.read(self._fd, 100)

    def wait_until_up(self) -> None:
        assert self._read() == b"up\n"

    def wait_until_gone(self) -> None:
        assert self._read() == b""
        os.close(self._fd)


Answerer = Callable[[Json], Json]


def choosing(kind: str, **others: Json | Callable[[Json], Json]) -> Answerer:
    """Answer questions with an option of this kind (or ``cancelled``), and other methods with the given
    results."""

    def answer(request: Json) -> Json:
        params = request["params"]
        if request["method"] != "session/request_permission":
            found = others[request["method"].replace("/", "_")]
            return found(params) if callable(found) else found
        if kind == "cancelled":
            return {"result": {"outcome": {"outcome": "cancelled"}}}
        option = next(o["optionId"] for o in params["options"] if o["kind"] == kind)
        return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}

    return answer


class Demo:
    """The agent as a child process."""

    def __init__(self, env: dict[str, str], command: Sequence[str] = COMMAND) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ACP_DEMO_")}
        self.process = subprocess.Popen(
            command,
            env={**clean, "PYTHONPATH": str(ROOT), **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.strict = True
        self.stderr = b""
        self._methods: dict[Any, str] = {}
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._read_out, self._read_err)
        ]
        for thread in self._threads:
            thread.start()

    def _read_out(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_err(self) -> None:
        assert self.process.stderr
        self.stderr = self.process.stderr.read()

    # -- raw

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Json, request_id: Any = None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            message["id"] = request_id
            self._methods[request_id] = method
        self.write(json.dumps(message).encode())

    def read(self) -> Json:
        """The next message, checked."""
        line = self._lines.get(timeout=WAIT_S)
        if not line:
            raise Ended
        message: Json = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if self.strict:
            self._check(message)
        return message

    @contextlib.contextmanager
    def unchecked(self) -> Iterator[None]:
        """Accept messages that are not in the schema."""
        self.strict = False
        try:
            yield
        finally:
            self.strict = True

    def _check(self, message: Json) -> None:
        if "method" in message and "id" in message:
            _validator(_type_of(message["method"], "Request")).validate(message["params"])
        elif "method" in message:
            _validator(_type_of(message["method"], "Notification")).validate(message["params"])
        elif "error" in message:
            _validator("Error").validate(message["error"])
        else:
            method = self._methods[message["id"]]
            _validator(_type_of(method, "Response")).validate(message["result"])

    # -- comfortable

    def call(self, method: str, params: Json, answer: Answerer | None = None) -> Turn:
        """Send a request and collect all messages up to its response."""
        request_id = len(self._methods) + 1
        self.send(method, params, request_id)
        return self.until(request_id, answer)

    def until(self, request_id: Any, answer: Answerer | None = None) -> Turn:
        updates: list[Json] = []
        requests: list[Json] = []
        while True:
            message = self.read()
            if "method" not in message:
                if message["id"] == request_id:
                    return Turn(message, updates, requests)
            elif "id" in message:
                requests.append(message)
                assert answer, f"an unexpected request: {message}"
                reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message)}
                self.write(json.dumps(reply).encode())
            elif message["method"] == "session/update":
                updates.append(message["params"]["update"])

    def update(self) -> Json:
        """Read the next message, which must be an update."""
        message = self.read()
        assert message.get("method") == "session/update", message
        update: Json = message["params"]["update"]
        return update

    def initialize(self, capabilities: Json | None = None) -> Json:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        result: Json = self.call("initialize", params).response["result"]
        return result

    def new(self, cwd: Path | str) -> str:
        """Create a session, and read its announcement of the commands."""
        turn = self.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        assert self.update()["sessionUpdate"] == "available_commands_update"
        return str(turn.response["result"]["sessionId"])

    def prompt(self, session: str, text: str, answer: Answerer | None = None) -> Turn:
        return self.call("session/prompt", {"sessionId": session, "prompt": [text_block(text)]}, answer)

    def start_prompt(self, session: str, text: str, request_id: Any) -> None:
        self.send("session/prompt", {"sessionId": session, "prompt": [text_block(text)]}, request_id)

    def allow_first_question(self) -> None:
        """Read up to a question, and allow it."""
        while (message := self.read()).get("method") != "session/request_permission":
            pass
        reply = {"jsonrpc": "2.0", "id": message["id"], **choosing("allow_once")(message)}
        self.write(json.dumps(reply).encode())

    def close_stdin(self) -> int:
        """Close stdin, and return the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(timeout=WAIT_S)

    def join(self) -> None:
        """Wait until all its output was read."""
        for thread in self._threads:
            thread.join(timeout=WAIT_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.join()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()


Starter = Callable[..., Demo]
"""What the fixture `start` gives: it starts a demo agent."""

Play = Callable[..., Any]
"""What the fixture `play` gives: it plays one command and returns its turn."""
