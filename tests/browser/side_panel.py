"""Drive the side panel of the JupyterLab extension as a user does."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, expect

from tests.browser.pages import NotebookPage

PREFIX = "Alt+g"
"""The first of the two keys of each command (js/lab/schema/plugin.json)."""

TRIES = 20
"""A command that answers a question counts only if the question has been in view for a while."""


class SidePanel:
    """The side panel of an open notebook."""

    def __init__(self, notebook: NotebookPage) -> None:
        self.notebook = notebook
        self.page = notebook.page
        self.node = self.page.locator(".acp-lab-side")
        self.panel = self.node.locator("[data-acp-root=session]")
        self.question = self.panel.locator("[data-acp-question][data-status=open]")
        self.status_bar = self.page.locator("[data-acp-lab=status]")

    def open(self) -> None:
        self.notebook.command("acp-notebook:open")
        expect(self.node).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.node.locator(f"[data-acp-lab={name}]")

    def start(self, agent: str) -> None:
        """Start an agent with the picker."""
        self.open()
        self.button("start").click()
        self.choose_agent(agent)

    def choose_agent(self, agent: str) -> None:
        self.node.locator(f"[data-acp-agent={agent}] button").first.click()
        expect(self.field).to_be_enabled()

    @property
    def field(self) -> Locator:
        return self.panel.get_by_role("textbox", name="Prompt for the agent")

    def prompt(self, text: str) -> None:
        self.field.fill(text)
        if text.startswith("/"):
            self.field.press("Escape")  # closes the list of commands
        self.field.press("Enter")

    def press(self, key: str) -> None:
        """The keys of a command."""
        self.page.keyboard.press(PREFIX)
        self.page.keyboard.press(key)

    def keys(self, key: str, *, until: Callable[[], None]) -> None:
        """Press the keys of a command until it had its effect."""
        for _ in range(TRIES):
            self.press(key)
            try:
                until()
            except AssertionError:
                continue
            return
        until()
