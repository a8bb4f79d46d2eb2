"""Python objects as prompt content: bounded, labelled, and never a reason to fail."""

from __future__ import annotations

import base64
import collections
import functools
import math
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.prompt import content_of, fitted
from acp_notebook.core.records import Audio, Image, Resource, Text
from acp_notebook.core.requests import Capabilities
from acp_notebook.demo.blocks import beep_wav, gradient_png
from acp_notebook.notebook.content import Named, contents
from acp_notebook.notebook.content.bounds import TEXT_CHARS, bounded, pretty
from acp_notebook.notebook.content.data import BLOB_BYTES
from acp_notebook.notebook.content.pictures import IMAGE_BYTES

SLACK = 200
"""Room for the note on what is left out."""


def text_of(value: Any, name: str = "it") -> str:
    """The text of the only block that is sent for it."""
    (block,) = contents(Named(name, value), 1)
    assert isinstance(block, Resource)
    assert block.uri == f"python:{name}"
    assert block.text is not None
    assert len(block.text) <= TEXT_CHARS + SLACK
    return block.text


# ---- names


def test_an_object_is_labelled_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"a": 1}
    monkeypatch.setattr(sys.modules["__main__"], "_hidden", value, raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "settings", value, raising=False)
    assert contents(value, 2) == (
        Resource("python:settings", text="settings = {'a': 1}", mime_type="text/plain"),
    )


def test_an_unnamed_object_is_labelled_with_type_and_position() -> None:
    assert contents([1, 2], 3) == (Resource("python:list-3", text="[1, 2]", mime_type="text/plain"),)


def test_names_are_escaped_for_a_uri() -> None:
    assert contents(Named("a b.c", 1), 1)[0] == Resource(
        "python:a%20b.c", text="a b.c = 1", mime_type="text/plain"
    )


# ---- plain data


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Record:
    name: str
    items: list[int] = field(default_factory=list)
    secret: str = field(default="hunter2", repr=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, (2,), {3}]}, "{'a': [1, (2,), {3}]}"),
        (collections.OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (collections.deque([1]), "deque([1])"),
        (Point(1, 2), "Point(x=1, y=2)"),
        (Record("n", [1]), "Record(name='n', items=[1])"),
        (frozenset(), "frozenset([])"),
        (None, "None"),
        (math.nan, "nan"),
    ],
)
def test_plain_data_is_written_as_python_writes_it(value: Any, text: str) -> None:
    assert text_of(value) == f"it = {text}"


def test_recursive_data_is_bounded() -> None:
    value: list[Any] = [1]
    value.append(value)
    assert text_of(value) == "it = [1, …]"


def test_large_data_is_cut_and_says_so() -> None:
    assert "… 9,900 more" in text_of(list(range(10_000)))
    assert "(50,000 long)" in text_of({"a": "x" * 50_000})
    deep: Any = 1
    for _ in range(2_000):
        deep = [deep]
    assert "… 1 items" in text_of(deep)
    wide = {at: {to: list(range(50)) for to in range(90)} for at in range(90)}
    assert "more" in text_of(wide)


def test_a_long_text_keeps_head_and_tail() -> None:
    text = text_of("a" + "x" * 100_000 + "z")
    assert text.startswith("ax")
    assert text.endswith("xz")
    assert "80,002 of 100,002 characters left out" in text


@given(st.text(max_size=50), st.integers(1, 40))
def test_bounds_keep_what_fits(text: str, chars: int) -> None:
    assert (bounded(text, chars) == text) == (len(text) <= chars)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_small_data_is_complete(value: Any) -> None:
    text = pretty(value)
    if "… " not in text and "items" not in text:
        assert eval(text) == value


# ---- bytes


def test_images_and_audio_are_detected_by_their_bytes() -> None:
    png, wav = gradient_png(), beep_wav()
    label, image = contents(Named("p", png), 1)
    assert isinstance(label, Text)
    assert label.text.startswith("`p`: image/png of")
    assert image == Image(base64.b64encode(png).decode(), "image/png")
    assert contents(bytearray(wav), 1)[1] == Audio(base64.b64encode(wav).decode(), "audio/wav")


def test_other_bytes_are_sent_or_described() -> None:
    assert contents(Named("b", b"\0\1"), 1) == (
        Resource("python:b", blob="AAE=", mime_type="application/octet-stream"),
    )
    assert contents(Named("b", memoryview(b"")), 1)[0] == Resource(
        "python:b", blob="", mime_type="application/octet-stream"
    )
    assert f"{BLOB_BYTES + 1:,} bytes" in text_of(b"\0" * (BLOB_BYTES + 1))


def test_an_oversized_image_that_cannot_be_scaled_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    (description,) = contents(gradient_png() + b"\0" * IMAGE_BYTES, 1)
    assert isinstance(description, Text)
    assert "too large to send" in description.text


# ---- code


def test_functions_and_classes_are_their_source() -> None:
    assert "def text_of(value: Any" in text_of(text_of)
    assert "class Record:" in text_of(Record)
    assert "def text_of(value: Any" in text_of(functools.wraps(text_of)(lambda: None))
    assert "assert isinstance(label, Text)" in text_of(test_images_and_audio_are_detected_by_their_bytes)


def test_without_source_signature_and_docstring_are_sent() -> None:
    assert "len(obj, /)" in text_of(len)
    assert "without Python source" in text_of(int)
    assert "Return the number" in text_of(len)


def test_a_module_is_described_by_its_names() -> None:
    text = text_of(math, "m")
    assert text.startswith("`m`: module math")
    assert "sqrt" in text


# ---- errors


