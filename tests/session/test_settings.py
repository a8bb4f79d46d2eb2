"""Modes and options, changed by the user and by the agent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent, begun

FORGETFUL = Path(__file__).parents[1] / "agents" / "forgetful.py"


@pytest.fixture(params=["1", "0"])
def either(demo: Demo, request: pytest.FixtureRequest) -> acp.Session:
    """An agent whose mode is a config option, and one that has only modes."""
    return demo(env={"ACP_DEMO_CONFIG": request.param})


def test_the_mode_is_changed_by_assignment(either: acp.Session) -> None:
    assert (either.mode, [mode.id for mode in either.modes]) == ("ask", ["ask", "code", "plan"])
    either.mode = "plan"
    assert either.mode == "plan"


def test_the_agent_may_change_its_mode_itself(either: acp.Session) -> None:
    either.prompt("/mode code", timeout=LIMIT_S)
    assert either.mode == "code"


def test_an_unknown_mode_is_refused_with_the_known_ones(either: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match=r"ask.*code.*plan"):
        either.mode = "yolo"
    assert either.mode == "ask"


def test_the_mode_can_be_changed_while_a_turn_runs(either: acp.Session) -> None:
    turn = begun(either.start("/slow 600"))
    either.mode = "code"
    assert either.mode == "code"
    assert not turn.done


def test_options_are_a_mapping_backed_by_the_agent(session: acp.Session) -> None:
    config = session.config
    assert dict(config) == {"mode": "ask", "model": "demo-mini", "thought_level": "medium", "verbose": False}
    config["model"] = "demo-max"
    config["verbose"] = True
    assert (config["model"], session.config["verbose"]) == ("demo-max", True)
    assert "model demo-max" in session.prompt("what?", timeout=LIMIT_S).text
    assert len(config) == 4
    assert repr(config) == repr(dict(config))


def test_the_agent_may_change_an_option_itself(session: acp.Session) -> None:
    config = session.config
    session.prompt("/config thought_level high", timeout=LIMIT_S)
    assert config["thought_level"] == "high"


def test_options_list_their_choices(session: acp.Session) -> None:
    (model,) = (option for option in session.config.options if option.id == "model")
    assert [(it.value, it.group) for it in model.choices] == [
        ("demo-mini", "Small"),
        ("demo-fast", "Small"),
        ("demo-max", "Large"),
    ]


def test_unknown_options_and_values_are_refused_with_the_known_ones(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match=r"no option 'colour'; .*mode, model"):
        session.config["colour"]
    with pytest.raises(acp.UsageError, match="no option"):
        session.config["colour"] = "red"
    with pytest.raises(acp.UsageError, match=r"'gpt'; it may be 'demo-mini', 'demo-fast', 'demo-max'"):
        session.config["model"] = "gpt"
    with pytest.raises(acp.UsageError, match="set, but not removed"):
        del session.config["model"]
    assert session.config["model"] == "demo-mini"


def test_an_unlisted_value_that_the_agent_accepts_can_be_set_and_unset() -> None:
    """Like goose and zed-codex: the first model is not among the choices."""
    with agent(sys.executable, FORGETFUL) as session:
        session.config["model"] = "secret-model"
        assert session.config["model"] == "secret-model"
        (model,) = session.config.options
        assert model.values == ("listed",)
        session.config["model"] = "listed"
        session.config["model"] = "secret-model"
        with pytest.raises(acp.UsageError, match=r"'bad'; it may be 'listed' .*no such model"):
            session.config["model"] = "bad"
        assert session.config["model"] == "secret-model"
        with pytest.raises(acp.UsageError, match=r"it may be 'listed'$"):
            session.config["model"] = 7  # type: ignore[assignment]


@pytest.mark.parametrize("value", ["true", 1, None])
def test_a_boolean_option_accepts_only_booleans(session: acp.Session, value: object) -> None:
    with pytest.raises(acp.UsageError, match="True, False"):
        session.config["verbose"] = value  # type: ignore[assignment]


def test_an_agent_without_options_has_an_empty_mapping(demo: Demo) -> None:
    session = demo(env={"ACP_DEMO_CONFIG": "0"})
    assert dict(session.config) == {}
    with pytest.raises(acp.UsageError, match="this agent has none"):
        session.config["model"] = "demo-max"


def test_settings_of_a_closed_session_on_a_living_agent_are_refused(session: acp.Session) -> None:
    session.agent.new_session()
    session.close()
    with pytest.raises(acp.SessionClosed):
        session.config["model"] = "demo-max"


def test_a_restarted_agent_gets_its_settings_again(either: acp.Session) -> None:
    either.mode = "plan"
    if either.config:
        either.config["model"] = "demo-max"
        either.config["verbose"] = True  # it then says by which model it answers
    with pytest.raises(acp.AgentDied):
        either.prompt("/die", timeout=LIMIT_S)
    assert either.prompt("hello", timeout=LIMIT_S).stop_reason == "end_turn"
    assert either.mode == "plan"
    if either.config:
        assert either.config["model"] == "demo-max"
        assert "model demo-max" in either.prompt("what?", timeout=LIMIT_S).text


def test_the_models_of_an_older_agent_are_an_option_and_stay_after_a_restart(demo: Demo) -> None:
    session = demo(env={"ACP_DEMO_CONFIG": "models"})
    assert session.config["model"] == "demo-mini"
    session.config["model"] = "demo-max"
    session.mode = "plan"
    assert (session.config["model"], session.mode) == ("demo-max", "plan")
    with pytest.raises(acp.UsageError, match="cannot be 'nonsense'"):
        session.config["model"] = "nonsense"
    with pytest.raises(acp.AgentDied):
        session.prompt("/die", timeout=LIMIT_S)
    session.prompt("again", timeout=LIMIT_S)
    assert (session.config["model"], session.mode) == ("demo-max", "plan")


def test_notices_and_compactions_are_available_in_python(session: acp.Session) -> None:
    session.prompt("/notice", timeout=LIMIT_S)
    session.prompt("/compact", timeout=LIMIT_S)
    assert {it.severity for it in session.notices if it.source == "agent"} >= {"info", "warning", "error"}
    assert [it.status for it in session.compactions] == ["completed"]
