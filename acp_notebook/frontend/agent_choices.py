"""The agent picker: lists the agents that can be started, and starts one for a click in a page.

Answers the page's requests by their id; knows neither how the page renders nor where it shows the session.
Runs on the loop thread; the work itself runs on a worker thread.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..agent import loop
from ..agent.known_agents import catalog
from ..agent.permissions.consent_store import ConsentStore
from ..agent.processes.environment import agent_environment
from ..agent.threads import on_a_thread
from ..core import intents
from ..core.page_messages import AgentChoice, PickerAnswer
from ..core.visible import shown
from ..errors import AgentNotFound, Error, UsageError
from ..log import logger
from ..setup.agents import AgentRecord, agents
from ..setup.config import own_settings
from .display import opened_at

if TYPE_CHECKING:
    from .display import ShownSession

_log = logger(__name__)

Send = Callable[[PickerAnswer], None]

Start = Callable[[str, str | bool], "ShownSession"]
"""Starts the agent with this name and opens a session; `install` is as in `connect`. Blocks."""

Arguments = Mapping[str, Sequence[str]]
"""What `Start` adds to the commands of agents, by name."""

SHOWN_CHARS = 300

FAILED = "the agent could not be started: {error!r}"


class AgentChoices:
    """Handles the agent picker of one panel, or of one cell that has no session yet."""

    def __init__(self, start: Start, send: Send, arguments: Arguments | None = None) -> None:
        self._start = start
        self._send = send
        self._arguments = arguments

    async def handle(self, intent: intents.Choosing) -> None:
        """Carry out a request and send the result, or the error, to the page."""
        try:
            if isinstance(intent, intents.Agents):
                self._send(
                    PickerAnswer(intent.rid, agents=await on_a_thread(lambda: choices(self._arguments)))
                )
            else:
                await on_a_thread(lambda: self._start_agent(intent))
        except Error as error:
            self._send(PickerAnswer(intent.rid, error=str(error)))
        except Exception as error:  # the page waits for an answer
            _log.warning("an agent could not be started", exc_info=True)
            self._send(PickerAnswer(intent.rid, error=FAILED.format(error=error)))

    def _start_agent(self, intent: intents.StartAgent) -> None:
        """Start it, and answer with the panel's model: already when the agent requires a sign-in."""
        answered: list[PickerAnswer] = []

        def answer(session: ShownSession) -> None:
            if not answered:
                answered.append(PickerAnswer(intent.rid, model=session._live_panel().model_id))
                loop.get().call_soon_threadsafe(self._send, answered[0])

        if intent.way is not None and intent.always:
            _remember(intent.agent, intent.way)
        with opened_at(answer):
            answer(self._start(intent.agent, intent.way or False))


def choices(arguments: Arguments | None = None) -> tuple[AgentChoice, ...]:
    """All agents that `connect` knows by name, the installed ones first. Looks up their versions: blocks."""
    return tuple(_choice(it, (arguments or {}).get(it.name, ())) for it in agents())


def _choice(record: AgentRecord, arguments: Sequence[str]) -> AgentChoice:
    missing = None if record.ready else _needs_install(record.name)
    return AgentChoice(
        name=record.name,
        title=shown(record.title, chars=SHOWN_CHARS),
        found=shown(record.found, chars=SHOWN_CHARS),
        version=_packaged_version(missing.way) if missing else record.version and shown(record.version),
        note=shown(record.missing, chars=SHOWN_CHARS),
        install=record.install,
        way=None if missing is None else missing.way,
        runs="" if missing is None else shlex.join([*shlex.split(missing.runs), *arguments]),
    )


def _packaged_version(way: str) -> str:
    """The version that a package's name is pinned to: "npx NAME@1.2", "uvx NAME==1.2"."""
    found = re.search(r"(?:.@|==)([^@/=]+)$", way.partition(" ")[2])
    return "newest" if found is None else found[1]


def _needs_install(name: str) -> catalog.NeedsInstall | None:
    """How the agent could be fetched and run; None if that is not needed, or not possible."""
    try:
        catalog.resolve(name, agent_environment(os.environ).get("PATH"), own=own_settings().agents)
    except catalog.NeedsInstall as missing:
        return missing
    except (AgentNotFound, UsageError):
        return None
    return None


def _remember(name: str, way: str) -> None:
    """Keep the user's "always" for a package, which must be the one that the page showed."""
    missing = _needs_install(name)
    if missing is not None and missing.way == way:
        ConsentStore().allow_package(way)
