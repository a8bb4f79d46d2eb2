"""Collects the outputs of a run in a limited amount of memory.

Filled by the main thread and by threads of the code, read by the loop thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec.structs import replace

from ...core.kernel_tools.interface import Display, Failure, Output, Stream
from ...core.kernel_tools.text import plain_lines
from ...core.records import Json
from .pictures import picture_of

StreamName = Literal["stdout", "stderr"]

HEAD_CHARS = 400_000
TAIL_CHARS = 50_000
"""Characters of the tail of one stream, which `read_output` can page through."""

RUN_CHARS = 1_000_000
"""Characters of all texts of a run; beyond that, only the tails are updated."""

CHUNK_CHARS = 16_000
"""Written text is processed in pieces of this size."""

LINE_CHARS = 20_000
"""Characters of an unfinished line, which a carriage return may still erase."""

MOST_OUTPUTS = 200
"""Outputs per run: the first and the last half of them are kept."""

MIME_CHARS = 3_000_000
"""Characters of one type of a display, such as an image; ten times as many per run."""


class Outputs:
    """Collects the outputs of one run. Calls `changed` on the thread that changes them."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._first: list[_Entry] = []
        self._last: deque[_Entry] = deque()
        self._dropped = 0
        self._room = RUN_CHARS
        self._mime_room = MIME_CHARS * 10
        self._clear_next = False
        self._written: list[str] = []
        self._written_to: StreamName = "stdout"
        self._written_size = 0

    @property
    def dropped(self) -> int:
        """How many outputs were left out in the middle."""
        return self._dropped

    def snapshot(self) -> tuple[Output, ...]:
        with self._lock:
            self._settle()
            return tuple(it.record() for it in (*self._first, *self._last))

    def write(self, name: StreamName, text: str) -> None:
        with self._lock:
            if name != self._written_to:
                self._settle()
                self._written_to = name
            self._written.append(text)
            self._written_size += len(text)
            if self._written_size > CHUNK_CHARS:
                self._settle()
        self._changed()

    def display(
        self,
        data: Mapping[str, Json],
        metadata: Mapping[str, Json],
        *,
        display_id: str | None = None,
        is_result: bool = False,
        text: str | None = None,
    ) -> None:
        """Add a display. `text`: how it reads for an agent, if not as the bundle's plain text."""
        made = self._made(data, metadata, is_result)
        if text is not None:
            made = replace(made, text=text)
        with self._lock:
            self._settle()
            self._cleared()
            self._add(_Shown(made, display_id))
        self._changed()

    def update(self, display_id: str, data: Mapping[str, Json], metadata: Mapping[str, Json]) -> bool:
        """Replace the display with this id; False if it is not part of this run."""
        made = self._made(data, metadata, False)
        with self._lock:
            self._settle()
            found = [it for it in (*self._first, *self._last) if it.display_id == display_id]
            for it in found:
                it.shown = made
        if found:
            self._changed()
        return bool(found)

    def fail(self, failure: Failure) -> None:
        with self._lock:
            self._settle()
            self._cleared()
            self._add(_Shown(failure, None))
        self._changed()

    def clear(self, *, wait: bool) -> None:
        with self._lock:
            self._settle()
            self._clear_next = True
            if not wait:
                self._cleared()
        self._changed()

    # ---- with the lock held

    def _settle(self) -> None:
        """Process written text, once enough has accumulated: code prints word by word."""
        if not self._written_size:
            return
        text, self._written, self._written_size = "".join(self._written), [], 0
        self._cleared()
        last = self._newest()
        if not isinstance(last, _Text) or last.name != self._written_to:
            last = _Text(self._written_to)
            self._add(last)
        self._room -= last.add(text, self._room)

    def _cleared(self) -> None:
        if self._clear_next:
            self._clear_next = False
            self._first, self._last, self._dropped = [], deque(), 0

    def _newest(self) -> _Entry | None:
        if self._last:
            return self._last[-1]
        return self._first[-1] if self._first else None

    def _add(self, entry: _Entry) -> None:
        if len(self._first) < MOST_OUTPUTS // 2:
            self._first.append(entry)
            return
        self._last.append(entry)
        if len(self._last) > MOST_OUTPUTS // 2:
            self._last.popleft()
            self._dropped += 1

    def _made(self, data: Mapping[str, Json], metadata: Mapping[str, Json], is_result: bool) -> Display:
        kept: dict[str, Json] = {}
        dropped = []
        for mime, value in data.items():
            size = len(value) if isinstance(value, str) else 1_000
            if size > MIME_CHARS or size > self._mime_room:
                dropped.append(mime)
                continue
            self._mime_room -= size
            kept[mime] = value
        if "text/plain" in dropped and isinstance(text := data["text/plain"], str):
            kept["text/plain"] = f"{text[:10_000]}\n… {len(text) - 10_000:,} characters left out …"
        return Display(kept, dict(metadata), text_of(kept), picture_of(data), is_result, tuple(dropped))


def text_of(data: Mapping[str, Json]) -> str:
    """The text of a mime bundle: the plain text, unless it only names the class."""
    plain = data.get("text/plain")
    if isinstance(plain, str) and not plain.startswith("<IPython.core.display."):
        return plain
    for mime in ("text/markdown", "text/latex", "text/html", "image/svg+xml"):
        if isinstance(text := data.get(mime), str):
            return text
    return plain if isinstance(plain, str) else f"[{', '.join(data)}]"


class _Entry:
    """One output of a run, in its order."""

    display_id: str | None = None
    shown: Display | Failure

    def record(self) -> Output:
        return self.shown


class _Shown(_Entry):
    """A display or an error; a display with an id can be replaced."""

    def __init__(self, shown: Display | Failure, display_id: str | None) -> None:
        self.shown = shown
        self.display_id = display_id


class _Text(_Entry):
    """The text of a stream: its head, its tail, and the unfinished line."""

    def __init__(self, name: StreamName) -> None:
        self.name: StreamName = name
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._left_out = 0
        self._line = ""
        self._record: Stream | None = None

    def add(self, text: str, room: int) -> int:
        """Add text, and return by how much the kept part grew."""
        self._record = None
        text = self._line + text
        if "\r" in text:
            text = plain_lines(text)
        end = text.rfind("\n") + 1 if len(text) <= LINE_CHARS else len(text)
        self._line = text[end:]
        return self._commit(text[:end], room) if end else 0

    def _commit(self, text: str, room: int) -> int:
        kept = max(0, min(HEAD_CHARS - self._head_size, room, len(text)))
        if self._tail:
            kept = 0
        if kept:
            self._head.append(text[:kept])
            self._head_size += kept
            text = text[kept:]
        if text:
            self._tail.append(text[-TAIL_CHARS:])
            self._left_out += max(0, len(text) - TAIL_CHARS)
            self._tail_size += len(self._tail[-1])
            while self._tail_size - len(self._tail[0]) >= TAIL_CHARS:
                gone = len(self._tail.popleft())
                self._tail_size -= gone
                self._left_out += gone
        return kept

    def record(self) -> Output:
        if self._record is None:
            if len(self._head) > 1:
                self._head = ["".join(self._head)]
            tail = "".join(self._tail) + self._line
            self._record = Stream(self.name, "".join(self._head), tail, self._left_out)
        return self._record
