"""The page shows why an agent could not start: its last lines on stderr, and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SHOTS, Open

AGENT = """
import json, os, sys

mark = sys.argv[1]
starts_again = os.path.exists(mark)
open(mark, "a").close()
if starts_again or sys.argv[2:] == ["never"]:
    for line in range(8):
        print(f"    at frame {line} of a long trace", file=sys.stderr)
    sys.exit("it cannot be used with root/sudo privileges")
for line in sys.stdin:
    message = json.loads(line)
    result = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}.get(message["method"])
    if result is None:
        sys.exit(3)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""

WHY = "it cannot be used with root/sudo privileges"
ADVICE = "start the kernel as another user than root"


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_says_why_and_what_to_do(open_notebook: Open, tmp_path: Path, theme: str) -> None:
    agent, mark = tmp_path / "agent.py", tmp_path / "mark"
    agent.write_text(AGENT)
    notebook = open_notebook(
        [
            "%load_ext acp_notebook",
            f"%acp_agent {sys.executable} -- {agent} {tmp_path / 'other'} never",
            f"%acp_agent {sys.executable} -- {agent} {mark}",
            "%acp one",
            "%acp two",
        ],
        theme=theme,
    )
    shots = SHOTS / f"failed-start-{theme.split()[1].lower()}"
    shots.mkdir(parents=True, exist_ok=True)
    notebook.run(0, 1)
    notebook.wait_idle()
    notebook.run_after_an_error(1, 2)
    for cell in (3, 4):  # the agent dies of the first prompt, and does not start again for the second
        notebook.wait_idle()
        notebook.run_after_an_error(cell - 1, cell)
    notebook.wait_idle()
    started = notebook.output(1)
    expect(started).to_contain_text(WHY)
    expect(started).to_contain_text(f"hint: {ADVICE}")
    started.screenshot(path=shots / "magic.png")

    panel, unsent = notebook.output(2), notebook.output(4)
    expect(panel.locator("[data-acp-trouble] pre")).to_contain_text(WHY)
    expect(panel.locator("[data-acp-hint]")).to_contain_text(ADVICE)
    expect(unsent).to_contain_text("This prompt was not sent.")
    expect(unsent.locator("[data-acp-in-panel]")).to_contain_text("is not running.")
    expect(notebook.page.locator("[data-acp-trouble]")).to_have_count(1)
    unsent.screenshot(path=shots / "turn.png")

    field = panel.get_by_role("textbox")
    field.fill("three")
    field.press("Enter")
    expect(panel).to_contain_text("It was started again, without success")
    expect(field).to_have_value("three")
    assert panel.inner_text().count("exited with code 1") == 1
    expect(panel.locator("[data-acp-hint]")).to_contain_text(ADVICE)
    panel.screenshot(path=shots / "panel.png")
