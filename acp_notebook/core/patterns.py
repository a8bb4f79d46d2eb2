"""Patterns that an agent made up, matched in time that cannot run away.

Knows the common part of regular expressions: letters, classes, groups, alternatives, repetition, anchors.
All ways through a pattern are followed side by side, so there is nothing to backtrack; what this does not
know (lookaround, back references), and what would take too long, is answered "cannot be told".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOST_CHARS = 1_000
"""Of a pattern."""

MOST_STATES = 2_000
"""Of a pattern with its repetitions written out."""

MOST_DEPTH = 50
"""Groups inside groups."""

MOST_STEPS = 300_000
"""Of one match: about a tenth of a second."""

Test = Callable[[str], bool]


class Unsupported(Exception):
    """Not a pattern that can be matched here."""


@dataclass(slots=True)
class _State:
    """`test`: takes a character and goes on to `out`; `at`: goes on where that holds; neither: a fork."""

    out: list[int]
    test: Test | None = None
    at: str = ""


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found anywhere in the text; None: cannot be told here."""
    try:
        states = _Builder(pattern).built()
        return _found(states, text)
    except Unsupported:
        return None


# ---- matching


def _found(states: list[_State], text: str) -> bool:
    end, steps = len(states) - 1, 0
    now: set[int] = set()
    for place in range(len(text) + 1):
        now |= _reached([0], states, text, place)
        steps += len(now) + 1
        if end in now:
            return True
        if steps > MOST_STEPS:
            raise Unsupported("it takes too long")
        if place < len(text):
            sign = text[place]
            after = [it for at in now if (test := states[at].test) and test(sign) for it in states[at].out]
            now = _reached(after, states, text, place + 1)
    return end in now


def _reached(starts: list[int], states: list[_State], text: str, place: int) -> set[int]:
    """Where one gets to without taking a character."""
    found: set[int] = set()
    left = list(starts)
    while left:
        at = left.pop()
        if at in found:
            continue
        found.add(at)
        state = states[at]
        if state.test is None and (not state.at or _holds(state.at, text, place)):
            left += state.out
    return found


def _holds(what: str, text: str, place: int) -> bool:
    if what == "^":
        return place == 0
    if what == "$":
        return place == len(text)
    before, after = text[place - 1 : place] if place else "", text[place : place + 1]
    return (_is_word(before) != _is_word(after)) == (what == "b")


# ---- building

_CLASSES: dict[str, Test] = {
    "d": lambda sign: sign in "0123456789",
    "w": lambda sign: _is_word(sign),
    "s": lambda sign: sign.isspace() or sign == "\ufeff",
}
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_HEX = {"x": 2, "u": 4}


def _is_word(sign: str) -> bool:
    return sign != "" and sign.isascii() and (sign.isalnum() or sign == "_")


def _not(test: Test) -> Test:
    return lambda sign: not test(sign)


def _is(wanted: str) -> Test:
    return lambda sign: sign == wanted


def _between(low: str, high: str) -> Test:
    return lambda sign: low <= sign <= high