def raised(depth: int = 0) -> BaseException:
    def fall(left: int) -> None:
        if left:
            fall(left - 1)
        raise KeyError("inner")

    try:
        try:
            fall(depth)
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        return error
    raise AssertionError("it did not fall")


def test_an_error_is_its_traceback_with_its_cause() -> None:
    text = text_of(raised(), "error")
    assert text.startswith("`error`: ValueError\n\nTraceback")
    assert text.index("KeyError: 'inner'") < text.index("direct cause") < text.index("ValueError: outer")
    assert 'raise KeyError("inner")' in text


def test_deep_and_long_errors_are_bounded() -> None:
    assert text_of(raised(900)).endswith("ValueError: outer\n")
    chain: BaseException = ValueError("0")
    for at in range(1, 300):
        following = ValueError(str(at))
        following.__cause__ = chain
        chain = following
    text = text_of(chain)
    assert text.endswith("ValueError: 299\n")
    assert "ValueError: 100\n" not in text
    assert text_of(ValueError("x" * 100_000)).startswith("`it`: ValueError")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_with_a_failing_str_is_described() -> None:
    assert "Mute" in text_of(Mute())


# ---- rich forms


def rich(**forms: Any) -> Any:
    return type("Rich", (), {name: (lambda self, form=form: form) for name, form in forms.items()})()


def test_rich_forms_are_tried_in_order() -> None:
    png = gradient_png()
    assert "# hi" in text_of(rich(_repr_markdown_="# hi", _repr_html_="<p>no</p>"))
    both = contents(rich(_repr_png_=png, _repr_markdown_="# hi"), 1)
    assert [type(it) for it in both] == [Text, Image]
    bundle = rich(_repr_mimebundle_=({"image/png": base64.b64encode(png).decode()}, {}))
    assert contents(bundle, 1)[1] == Image(base64.b64encode(png).decode(), "image/png")


def test_html_becomes_text_without_scripts_and_styles() -> None:
    html = (
        "<style>a{}</style><p>one <b>two</b></p><script>evil()</script><table><tr><td>1</td><td>2</td></tr>"
    )
    assert text_of(rich(_repr_html_=html)).split("\n")[2:] == ["one two", "1\t2"]


@pytest.mark.parametrize(
    "forms",
    [
        {"_repr_png_": b"no picture"},
        {"_repr_png_": 5, "_repr_html_": None, "_repr_markdown_": b"x"},
        {"_repr_mimebundle_": 7},
        {"_repr_mimebundle_": {"image/png": "not base64!", "text/html": 3}},
        {"_repr_mimebundle_": ()},
    ],
)
def test_invalid_rich_forms_are_skipped(forms: dict[str, Any]) -> None:
    assert "Rich object at" in text_of(rich(**forms))


class Broken:
    """Raises for every attribute and method."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = _repr_html_ = _repr_mimebundle_ = _repr_png_ = __repr__


class Eager:
    """Has every attribute."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: "<b>surprise</b>"


def test_a_broken_proxy_is_sent_as_such() -> None:
    class Unbound:
        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            raise RuntimeError("working outside of a request")

    blocks = contents(Unbound(), 1)
    assert "Unbound object" in str(blocks[-1])


def test_an_object_that_always_raises_is_sent_as_such() -> None:
    assert "its repr fails with RuntimeError" in text_of(Broken())
    assert "Broken: its repr fails" in text_of([Broken(), {Broken(): 1}])
    assert "surprise" not in text_of(Eager())


class Liar:
    """Claims to belong to a library, but has none of its methods."""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("pandas.core.frame", "DataFrame"),
        ("pandas", "Series"),
        ("polars.dataframe", "DataFrame"),
        ("polars", "LazyFrame"),
        ("PIL.Image", "Image"),
        ("matplotlib.figure", "Figure"),
        ("plotly.basedatatypes", "BaseFigure"),
    ],
)
def test_a_fake_library_object_is_sent_with_a_note(module: str, name: str) -> None:
    liar = type(name, (Liar,), {"__module__": module})()
    said, form = contents(Named("x", liar), 1)
    assert isinstance(said, Text)
    assert said.text.startswith("[`x`: could not be sent as ")
    assert "AttributeError" in said.text
    assert isinstance(form, Resource)
    assert f"{module}.{name}" in (form.text or "")


def test_any_object_is_sent() -> None:
    lock, generator = threading.Lock(), (it for it in "ab")
    for value in (object(), lock, generator, type, Ellipsis, range(10**12), 10**5000, Any, contents, sys):
        assert contents(value, 1)
    assert next(generator) == "a"


# ---- in a prompt


def test_objects_and_texts_keep_their_order_in_a_prompt() -> None:
    content, _ = content_of(["see", [1], "and", gradient_png()], "/w", contents)
    assert [type(it) for it in content] == [Text, Resource, Text, Text, Image]
    assert content[1] == Resource("python:list-2", text="[1]", mime_type="text/plain")


def test_an_agent_without_images_and_resources_gets_text() -> None:
    content, _ = content_of([Named("d", {"a": 1}), Named("p", gradient_png())], "/w", contents)
    sent, notes = fitted(content, Capabilities())
    assert all(isinstance(it, Text) for it in sent)
    words = "".join(it.text for it in sent if isinstance(it, Text))
    assert "d = {'a': 1}" in words
    assert "`p`: image/png of" in words
    assert "[image (image/png) left out: this agent does not take it]" in words
    assert len(notes) == 2


def test_lone_surrogates_in_objects_are_replaced() -> None:
    content, _ = content_of([Named("x\ud800", "a\ud800b")], "/w", contents)
    assert content == (Resource("python:x%3F", text="a\ufffdb", mime_type="text/plain"),)
