"""Real agents without a key: what the sign-in names, and a key that the user types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.real.conftest import Starter, _started, claude_code
from tests.session.helpers import LIMIT_S
from tests.session.test_sign_in import asked

NAME = "ANTHROPIC_API_KEY"


@pytest.fixture
def claude_without_key(model: str, tmp_path: Path) -> Iterator[Starter]:
    command, env = claude_code(model, tmp_path)
    secret = {NAME, "ANTHROPIC_AUTH_TOKEN"}
    yield from _started(command, {name: it for name, it in env.items() if name not in secret}, tmp_path)


@pytest.mark.slow
def test_claude_names_its_key_and_takes_a_typed_one(claude_without_key: Starter) -> None:
    session = claude_without_key()
    session._conversation.state.audience.can_sign_in = True
    turn = session.start("Say hello")
    wanted = asked(session)
    assert [it.name for it in wanted.keys] == [NAME]
    with pytest.raises(acp.AgentError, match="Method not implemented"):
        session.authenticate(wanted.methods[0].id)
    assert "cannot sign in from here" in str(asked(session).error)
    key = "sk-ant-typed-4711-very-secret"
    session._loop.call(session._host.signing.use_key(NAME, key))
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    session.agent.close()
    assert all(key not in it.read_text() for it in claude_without_key.recordings)
