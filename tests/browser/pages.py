"""Drive a notebook in a browser as a user does; every wait is bounded and for something visible."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.servers import Server

LIMIT_S = 240.0
"""The timeout of every wait: much longer than any takes, even on a machine twenty times slower."""

NOTEBOOK = "window.jupyterapp.shell.currentWidget"

KERNEL = f"""() => {{
    const kernel = window.jupyterapp && {NOTEBOOK}?.context?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === "connected" && WHAT;
}}"""
CONNECTED = KERNEL.replace("WHAT", "true")
IDLE = KERNEL.replace("WHAT", 'kernel.status === "idle"')

COMMS = f"""setting => {{
    const kernels = window.jupyterapp.serviceManager.kernels;
    const kernel = {NOTEBOOK}.context.sessionContext.session.kernel;
    if (kernel.commsOverSubshells === undefined) return true; // JupyterLab 4.2 has no such setting
    if (document.body.dataset.notebook !== undefined) {{
        kernels.commsOverSubshells = kernel.commsOverSubshells = setting;
    }}
    return kernels.commsOverSubshells === setting && kernel.commsOverSubshells === setting;
}}"""
"""Apply the setting for comm messages, which Notebook 7.6 does not read itself."""

INTRODUCED = f"""async () => {{
    const context = {NOTEBOOK}.context;
    await context.ready;
    await context.sessionContext.ready;
    await context.sessionContext.session.kernel.info;
}}"""
"""Wait until the kernel is ready: cells run earlier can be lost."""

QUESTION = "[data-acp-question]:is([data-status=open], [data-status=elsewhere])"
"""One that is not answered yet, in any place of the page."""

NUMBERED = re.compile(r"\d")
"""Matches a cell that has run."""

TRIES = 5
"""A kernel clears its queue within milliseconds after an error."""

TRUE_WHEN_CLEAN = f"() => !{NOTEBOOK}.context.model.dirty"

SAVE = f"""limit => new Promise((saved, failed) => {{
    const context = {NOTEBOOK}.context;
    let started = false;
    context.saveState.connect((_, state) => {{
        started ||= state === "started";
        if (started && state.startsWith("completed")) saved();
        if (state === "failed") failed(new Error("the notebook could not be saved"));
    }});
    setTimeout(() => failed(new Error("the notebook was not saved in time")), limit);
    void window.jupyterapp.commands.execute("docmanager:save");
}})"""
"""Wait for the save itself: a running turn soon makes the document dirty again, and an autosave that is under
way does not have all of it."""


class NotebookPage:
    """An open notebook. Cells are counted as the notebook has them, from 0."""

    def __init__(
        self,
        context: BrowserContext,
        server: Server,
        path: Path,
        comms: str = "perCommTarget",
        size: tuple[int, int] = (1200, 900),
        script: str = "",
    ) -> None:
        """`script`: runs in the page before anything else does."""
        self._context = context
        self._script = script
        self._comms = comms
        self._size = size
        self.server = server
        self.path = path
        self.page: Page = self._opened()
        self.wait_idle()

    # ---- the page

    def _opened(self) -> Page:
        page = self._context.new_page()
        page.set_default_timeout(LIMIT_S * 1000)
        page.set_viewport_size({"width": self._size[0], "height": self._size[1]})
        page.add_init_script(self._script)
        page.goto(self.server.address(self.path))
        self._wait_for_kernel(page)
        return page

    def _wait_for_kernel(self, page: Page) -> None:
        page.wait_for_function(CONNECTED)
        page.wait_for_function(COMMS, arg=self._comms)
        expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible()

    def wait_idle(self) -> None:
        self.page.wait_for_function(IDLE)
        self.page.evaluate(INTRODUCED)
        self.page.wait_for_function(IDLE)

    def reload(self) -> None:
        self.page.reload()
        self._wait_for_kernel(self.page)

    def close(self) -> None:
        self.page.close()

    def reopen(self) -> None:
        self.close()
        self.page = self._opened()

    def command(self, name: str, **arguments: Any) -> None:
        """Run one of the host's commands, like its menus, without waiting for its end."""
        call = f"void window.jupyterapp.commands.execute({json.dumps(name)}, {json.dumps(arguments)})"
        self.page.evaluate(f"() => {{ {call} }}")

    # ---- cells

    def cell(self, number: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def output(self, number: int) -> Locator:
        return self.cell(number).locator(".jp-OutputArea")

    def turn(self, number: int) -> Locator:
        """The turn below a cell."""
        return self.output(number).locator(".acp-turn")

    def panel(self, number: int) -> Locator:
        """The whole session below a cell."""
        return self.output(number).locator("[data-acp-root=session]")

    def run_all(self) -> None:
        """Queue all cells at once, like "Run All Cells"."""
        self.wait_idle()
        self.command("notebook:run-all-cells")

    def run(self, *numbers: int) -> None:
        """Queue these cells without waiting for one to end."""
        for number in numbers:
            self.select(number)
            self.page.keyboard.press("Control+Enter")

    def run_after_an_error(self, failed: int, number: int) -> None:
        """Run this cell after that one failed; again, if the kernel still aborted its queue.

        An idle kernel proves little: it is idle after each handled click, too.
        """
        expect(self.prompt_of(failed)).to_have_text(NUMBERED, timeout=LIMIT_S * 1000)
        for _ in range(TRIES):
            self.run(number)
            expect(self.prompt_of(number)).not_to_have_text("[*]:", timeout=LIMIT_S * 1000)
            if NUMBERED.search(self.prompt_of(number).inner_text()):
                return
        raise AssertionError(f"the kernel ran cell {number} in none of {TRIES} tries")

    def prompt_of(self, number: int) -> Locator:
        """The execution count next to a cell."""
        return self.cell(number).locator(".jp-InputPrompt")

    def select(self, number: int) -> None:
        self.cell(number).locator(".cm-content").click()
        expect(self.cell(number)).to_have_class(re.compile("jp-mod-active"))

    def save(self) -> dict[str, Any]:
        """Save, and return the file's contents."""
        self.page.evaluate(SAVE, LIMIT_S * 1000)
        saved: dict[str, Any] = json.loads(self.path.read_text())
        return saved

    def press_interrupt(self) -> None:
        """The ■ in the notebook's toolbar."""
        self.page.locator('.jp-Toolbar [data-command="notebook:interrupt-kernel"]').first.click()

    def restart(self) -> None:
        """Click ⟳ in the notebook's toolbar and confirm."""
        self.page.locator('.jp-Toolbar [data-command="notebook:restart-kernel"]').first.click()
        self.page.locator(".jp-Dialog .jp-mod-accept").click()

    # ---- what is expected

    def says(self, number: int, text: str | re.Pattern[str]) -> None:
        """The output of a cell contains this, soon."""
        expect(self.output(number).first).to_contain_text(text, timeout=LIMIT_S * 1000)

    def asks(self, number: int) -> None:
        """There is a question below a cell, and it can be answered; out of view, a panel would have it."""
        self.turn(number).locator(QUESTION).first.scroll_into_view_if_needed()
        expect(self.option(number, "allow_once")).to_be_enabled(timeout=LIMIT_S * 1000)

    def option(self, number: int, kind: str) -> Locator:
        return self.turn(number).locator(f'[data-acp-option][data-kind="{kind}"]')

    def has_status(self, number: int, status: str) -> None:
        expect(self.turn(number)).to_have_attribute("data-acp-status", status, timeout=LIMIT_S * 1000)

    def has_statuses(self, number: int, statuses: list[str]) -> None:
        """Of all turns below a cell."""
        for at, status in enumerate(statuses):
            expect(self.turn(number).nth(at)).to_have_attribute(
                "data-acp-status", status, timeout=LIMIT_S * 1000
            )

    # ---- what is clicked

    def answer(self, number: int, kind: str = "allow_once") -> None:
        choose(self.option(number, kind))

    def prompt(self, number: int, text: str) -> None:
        """Send a prompt through the panel below a cell."""
        field = self.panel(number).get_by_role("textbox", name="Prompt for the agent")
        field.fill(text)
        if text.startswith("/"):
            field.press("Escape")  # closes the list of commands; without one, it may stop a turn
        field.press("Enter")

    def unfold(self, number: int) -> None:
        """Draw the turns of other cells in the panel below this one, too."""
        lines = self.panel(number).locator(".acp-turnline-fold")
        expect(lines).not_to_have_count(0)
        for line in lines.all():
            if line.get_attribute("aria-expanded") == "false":
                line.click()
            expect(line).to_have_attribute("aria-expanded", "true")

    def press_stop(self, number: int) -> None:
        """The stop button below a cell; out of view, a panel would have it."""
        self.turn(number).locator(".acp-status").last.scroll_into_view_if_needed()
        self.turn(number).locator("[data-acp-stop]").click()


def choose(answer: Locator) -> None:
    """Click an answer as a person does, with a mouse that moves: a click on a button that came to a resting
    pointer is ignored."""
    answer.wait_for()
    answer.page.mouse.move(0, 0)
    answer.click()


def launched(playwright: Any, executable: str) -> Browser:
    quiet = ("gpu", "quic", "background-networking", "component-update", "sync", "dev-shm-usage")
    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{it}" for it in quiet)]
    browser: Browser = playwright.chromium.launch(executable_path=executable, args=arguments)
    return browser
