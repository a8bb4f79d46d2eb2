"""A cassette of a real agent plays without it: the same transcript, files and static HTML, elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import acp_notebook as acp
from tests.agents.mock_model import say, script
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S
from tests.session.test_cassettes import exports, files

pytestmark = pytest.mark.real_agent


def test_a_real_agent_is_replayed_without_it_in_another_folder(
    agent: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = agent.cwd
    (there / "etl.py").write_text("rows = [1, 2]\nprint(rows)\n")
    work = script(
        agent.read(there / "etl.py"),
        agent.edit(there / "etl.py", "print(rows)", "print(sum(rows))"),
        agent.write(there / "README.md", f"# In {there}\n"),
        agent.run("cat README.md; echo err >&2; exit 3"),
        say(f"It is all in {there}.", thought="Think first."),
    )
    session = agent(permissions="allow")
    prompts = [work, script(say("Nothing else."))]
    for prompt in prompts:
        session.prompt(prompt, timeout=LIMIT_S)
    made, kept = exports(session), {name: it for name, it in files(there).items() if ".git/" not in name}
    agent.close()

    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))  # no agent, no node, no git
    with acp.connect(cassette=agent.recordings[0], permissions="allow") as replayed:
        here = replayed.cwd
        for prompt in prompts:
            replayed.prompt(prompt.replace(str(there), here), timeout=LIMIT_S)
        assert replayed.agent.pid is None
        assert exports(replayed) == made
        assert {name: text.replace(here, str(there)) for name, text in files(here).items()} == kept

    with acp.connect(cassette=agent.recordings[0], permissions="allow") as replayed:
        with pytest.raises(acp.CassetteMismatch) as raised:
            replayed.prompt(prompts[1], timeout=LIMIT_S)
        assert "the prompts differ" in str(raised.value)
        assert "Nothing else." in str(raised.value)
