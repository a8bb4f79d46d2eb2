"""Signatures as schemas: they accept what the function accepts, and refuse the rest by its name."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import keyword
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.kernel_tools.signatures import (
    DEEPEST,
    BadArguments,
    BadSignature,
    doc_of,
    name_of,
    read_signature,
    shown_arguments,
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Box(msgspec.Struct):
    corner: Point
    colour: Colour = Colour.RED
    tags: list[str] = []


class Node(msgspec.Struct):
    child: Node | None = None


def example(
    city: str,
    days: Annotated[int, msgspec.Meta(ge=1, le=14, description="How many days")] = 3,
    *,
    unit: Literal["C", "F"] = "C",
    points: list[Point] | None = None,
    path: Path = Path("."),
    box: Box | None = None,
) -> str:
    """Forecast the weather.

    Args:
        city: Its name,
            in English.
        days (int): Not shown: the annotation says it.
        unit: Of temperature.

    Returns:
        A text.
    """
    return city


def test_the_schema_has_types_defaults_and_descriptions() -> None:
    schema = read_signature(example).schema
    properties = schema["properties"]
    assert schema["required"] == ["city"] and schema["additionalProperties"] is False
    assert properties["city"] == {"type": "string", "description": "Its name, in English."}
    assert properties["days"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 14,
        "description": "How many days",
        "default": 3,
    }
    assert properties["unit"]["enum"] == ["C", "F"] and properties["unit"]["type"] == "string"
    assert properties["path"] == {"type": "string", "format": "path", "default": "."}
    assert "$ref" not in str(schema)


def test_arguments_arrive_as_the_annotated_types() -> None:
    values = read_signature(example).convert(
        {
            "city": "Oslo",
            "days": "5",
            "points": [{"x": 1}, {"x": "2", "y": 3}],
            "path": "data/x.csv",
            "box": {"corner": {"x": 0}, "colour": "blue"},
        }
    )
    assert values == {
        "city": "Oslo",
        "days": 5,
        "points": [Point(1), Point(2, 3.0)],
        "path": Path("data/x.csv"),
        "box": Box(Point(0), Colour.BLUE),
    }
    shown = dict(shown_arguments(values))
    assert shown["days"] == "5" and shown["path"] == '"data/x.csv"'
    assert '"colour":"blue"' in shown["box"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "argument 'city' is missing"),
        ({"city": 5}, "argument 'city': Expected `str`, got `int`"),
        ({"city": "x", "days": 20}, "argument 'days'"),
        ({"city": "x", "unit": "K"}, "argument 'unit': Invalid enum value 'K'"),
        ({"city": "x", "points": [{"y": 1}]}, "argument 'points'.*`points.0.`"),
        ({"city": "x", "box": {"corner": {"x": "z"}}}, "argument 'box'.*`box.corner.x`"),
        ({"city": "x", "path": 7}, "argument 'path': Expected `Path`"),
        ({"city": "x", "town": "y"}, "there is no argument 'town'"),
        ({"city": None}, "argument 'city'"),
    ],
)
def test_errors_name_the_argument_and_say_what_the_function_takes(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(BadArguments, match=says) as raised:
        read_signature(example).convert(wrong)
    assert str(raised.value).endswith(
        "It takes (city: str, days: int = 3, unit: Literal['C', 'F'] = 'C', "
        "points: list[Point] | None = None, "
        "path: Path = '.', box: Box | None = None)."
    )


def test_every_wrong_argument_is_named_at_once() -> None:
    with pytest.raises(BadArguments, match=r"'city'.*'days'.*'town'"):
        read_signature(example).convert({"city": 1, "days": "many", "town": 2})


def takes_rest(*args: int) -> None: ...
def takes_names(**kwargs: int) -> None: ...
def takes_lock(lock: threading.Event) -> None: ...
def takes_itself(node: Node) -> None: ...
def takes_unknown(x: Unknown) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def generates(n: int) -> Any:
    yield n


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (takes_rest, r"takes_rest\(\) takes \*args"),
        (takes_names, r"takes_names\(\) takes \*\*kwargs"),
        (takes_lock, r"takes_lock\(\) cannot be a tool because of its parameter 'lock': Event"),
        (takes_itself, r"its parameter 'node': Node contains itself"),
        (takes_unknown, r"annotations of takes_unknown\(\) cannot be read: NameError"),
        (generates, r"generates\(\) is a generator"),
        ("text", "a tool is a function, not 'text'"),
    ],
)
def test_a_bad_signature_is_an_error_that_names_function_and_parameter(function: Any, says: str) -> None:
    with pytest.raises(BadSignature, match=says):
        read_signature(function)


class Service:
    """A callable object."""

    def method(self, n: int) -> int:
        """Double it."""
        return 2 * n

    def __call__(self, n: int = 1) -> int:
        return n


def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    service = Service()
    assert read_signature(service.method).text == "(n: int)" and doc_of(service.method) == "Double it."
    assert read_signature(service).text == "(n: int = 1)"
    partial = functools.partial(example, days=2)
    assert "days: int = 2" in read_signature(partial).text
    assert doc_of(partial).startswith("Forecast the weather.")
    assert name_of(service.method, None) == "method"
    with pytest.raises(BadSignature, match="name="):
        name_of(partial, None)


def test_the_parameter_report_is_no_argument() -> None:
    def work(n: int, report: Any) -> None: ...

    signature = read_signature(work)
    assert signature.reports and [it.name for it in signature.parameters] == ["n"]
    with pytest.raises(BadArguments, match="there is no argument 'report'"):
        signature.convert({"n": 1, "report": 1})


def test_positional_arguments_are_passed_by_position() -> None:
    def work(a: int, /, b: int, *, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    signature = read_signature(work)
    positional, named = signature.bind(signature.convert({"b": 2, "a": 1, "c": 4}))
    assert (positional, named) == ((1,), {"b": 2, "c": 4}) and work(*positional, **named) == (1, 2, 4)


def test_a_parameter_without_an_annotation_takes_anything() -> None:
    def work(a, b=2): ...  # type: ignore[no-untyped-def]

    signature = read_signature(work)
    assert signature.text == "(a, b=2)"
    assert signature.convert({"a": [1, "x"]}) == {"a": [1, "x"]}


@pytest.mark.parametrize("wrap", [lambda it: [0, it], lambda it: {"a": it}], ids=["lists", "objects"])
def test_arguments_nested_too_deeply_are_refused(wrap: Any) -> None:
    def work(a: Any) -> None: ...

    value: Any = 1
    for _ in range(DEEPEST):
        value = wrap(value)
    signature = read_signature(work)
    assert signature.convert({"a": value}) == {"a": value}
    with pytest.raises(BadArguments, match=r"argument 'a' is nested in more than 100 levels"):
        signature.convert({"a": wrap(value)})


def test_a_default_that_json_cannot_express_is_left_out() -> None:
    def work(a: int = object(), b: str = "x" * 1_000) -> None: ...  # type: ignore[assignment]

    signature = read_signature(work)
    assert "default" not in signature.schema["properties"]["a"]
    assert "default" not in signature.schema["properties"]["b"]
    assert signature.text == "(a: int = …, b: str = …)" and signature.convert({}) == {}


# ---- generated signatures ---------------------------------------------------------------------------

NUMBERS = st.integers(-(2**53), 2**53)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: NUMBERS,
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(max_size=20),
    bool: st.booleans(),
    Literal["a", "b"]: st.sampled_from(["a", "b"]),
    Colour: st.sampled_from(["red", "blue"]),
    Level: st.sampled_from([1, 2]),
    Point: st.fixed_dictionaries({"x": NUMBERS}, optional={"y": NUMBERS}),
    Box: st.fixed_dictionaries({"corner": st.fixed_dictionaries({"x": NUMBERS})}),
}
"""Types and the JSON that they accept."""

NOT_ACCEPTED: dict[Any, st.SearchStrategy[Any]] = {
    int: st.sampled_from(["many", [], {}, None, 1.5]),
    float: st.sampled_from(["much", [], {}, None]),
    str: st.sampled_from([1, [], {}, None, True]),
    bool: st.sampled_from(["perhaps", [], {}, None, 7]),
    Literal["a", "b"]: st.sampled_from(["c", 1, None, []]),
    Colour: st.sampled_from(["green", 1, None, {}]),
    Level: st.sampled_from([3, "high", None, []]),
    Point: st.sampled_from([1, "x", None, [1], {}, {"x": "one"}]),
    Box: st.sampled_from([1, None, {}, {"corner": 5}, {"corner": {"x": 1}, "colour": "green"}]),
}

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name) and name != "report"
)


@st.composite
def types(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Any], st.SearchStrategy[Any]]:
    """A type, what it accepts, and what it does not."""
    kind = draw(st.sampled_from(list(VALUES)))
    good, bad = VALUES[kind], NOT_ACCEPTED[kind]
    match draw(st.sampled_from(["plain", "list", "optional", "dict"])):
        case "list":
            return list[kind], st.lists(good, max_size=3), bad.map(lambda it: [it])  # type: ignore[valid-type]
        case "optional":
            return kind | None, good | st.none(), bad.filter(lambda it: it is not None)
        case "dict":
            of = st.dictionaries(st.text(max_size=5), good, max_size=3)
            return dict[str, kind], of, bad.map(lambda it: {"k": it})  # type: ignore[valid-type]
    return kind, good, bad


@st.composite
def signatures(draw: st.DrawFn) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A function that returns its arguments, arguments that it accepts, and wrong ones for each name."""
    chosen = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    kinds = st.sampled_from([inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY])
    parameters, accepted, wrong = [], {}, {}
    for name in chosen:
        annotation, good, bad = draw(types())
        default = draw(st.sampled_from([inspect.Parameter.empty, None]))
        parameters.append(inspect.Parameter(name, draw(kinds), default=default, annotation=annotation))
        if default is inspect.Parameter.empty or draw(st.booleans()):
            accepted[name] = draw(good)
        wrong[name] = draw(bad)
    parameters.sort(key=lambda it: (it.kind, it.default is not inspect.Parameter.empty))

    def function(*args: Any, **kwargs: Any) -> Any:
        return inspect.Signature(parameters).bind(*args, **kwargs).arguments

    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {it.name: it.annotation for it in parameters}
    return function, accepted, wrong


@given(signatures(), st.data())
def test_generated_signatures_accept_what_fits_and_name_what_does_not(
    made: tuple[Any, dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    function, accepted, wrong = made
    signature = read_signature(function)
    jsonschema.Draft202012Validator.check_schema(signature.schema)
    jsonschema.validate(accepted, signature.schema)
    values = signature.convert(accepted)
    positional, named = signature.bind(values)
    assert function(*positional, **named) == values
    shown = {name: msgspec.json.decode(text) for name, text in shown_arguments(values)}
    assert signature.convert(shown) == values  # what was shown is what the function gets

    name = data.draw(st.sampled_from(sorted(wrong)))
    with pytest.raises(BadArguments, match=f"argument '{name}'"):
        signature.convert({**accepted, name: wrong[name]})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**accepted, name: wrong[name]}, signature.schema)
    with pytest.raises(BadArguments, match="there is no argument 'Extra'"):
        signature.convert({**accepted, "Extra": 1})
    for required in signature.schema.get("required", ()):
        with pytest.raises(BadArguments, match=f"argument '{required}' is missing"):
            signature.convert({it: value for it, value in accepted.items() if it != required})
