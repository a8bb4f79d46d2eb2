"""Offers agents to a page: below a cell, or in a side panel.

A cell does so if %acp_agent names none, or one that is not installed. It ends at once, so that queued cells
go on. The session appears in the same place after a click.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..agent import loop
from ..core import intents
from ..core.page_messages import PickerAnswer, to_wire
from ..log import logger
from ..notebook.output import CellOutput
from ..notebook.widget import AgentsWidget, view_bundle
from .agent_choices import AgentChoices, Start

_log = logger(__name__)

MOST_ASIDE = 3
"""Offers in side panels that are kept, for several windows. Pages do not say when they leave one."""


def offer_agents(agent: str, note: str, start: Start, arguments: Sequence[str] = ()) -> None:
    """Display the agents below the running cell. `agent`: the one that is missing; empty: all of them.

    `note` is what the file keeps until the user has chosen, `arguments` what `start` adds to the command of
    the missing agent.
    """
    offer = _AgentsOffer(agent, note, start, arguments)
    offer.output = CellOutput.display(view_bundle(offer.widget, note))


def offer_agents_aside(cell: str, start: Start, source: Callable[[Any], str]) -> str:
    """Offer all agents in a side panel; returns the widget's model.

    `cell` is the id of the cell that the page will add for the session; `source` makes its source.
    """
    offer = _AgentsOffer("", "", start, ())
    offer.output, offer.source = CellOutput.in_page(cell), source
    _aside.append(offer)
    for old in [it for it in _aside[:-MOST_ASIDE] if not it.is_starting]:
        _aside.remove(old)
        old.widget.close()
    model: str = offer.widget.model_id
    return model


_aside: list[_AgentsOffer] = []
"""The offers in side panels, the newest last."""


class _AgentsOffer:
    """Connects a widget with the agent picker."""

    output: CellOutput
    source: Callable[[Any], str] | None = None
    is_starting = False

    def __init__(self, agent: str, note: str, start: Start, arguments: Sequence[str]) -> None:
        self.widget = AgentsWidget(agent, note, self._receive)
        self._start = start
        self._choices = AgentChoices(self._start_here, self._send, {agent: arguments})

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
        self.is_starting = True
        try:
            session = self._start(agent, install)
        finally:
            self.is_starting = False
        panel = session._live_panel()
        if self.source is not None:
            self.widget.source = self.source(session)
            panel.show_in(panel.model_id, self.output)  # the page adds a cell that shows the session itself
        else:
            panel.show_in(self.widget.model_id, self.output)
        return session

    def _send(self, answer: PickerAnswer) -> None:
        if isinstance(answer.model, str):
            self.widget.session = answer.model  # for pages that are loaded later, too
        self.widget.send(to_wire(answer))
