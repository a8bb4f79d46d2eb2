"""Objects of data libraries as prompt content, each where the library is installed."""

from __future__ import annotations

import base64
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.recordings import recording
from acp_notebook.core.records import Image, Resource, Text
from acp_notebook.notebook.content import Named, contents, pictures
from acp_notebook.notebook.content.bounds import TEXT_CHARS
from acp_notebook.notebook.content.pictures import IMAGE_BYTES, SIDE

pytestmark = pytest.mark.filterwarnings("default")  # those of the libraries are not ours

SLACK = 200


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: its objects are not tested")


def text_of(value: Any) -> str:
    (block,) = contents(Named("it", value), 1)
    assert isinstance(block, Resource)
    assert block.text is not None
    assert len(block.text) <= TEXT_CHARS + SLACK
    return block.text


def picture_of(value: Any) -> tuple[str, bytes]:
    """The words before it, and the picture."""
    label, image = contents(Named("it", value), 1)
    assert isinstance(label, Text)
    assert isinstance(image, Image)
    assert image.mime_type == "image/png"
    data = base64.b64decode(image.data)
    assert pictures.sniff(data) == "image/png"
    assert len(data) <= IMAGE_BYTES
    return label.text, data


def size_of(png: bytes) -> tuple[int, int]:
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def test_nothing_here_imports_a_library() -> None:
    code = (
        "import sys, acp_notebook.notebook.content as c; c.contents([1], 1); c.contents(object(), 1);"
        "print({'numpy', 'pandas', 'polars', 'matplotlib', 'PIL', 'plotly', 'IPython'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True
    )
    assert run.stdout.strip() == "set()"


# ---- pandas


@pytest.fixture
def pd() -> Any:
    return library("pandas")


def test_a_data_frame_is_its_columns_and_its_first_rows(pd: Any) -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2, 6],
            "x|y": ["a|b\nc", None, [1]],
            "t": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
            "c": pd.Categorical(["u", "u", "v"]),
        },
        index=["p", "q", "r"],
    )
    lines = text_of(frame).split("\n")
    assert lines[0] == "`it`: pandas DataFrame, 3 rows, 4 columns"
    assert "| n | int64 | 0 | 1 | 3 | 6 |" in lines
    assert any(it.startswith("| x\\|y | object | 1 |  |  |  |") for it in lines)
    assert any(it.startswith("| t | datetime64") and "2020-01-02 00:00:00" in it for it in lines)
    assert "| c | category | 0 |  |  |  |" in lines
    assert "All rows:" in lines
    assert "| p | 1 | a\\|b c | 2020-01-01 00:00:00 | u |" in lines


def test_odd_frames(pd: Any) -> None:
    assert "0 rows, 0 columns" in text_of(pd.DataFrame())
    assert "| a | int64 | 0 |  |  |  |" in text_of(pd.DataFrame({"a": pd.Series([], dtype="int64")}))
    twice = text_of(pd.DataFrame([[1, "x"]], columns=["a", "a"]))
    assert twice.count("| a | ") >= 2
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert "| a / 2 | int64" in text_of(levels)
    assert "pandas Series, 2 rows, 1 column" in text_of(pd.Series([1, 2], name="s"))
    assert "3" in text_of(pd.array([1, None, 3], dtype="Int64"))
    nullable = pd.DataFrame({"i": pd.array([1, None, 3], dtype="Int64")})
    assert "| i | Int64 | 1 | 1 | 2 | 3 |" in text_of(nullable)
    assert "class 'int'" in text_of(pd.DataFrame({"o": [int]}))


def test_row_labels_are_described(pd: Any) -> None:
    days = pd.Index(pd.to_datetime(["2020-01-01"], utc=True), name="day")
    text = text_of(pd.DataFrame({"n": [1]}, index=days))
    assert "Index: `day` datetime64[" in text and ", UTC]" in text
    assert "| day | n |" in text
    levels = pd.MultiIndex.from_tuples([("p", 1)], names=["who", None])
    text = text_of(pd.Series([5], index=levels, name="s"))
    assert ", int64\n" in text and "Index: `who` " in text
    assert "| who / | s |" in text and "| p / 1 | 5 |" in text
    assert "Index:" not in text_of(pd.DataFrame({"n": [1]}))
    assert "Index:" not in text_of(pd.DataFrame({"n": [1]}, index=["Adelie"]))
    assert "Index: int64" in text_of(pd.DataFrame({"n": [1, 2]}, index=[0, 0]))


