"""The wire to the browser: patches in batches with sequence numbers, the whole state when one is missing.

Knows no widget (it is given `send`), no protocol and no thread: whoever owns it calls it from one thread
and gives it that thread's timer. Nothing is sent before somebody has said hello.

Measured: a message per chunk is dropped silently above 1,000 a second; batches at 30 Hz are not, and
arrive within 17 ms. A batch that was lost all the same shows by its number; one that was lost at the
end, by the missing acknowledgement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from ..core.patches import Patch, coalesce, to_wire

BATCH_S = 1 / 30
"""Between batches. 60 Hz is no better, 10 Hz is seen."""

BATCH_BYTES = 256 * 1024
"""A batch is split near this size, so that a page can draw in between."""

ACK_S = 2.0
"""Pages acknowledge once a second; a tail that is not acknowledged after this may be lost."""

BEATS = 5
"""How often a silent page is told the newest number, at growing intervals; a closed one never answers."""

Send = Callable[[dict[str, Any]], None]
Later = Callable[[float, Callable[[], None]], object]


class Channel:
    """One session's line to all pages that show it."""

    def __init__(self, send: Send, state: Callable[[], dict[str, Any]], later: Later) -> None:
        self._send = send
        self._state = state
        self._later = later
        self._pending: list[Patch] = []
        self._flushing = False
        self._open = False
        self._seq = 0
        self._pages: dict[str, int] = {}
        """What each page has acknowledged: one that has all must not hide that another has not."""
        self._beating = False
        self._watched = 0

    @property
    def seq(self) -> int:
        """The number of the newest message."""
        return self._seq

    def changed(self, patches: Sequence[Patch]) -> None:
        """The state has changed by these; they go out with the next batch."""
        if not self._open:
            return
        self._pending.extend(patches)
        if not self._flushing:
            self._flushing = True
            self._later(BATCH_S, self.flush)

    def hello(self, page: str = "") -> None:
        """A page is there: it gets the whole state, and from now on every change."""
        self._open = True
        self._pages.setdefault(page, 0)
        self._pending.clear()
        state = self._state()
        first, *rest = _split(state["items"])
        self._number({"t": "state", "state": {"session": state["session"], "items": first}})
        for items in rest:
            self._number({"t": "patches", "patches": [["add", item] for item in items]})
        self._watch()

    def bye(self, page: str) -> None:
        self._pages.pop(page, None)

    def acked(self, seq: int, page: str = "") -> None:
        """Everything up to this number has arrived in that page."""
        if self._pages.get(page, 0) < seq <= self._seq:
            self._pages[page] = seq
            if self._beating:
                self._watch()

    @property
    def _all_heard(self) -> bool:
        return all(seq >= self._seq for seq in self._pages.values())

    def flush(self) -> None:
        """Send what has changed."""
        self._flushing = False
        if not self._pending:
            return
        patches, self._pending = coalesce(self._pending), []
        for batch in _split([to_wire(patch) for patch in patches]):
            self._number({"t": "patches", "patches": batch})
        self._expect_ack()

    def tell(self, message: dict[str, Any]) -> None:
        """A message beside the state, which may be lost."""
        if self._open:
            self._send(message)

    def tell_surely(self, message: dict[str, Any]) -> None:
        """A message beside the state whose loss is noticed, as that of a batch is."""
        if self._open:
            self.flush()
            self._number(message)
            self._expect_ack()

    def _number(self, message: dict[str, Any]) -> None:
        self._seq += 1
        self._send({**message, "seq": self._seq})

    # ---- a lost tail --------------------------------------------------------------------

    def _expect_ack(self) -> None:
        if not self._beating:
            self._watch()

    def _watch(self) -> None:
        """Look in a while, from now on, whether everything has arrived: a page is known to listen."""
        self._beating = True
        self._watched += 1
        watch = self._watched
        self._later(ACK_S, lambda: self._beat(watch, 1))

    def _beat(self, watch: int, count: int) -> None:
        if watch != self._watched:
            return  # it was begun anew since
        if self._all_heard or count > BEATS:
            self._beating = False
            return
        self._send({"t": "beat", "seq": self._seq})
        self._later(ACK_S * 2**count, lambda: self._beat(watch, count + 1))


def _split(entries: list[Any]) -> Iterable[list[Any]]:
    """The entries in runs of about BATCH_BYTES; at least one run, which may be empty."""
    run: list[Any] = []
    size = 0
    for entry in entries:
        if size >= BATCH_BYTES:
            yield run
            run, size = [], 0
        run.append(entry)
        size += len(msgspec.json.encode(entry))
    yield run
