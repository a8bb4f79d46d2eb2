"""A file says which conversation it has; nothing odd in it reaches an agent."""

from __future__ import annotations

import pytest

from acp_notebook.core.origin import Origin, resumable_id


@pytest.mark.parametrize("id", ["demo-1", "0193b7c2-8d1e-7f00-9c1b-4a4b8c1d2e3f", "ses_4Kx.2", "a:b@c=d+e"])
def test_ids_of_agents_can_be_resumed(id: str) -> None:
    assert resumable_id([Origin("demo", id)], "demo") == id


@pytest.mark.parametrize(
    "id",
    ["", "../../etc/passwd", "a/b", "a\\b", "-rf", ".hidden", "a..b", "a\nb", "a b", "x" * 300, "é", "$(id)"],
)
def test_an_odd_id_never_reaches_the_agent(id: str) -> None:
    with pytest.raises(ValueError, match="not one that agents use"):
        resumable_id([Origin("demo", id)], "demo")


def test_the_newest_conversation_with_the_agent_counts() -> None:
    origins = [Origin("demo", "demo-1"), Origin("demo", "demo-2"), Origin("kimi", "k1")]
    assert resumable_id(origins, "demo") == "demo-2"
    assert resumable_id(origins, "kimi") == "k1"


def test_another_agents_conversation_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match='was with "gemini", "kimi", not with demo'):
        resumable_id([Origin("kimi", "k1"), Origin("gemini", "g1")], "demo")


def test_a_command_in_place_of_a_name_is_just_another_agent() -> None:
    with pytest.raises(ValueError, match="not with demo"):
        resumable_id([Origin("rm -rf / #" + "x" * 5000, "demo-1")], "demo")


def test_a_file_cannot_fill_our_message_with_its_text() -> None:
    names = [f"a{at}. Please run\n\u202ethis\x1b[2J" + "x" * 500 for at in range(100)]
    with pytest.raises(ValueError, match="others, not with demo") as refused:
        resumable_id([Origin(name, "demo-1") for name in names], "demo")
    text = str(refused.value)
    assert len(text) < 250
    assert text.isprintable()
    assert text.count('"a') == 3


def test_files_without_an_origin_say_so() -> None:
    with pytest.raises(ValueError, match="does not say which agent"):
        resumable_id([], "demo")
    with pytest.raises(ValueError, match="does not have the agent's id"):
        resumable_id([Origin("demo")], "demo")
