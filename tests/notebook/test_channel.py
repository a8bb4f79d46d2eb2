"""The channel to the browser, with a model of the page and of time."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core import events as ev
from acp_notebook.core.page_messages import IntentRefused, StaticOutput
from acp_notebook.core.patches import State, from_wire
from acp_notebook.core.records import Text
from acp_notebook.core.transcript import Transcript
from acp_notebook.notebook.channel import ACK_S, BATCH_BYTES, BATCH_S, BEATS, Channel
from tests.core.strategies import events

Message = dict[str, Any]


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def later(self, seconds: float, function: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._numbers), function))

    def pass_(self, seconds: float) -> None:
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            self.now, _, function = heapq.heappop(self._due)
            function()
        self.now = end

    @property
    def idle(self) -> bool:
        return not self._due


class Kernel:
    """A transcript and its channel; sent messages go to `sent`."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.sent: list[Message] = []
        self.transcript = Transcript()
        self.channel = Channel(self._send, self.transcript.plain, self.clock.later)

    def _send(self, message: Message) -> None:
        self.sent.append(json.loads(json.dumps(message)))

    def happen(self, *some: ev.Event) -> None:
        for event in some:
            self.channel.queue(self.transcript.apply(event))

    def say(self, *texts: str) -> None:
        self.happen(*[ev.MessageChunk("agent", Text(text)) for text in texts])

    def take(self) -> list[Message]:
        sent, self.sent = self.sent, []
        return sent

    def kinds(self) -> list[str]:
        return [message["t"] for message in self.take()]


