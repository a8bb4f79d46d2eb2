"""A remote agent in a page: what is off, an interruption that ends, and a server that is gone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, expect

from tests.agent.remote.fault_proxy import FaultProxy
from tests.agent.remote.servers import python_server
from tests.browser.conftest import SHOTS, Open
from tests.browser.servers import OWN

SETUP = """
from acp_notebook import timeouts
import acp_notebook as acp
timeouts.replace(remote_reconnect={reconnect}, remote_gap={gap})
session = acp.connect("{url}", cwd="/srv/project", permissions="allow")
session
"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_remote_agent_is_reconnected_and_says_what_is_off(
    open_notebook: Open, tmp_path: Path, theme: str
) -> None:
    server = python_server(tmp_path)
    try:
        with FaultProxy(server.port) as proxy:
            notebook = open_notebook(
                [SETUP.format(url=proxy.url("http"), reconnect=8.0, gap=5.0), "0"], kernel=OWN, theme=theme
            )
            shots = SHOTS / f"remote-{theme.split()[1].lower()}"
            shots.mkdir(parents=True, exist_ok=True)
            notebook.run(0)
            panel = notebook.panel(0)
            expect(panel).to_contain_text("This agent runs on another machine")
            expect(panel).to_contain_text("It cannot use this kernel")
            panel.screenshot(path=shots / "off.png")
            notebook.prompt(0, "words 600 20")
            expect(panel).to_contain_text("w3")
            proxy.strike("refuse", seconds=60.0)
            expect(panel).to_contain_text("Reconnecting")
            expect(panel.locator("[data-acp-trouble=reconnecting]")).to_be_visible()
            expect(panel.locator("[data-acp-stop]").first).to_be_enabled()
            panel.screenshot(path=shots / "reconnecting.png")
            expect(panel.locator("[data-acp-trouble=disconnected]")).to_be_visible()
            expect(panel).not_to_contain_text("is not running")
            panel.screenshot(path=shots / "disconnected.png")
            proxy.heal()
            restart = panel.locator("[data-acp-restart]")
            connected = panel.get_by_text("Connected again")
            expect(restart.or_(connected).first).to_be_visible()
            with suppress(Error):  # it has just connected by itself
                restart.click(timeout=3000)
            expect(panel).to_contain_text("Connected again")
            expect(panel.locator("[data-acp-trouble]")).to_have_count(0)
            text = panel.inner_text()
            assert text.index("words 600 20") < text.index("Connected again"), "in the order of events"
            panel.screenshot(path=shots / "again.png")
    finally:
        server.stop()


def test_a_turn_is_stopped_while_the_page_says_reconnecting(open_notebook: Open, tmp_path: Path) -> None:
    server = python_server(tmp_path)
    try:
        with FaultProxy(server.port) as proxy:
            notebook = open_notebook(
                [SETUP.format(url=proxy.url("http"), reconnect=60.0, gap=60.0), "0"], kernel=OWN
            )
            notebook.run(0)
            panel = notebook.panel(0)
            notebook.prompt(0, "words 600 20")
            expect(panel).to_contain_text("w3")
            proxy.strike("refuse", seconds=60.0)
            expect(panel.locator("[data-acp-trouble=reconnecting]")).to_be_visible()
            panel.locator("[data-acp-stop]").first.click()
            expect(panel).to_contain_text("Stopping…")
            expect(panel).to_contain_text("Abandoned")
            expect(panel.locator("[data-acp-trouble=reconnecting]")).to_be_visible()
            panel.screenshot(path=SHOTS / "stopped-while-reconnecting.png")
            proxy.heal()
            expect(panel.locator("[data-acp-trouble]")).to_have_count(0)
            notebook.prompt(0, "say back again")
            expect(panel).to_contain_text("back again")
    finally:
        server.stop()
