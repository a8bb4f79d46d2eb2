"""Images and sounds are in a file once, and a transcript finds them again."""

from __future__ import annotations

from acp_notebook.core.saved_media import embedded, with_media, without_media
from acp_notebook.core.saved_transcript import Part

DATA, SOUND = "iVBORw0KGgoAAAAA", "UklGRgAA"
IMAGE = f'<p><img src="data:image/png;base64,{DATA}" alt="x"></p>'
HTML = f'{IMAGE}<audio src="data:audio/wav;base64,{SOUND}"></audio>'


def part(*content: dict[str, str]) -> Part:
    return Part(items=({"type": "message", "role": "agent", "content": [*content]},))


def test_what_the_html_embeds_is_replaced_and_put_back() -> None:
    whole = part({"type": "image", "data": DATA}, {"type": "audio", "data": SOUND})
    small = without_media(whole, HTML)
    assert DATA not in small.line() and SOUND not in small.line()
    assert with_media(small, embedded([HTML])) == whole


def test_what_the_html_does_not_embed_stays() -> None:
    whole = part({"type": "image", "data": "AAAA"})
    assert without_media(whole, HTML) == whole == without_media(whole, "")


def test_white_space_in_the_data_does_not_matter() -> None:
    small = without_media(part({"type": "image", "data": f"{DATA[:4]}\n{DATA[4:]}"}), HTML)
    assert with_media(small, embedded([HTML])) == part({"type": "image", "data": DATA})


def test_data_that_is_missing_is_empty() -> None:
    small = without_media(part({"type": "image", "data": DATA}), HTML)
    assert with_media(small, {}) == part({"type": "image", "data": ""})


def test_only_images_and_sounds_are_touched() -> None:
    text = part({"type": "text", "data": DATA, "text": DATA})
    assert without_media(text, HTML) == text


def test_a_page_cannot_inject_data_that_is_not_base64() -> None:
    assert embedded(['<img src="data:image/png;base64,AA<script>">', '<img src="javascript:x">']) == {}
