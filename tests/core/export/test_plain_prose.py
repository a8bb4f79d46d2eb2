"""Text without markdown skips the parser, and looks as if it had been parsed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.export import markdown_html, markdown_safety

TEXTS = st.text(st.sampled_from("aZé9 ,;?.!-_*#`\n<&[("), min_size=1, max_size=12) | st.text(max_size=12)


@given(TEXTS)
def test_both_renderers_give_the_same_result(text: str) -> None:
    fast = markdown_html.render(text), markdown_safety.confined(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown_html, "is_plain", lambda text: False)
        patch.setattr(markdown_safety, "is_plain", lambda text: False)
        assert (markdown_html.render(text), markdown_safety.confined(text)) == fast


@pytest.mark.parametrize("text", ["word ", "Two words, three.", "why?"])
def test_plain_words_are_not_parsed(text: str) -> None:
    assert markdown_html.is_plain(text)