class _Builder:
    """Reads a pattern once, from left to right, and leaves its states; the last one is the match."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MOST_CHARS:
            raise Unsupported("too long")
        self._pattern = pattern
        self._place = 0
        self._depth = 0
        self._states: list[_State] = []

    def built(self) -> list[_State]:
        first = self._new()
        last = self._alternatives(first)
        if self._place < len(self._pattern):
            raise Unsupported("a bracket too many")
        end = self._new()
        self._states[last].out.append(end)
        return self._states

    def _new(self, test: Test | None = None, at: str = "") -> int:
        if len(self._states) >= MOST_STATES:
            raise Unsupported("too many repetitions")
        self._states.append(_State([], test, at))
        return len(self._states) - 1

    def _link(self, start: int, end: int) -> None:
        self._states[start].out.append(end)

    def _next(self) -> str:
        return self._pattern[self._place : self._place + 1]

    def _take(self) -> str:
        sign = self._next()
        if not sign:
            raise Unsupported("it ends too early")
        self._place += 1
        return sign

    def _taken(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._place):
            return False
        self._place += len(text)
        return True

    def _alternatives(self, start: int) -> int:
        end = self._new()
        while True:
            fork = self._new()
            self._link(start, fork)
            self._link(self._sequence(fork), end)
            if not self._taken("|"):
                return end

    def _sequence(self, start: int) -> int:
        while self._next() not in ("", "|", ")"):
            start = self._repeated(start)
        return start

    def _repeated(self, start: int) -> int:
        """A piece, as often as it says; each time it is read anew, for states cannot be copied."""
        place = self._place
        head = self._new()
        self._link(start, head)
        end = self._piece(head)
        after = self._place
        least, most = self._count()
        if (least, most) == (1, 1):
            return end
        behind = self._place
        ends, at = ([start] if least == 0 else []), start
        self._states[start].out.remove(head)  # and once more from the start, with its exits
        copies = max(least, 1) if most is None else most
        for copy in range(1, copies + 1):
            self._place = place
            head = self._new()
            self._link(at, head)
            at = self._piece(head)
            assert self._place == after
            if copy >= least:
                ends.append(at)
        if most is None and copies:
            self._link(at, head)
        self._place = behind
        out = self._new()
        for end in dict.fromkeys(ends or [at]):
            self._link(end, out)
        return out

    def _count(self) -> tuple[int, int | None]:
        counts: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        sign = self._next()
        if sign in counts and sign:
            self._place += 1
            found = counts[sign]
        elif sign == "{" and (braces := self._braces()) is not None:
            found = braces
        else:
            return 1, 1
        self._taken("?")  # a lazy one finds the same
        if self._next() in ("*", "+", "?") and self._next():
            raise Unsupported("a repetition of a repetition")
        return found

    def _braces(self) -> tuple[int, int | None] | None:
        close = self._pattern.find("}", self._place)
        least, comma, most = self._pattern[self._place + 1 : max(close, 0)].partition(",")
        if close < 0 or not _is_number(least) or (most and not _is_number(most)):
            return None  # then it is a brace
        self._place = close + 1
        return int(least), int(most) if most else None if comma else int(least)

    def _piece(self, start: int) -> int:
        sign = self._take()
        if sign == "(":
            return self._group(start)
        if sign in "^$":
            return self._step(start, at=sign)
        if sign == "\\" and self._next() in ("b", "B"):
            return self._step(start, at=self._take())
        if sign in "*+?":
            raise Unsupported("nothing to repeat")
        if sign == ".":
            return self._step(start, lambda it: it not in "\n\r\u2028\u2029")
        return self._step(start, self._class() if sign == "[" else self._one(sign))

    def _step(self, start: int, test: Test | None = None, at: str = "") -> int:
        state, end = self._new(test, at), self._new()
        self._link(start, state)
        self._link(state, end)
        return end

    def _group(self, start: int) -> int:
        if self._taken("?") and not self._taken(":"):
            name = self._pattern[self._place : self._place + 2]
            if not name.startswith("<") or name in ("<=", "<!"):
                raise Unsupported("lookaround, or flags")
            self._place = self._pattern.find(">", self._place) + 1 or len(self._pattern)
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise Unsupported("too deep")
        end = self._alternatives(start)
        self._depth -= 1
        if not self._taken(")"):
            raise Unsupported("a bracket too few")
        return end

    def _one(self, sign: str) -> Test:
        if sign != "\\":
            return _is(sign)
        escaped = self._escape()
        return _is(escaped) if isinstance(escaped, str) else escaped

    def _escape(self) -> str | Test:
        """The character that it stands for, or the class."""
        sign = self._take()
        if sign.lower() in _CLASSES:
            test = _CLASSES[sign.lower()]
            return test if sign.islower() else _not(test)
        if sign in _HEX:
            digits = self._pattern[self._place : self._place + _HEX[sign]]
            if len(digits) < _HEX[sign] or not all(it in "0123456789abcdefABCDEF" for it in digits):
                raise Unsupported("an unknown escape")
            self._place += _HEX[sign]
            return chr(int(digits, 16))
        if sign in _SIGNS:
            return _SIGNS[sign]
        if sign.isascii() and sign.isalnum():
            raise Unsupported("a back reference, or an unknown escape")
        return sign

    def _class(self) -> Test:
        negative = self._taken("^")
        tests = tuple(self._members())

        def test(sign: str) -> bool:
            return any(it(sign) for it in tests) != negative

        return test

    def _members(self) -> Iterator[Test]:
        while (sign := self._take()) != "]":
            low = self._escape() if sign == "\\" else sign
            more = self._pattern[self._place : self._place + 2]
            if isinstance(low, str) and more[:1] == "-" and more[1:] not in ("", "]"):
                self._place += 1
                sign = self._take()
                high = self._escape() if sign == "\\" else sign
                if not isinstance(high, str) or high < low:
                    raise Unsupported("a range without an end")
                yield _between(low, high)
            else:
                yield _is(low) if isinstance(low, str) else low


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 5
