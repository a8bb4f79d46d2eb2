"""Real kernels of several ipykernel versions, each in a venv of its own, driven as a front end does.

A kernel imports the package from this folder. Every wait is bounded; nothing here sleeps.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]

VERSIONS = {"6.29": "ipykernel==6.29.*", "7.3": "ipykernel==7.3.*", "newest": "ipykernel"}
"""One of the old kind, one with subshells, and the newest, which handles some messages without the shell."""

LIMIT_S = 60.0
"""The timeout of every wait: much longer than any takes, even on a busy machine."""

STDERR_MAX = 40_000

Message = dict[str, Any]


class Lost(AssertionError):
    """A kernel died, or no longer answers."""


class CannotMake(Exception):
    """A kernel's venv is missing and could not be created."""


# ---- venvs


def kernels_folder() -> Path:
    return Path(os.environ.get("ACP_TEST_KERNELS") or ROOT / ".cache" / "kernels")


def kernel_python(version: str) -> Path:
    """The Python of a venv with that ipykernel and what the package needs; made when it is not there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return python_with(version, [VERSIONS[version], *project["dependencies"]])


def python_with(name: str, wanted: list[str]) -> Path:
    """The Python of a venv of this name with these packages; made when it is not there."""
    venv = kernels_folder() / "python{}.{}".format(*sys.version_info) / name
    python, mark = venv / "bin" / "python", venv / "made-of"
    venv.parent.mkdir(parents=True, exist_ok=True)
    with (venv.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers want the same one
        if not mark.exists() or mark.read_text() != "\n".join(wanted):
            _call(sys.executable, "-m", "venv", "--clear", str(venv))
            _call(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted)
            mark.write_text("\n".join(wanted))
    return python


def _call(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise CannotMake(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")


# ---- a kernel and its front end


@dataclass
class Result:
    """What a front end received for one request."""

    reply: Message | None = None
    messages: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(it["content"]["text"] for it in self.messages if it["msg_type"] == "stream")

    @property
    def states(self) -> list[str]:
        return [it["content"]["execution_state"] for it in self.messages if it["msg_type"] == "status"]

    @property
    def content(self) -> dict[str, Any]:
        assert self.reply is not None
        content: dict[str, Any] = self.reply["content"]
        return content


class Front:
    """A front end of one kernel. Results are filled as messages are read; reading stops when it may."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient, stderr: Path) -> None:
        self._manager = manager
        self._client = client
        self._stderr_file = stderr
        self._results: dict[str, Result] = {}
        self.lost = False
        self.limit_s = LIMIT_S
        """For every wait: longer where a cell waits for slow code of an agent's."""

    # ---- requests: each returns the id that its result goes by

    def begin(self, code: str, *, cell_id: str | None = None, **content: Any) -> str:
        """Run a cell without waiting for it."""
        full = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        full |= {"allow_stdin": False, "stop_on_error": False} | content
        return self.send("execute_request", full, metadata={"cellId": cell_id} if cell_id else {})

    def click(self, comm_id: str, data: Any, subshell_id: str | None = None) -> str:
        """What a widget in the page sends."""
        return self.send("comm_msg", {"comm_id": comm_id, "data": data}, subshell_id=subshell_id)

    def send(
        self,
        kind: str,
        content: dict[str, Any],
        *,
        metadata: dict[str, Any] | None = None,
        subshell_id: str | None = None,
        channel: str = "shell",
    ) -> str:
        message = self._client.session.msg(kind, content, metadata=metadata)
        if subshell_id is not None:
            message["header"]["subshell_id"] = subshell_id
        {"shell": self._client.shell_channel, "control": self._client.control_channel}[channel].send(message)
        self._results[message["header"]["msg_id"]] = Result()
        return str(message["header"]["msg_id"])

    def send_raw(self, *frames: bytes) -> None:
        self._client.shell_channel.socket.send_multipart(list(frames))

    def interrupt(self) -> None:
        """The stop button."""
        self._manager.interrupt_kernel()

    def answer(self, text: str) -> str:
        """Answer the kernel's next question for input; gives the question."""
        question = self.asked()
        self._client.input(text)
        return str(question["content"]["prompt"])

    # ---- what comes back

    def result(self, id: str) -> Result:
        """Read a request to its end: its reply and its idle status."""
        found = self._results[id]
        self.read_until(lambda: found.reply is not None and "idle" in found.states, f"the end of {id}")
        return found

    def handled(self, id: str) -> Result:
        """Read a comm message to its end; it has no reply."""
        found = self._results[id]
        self.read_until(lambda: "idle" in found.states, f"the idle of {id}")
        return found

    def run(self, code: str, **content: Any) -> Result:
        return self.result(self.begin(code, **content))

    def wait_for_output(self, id: str, text: str) -> None:
        """Wait until a cell has printed this."""
        found = self._results[id]
        self.read_until(lambda: text in found.text, f"{text!r} from {id}")

    def sent(self, id: str, data: Any) -> None:
        """Wait until the handler of a message has sent this through its comm."""
        found = self._results[id].messages
        sent = ("comm_msg", data)
        self.read_until(
            lambda: sent in [(it["msg_type"], it["content"].get("data")) for it in found], str(sent)
        )

    def asked(self) -> Message:
        """Wait until the kernel asks for input; return its request."""
        try:
            return self._client.get_stdin_msg(timeout=self.limit_s)
        except Empty:
            stack = self._stack()
        raise Lost(f"waited {self.limit_s:g} s in vain for a request for input; the kernel's stack:\n{stack}")

    def messages(self) -> list[Message]:
        """All published messages that were read, in no order between requests."""
        return [message for result in self._results.values() for message in result.messages]

    def forget(self, kind: str) -> None:
        """The published messages of this type, or for a request of this type."""
        for result in self._results.values():
            result.messages = [
                it
                for it in result.messages
                if kind not in (it["msg_type"], it["parent_header"].get("msg_type"))
            ]

    def open(self, id: str) -> bool:
        """Whether its reply is still to come, as far as has been read."""
        return self._results[id].reply is None

    def read_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self.limit_s
        while not condition():
            if time.monotonic() > deadline:
                waited = f"waited {self.limit_s:g} s in vain for {what}"
                raise Lost(f"{waited}; the kernel's stack:\n{self._stack()}")
            if not self._manager.is_alive():
                raise Lost(f"the kernel died before {what}; the end of its stderr:\n{self._stderr()}")
            self._read(self._client.iopub_channel, 0.05)
            self._read(self._client.shell_channel, 0)
            self._read(self._client.control_channel, 0)

    def _stack(self) -> str:
        """Get the stack of each thread of a hanging kernel, and end it."""
        self._manager.provisioner.process.send_signal(signal.SIGABRT)  # type: ignore[union-attr]
        wait_until(lambda: not self._manager.is_alive(), "the end of the kernel")
        return self._stderr()

    def _stderr(self) -> str:
        self.lost = True
        return self._stderr_file.read_text(errors="replace")[-STDERR_MAX:]

    def _read(self, channel: Any, seconds: float) -> None:
        try:
            message = channel.get_msg(timeout=seconds)
        except Empty:
            return
        result = self._results.setdefault(message["parent_header"].get("msg_id", ""), Result())
        if message["msg_type"].endswith("_reply"):
            result.reply = message
        else:
            result.messages.append(message)


@contextmanager
def started(
    python: Path, folder: Path, *, watch_fds: bool = False, env: Mapping[str, str] | None = None
) -> Iterator[Front]:
    """Start a kernel with its files in this folder; ended afterwards. `env`: more variables."""
    manager = KernelManager(connection_file=str(folder / "connection.json"))
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, display_name="test", language="python")
    own = {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder), "HOME": str(folder)}
    env = {**os.environ, **own, **(env or {})}
    env |= {"PYTHONFAULTHANDLER": "1"}  # so that a kernel that hangs can say where
    env.pop("ACP_NOTEBOOK_HEADLESS", None)
    if watch_fds:  # as outside of tests: ipykernel reads stdout and stderr, the kernel's last words included
        env.pop("PYTEST_CURRENT_TEST", None)
    else:
        env.setdefault("PYTEST_CURRENT_TEST", "kernel")
    with (folder / "stderr").open("w") as stderr:
        manager.start_kernel(env=env, stdout=subprocess.DEVNULL, stderr=stderr)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LIMIT_S)
        yield Front(manager, client, folder / "stderr")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
