"""Writes docs/agents.md from the catalog and the compatibility table: `python3 dev.py docs`.

Knows no agent in particular, and asks nothing of the machine.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from acp_notebook.agent.known_agents.catalog_data import AGENTS, KnownAgent

TARGET = Path(__file__).with_name("agents.md")
COMPAT = Path(__file__).with_name("compat.md")

HEAD = """\
# Agents

`acp.connect(name)` knows these by name; `acp.agents()` says which of them are on this machine. Any other
agent that speaks the Agent Client Protocol goes by its command: `acp.connect("some-agent --acp")`. This page
is written by `python3 dev.py docs`.

One that is not installed is fetched and run by npx or uvx only if you say so:
`acp.connect(name, install=True)`. Where there is no Node, `pip install acp-notebook[node]` brings one.
"""

CHECKED = {
    "ran": "it ran here, with a mock model",
    "package": "its package and command exist; it was not run",
    "documents": "by its documentation only",
}

OTHERS = """\
## Tried beside those of the table below

| agent | how | what was seen |
|---|---|---|
| Zed's codex-acp 0.16.0 | npm, with the mock model | prompts, questions, load; it edits by commands |
| fast-agent 0.10.46 | PyPI, with the mock model | all; no fork, no options; an undo leaves its memory |
| openhands 1.16.0 | PyPI, with the mock model | prompts, undo; its questions name no action |
| mistral-vibe 3.0.2 | uvx; with the mock model | prompts, questions, cancel; its sign-in is shown |
| qodercli 1.1.52 | npm | started; without an account its sign-in is shown |
| cline 3.0.65 | npm | started; without an account its three ways to sign in are shown |
| droid 0.215.0 | npm | started; without an account its two ways to sign in are shown |
| nanocoder 1.30.0 | npm | exits without a provider; its own words say so in the error |
| pi-acp 0.0.34 | npm | wants the command `pi`; its own words say so in the error |

## Agents of your own

In `~/.config/acp_notebook/config.toml`, under a name that you choose:

```toml
[agents.mine]
command = ["my-agent", "--acp"]
env = { MY_AGENT_KEY = "${MY_AGENT_KEY}" }
```

`acp.import_agents("registry.json")` takes over the agents of the official registry, from a file or an https
address; nothing is fetched by itself.
"""


def page() -> str:
    table = ["| name | agent | command | install | signs in with | checked |", "|---|---|---|---|---|---|"]
    table += [row(it) for it in AGENTS]
    tried = re.sub(r"\A# .*\n", "", COMPAT.read_text(encoding="utf-8")).strip()
    return "\n\n".join([HEAD.strip(), "\n".join(table), OTHERS.strip(), "## What was tried", tried]) + "\n"


def row(agent: KnownAgent) -> str:
    names = ", ".join(f"`{name}`" for name in (agent.name, *agent.aliases))
    command = shlex.join(agent.commands[0])
    cells = [names, agent.title, f"`{command}`", f"`{agent.install}`", agent.sign_in, CHECKED[agent.checked]]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> None:
    TARGET.write_text(page(), encoding="utf-8")
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
