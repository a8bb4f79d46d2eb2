"""docs/reference.md and docs/agents.md are what the docstrings and the catalog say now."""

from __future__ import annotations

from docs import build_agents
from docs.build_reference import TARGET, reference


def test_the_reference_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), "run: python3 dev.py docs"


def test_every_public_name_is_in_it() -> None:
    import acp_notebook

    text = reference()
    for name in acp_notebook.__all__:
        assert name.startswith("_") or f"### {name}\n" in text


def test_the_agents_page_is_up_to_date() -> None:
    written = build_agents.TARGET.read_text(encoding="utf-8")
    assert written == build_agents.page(), "run: python3 dev.py docs"
