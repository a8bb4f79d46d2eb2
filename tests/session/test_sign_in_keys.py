"""Signing in with a key that the user types: where it arrives, and where it must never be."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core import intents
from tests.session.helpers import LIMIT_S, agent
from tests.session.test_sign_in import asked
from tests.waiting import wait_until

AGENT = Path(__file__).parents[1] / "agents" / "wants_key.py"
NAME = "ANTHROPIC_API_KEY"
KEY = "sk-typed/4711+very=secret"

Waiting = Callable[..., tuple[acp.Session, acp.Turn]]


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    """A session with a page, and a turn that waits for the sign-in."""
    with ExitStack() as stack:

        def make(*arguments: str, prompt: str = "hello", **options: Any) -> tuple[acp.Session, acp.Turn]:
            given = {"cwd": tmp_path, "undo": False, "inherit_env": ["PATH"], **options}
            session = stack.enter_context(agent(sys.executable, AGENT, *arguments, **given))
            session._conversation.state.audience.can_sign_in = True
            turn = session.start(prompt)
            asked(session)
            return session, turn

        yield make


def use_key(session: acp.Session, name: str = NAME, key: str = KEY) -> None:
    session._loop.call(session._host.signing.use_key(name, key))


# ---- where it arrives -------------------------------------------------------------------------------


def test_the_key_reaches_the_agent_and_the_waiting_prompt_is_sent(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    wanted = asked(session)
    assert [(it.name, it.label) for it in wanted.keys] == [(NAME, "Key")]
    assert [it.id for it in wanted.methods] == ["outside"], "a key is typed, not clicked"
    use_key(session)
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert turn.text.endswith("[redacted]"), "the agent has it, and what it says about it is redacted"
    assert (session.transcript.sign_in, session.status) == (None, "idle")


def test_an_agent_that_is_restarted_later_still_has_the_key(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    use_key(session)
    turn.wait(LIMIT_S)
    with pytest.raises(acp.AgentDied):
        session.prompt("die", timeout=LIMIT_S)
    assert session.prompt("hello", timeout=LIMIT_S).text == "[redacted]"


def test_a_key_that_the_agent_refuses_leaves_the_sign_in_open(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    use_key(session, key="wrong-key-4711")
    wait_until(lambda: bool(asked(session).error), "it says why", LIMIT_S)
    assert "still requires a sign-in" in str(asked(session).error)
    assert not turn.done
    use_key(session)
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"


def test_a_known_agent_wants_the_key_that_is_known_of_it(tmp_path: Path) -> None:
    (command := tmp_path / "claude-code-acp").symlink_to(AGENT)
    with agent(command, cwd=tmp_path, undo=False, inherit_env=["PATH"]) as session:
        session._conversation.state.audience.can_sign_in = True
        turn = session.start("hello")
        wanted = asked(session)
        assert [it.name for it in wanted.keys] == [NAME]
        assert wanted.about == "ANTHROPIC_API_KEY, or the sign-in of Claude Code"
        use_key(session)
        assert turn.wait(LIMIT_S).stop_reason == "end_turn"


@pytest.mark.parametrize("arguments", [(), ("declares",)])
def test_a_sign_in_that_is_not_implemented_says_how_to_go_on(
    waiting: Waiting, arguments: tuple[str, ...]
) -> None:
    session, turn = waiting(*arguments)
    with pytest.raises(acp.AgentError, match="Method not implemented"):
        session.authenticate("outside")
    error = str(asked(session).error)
    assert "cannot sign in from here" in error
    assert "Try again" in error
    assert ("type a key" in error) == bool(arguments)
    assert not turn.done


@pytest.mark.parametrize(
    ("name", "key", "says"),
    [
        ("PATH", KEY, "does not sign in with 'PATH'"),
        ("LD_PRELOAD", KEY, "does not sign in with 'LD_PRELOAD'"),
        (NAME, "sk-4711", "too short"),
        (NAME, "  \n ", "too short"),
        (NAME, "sk-with-a\nline-break", "characters that no key has"),
        (NAME, "sk-with-a-nul\0", "characters that no key has"),
    ],
)
def test_only_a_key_that_the_agent_wants_is_accepted(
    waiting: Waiting, name: str, key: str, says: str
) -> None:
    session, turn = waiting("declares")
    pid = session.agent.pid
    with pytest.raises(acp.UsageError, match=says) as refused:
        use_key(session, name, key)
    assert key not in str(refused.value)
    assert (session.agent.pid, turn.done) == (pid, False)


def test_a_key_is_accepted_only_while_a_sign_in_is_open(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    use_key(session)
    turn.wait(LIMIT_S)
    with pytest.raises(acp.UsageError, match="is not waiting for a key"):
        use_key(session)


def test_a_second_key_is_refused_while_the_first_is_tried(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    signing = session._host.signing

    async def both() -> None:
        first = asyncio.ensure_future(signing.use_key(NAME, KEY))
        await asyncio.sleep(0)
        try:
            await signing.use_key(NAME, "another-key-4711")
        finally:
            await first

    with pytest.raises(acp.UsageError, match=f"the sign-in with '{NAME}' is in progress"):
        session._loop.call(both())
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert session._host.agent.launch.keys == {NAME: KEY}


def test_a_key_that_keeps_the_agent_from_starting_is_forgotten(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    with pytest.raises(acp.Error):
        use_key(session, key="fatal-key-4711")
    assert session._host.agent.launch.keys == {}
    turn.cancel()


def test_signing_out_forgets_the_key(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    use_key(session)
    turn.wait(LIMIT_S)
    pid = session.agent.pid
    session.agent.logout()
    assert session._host.agent.launch.keys == {}
    assert session.agent.pid != pid, "the process that had the key is gone"
    turn = session.start("hello")
    asked(session)
    turn.cancel()


# ---- where it must never be -------------------------------------------------------------------------


def test_the_key_is_in_nothing_that_leaves_the_kernel(
    waiting: Waiting, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (home := tmp_path / "project").mkdir()
    tape, audit = tmp_path / "tape.jsonl", tmp_path / "audit.jsonl"
    session, turn = waiting(
        "declares", prompt="parts", record=tape, audit=audit, permissions="allow", cwd=home
    )
    use_key(session)
    turn.wait(LIMIT_S)
    errors: list[BaseException] = []
    for prompt in ("fail", "die"):
        with pytest.raises(acp.Error) as raised:
            session.prompt(prompt, timeout=LIMIT_S)
        errors.append(raised.value)
    processes = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, timeout=LIMIT_S)
    seen = {
        "transcript": repr(session.transcript.items),
        "header": repr(session.transcript),
        "state": json.dumps(session._conversation.state.read(lambda it: it.plain())),
        "static output": json.dumps(session._to_bundle()),
        "notebook": json.dumps(session.to_notebook()),
        "audit": repr(session.audit.to_dicts()),
        "errors": "".join("".join(traceback.format_exception(it)) for it in errors),
        "stderr": session.agent.stderr,
        "logs": caplog.text,
        "doctor": repr(acp.doctor(log=True)),
        "launch": repr(session._host.agent.launch),
        "objects": repr(session) + repr(session.agent) + repr(vars(session._host.signing)),
        "ps": processes.stdout,
    }
    session.agent.close()
    seen |= {path.name: path.read_text() for path in (tape, audit)}
    for place, text in seen.items():
        assert KEY not in text, place
        assert KEY[9:] not in text, f"{place}: a part of it"
    assert all("[redacted]" in seen[place] for place in ("transcript", "static output", "tape.jsonl"))


def test_commands_of_the_agent_do_not_get_the_key(waiting: Waiting) -> None:
    session, turn = waiting("declares")
    use_key(session)
    turn.wait(LIMIT_S)
    assert NAME not in session._conversation.services.terminals._env  # type: ignore[attr-defined]


def test_the_intent_shows_no_key() -> None:
    intent = intents.parse({"t": "use_key", "name": NAME, "key": KEY})
    assert isinstance(intent, intents.UseKey)
    assert (intent.key, KEY in repr(intent)) == (KEY, False)
    for wrong in ({"key": [KEY]}, {"name": [KEY], "key": KEY}):
        with pytest.raises(intents.BadIntent) as refused:
            intents.parse({"t": "use_key", "name": NAME, **wrong})
        assert KEY not in str(refused.value)


def test_the_key_is_on_no_disk(waiting: Waiting, tmp_path: Path) -> None:
    """Also not in the scripts for a sign-in in a terminal."""
    session, turn = waiting("declares")
    use_key(session, key=f"wrong-{KEY}")
    wait_until(lambda: bool(asked(session).error), "the agent refuses it", LIMIT_S)
    scripts = session._host.signing._scripts
    folders = [tmp_path, *([scripts._folder] if scripts._folder else [])]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert all(KEY not in it.read_text(errors="replace") for it in files)
    assert all(KEY.encode() not in it for it in scripts._commands.values())
    turn.cancel()
