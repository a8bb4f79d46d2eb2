"""A cassette of a real agent replays without it: same transcript, files and static HTML."""

from __future__ import annotations

from pathlib import Path

import pytest

import acp_notebook as acp
from tests.agents.mock_model import say, script
from tests.patience import be_patient
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S
from tests.session.test_cassette_changes import State, found_in, rows, states
from tests.session.test_cassettes import exports

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

COMMAND = (
    "cat README.md; echo err >&2; printf '\\000bin' > data.bin; mkdir -p out; mv old.csv out/new.csv; "
    "chmod 755 etl.py; ln -s etl.py run; rm gone.txt; exit 3"
)


@pytest.fixture(params=["claude", "kimi", "claude_agent"])
def agent(request: pytest.FixtureRequest) -> Starter:
    """Two agents that write through the client, and one that does everything itself."""
    starter = request.getfixturevalue(request.param)
    assert isinstance(starter, Starter)
    return starter


def test_a_real_agents_recording_is_replayed_in_another_folder(
    agent: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient()
    there = agent.cwd
    (there / "etl.py").write_text("rows = [1, 2]\nprint(rows)\n")
    (there / "old.csv").write_text("a,b\n" * 10)
    (there / "gone.txt").write_text("soon\n")
    work = script(
        agent.read(there / "etl.py"),
        agent.edit(there / "etl.py", "print(rows)", "print(sum(rows))"),
        agent.write(there / "README.md", f"# In {there}\n"),
        agent.run(COMMAND),
        say(f"It is all in {there}.", thought="Think first."),
    )
    session = agent(permissions="allow")
    prompts = [work, script(say("Nothing else."))]
    for prompt in prompts:
        session.prompt(prompt, timeout=LIMIT_S)
    made, changes = exports(session), rows(found_in(session))
    kept = {name: it for name, it in states(there).items() if not name.startswith(".git/")}
    agent.close()

    recorded = agent.recordings[0].read_text()
    assert str(there) not in recorded and str(tmp_path / "home") not in recorded  # nothing of this machine

    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))  # no agent, no node, no git
    with acp.connect(cassette=agent.recordings[0], permissions="allow") as replayed:
        here = replayed.cwd
        for prompt in prompts:
            replayed.prompt(prompt.replace(str(there), here), timeout=LIMIT_S)
        assert replayed.agent.pid is None
        assert exports(replayed) == made
        assert rows(found_in(replayed)) == changes
        assert {name: _there(it, here, there) for name, it in states(here).items()} == kept

    with acp.connect(cassette=agent.recordings[0], permissions="allow") as replayed:
        with pytest.raises(acp.CassetteMismatch) as raised:
            replayed.prompt(prompts[1], timeout=LIMIT_S)
        assert "the prompts differ" in str(raised.value)
        assert "Nothing else." in str(raised.value)


def _there(state: State, here: str, there: Path) -> State:
    kind, rights, data = state
    return kind, rights, data.replace(here.encode(), str(there).encode())