def test_a_wide_frame_is_bounded(pd: Any) -> None:
    frame = pd.DataFrame([[1] * 3_000], columns=[f"column_{at}_{'x' * 500}" for at in range(3_000)])
    text = text_of(frame)
    assert "1 row, 3,000 columns" in text
    assert "… and 2,950 more columns" in text
    assert "of the first 20 columns" in text or "characters left out" in text


def test_a_huge_frame_is_neither_copied_nor_fully_read(pd: Any) -> None:
    np = library("numpy")
    endless = np.broadcast_to(np.float64(1.5), (10**11, 3))  # 2.4 TB, of one number
    frame = pd.DataFrame(endless, copy=False)
    text = text_of(frame)
    assert "100,000,000,000 rows, 3 columns" in text
    assert "of the first 1,333,333 rows" in text
    assert "| 0 | float64 | 0 | 1.5 | 1.5 | 1.5 |" in text


def test_nested_frames_are_named_but_not_formatted(pd: Any) -> None:
    assert text_of({"f": pd.DataFrame({"a": range(9)})}) == "it = {'f': <DataFrame of shape (9, 1)>}"


# ---- polars


def test_polars_frames() -> None:
    pl = library("polars")
    frame = pl.DataFrame({"n": [1, None, 3], "s": ["x", "y", None], "b": [True, False, True]})
    lines = text_of(frame).split("\n")
    assert lines[0] == "`it`: polars DataFrame, 3 rows, 3 columns"
    assert "| n | Int64 | 1 | 1 | 2 | 3 |" in lines
    assert "| s | String | 1 |  |  |  |" in lines
    assert "| None | y | False |" in lines
    assert "polars Series, 2 rows" in text_of(pl.Series("s", [1, 2]))
    assert "not computed" in text_of(frame.lazy().filter(pl.col("n") > 1))
    assert "0 rows, 0 columns" in text_of(pl.DataFrame())


# ---- numpy


@pytest.fixture
def np() -> Any:
    return library("numpy")


def test_arrays(np: Any) -> None:
    text = text_of(np.arange(6).reshape(2, 3))
    assert text.startswith("`it`: numpy ndarray of shape (2, 3), dtype int64\n\nmin 0, mean 2.5, max 5")
    assert "[3, 4, 5]]" in text
    assert "not finite: 2" in text_of(np.array([1, np.nan, np.inf]))
    assert text_of(np.array([np.nan, np.nan])).count("min") == 0
    assert "shape ()" in text_of(np.array(5))
    assert "shape (0, 3)" in text_of(np.zeros((0, 3)))
    assert "1.+2.j" in text_of(np.array([1 + 2j]))
    assert "2020-01-01" in text_of(np.array(["2020-01-01"], dtype="M8[D]"))
    assert "'a'" in text_of(np.array([("a", 1)], dtype=[("x", "U3"), ("y", "i4")]))
    assert "3.5" in text_of(np.float64(3.5))
    assert len(text_of(np.array(["x" * 9_999, {"a": 1}], dtype=object))) < 500


def test_masked_values_do_not_count(np: Any) -> None:
    missing = np.ma.array([1.0, -9999.0, 3.0], mask=[False, True, False])
    text = text_of(missing)
    assert "min 1, mean 2, max 3, std 1, masked: 1" in text and "-9999" not in text
    long = np.ma.array(np.full(1_000, -9999.0), mask=[True] * 999 + [False])
    assert "min -9999, mean -9999, max -9999, std 0, masked: 999" in text_of(long)
    assert text_of(long).count("--") == 200
    assert "masked" not in text_of(np.ma.array([1, 2])).split("\n", 1)[1]
    assert "(1, 2)" in text_of(np.ma.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]))


def test_a_matrix_is_summarised_by_its_elements(np: Any) -> None:
    text = text_of(np.asmatrix([[1, 3]]))
    assert "min 1, mean 2, max 3, std 1" in text and "not finite" not in text and "first" not in text


def test_a_huge_array_is_not_fully_read(np: Any) -> None:
    text = text_of(np.broadcast_to(np.int8(3), (10**6, 10**7)))
    assert "of the first 2,000,000 of 10,000,000,000,000 elements" in text
    assert "the first 200 of" in text


def test_many_dimensions_do_not_multiply(np: Any) -> None:
    assert "the first 200 of 1,048,576" in text_of(np.zeros((2,) * 20))


# ---- pictures


