"""The demo's sign-in: by a call, and by the demo's own command in a terminal.

It proves nothing and asks for nothing: it shows what a client does where a real agent has a door. The
sign-in in a terminal leaves a file behind, by which the running agent knows of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping

from .client import Client
from .rpc import INTERNAL_ERROR, INVALID_PARAMS, Json, RpcError

VARIABLE = "ACP_DEMO_LOGIN"
"""The file that a sign-in in a terminal leaves behind."""

ARGUMENT = "--login"

LOGIN: Json = {
    "id": "demo-login",
    "name": "Demo login",
    "description": "Always succeeds, and asks for nothing",
}
TROUBLE: list[Json] = [
    {"id": "demo-refuse", "name": "Refused login", "description": "Always fails"},
    {"id": "demo-hang", "name": "Slow login", "description": "Never answers"},
    {"id": "demo-die", "name": "Fatal login", "description": "Ends the agent"},
]


OUTSIDE: Json = {
    "id": "demo-outside",
    "name": "Login in another program",
    "description": "Run `demo /login` in a terminal",
}
KEY: Json = {
    "id": "demo-key",
    "name": "Demo key",
    "type": "env_var",
    "vars": [{"name": "ACP_DEMO_API_KEY", "label": "Any text but one that begins with “wrong”"}],
}


class Login:
    """Whether somebody is signed in to this process."""

    def __init__(self, wanted: str, key: str = "") -> None:
        self.wanted = wanted != ""
        self._trouble = wanted == "trouble"
        self._by_key = wanted == "key"
        self._inside = not self.wanted or (self._by_key and key != "" and not key.startswith("wrong"))
        self._file = os.path.join(tempfile.gettempdir(), f"acp-demo-login-{os.getpid()}")

    def methods(self, client: Client) -> list[Json]:
        if not self.wanted:
            return []
        if self._by_key:
            return [OUTSIDE, KEY]
        terminal: Json = {
            "id": "demo-terminal",
            "name": "Demo login in a terminal",
            "description": "Runs this agent's own command; press Enter there",
            "type": "terminal",
            "args": [ARGUMENT],
            "env": {VARIABLE: self._file},
        }
        return [LOGIN, *([terminal] if client.terminal_login else []), *(TROUBLE if self._trouble else [])]

    @property
    def inside(self) -> bool:
        if not self._inside and os.path.exists(self._file):
            self._inside = True
            self._forget()
        return self._inside

    async def enter(self, method: str) -> None:
        if self.wanted and method == LOGIN["id"]:
            self._inside = True
        elif self._trouble and method == "demo-refuse":
            raise RpcError(INTERNAL_ERROR, "the password is wrong, whatever it was")
        elif self._trouble and method == "demo-hang":
            await asyncio.Event().wait()
        elif self._trouble and method == "demo-die":
            os._exit(3)
        elif self._by_key and method == OUTSIDE["id"]:
            raise RpcError(INTERNAL_ERROR, "Method not implemented.")
        else:
            raise RpcError(INVALID_PARAMS, "there is no such authentication method")

    def leave(self) -> None:
        self._inside = not self.wanted
        self._forget()

    def _forget(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._file)


def in_a_terminal(environment: Mapping[str, str]) -> int:
    """What ``--login`` does; the process's exit code."""
    file = environment.get(VARIABLE)
    if not file:
        print(f"{VARIABLE} is not set: a client runs this.", file=sys.stderr)
        return 1
    print("The demo agent's sign-in. Press Enter to sign in, or Ctrl-C to leave it.", flush=True)
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        return 130
    with open(file, "w", encoding="utf-8"):
        pass
    return 0
