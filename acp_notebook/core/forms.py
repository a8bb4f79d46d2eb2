"""Forms that an agent asks the user to fill in, and the validation of the answers.

Pure; knows neither the protocol's names nor who answers. The kernel validates the answers of a page and of a
user's function alike; a page only reports simple errors sooner.
"""

# No `from __future__ import annotations`: msgspec takes twice as long to read annotations that are text.

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from .patterns import pattern
from .records import Choice, Json, Record, written

KINDS = ("string", "number", "integer", "boolean", "select", "multiselect")
"""The types that can be filled in; a field of any other type is "unknown", and shown as received."""

MOST_FIELDS = 200
"""Fields of a form: nobody fills in more, and the page stays fast."""

MOST_CHOICES = 2_000
"""Choices of all fields together."""

MOST_CHARS = 100_000
"""Characters of a text that the user fills in."""

HIDDEN = "••••"
"""Replaces a secret wherever an answer is kept."""

INT64 = 2**63

_DATE = pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = pattern(
    r"[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?"
)
_URI = pattern(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
_EMAIL = pattern(r"[^@\s]+@[^@\s]+")


class Field(Record, frozen=True):
    """A field of a form. `least` and `most` bound a number, the length of a text, or the count of choices."""

    name: str
    type: str
    title: str | None = None
    description: str | None = None
    required: bool = written(False)
    default: Json = None
    choices: tuple[Choice, ...] = written(())
    format: str | None = None
    pattern: str | None = None
    """Shown, but only the agent checks it: a malicious pattern can keep Python's `re` busy for hours."""
    least: float | None = None
    most: float | None = None
    secret: bool = written(False)
    """Neither kept, nor shown while the user types it."""
    raw: Json = None
    """The field as received, if its type is unknown."""

    @property
    def label(self) -> str:
        return self.title or self.name


class Form(Struct, frozen=True):
    fields: tuple[Field, ...] = ()
    title: str | None = None
    description: str | None = None
    problem: str | None = None
    """Why it cannot be shown."""


class Misfit(ValueError):
    """The value does not fit its field; the message says why."""


def checked(fields: Sequence[Field], values: Mapping[str, Any]) -> tuple[dict[str, Json], dict[str, str]]:
    """The values to send, and the errors by field.

    A missing field gets its default, if it has one; None leaves the field out.
    """
    found: dict[str, Json] = {}
    wrong = {str(name): "the form has no such field" for name in values if name not in _names(fields)}
    for field in fields:
        value = values.get(field.name, field.default)
        try:
            if value is not None:
                found[field.name] = fitting(field, value)
            elif field.required:
                raise Misfit("this field is required")
        except Misfit as misfit:
            wrong[field.name] = str(misfit)
    return found, wrong


def _names(fields: Sequence[Field]) -> set[str]:
    return {field.name for field in fields}


def kept(fields: Sequence[Field], values: Mapping[str, Json]) -> dict[str, Json]:
    """The values for the transcript: secrets are hidden."""
    secret = {field.name for field in fields if field.secret}
    return {name: HIDDEN if name in secret else value for name, value in values.items()}


def unanswerable(fields: Sequence[Field]) -> str | None:
    """Why a user cannot fill in the form, or None."""
    needed = [field for field in fields if field.type not in KINDS and field.required]
    return f"this client cannot fill in “{needed[0].label}”, which is needed" if needed else None


def fitting(field: Field, value: Any) -> Json:
    """The value to send; raises Misfit."""
    match field.type:
        case "string":
            return _text(field, value)
        case "number" | "integer":
            return _number(field, value)
        case "boolean":
            if isinstance(value, bool):
                return value
            raise Misfit("it can be true or false")
        case "select":
            return _choice(field, value)
        case "multiselect":
            return _several(field, value)
    if isinstance(value, str | bool | int | float) or _texts(value):
        return list(value) if isinstance(value, list | tuple) else value
    raise Misfit("it can be a text, a number, true or false, or a list of texts")


def _texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(it, str) for it in value)


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit("it must be a text")
    if len(value) > MOST_CHARS:
        raise Misfit(f"it is longer than {MOST_CHARS:,} characters")
    if field.least is not None and len(value) < field.least:
        raise Misfit(f"at least {_many(field.least, 'character')}")
    if field.most is not None and len(value) > field.most:
        raise Misfit(f"at most {_many(field.most, 'character')}")
    if field.format in _FORMATS and not _FORMATS[field.format][0](value):
        raise Misfit(_FORMATS[field.format][1])
    return value


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


def _is_time(text: str) -> bool:
    return _is_date(text[:10]) and _TIME.fullmatch(text[10:]) is not None


_FORMATS: dict[str | None, tuple[Callable[[str], bool], str]] = {
    "email": (lambda text: _EMAIL.fullmatch(text) is not None, "an e-mail address, such as name@example.org"),
    "uri": (lambda text: _URI.fullmatch(text) is not None, "an address, such as https://example.org"),
    "date": (_is_date, "a date, such as 2026-01-31"),
    "date-time": (_is_time, "a date and time, such as 2026-01-31T09:30:00Z"),
}


def _number(field: Field, value: Any) -> int | float:
    whole = field.type == "integer"
    what = "a whole number" if whole else "a number"
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError
        number: int | float = _index(value)
    except (TypeError, ValueError, OverflowError):
        raise Misfit(f"it must be {what}") from None
    if not math.isfinite(number) or (whole and number != int(number)):
        raise Misfit(f"it must be {what}")
    number = int(number) if whole else number
    if isinstance(number, int) and not -INT64 <= number < INT64:
        raise Misfit("the number is too large")
    if field.least is not None and number < field.least:
        raise Misfit(f"at least {_plain(field.least)}")
    if field.most is not None and number > field.most:
        raise Misfit(f"at most {_plain(field.most)}")
    return number


def _index(value: Any) -> int | float:
    """Convert a number of any type, such as NumPy's, to a Python number."""
    try:
        return operator.index(value)
    except TypeError:
        return float(value)


def _choice(field: Field, value: Any) -> str:
    if isinstance(value, str) and any(choice.value == value for choice in field.choices):
        return value
    some = ", ".join(choice.value for choice in field.choices[:8])
    raise Misfit(f"one of {some}{', …' if len(field.choices) > 8 else ''}")


def _several(field: Field, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise Misfit("a list of choices")
    chosen = list(dict.fromkeys(_choice(field, it) for it in value))
    if field.least is not None and len(chosen) < field.least:
        raise Misfit(f"choose at least {_plain(field.least)}")
    if field.most is not None and len(chosen) > field.most:
        raise Misfit(f"choose at most {_plain(field.most)}")
    return chosen


def _plain(number: float) -> str:
    return f"{number:g}" if number != int(number) else str(int(number))


def _many(number: float, what: str) -> str:
    return f"{_plain(number)} {what}{'s' * (number != 1)}"
