"""What runs on a worker, whatever its engine: a run, and a probe of what the worker has."""

from __future__ import annotations

import platform
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

import msgspec

from ... import _version
from ...agent.copies import make
from ...core.fan_out.rows import RunState
from ...core.fan_out.task import (
    VERSION,
    AgentSpec,
    ErrorInfo,
    FolderSpec,
    IncompatibleVersion,
    Result,
    decoded,
    encoded,
    task_from,
    to_bytes,
)
from ...errors import AuthenticationRequired, Error
from ...notebook.runtime import unattended
from .scoring import Scorer
from .stop import Stop
from .tokens import WorkerToken, watched, worker_token
from .work import Watch, carry_out

T = TypeVar("T")

SECOND_START = (
    "the worker that began this run died, and the engine started the run again: it was not done twice, "
    "because its prompt may have been sent"
)


def run_task(data: bytes, function: Scorer | None = None, packed: bytes | None = None) -> bytes:
    """Carry out a run on this worker. Raises IncompatibleVersion."""
    task = task_from(data)
    token = worker_token(task.token)
    if not token.claim():
        error = ErrorInfo("Lost", SECOND_START)
        return to_bytes(Result(id=task.id, state="lost", host=platform.node(), error=error))
    stop = Stop()
    with watched(token, stop):
        watch = Watch(state=_reported(token))
        result = _on_a_thread(lambda: carry_out(task, stop, watch, function, packed))
    return to_bytes(result)


def _reported(token: WorkerToken) -> Callable[[RunState], None]:
    return lambda state: token.report(state)


def _on_a_thread(work: Callable[[], T]) -> T:
    """Call it on a thread of its own: an engine may be a kernel, whose main thread waits in another way."""
    done: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="acp-run", daemon=True).start()
    return done.result()


# ---- the probe --------------------------------------------------------------------------------------


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker has."""

    host: str
    package: str
    format: int
    free_bytes: int
    has_folder: bool
    troubles: dict[str, str] = {}
    """The agents that cannot be started there, and why."""


def probe(agents: bytes, folder: bytes) -> bytes:
    """What this worker has. Starts each agent once, without a prompt: that shows whether it is signed in.

    The arguments are records as MessagePack.
    """
    specs = decoded(agents, list[AgentSpec])
    spec = decoded(folder, FolderSpec)
    found = Probe(
        host=platform.node(),
        package=_version.__version__,
        format=VERSION,
        free_bytes=shutil.disk_usage(tempfile.gettempdir()).free,
        has_folder=make.is_here(spec),
        troubles=_on_a_thread(lambda: {it.label: why for it in specs if (why := _trouble(it))}),
    )
    return encoded(found)


def _trouble(spec: AgentSpec) -> str | None:
    """Why the agent cannot be started here; None if it can."""
    from ..connect import connect
    from ..launcher import check_for_runs

    agent = spec.agent if isinstance(spec.agent, str) else list(spec.agent)
    with unattended(), tempfile.TemporaryDirectory(prefix="acp-notebook-") as folder:
        try:
            check_for_runs(spec.agent, folder)
            session = connect(
                agent,
                args=spec.args,
                cwd=folder,
                permissions="reject",
                undo=False,
                tools=False,
                install=False,
            )
        except AuthenticationRequired as error:
            return f"not signed in: {error}"
        except Error as error:
            return str(error)
        session.agent.close()
        return None


def read_probe(data: bytes) -> Probe:
    """Raises IncompatibleVersion."""
    try:
        return decoded(data, Probe)
    except msgspec.DecodeError as error:
        raise IncompatibleVersion(f"it cannot be read: {error}") from None
