"""The channel to the browser: numbered batches of patches, or the whole state after one was lost.

Independent of widgets (the owner passes `send`), of the protocol and of threads: the owner calls it from one
thread and passes that thread's timer. Sends nothing until a page says hello.

Measured: one message per chunk is dropped silently above 1,000 a second; batches at 30 Hz are not, and
arrive within 17 ms. A page notices a lost batch by the gap in the numbers; the kernel notices a lost last
batch by the missing acknowledgement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ..core.page_messages import Beat, FullState, NumberedMessage, PageMessage, PatchBatch, to_wire
from ..core.patches import Patch, coalesce
from ..core.patches import to_wire as patch_to_wire

BATCH_S = 1 / 30
"""Time between batches. 60 Hz is no better; at 10 Hz users see the steps."""

BATCH_BYTES = 256 * 1024
"""Batches are split near this size, so that a page can draw between them."""

ACK_S = 2.0
"""Pages acknowledge once a second; a message without acknowledgement after this time may be lost."""

BEATS = 5
"""How often a silent page is sent the newest number, at growing intervals; a closed page never answers."""

Send = Callable[[dict[str, Any]], None]
Later = Callable[[float, Callable[[], None]], object]


class Channel:
    """Keeps all pages that show a session in step with its transcript."""

    def __init__(self, send: Send, state: Callable[[], dict[str, Any]], later: Later) -> None:
        self._send = send
        self._state = state
        self._later = later
        self._pending: list[Patch] = []
        self._flushing = False
        self._parts: Iterator[list[Any]] | None = None
        """What is still to be sent of the state. Changes since then wait for it."""
        self._held: list[NumberedMessage] = []
        """Messages that wait for it, too."""
        self._open = False
        self._seq = 0
        self._pages: dict[str, int] = {}
        """The last number that each page acknowledged; one that is up to date must not hide another's lag."""
        self._beating = False
        self._watched = 0

    @property
    def seq(self) -> int:
        """The sequence number of the newest message."""
        return self._seq

    def queue(self, patches: Sequence[Patch]) -> None:
        """Send these patches with the next batch."""
        if not self._open:
            return
        self._pending.extend(patches)
        if not self._flushing:
            self._flushing = True
            self._later(BATCH_S, self.flush)

    def hello(self, page: str = "") -> None:
        """Send the whole state to a new page, and every change from now on.

        A long one is sent a part at a time, so that everything else that the thread does goes on meanwhile.
        """
        self._open = True
        self._pages.setdefault(page, 0)
        self._pending.clear()
        state = self._state()
        self._parts = parts = _split(state["items"])
        self._number(FullState({"session": state["session"], "items": next(parts)}))
        self._send_part(parts)

    def _send_part(self, parts: Iterator[list[Any]]) -> None:
        if parts is not self._parts:
            return  # a newer state has replaced this one
        items = next(parts, None)
        if items is not None:
            self._number(PatchBatch([["add", item] for item in items]))
            self._later(0, lambda: self._send_part(parts))
            return
        self._parts = None
        held, self._held = self._held, []
        self._watch()
        self.flush()
        for message in held:
            self._number(message)

    def bye(self, page: str) -> None:
        self._pages.pop(page, None)

    def on_ack(self, seq: int, page: str = "") -> None:
        """Note that the page has received everything up to this number."""
        if self._pages.get(page, 0) < seq <= self._seq:
            self._pages[page] = seq
            if self._beating:
                self._watch()

    @property
    def _all_acknowledged(self) -> bool:
        return all(seq >= self._seq for seq in self._pages.values())

    def flush(self) -> None:
        """Send the queued patches now."""
        self._flushing = False
        if not self._pending or self._parts is not None:
            return
        patches, self._pending = coalesce(self._pending), []
        for batch in _split([patch_to_wire(patch) for patch in patches]):
            self._number(PatchBatch(batch))
        self._expect_ack()

    def notify(self, message: PageMessage) -> None:
        """Send a message that is not part of the state and may be lost."""
        if self._open:
            self._send(to_wire(message))

    def notify_reliably(self, message: NumberedMessage) -> None:
        """Send a message that is not part of the state; its loss is noticed like that of a batch."""
        if self._open and self._parts is not None:
            self._held.append(message)
        elif self._open:
            self.flush()
            self._number(message)
            self._expect_ack()

    def _number(self, message: NumberedMessage) -> None:
        self._seq += 1
        self._send({**to_wire(message), "seq": self._seq})

    # ---- a lost tail --------------------------------------------------------------------

    def _expect_ack(self) -> None:
        if not self._beating:
            self._watch()

    def _watch(self) -> None:
        """Check after ACK_S whether everything has arrived, since a page is listening."""
        self._beating = True
        self._watched += 1
        watch = self._watched
        self._later(ACK_S, lambda: self._beat(watch, 1))

    def _beat(self, watch: int, count: int) -> None:
        if watch != self._watched:
            return  # a newer watch has replaced this one
        if self._all_acknowledged or count > BEATS:
            self._beating = False
            return
        self._send(to_wire(Beat(self._seq)))
        self._later(ACK_S * 2**count, lambda: self._beat(watch, count + 1))


def _split(entries: list[Any]) -> Iterator[list[Any]]:
    """Split the entries into runs of about BATCH_BYTES; yields at least one run, which may be empty."""
    run: list[Any] = []
    size = 0
    for entry in entries:
        if size >= BATCH_BYTES:
            yield run
            run, size = [], 0
        run.append(entry)
        size += len(msgspec.json.encode(entry))
    yield run