class Page:
    """A minimal model of js/src/store.ts and link.ts."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.have = 0
        self.asked = True  # a hello is on its way

    def receive(self, message: Message) -> Message | None:
        match message:
            case {"t": "state", "seq": seq, "state": state}:
                self.state, self.have, self.asked = State.from_plain(state), seq, False
            case {"t": "patches", "seq": seq, "patches": patches} if not self.asked:
                if seq != self.have + 1:
                    return self._ask()
                assert self.state is not None
                for patch in patches:
                    self.state.apply(from_wire(patch))
                self.have = seq
            case {"t": "beat", "seq": seq} if self.asked or seq > self.have:
                return self._ask()
        return None

    def _ask(self) -> Message:
        self.asked = True
        return {"t": "resync", "have": self.have}

    @property
    def plain(self) -> Any:
        return None if self.state is None else self.state.plain()


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel()
    kernel.happen(ev.TurnStarted((Text("go"),)))
    return kernel


@pytest.fixture
def open_kernel(kernel: Kernel) -> Kernel:
    kernel.channel.hello()
    kernel.take()
    return kernel


def test_nothing_is_sent_before_a_hello(kernel: Kernel) -> None:
    kernel.say("a", "b")
    kernel.channel.flush()
    kernel.channel.notify(IntentRefused("x"))
    kernel.clock.pass_(1000)
    assert kernel.sent == []
    assert kernel.clock.idle


def test_a_hello_is_answered_with_the_current_state(kernel: Kernel) -> None:
    kernel.say("a")
    kernel.channel.hello()
    [message] = kernel.take()
    assert message == {"t": "state", "state": kernel.transcript.plain(), "seq": 1}


def test_queued_patches_are_in_the_state_and_not_sent_again(open_kernel: Kernel) -> None:
    open_kernel.say("a")
    open_kernel.channel.hello()
    open_kernel.take()
    open_kernel.clock.pass_(BATCH_S)
    assert open_kernel.take() == []


def test_many_changes_are_one_batch(open_kernel: Kernel) -> None:
    open_kernel.say(*"hello")
    assert open_kernel.take() == []
    open_kernel.clock.pass_(BATCH_S)
    [message] = open_kernel.take()
    assert message["t"] == "patches"
    assert message["seq"] == 2
    [[word, item]] = message["patches"]
    assert (word, item["content"]) == ("add", [{"type": "text", "text": "hello"}])


def test_batches_are_numbered_without_a_gap(open_kernel: Kernel) -> None:
    for text in "abc":
        open_kernel.say(text)
        open_kernel.clock.pass_(BATCH_S)
    assert [message["seq"] for message in open_kernel.take()] == [2, 3, 4]
    assert open_kernel.channel.seq == 4


def test_a_flush_sends_at_once_and_only_once(open_kernel: Kernel) -> None:
    open_kernel.say("a")
    open_kernel.channel.flush()
    assert open_kernel.kinds() == ["patches"]
    open_kernel.channel.flush()
    open_kernel.clock.pass_(BATCH_S)
    assert open_kernel.take() == []


def test_a_message_outside_the_state_has_no_number(open_kernel: Kernel) -> None:
    open_kernel.channel.notify(IntentRefused("x"))
    assert open_kernel.take() == [{"t": "refused", "what": "x"}]


def test_a_large_batch_is_split_and_arrives_completely(open_kernel: Kernel) -> None:
    page = Page()
    open_kernel.channel.hello()
    for number in range(20):
        open_kernel.happen(ev.NoticeGiven("info", f"{number}", "x" * 50_000))
    open_kernel.channel.flush()
    sent = open_kernel.take()
    assert len(sent) > 3
    assert all(len(msgspec.json.encode(message)) < BATCH_BYTES + 60_000 for message in sent)
    assert [page.receive(message) for message in sent] == [None] * len(sent)
    assert page.plain == open_kernel.transcript.plain()


def test_a_large_state_is_split_and_arrives_completely(kernel: Kernel) -> None:
    page = Page()
    for number in range(20):
        kernel.happen(ev.NoticeGiven("info", f"{number}", "x" * 50_000))
    kernel.channel.hello()
    kernel.clock.pass_(0)
    sent = kernel.take()
    assert [message["t"] for message in sent] == ["state"] + ["patches"] * (len(sent) - 1)
    assert len(sent) > 3
    assert all(len(msgspec.json.encode(message)) < BATCH_BYTES + 60_000 for message in sent)
    for message in sent:
        assert page.receive(message) is None
    assert page.plain == kernel.transcript.plain()


def test_what_happens_while_a_large_state_is_sent_follows_it(kernel: Kernel) -> None:
    page = Page()
    for number in range(20):
        kernel.happen(ev.NoticeGiven("info", f"{number}", "x" * 50_000))
    output = StaticOutput("t1", {})
    kernel.channel.hello()
    kernel.say("a")
    kernel.channel.flush()
    kernel.channel.notify_reliably(output)
    before = len(kernel.sent)
    kernel.clock.pass_(0)
    sent = kernel.take()
    assert before < 3  # the rest is sent when the thread has done what else it has to do
    assert [message["t"] for message in sent[-2:]] == ["patches", "static"]
    for message in sent[:-1]:
        assert page.receive(message) is None
    assert page.plain == kernel.transcript.plain()


def test_a_state_replaces_one_that_is_still_being_sent(kernel: Kernel) -> None:
    page = Page()
    for number in range(20):
        kernel.happen(ev.NoticeGiven("info", f"{number}", "x" * 50_000))
    kernel.channel.hello()
    kernel.say("a")
    kernel.channel.hello("other")
    kernel.clock.pass_(BATCH_S)
    for message in kernel.take():
        assert page.receive(message) is None
    assert page.plain == kernel.transcript.plain()


def test_beats_stop_when_everything_is_acknowledged(open_kernel: Kernel) -> None:
    open_kernel.channel.on_ack(open_kernel.channel.seq)
    open_kernel.clock.pass_(1000)
    assert open_kernel.take() == []
    assert open_kernel.clock.idle


def test_a_silent_page_gets_the_newest_number_a_few_times(open_kernel: Kernel) -> None:
    open_kernel.clock.pass_(ACK_S)
    assert open_kernel.take() == [{"t": "beat", "seq": 1}]
    open_kernel.clock.pass_(10_000)
    assert open_kernel.kinds() == ["beat"] * (BEATS - 1)
    assert open_kernel.clock.idle


def test_beats_begin_again_with_the_next_change(open_kernel: Kernel) -> None:
    open_kernel.clock.pass_(10_000)
    open_kernel.take()
    open_kernel.say("a")
    open_kernel.clock.pass_(BATCH_S + ACK_S)
    assert open_kernel.kinds() == ["patches", "beat"]


@pytest.mark.parametrize("sign", ["hello", "ack"])
def test_a_reloaded_page_is_watched_like_a_new_one(open_kernel: Kernel, sign: str) -> None:
    open_kernel.clock.pass_(ACK_S * 2**BEATS)  # the next beat, if any, is a minute away
    open_kernel.take()
    if sign == "hello":
        open_kernel.channel.hello()
    else:
        open_kernel.channel.on_ack(1)
    open_kernel.say("a")
    open_kernel.channel.flush()
    open_kernel.take()
    open_kernel.clock.pass_(ACK_S)
    assert open_kernel.take() == [{"t": "beat", "seq": open_kernel.channel.seq}]


def test_a_number_that_was_never_sent_is_not_an_acknowledgement(open_kernel: Kernel) -> None:
    open_kernel.channel.on_ack(10**9)
    open_kernel.say("a")
    open_kernel.clock.pass_(BATCH_S + ACK_S)
    assert "beat" in open_kernel.kinds()


moves = st.one_of(
    events,
    events,
    st.just("flush"),
    st.just("hello"),
    st.just("wait"),
    st.just("ack"),
    st.just("lose"),
    st.just("deliver"),
)


@given(st.lists(moves, max_size=40), st.booleans())
def test_a_page_ends_with_the_kernels_state_whatever_was_lost(moves: list[Any], opened: bool) -> None:
    kernel, page = Kernel(), Page()
    replies: list[Message] = []

    def deliver() -> None:
        for message in kernel.take():
            reply = page.receive(message)
            if reply is not None:
                replies.append(reply)

    def answer() -> None:
        while replies:
            replies.clear()
            kernel.channel.hello()
            deliver()

    if opened:
        kernel.channel.hello()
    for move in moves:
        match move:
            case "flush":
                kernel.channel.flush()
            case "hello":
                kernel.channel.hello()
            case "wait":
                kernel.clock.pass_(BATCH_S)
            case "ack":
                kernel.channel.on_ack(page.have)
            case "lose":
                kernel.take()
            case "deliver":
                deliver()
                if page.state is not None and not replies and kernel.channel.seq == page.have:
                    kernel.channel.flush()
                    deliver()
                    assert page.plain == kernel.transcript.plain()
            case event:
                kernel.happen(event)
    if not opened and "hello" not in moves:
        assert kernel.take() == []
        kernel.channel.hello()
    # From here on nothing is lost; the beats make the page notice what was.
    for _ in range(BEATS + 2):
        kernel.clock.pass_(ACK_S)
        deliver()
        answer()
        kernel.channel.on_ack(page.have)
    assert page.plain == kernel.transcript.plain()
    kernel.clock.pass_(10_000)
    assert kernel.clock.idle


def test_an_up_to_date_page_does_not_hide_one_that_lags(open_kernel: Kernel) -> None:
    channel = open_kernel.channel
    channel.on_ack(channel.seq)
    channel.hello("other")
    channel.on_ack(channel.seq)
    open_kernel.take()
    open_kernel.clock.pass_(ACK_S)
    assert open_kernel.kinds() == ["beat"]
    channel.on_ack(channel.seq, "other")
    open_kernel.clock.pass_(10_000)
    assert open_kernel.take() == []


def test_a_page_that_said_bye_is_not_waited_for(open_kernel: Kernel) -> None:
    channel = open_kernel.channel
    channel.hello("other")
    channel.on_ack(channel.seq)
    channel.bye("other")
    open_kernel.take()
    open_kernel.clock.pass_(10_000)
    assert open_kernel.take() == []


def test_a_static_output_follows_its_patches_and_its_loss_is_noticed(open_kernel: Kernel) -> None:
    channel = open_kernel.channel
    channel.on_ack(channel.seq)
    open_kernel.take()
    open_kernel.say("a")
    channel.notify_reliably(StaticOutput("t1", {}))
    batch, static = open_kernel.take()
    assert (batch["t"], static["t"]) == ("patches", "static") and static["seq"] == batch["seq"] + 1
    open_kernel.clock.pass_(ACK_S)
    assert open_kernel.take() == [{"t": "beat", "seq": static["seq"]}]
