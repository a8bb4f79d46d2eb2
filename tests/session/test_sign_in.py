"""Signing in by name, by callback, in a terminal; refused, hanging, fatal; and signing out."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.actions import Command
from acp_notebook.core.records import SignIn
from acp_notebook.core.snapshot import Question, ToolCall
from tests.demo_agent import SCRIPT
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.waiting import wait_until

WANTED = {"ACP_DEMO_AUTH": "1"}
TROUBLE = {"ACP_DEMO_AUTH": "trouble"}


def asked(session: acp.Session) -> SignIn:
    """Wait for the sign-in that the agent requires; returns it."""
    wait_until(lambda: session.transcript.sign_in is not None, "a sign-in is wanted", LIMIT_S)
    found = session.transcript.sign_in
    assert found is not None
    return found


@pytest.fixture
def signed_out(demo: Demo) -> Callable[..., acp.Session]:
    """A session with a page, whose agent is signed out."""

    def make(**options: Any) -> acp.Session:
        session = demo(env=TROUBLE, auth="demo-login", **options)
        session.agent.logout()
        session._conversation.state.audience.can_sign_in = True
        return session

    return make


# ---- by name ----------------------------------------------------------------------------------------


def test_without_anybody_to_ask_the_error_says_what_to_do(demo: Demo) -> None:
    with pytest.raises(acp.AuthenticationRequired) as caught:
        demo(env=WANTED)
    assert [method.id for method in caught.value.methods] == ["demo-login", "demo-terminal"]
    text = str(caught.value)
    assert "acp.connect(…, auth='demo-login')" in text
    assert f"{SCRIPT} --login" in text


def test_a_named_method_is_used_when_the_agent_requires_it(demo: Demo) -> None:
    session = demo(env=WANTED, auth="demo-login")
    assert session.status == "idle"
    other = session.agent.new_session()
    assert other.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("nonsense", "no sign-in method 'nonsense'; it has 'demo-login', 'demo-terminal'"),
        ("demo-terminal", "needs a terminal: run this command there"),
        ("demo-refuse", "the password is wrong"),
        ("demo-die", "exited with code 3"),
    ],
)
def test_a_named_method_that_fails_is_reported(demo: Demo, method: str, says: str) -> None:
    with pytest.raises(acp.Error, match=says):
        demo(env=TROUBLE, auth=method)


def test_after_logging_out_a_prompt_fails_until_somebody_signs_in(demo: Demo) -> None:
    session = demo(env=WANTED, auth="demo-login")
    session.agent.logout()
    with pytest.raises(acp.AuthenticationRequired, match=r"session.authenticate\('demo-login'\)"):
        session.prompt("hello", timeout=LIMIT_S)
    session.authenticate("demo-login")
    assert session.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"


def test_a_restarted_agent_is_signed_in_again(demo: Demo) -> None:
    session = demo(env=WANTED, auth="demo-login")
    with pytest.raises(acp.AgentDied):
        session.prompt("/die", timeout=LIMIT_S)
    assert session.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"


def test_logging_out_needs_an_agent_that_supports_it(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match="does not offer to log out"):
        session.agent.logout()
    with pytest.raises(acp.UsageError, match="it has none"):
        session.authenticate("demo-login")


# ---- where somebody can be asked --------------------------------------------------------------------


def test_a_prompt_waits_for_the_sign_in_and_is_sent_again(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    turn = session.start("hello")
    wanted = asked(session)
    assert session.status == "signed_out"
    assert [method.name for method in wanted.methods][:2] == ["Demo login", "Demo login in a terminal"]
    session.authenticate("demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert len(session.turns) == 1
    assert (session.transcript.sign_in, session.status) == (None, "idle")


def test_a_setting_waits_for_it_too(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    with ThreadPoolExecutor() as pool:
        opened = pool.submit(session.agent.new_session)
        # Nobody can be asked in the new session, but the page of this one may sign in.
        with pytest.raises(acp.AuthenticationRequired):
            opened.result(LIMIT_S)


def test_a_refused_method_shows_its_reason_and_another_can_be_chosen(
    signed_out: Callable[..., acp.Session],
) -> None:
    session = signed_out()
    turn = session.start("hello")
    asked(session)
    with pytest.raises(acp.AgentError, match="the password is wrong"):
        session.authenticate("demo-refuse")
    assert "Refused login: authenticate: the password is wrong" in str(asked(session).error)
    assert not turn.done
    session.authenticate("demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"


def test_a_hanging_sign_in_can_be_stopped_and_two_at_once_are_one(
    signed_out: Callable[..., acp.Session],
) -> None:
    session = signed_out()
    turn = session.start("hello")
    asked(session)
    signing = session.agent._host.signing

    async def twice() -> list[BaseException | None]:
        attempts = (signing.authenticate("demo-hang") for _ in range(2))
        return await asyncio.gather(*attempts, return_exceptions=True)

    with ThreadPoolExecutor() as pool:
        both = pool.submit(session._loop.call, twice())
        wait_until(lambda: asked(session).trying == "demo-hang", "it is under way", LIMIT_S)
        with pytest.raises(acp.UsageError, match="'Slow login' is in progress"):
            session.authenticate("demo-login")
        session._loop.post(signing.stop)
        assert [str(it) for it in both.result(LIMIT_S)] == ["the sign-in was stopped"] * 2
    assert asked(session).trying is None
    session.authenticate("demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"


def test_an_agent_that_dies_during_a_sign_in_is_restarted(
    signed_out: Callable[..., acp.Session],
) -> None:
    session = signed_out()
    turn = session.start("hello")
    asked(session)
    with pytest.raises(acp.AgentDied):
        session.authenticate("demo-die")
    assert "the agent exited" in str(asked(session).error)
    assert not turn.done
    session.authenticate("demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert session.status == "idle"


def test_a_turn_that_waits_for_it_can_be_cancelled(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    turn = session.start("hello")
    asked(session)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    wait_until(lambda: session.transcript.sign_in is None, "nothing waits for it any more", LIMIT_S)
    assert session.status == "idle"
    session.close()


def test_claiming_to_be_signed_in_too_early_asks_again(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    turn = session.start("hello")
    asked(session)
    session._loop.post(session.agent._host.signing.passed)
    wait_until(lambda: "still requires" in str(asked(session).error), "it is asked again", LIMIT_S)
    session.authenticate("demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"


def test_closing_ends_the_wait(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    turn = session.start("hello")
    asked(session)
    session.close()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"


# ---- in a terminal ----------------------------------------------------------------------------------


def test_after_the_sign_in_command_waiting_prompts_continue(
    signed_out: Callable[..., acp.Session], tmp_path: Path
) -> None:
    session = signed_out(cwd=tmp_path)
    turn = session.start("hello")
    method = next(it for it in asked(session).methods if it.type == "terminal")
    assert method.run is not None
    assert "--login" in str(method.command)
    script = Path(shlex.split(method.run)[1])
    assert (script.stat().st_mode & 0o777, script.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    subprocess.run(shlex.split(method.run), input=b"\n", check=True, timeout=LIMIT_S, capture_output=True)
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    session.agent.close()
    assert not script.exists()


def test_no_secret_of_a_sign_in_is_on_disk(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED_API_KEY", "inherited-4711")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    session = demo(
        env={**WANTED, "MY_API_KEY": "given-4711", "ACP_DEMO_HOME": str(tmp_path)}, auth="demo-login"
    )
    session.agent._host.signing._methods()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sh" for path in files)
    for path in files:
        assert "4711" not in path.read_text()


def test_a_command_that_fails_says_so(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    session.start("hello")
    method = next(it for it in asked(session).methods if it.type == "terminal")
    script = Path(shlex.split(str(method.run))[1])
    script.write_text(script.read_text().replace('"$@"', "(exit 7)"))
    subprocess.run(shlex.split(str(method.run)), timeout=LIMIT_S, stdout=subprocess.DEVNULL, check=False)
    wait_until(lambda: "exit code 7" in str(asked(session).error), "its end is seen", LIMIT_S)


def test_the_environment_of_a_method_is_secret(signed_out: Callable[..., acp.Session]) -> None:
    session = signed_out()
    (method,) = (it for it in session.agent.auth_methods if it.type == "terminal")
    (secret,) = method.env.values()
    assert secret not in repr(method)
    session.authenticate("demo-login")
    turn = session.prompt(f"it is {secret}!", timeout=LIMIT_S)
    assert secret not in session.to_text()
    assert "[redacted]!" in turn.text


def test_an_agent_cannot_hide_part_of_a_command_as_the_environment_of_a_method(
    signed_out: Callable[..., acp.Session],
) -> None:
    """Attack: what an agent declares as secret is blanked out in the question about it."""
    session = signed_out(permissions=lambda request: "reject")
    (method,) = (it for it in session.agent.auth_methods if it.type == "terminal")
    (secret,) = method.env.values()
    session.authenticate("demo-login")
    session.prompt(f"/run echo {secret}", timeout=LIMIT_S)
    (question,) = (it for it in session.transcript.items if isinstance(it, Question))
    (command,) = (it for it in question.actions if isinstance(it, Command))
    assert secret in command.text
    (call,) = (it for it in session.transcript.items if isinstance(it, ToolCall))
    assert call.raw_input == {"command": f"echo {secret}"}
    assert any(secret in entry.target for entry in session.audit)


@pytest.mark.parametrize("whole", [True, False], ids=["the agent", "the session"])
def test_a_closed_session_does_not_wait_for_a_sign_in(demo: Demo, tmp_path: Path, whole: bool) -> None:
    session = demo(env={**WANTED, "ACP_DEMO_HOME": str(tmp_path)}, auth="demo-login")
    other = session.agent.new_session()
    session.agent.logout()
    session._conversation.state.audience.can_sign_in = True
    store, home = session.agent._host.store, session._loop
    with ThreadPoolExecutor() as pool:
        listing = pool.submit(home.call, store.page(None, None, session._conversation.state))
        others = pool.submit(session.agent.sessions)
        wait_until(lambda: len(session.agent._host.signing._leaving) == 2, "both wait for it", LIMIT_S)
        session.agent.close() if whole else session.close()
        with pytest.raises(acp.SessionClosed):
            listing.result(LIMIT_S)
        other.agent.close()
        with pytest.raises(acp.SessionClosed):
            others.result(LIMIT_S)