def test_a_matplotlib_figure_and_its_axes_are_pictures(np: Any) -> None:
    library("matplotlib").use("agg")
    Figure = library("matplotlib.figure").Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.subplots(1, 2)
    axes[0].set_title("Speed")
    axes[0].set_xlabel("time")
    for value in (figure, axes[0], axes):
        label, png = picture_of(value)
        assert label == "`it`: matplotlib figure (Speed, x: time):"
        assert size_of(png) == (600, 450)
    assert figure.dpi == 100


def test_large_figures_are_made_smaller(np: Any) -> None:
    library("matplotlib").use("agg")
    Figure = library("matplotlib.figure").Figure

    huge = Figure(figsize=(400, 100))
    assert size_of(picture_of(huge)[1]) == (SIDE, SIDE // 4)
    noise = Figure(figsize=(20, 20))
    random = np.random.default_rng(1)
    noise.add_axes((0, 0, 1, 1)).imshow(random.random((1600, 1600, 3)), interpolation="none")
    assert max(size_of(picture_of(noise)[1])) == SIDE // 2


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "F", "I", "YCbCr", "HSV", "LA"])
def test_images_of_every_mode(mode: str) -> None:
    images = library("PIL.Image")
    label, png = picture_of(images.new(mode, (30, 20)))
    assert label == f"`it`: image of 30 by 20 pixels, {mode}:"
    assert size_of(png) == (30, 20)


def test_large_images_are_scaled_and_left_as_they_were() -> None:
    images = library("PIL.Image")
    image = images.new("RGB", (6000, 3))
    assert size_of(picture_of(image)[1]) == (SIDE, 1)
    assert image.size == (6000, 3)
    out = BytesIO()
    images.effect_noise((2600, 2600), 200).convert("RGB").save(out, "PNG")
    assert len(out.getvalue()) > IMAGE_BYTES
    assert max(size_of(picture_of(out.getvalue())[1])) <= SIDE


@pytest.fixture
def figure() -> Any:
    objects = library("plotly.graph_objects")
    traces = [objects.Scatter(x=list(range(1_000)), y=[2.5] * 1_000, name="speed") for _ in range(30)]
    return objects.Figure(data=traces, layout={"title": {"text": "Runs"}, "xaxis": {"title": {"text": "t"}}})


def test_a_plotly_figure_without_its_exporter_is_described(
    figure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    text = text_of(figure)
    assert "install kaleido for the picture" in text
    assert "title: Runs\nxaxis: t\ntrace 1: scatter, 'speed', x: 1,000 values (0, 1, 2, 3, 4, …)" in text
    assert "… 10 more traces" in text


def test_a_plotly_figure_whose_export_fails_or_hangs_is_described(
    figure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    monkeypatch.setattr(pictures, "find_spec", lambda name: object())
    monkeypatch.setattr(type(figure), "to_image", lambda *_, **__: 1 / 0)
    assert "its export failed" in text_of(figure)
    never = Event()
    timeouts.replace(picture_export=0.01)
    monkeypatch.setattr(type(figure), "to_image", lambda *_, **__: never.wait())
    assert "its export failed" in text_of(figure)
    never.set()


def test_an_exported_plotly_figure_is_a_picture(figure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from acp_notebook.demo.blocks import gradient_png

    monkeypatch.setattr(pictures, "find_spec", lambda name: object())
    monkeypatch.setattr(type(figure), "to_image", lambda *_, **__: gradient_png())
    assert picture_of(figure) == ("`it`: plotly figure:", gradient_png())


# ---- through everything


def test_a_frame_and_a_figure_reach_the_agent_as_content_by_the_recording(tmp_path: Path) -> None:
    pandas, matplotlib = library("pandas"), library("matplotlib")
    matplotlib.use("agg")
    figure = library("matplotlib.figure").Figure()
    figure.subplots().plot([1, 3, 2])
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, record=tape) as session:
        frame = pandas.DataFrame({"price": [1.5, 2.5], "name": ["a", "b"]})
        session.prompt("look", frame, figure, timeout=240)
    sent = next(it.message for it in recording.load(tape) if it.message.get("method") == "session/prompt")
    text, table, label, picture = sent["params"]["prompt"]
    assert text == {"type": "text", "text": "look"}
    assert table["type"] == "resource" and "price" in table["resource"]["text"]
    assert "matplotlib figure" in label["text"]
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")
    assert pictures.sniff(base64.b64decode(picture["data"])) == "image/png"
