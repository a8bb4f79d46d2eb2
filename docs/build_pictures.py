"""Makes the pictures of the README and of jupyterlab.md: `python docs/build_pictures.py`.

Needs Chromium, pandas and matplotlib.

`python docs/build_pictures.py kernel Light` makes one of them: a scene, a theme, or both. JupyterLab and the
session are real; the agent's part is played by `picture_agent.py`, in the scene "side" by the demo agent.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dev import CHROMIUM_NAMES  # noqa: E402
from tests.browser.pages import LIMIT_S, NotebookPage, launched  # noqa: E402
from tests.browser.servers import THEMES, Server, started  # noqa: E402
from tests.browser.side_panel import SidePanel  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SIZE = (860, 1210)
WIDE = (1280, 800)
"""For a notebook with a side panel."""
SCALE = 2
COLOURS = 192
"""Enough for text on a plain background; the file is a quarter of its full size."""

CONNECT = 'import acp_notebook as acp\nsession = acp.connect("analyst")\nsession'
CELLS = {
    "panel": ['import pandas as pd\n\nsales = pd.read_csv("sales.csv")\nsales.tail(3)', CONNECT],
    "kernel": [
        "import matplotlib.pyplot as plt\nimport pandas as pd\n\n"
        'sales = pd.read_csv("sales.csv")\nsales.tail(3)',
        CONNECT,
    ],
}
FAN_OUT = """import acp_notebook as acp

prompts = {
    "Raise the rate": "/edit vat.py rate = 0.25",
    "Raise it, as text": "/edit vat.py rate = '25 %'",
    "Explain the rate": "What is the rate?",
}
agents = ["demo", {"agent": "demo", "label": "another"}]
runs = acp.fan_out(prompts, agents=agents, score="python check.py")
runs.wait();"""
CELLS["runs"] = [FAN_OUT, "runs.compare(0, 3)"]
CELLS["side"] = ["total = 41\nrate = 2.5", "print(totl * rate)"]
PROMPTS = {
    "panel": "March looks far too low in @sales. Find out why, and mend @clean.py",
    "kernel": "How does each store do? Draw it, and tell me what stands out.",
}
NAMES = {"panel": "march", "kernel": "stores", "side": "analysis", "runs": "rates"}
REVENUE: dict[str, dict[str, tuple[int | None, ...]]] = {
    "panel": {"February": (700, 580, 140), "March": (None, None, 310)},
    "kernel": {
        "January": (610, 540, 210),
        "February": (680, 545, 215),
        "March": (760, 550, 120),
        "April": (830, 548, 214),
        "May": (905, 552, 218),
    },
}

CLEAN = """import pandas as pd

