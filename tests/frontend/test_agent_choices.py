"""The agent picker in the kernel: what it lists is what it runs, and only what the page showed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent import loop
from acp_notebook.agent.permissions.consent_store import ConsentStore
from acp_notebook.core import intents
from acp_notebook.core.page_messages import AgentChoice, PickerAnswer
from acp_notebook.frontend.agent_choices import AgentChoices, choices
from tests.agent.remote.servers import python_server
from tests.setup.test_resolve import bin, log
from tests.waiting import wait_until

__all__ = ["bin"]  # a fixture

WAY = "npx @google/gemini-cli"
RUNS = "npx --yes --package @google/gemini-cli -- gemini --acp"


class Page:
    """Asks as a page does; keeps the answers."""

    def __init__(self) -> None:
        self.answers: list[PickerAnswer] = []
        self.opened: list[acp.Session] = []
        self._choices = AgentChoices(self._start, self.answers.append)

    def _start(self, agent: str, install: str | bool) -> Any:
        session = acp.connect(agent, install=install)
        self.opened.append(session)
        return session

    def ask(self, intent: intents.Choosing) -> PickerAnswer:
        loop.call(self._choices.handle(intent))
        wait_until(lambda: any(it.rid == intent.rid for it in self.answers), "the answer")
        (answer,) = (it for it in self.answers if it.rid == intent.rid)
        return answer


@pytest.fixture
def page() -> Any:
    made = Page()
    yield made
    for session in made.opened:
        session.close()


def listed(page: Page, name: str) -> AgentChoice:
    agents = page.ask(intents.Agents("list")).agents
    assert isinstance(agents, tuple)
    return next(it for it in agents if it.name == name)


def test_the_list_says_exactly_what_would_be_run(bin: Path, page: Page) -> None:
    demo, gemini = listed(page, "demo"), next(it for it in choices() if it.name == "gemini")
    assert (demo.found, demo.way, demo.runs) == ("built in", None, "")
    assert (gemini.found, gemini.way, gemini.runs) == ("", WAY, RUNS)
    assert gemini.version == "newest", "the package is not pinned"
    assert gemini.install == "npm install -g @google/gemini-cli"
    assert log(bin) == [], "listing runs nothing"


def test_arguments_of_the_cell_are_shown_with_the_agent_that_gets_them(bin: Path) -> None:
    given = {it.name: it.runs for it in choices({"gemini": ["--model", "a b"]})}
    assert given["gemini"] == f"{RUNS} --model 'a b'"
    assert "--model" not in "".join(runs for name, runs in given.items() if name != "gemini")


def test_the_user_s_own_agents_are_listed(bin: Path, tmp_path: Path, page: Page) -> None:
    config = tmp_path / "config"
    config.mkdir(exist_ok=True)
    (config / "config.toml").write_text(
        '[agents.mine]\ncommand = ["sh", "-c", "exit"]\n[agents.packed]\nnpx = "@me/agent@1.2.3"\n'
    )
    assert listed(page, "mine").found.endswith("/sh")
    packed = next(it for it in choices() if it.name == "packed")
    assert (packed.way, packed.version) == ("npx @me/agent@1.2.3", "1.2.3")


def test_a_click_starts_what_was_shown_and_remembers_it_only_if_asked(bin: Path, page: Page) -> None:
    assert isinstance(page.ask(intents.StartAgent("1", "gemini", WAY)).model, str)
    assert ConsentStore().packages() == []
    assert isinstance(page.ask(intents.StartAgent("2", "gemini", WAY, always=True)).model, str)
    assert ConsentStore().packages() == [WAY]


@pytest.mark.parametrize("way", [None, "npx evil", "npx @google/gemini-cli@9", "uvx gemini"])
def test_nothing_runs_that_the_page_did_not_show(bin: Path, page: Page, way: str | None) -> None:
    answer = page.ask(intents.StartAgent("1", "gemini", way, always=True))
    assert isinstance(answer.error, str) and "not installed" in answer.error
    assert log(bin) == [] and page.opened == []
    assert ConsentStore().packages() == [], "nor is it remembered"


def test_an_agent_that_does_not_start_is_an_answer(bin: Path, page: Page) -> None:
    answer = page.ask(intents.StartAgent("1", "no-such-agent"))
    assert isinstance(answer.error, str) and "no command 'no-such-agent'" in answer.error


def test_an_agent_with_an_address_is_listed_and_started(bin: Path, tmp_path: Path, page: Page) -> None:
    server = python_server(tmp_path)
    try:
        config = tmp_path / "config"
        config.mkdir(exist_ok=True)
        settings = f'[agents.build]\nurl = "{server.url("ws")}"\ncwd = "/srv/project"\n'
        (config / "config.toml").write_text(settings)
        build = listed(page, "build")
        assert (build.way, build.runs, build.install) == (None, "", "")
        assert server.ledger.entries("connection") == [], "listing asks no server"
        assert isinstance(page.ask(intents.StartAgent("1", "build")).model, str)
        assert server.ledger.entries("session")[0]["cwd"] == "/srv/project"
        page.opened.pop().agent.close()
    finally:
        server.stop()
