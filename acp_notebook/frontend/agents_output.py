"""The output of a cell that offers agents: %acp_agent without a name, or with one that is not installed.

The cell ends at once, so that queued cells go on; the session appears in the same output after a click.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..agent import loop
from ..core import intents
from ..core.page_messages import PickerAnswer, to_wire
from ..log import logger
from ..notebook.output import CellOutput
from ..notebook.widget import AgentsWidget, view_bundle
from .agent_choices import AgentChoices, Start

_log = logger(__name__)


def offer_agents(agent: str, note: str, start: Start, arguments: Sequence[str] = ()) -> None:
    """Display the agents below the running cell. `agent`: the one that is missing; empty: all of them.

    `note` is what the file keeps until the user has chosen, `arguments` what `start` adds to the command of
    the missing agent.
    """
    _AgentsOutput(agent, note, start, arguments)


class _AgentsOutput:
    """Connects the widget of one cell with the agent picker."""

    def __init__(self, agent: str, note: str, start: Start, arguments: Sequence[str]) -> None:
        self._widget = AgentsWidget(agent, note, self._receive)
        self._start = start
        self._choices = AgentChoices(self._start_here, self._send, {agent: arguments})
        self._output = CellOutput.display(view_bundle(self._widget, note))

    def _receive(self, message: Any) -> None:
        loop.submit(self._on_message(message))

    async def _on_message(self, message: Any) -> None:
        try:
            intent = intents.parse(message)
        except intents.BadIntent as error:
            _log.warning("a page sent an invalid message: %s", error)
            return
        if isinstance(intent, intents.Agents | intents.StartAgent):
            await self._choices.handle(intent)

    def _start_here(self, agent: str, install: str | bool) -> Any:
        session = self._start(agent, install)
        session._live_panel().show_in(self._widget.model_id, self._output)
        return session

    def _send(self, answer: PickerAnswer) -> None:
        if isinstance(answer.model, str):
            self._widget.session = answer.model  # for pages that are loaded later, too
        self._widget.send(to_wire(answer))