df = pd.read_csv("sales.csv")
df = df.dropna()
print(df.groupby("month")["revenue"].sum())
"""

KEEP = """() => {
    for (const query of [".jp-cell-toolbar", ".jp-Notebook-footer"])
        for (const it of document.querySelectorAll(query)) it.style.display = "none";
    document.activeElement?.blur();
    for (const it of document.querySelectorAll(".jp-WindowedPanel-outer")) it.scrollTop = 0;
}"""
"""Hides what only shows where the mouse is; a click may have scrolled the notebook."""


def stores(scene: str) -> str:
    lines = ["month,store,revenue"]
    for month, values in REVENUE[scene].items():
        pairs = zip("ABC", values, strict=True)
        lines += [f"{month},{name},{'' if it is None else it}" for name, it in pairs]
    return "\n".join(lines) + "\n"


def furnish(server: Server, scene: str) -> Path:
    """The folder with its data, the agent under a name from the settings, a kernel that has pandas."""
    work, home = server.folder / "work", server.folder / "home"
    if scene == "runs":
        (work / "vat.py").write_text("rate = 0.19\n")
        (work / "check.py").write_text("from vat import rate\n\nassert rate == 0.25\n")
    elif scene in REVENUE:
        (work / "sales.csv").write_text(stores(scene))
        (work / "clean.py").write_text(CLEAN)
    config = home / ".config" / "acp_notebook" / "config.toml"
    config.parent.mkdir(parents=True)
    command = json.dumps([sys.executable, str(ROOT / "docs" / "picture_agent.py"), scene])
    config.write_text(f"[agents.analyst]\ncommand = {command}\n")
    spec = server.folder / "data" / "kernels" / "ipykernel-pictures" / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {"PYTHONPATH": str(ROOT), "PATH": path}
    spec.write_text(json.dumps({"argv": argv, "env": env, "display_name": "Python 3", "language": "python"}))
    return server.add_notebook(NAMES[scene], "pictures", CELLS[scene])


def play_aside(notebook: NotebookPage) -> None:
    """From a failed cell to the question in the side panel."""
    notebook.run(0, 1)
    notebook.says(1, "NameError")
    notebook.cell(1).locator("[data-acp-lab=ask-error]").click()
    side = SidePanel(notebook)
    side.choose_agent("demo")
    expect(side.question).to_be_visible()
    notebook.page.locator("[data-acp-scroll]").evaluate("el => el.scrollTo(0, el.scrollHeight)")


def play(notebook: NotebookPage, scene: str) -> None:
    if scene == "side":
        return play_aside(notebook)
    if scene == "runs":
        return play_runs(notebook)
    notebook.run(0, 1)
    panel = notebook.panel(1)
    expect(panel.get_by_role("textbox")).to_be_enabled()
    notebook.prompt(1, PROMPTS[scene])
    question = panel.locator("[data-acp-question][data-status=open]")
    question.locator("[data-kind=allow_once]").click()
    expect(panel.locator("[data-acp-turn]")).to_have_attribute("data-acp-status", "done")
    if scene == "panel":
        expect(panel.locator("[data-acp-file]").first).to_be_visible()


def play_runs(notebook: NotebookPage) -> None:
    """The table with an open row, and two runs side by side."""
    notebook.run(0)
    table = notebook.output(0).locator("[data-acp-root=runs]")
    expect(table.locator("[data-acp-progress=over]")).to_be_visible()
    table.locator("[data-acp-run='0'] button").click()
    expect(table.locator("[data-acp-apply]")).to_be_visible()
    expect(table.locator(".acp-runs-html > *").first).to_be_visible()
    notebook.run(1)
    expect(notebook.output(1).locator(".acp-comparison")).to_be_visible()


def shoot(page: Page, theme: str, target: Path) -> None:
    page.mouse.move(0, 0)
    page.evaluate(KEEP)
    page.evaluate("() => Promise.all([...document.images].map((it) => it.decode()))")
    page.wait_for_timeout(500)  # fonts, and what fades
    page.screenshot(path=target)
    small = Image.open(target).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(target, optimize=True)
    print(f"{theme}: {target.relative_to(ROOT)}, {target.stat().st_size // 1000} kB")


def make(scene: str, theme: str) -> None:
    chromium = next(filter(None, map(shutil.which, CHROMIUM_NAMES)))
    with (
        tempfile.TemporaryDirectory() as folder,
        started("lab", Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        expect.set_options(timeout=LIMIT_S * 1000)
        server.set(THEMES, theme=f"JupyterLab {theme}")
        browser = launched(playwright, chromium)
        context = browser.new_context(device_scale_factor=SCALE)
        size = WIDE if scene == "side" else SIZE
        notebook = NotebookPage(context, server, furnish(server, scene), "perCommTarget", size)
        play(notebook, scene)
        shoot(notebook.page, theme, IMAGES / f"{scene}-{theme.lower()}.png")
        server.end_kernels()
        browser.close()


if __name__ == "__main__":
    for scene in [it for it in CELLS if it in sys.argv] or CELLS:
        for theme in [it for it in ("Light", "Dark") if it in sys.argv] or ("Light", "Dark"):
            make(scene, theme)
