"""docs/reference.md is what the docstrings say now."""

from __future__ import annotations

from docs.build_reference import TARGET, reference


def test_the_reference_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), "run: python3 dev.py docs"


def test_every_public_name_is_in_it() -> None:
    import acp_notebook

    text = reference()
    for name in acp_notebook.__all__:
        assert name.startswith("_") or f"### {name}\n" in text
