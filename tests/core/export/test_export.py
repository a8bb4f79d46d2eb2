"""A conversation as markdown, HTML and text; hostile text stays text. UPDATE_GOLDEN=1 rewrites the golden
files."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from acp_notebook.core import events as ev
from acp_notebook.core.changes import AlsoChanged, FileChange, Hunk, unified_diff
from acp_notebook.core.escaping import Escaper
from acp_notebook.core.export import to_html, to_markdown, to_text
from acp_notebook.core.export.bounds import pretty_json
from acp_notebook.core.export.links import is_link
from acp_notebook.core.export.markdown_safety import confined
from acp_notebook.core.forms import Field
from acp_notebook.core.records import (
    Audio,
    Choice,
    Diff,
    Image,
    Location,
    Option,
    PlanEntry,
    Resource,
    ResourceLink,
    Terminal,
    Text,
    UnknownContent,
)
from acp_notebook.core.snapshot import (
    Changes,
    Compaction,
    Elicitation,
    Item,
    Message,
    Notice,
    Plan,
    Question,
    TerminalRun,
    ToolCall,
    TurnStart,
    Unknown,
)
from acp_notebook.core.transcript import Transcript

GOLDEN = Path(__file__).parent / "golden"
CWD = "/home/someone/project"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()
ALL: dict[str, Callable[..., str]] = {"md": to_markdown, "html": to_html, "txt": to_text}
every_format = pytest.mark.parametrize("write", ALL.values(), ids=ALL.keys())


# ---- one rich conversation --------------------------------------------------------------------


def _opening(tag: str) -> list[ev.Event]:
    prompt = (
        Text("Fix the *slow* part.\nSee below."),
        Resource(f"file://{CWD}/etl.py", text="import this\n"),
    )
    return [
        ev.NoticeGiven("warning", "No sandbox here", "Commands run as you.", "client"),
        ev.TurnStarted(prompt),
        ev.MessageChunk("thought", Text("Where is it slow?\n\nPerhaps in the loop.")),
        ev.MessageChunk("agent", Text("I **look** at it in `" + CWD + "/etl.py`.\n\n")),
        ev.MessageChunk("agent", Text("| a | b |\n|---|---|\n| 1 | ~~2~~ |\n")),
        ev.PlanReplaced(
            (
                PlanEntry("Measure", "high", "completed"),
                PlanEntry("Change", "medium", "in_progress"),
                PlanEntry("Tell", "low", "pending"),
            ),
            id=f"plan-{tag}",
        ),
        ev.ToolChanged(
            f"read-{tag}",
            title=f"Read {CWD}/etl.py",
            kind="read",
            status="completed",
            content=(Text("```python\nfor x in y:\n    f(x)\n```"),),
            locations=(Location(f"{CWD}/etl.py", 3), Location("/etc/hosts")),
        ),
    ]


def _middle(tag: str) -> list[ev.Event]:
    options = (Option(f"yes-{tag}", "Allow", "allow_once"), Option(f"no-{tag}", "Reject", "reject_once"))
    diff = Diff(f"{CWD}/etl.py", "a\nb2\nc\n", "a\nb\nc\n")
    return [
        ev.ToolChanged(
            f"edit-{tag}",
            title=f"Write {CWD}/etl.py",
            kind="edit",
            content=(diff, Diff(f"{CWD}/new.txt", "hi\n")),
        ),
        ev.QuestionAsked(f"ask-{tag}", f"edit-{tag}", options),
        ev.QuestionSettled(f"ask-{tag}", f"yes-{tag}", "policy", "edits are allowed"),
        ev.ToolChanged(f"edit-{tag}", status="completed"),
        ev.ToolChanged(
            f"run-{tag}",
            title="`make\tcheck`",
            kind="execute",
            status="failed",
            content=(Text("\x1b[31mred\x1b[0m"), Terminal(f"term-{tag}")),
        ),
        ev.ToolChanged(
            f"other-{tag}",
            title="Look",
            kind="gaze",
            status="completed",
            content=(
                Image(PNG, "image/png"),
                Image("PHN2Zz4=", "image/svg+xml"),
                Audio("AAAA", "audio/wav"),
                ResourceLink("https://example.org/a?b=1&c=2", "page", description="a page", size=1200),
                ResourceLink("javascript:alert(1)", "trap"),
                Resource("data.bin", blob="AAAA", mime_type="application/octet-stream"),
                UnknownContent({"type": "hologram", "toolCallId": f"other-{tag}", "depth": 3}),
            ),
        ),
    ]


def _closing(tag: str) -> list[ev.Event]:
    return [
        ev.CompactionChanged(f"comp-{tag}", "completed", summary=(Text("We *looked*."),)),
        ev.UnknownReceived(
            "session/dance", {"sessionId": f"session-{tag}", "steps": [1, 2], "startedAt": tag}
        ),
        ev.NoticeGiven("info", "Nearly there"),
        ev.ToolChanged(f"last-{tag}", title="Wait", kind="other"),
        ev.TurnCancelling(),
        ev.TurnEnded("done", "cancelled"),
        ev.TurnStarted((Text("Again"),)),
        ev.QuestionAsked(f"late-{tag}", "nothing", ()),
        ev.TurnEnded("failed", error="The agent died.\nstderr: boom"),
        ev.TurnStarted(()),
        ev.MessageChunk("user", Text("one more thing")),
    ]


def conversation(tag: str = "1") -> tuple[Item, ...]:
    transcript = Transcript()
    transcript.apply_all([*_opening(tag), *_middle(tag), *_closing(tag)])
    return transcript.snapshot().items


@pytest.mark.parametrize("kind", ALL)
def test_a_rich_conversation_matches_the_golden_file(kind: str) -> None:
    written = ALL[kind](conversation(), cwd=CWD, title="A <rich> conversation")
    path = GOLDEN / f"rich.{kind}"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(written, encoding="utf-8")
    assert written == path.read_text(encoding="utf-8")


@every_format
def test_other_ids_give_the_same_document(write: Callable[..., str]) -> None:
    first, second = (write(conversation(tag), cwd=CWD) for tag in ("af0c9e", "77b1d2"))
    assert first == second
    assert "af0c9e" not in first
    assert not re.search(r"\bk\d+\b", first)


@every_format
def test_the_working_directory_does_not_appear(write: Callable[..., str]) -> None:
    assert CWD not in write(conversation(), cwd=CWD)
    assert CWD in write(conversation())


@every_format
def test_no_items_give_a_document(write: Callable[..., str]) -> None:
    assert "None" not in write([])
    check_html(to_html([]))


# ---- what it says --------------------------------------------------------------------------------


def turn(status: str = "done", **fields: Any) -> TurnStart:
    return TurnStart("k1", "k1", 1, status, (Text("do it"),), **fields)


def tool(*content: Any, title: str = "T", status: str = "completed", **fields: Any) -> ToolCall:
    return ToolCall("k2", "k1", "id-of-call", title, fields.pop("kind", "other"), status, content, **fields)


def seen(code_point: str) -> str:
    return f"\u2039U+{code_point}\u203a"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (turn(stop_reason="end_turn"), None),
        (turn(stop_reason="cancelled"), "The turn was cancelled."),
        (turn(stop_reason="refusal"), "refused"),
        (turn(stop_reason="max_tokens"), "tokens"),
        (turn(stop_reason="max_turn_requests"), "requests"),
        (turn(stop_reason="out of tea"), "The turn ended: out of tea."),
        (turn("failed", error="it broke"), "The turn failed: it broke"),
        (turn("abandoned"), "abandoned"),
        (turn("running"), "Still running."),
        (turn("running", cancelling=True), "being cancelled"),
        (turn("history"), None),
        (turn("sideways"), "sideways"),
    ],
)
def test_a_turn_that_did_not_end_normally_says_so_last(item: TurnStart, said: str | None) -> None:
    message = Message("k2", "k1", "agent", (Text("my answer"),))
    after = to_text([item, message]).split("my answer")[1].strip()
    assert (said in after) if said else (after == "")


def test_each_ending_precedes_the_next_turn() -> None:
    text = to_text([turn(stop_reason="refusal"), turn("running")])
    assert text.index("refused") < text.rindex("You:") < text.index("Still running")


@pytest.mark.parametrize("write", [to_text, to_markdown, to_html])
def test_changed_files_are_at_the_end_of_their_turn(write: Callable[..., str]) -> None:
    one, other = (FileChange("f1", f"/w/{name}.py", "modified") for name in ("one", "other"))
    first = [ev.TurnStarted((Text("do it"),), "t1"), said("before"), ev.ChangesReplaced("k1", (one,))]
    second = [ev.TurnStarted((Text("more"),), "t2"), said("in the sec")]
    transcript = Transcript()
    transcript.apply_all([*first, said("after"), ev.TurnEnded("done", "refusal"), *second])
    key = transcript.snapshot().items[-1].turn or ""
    late = [ev.ChangesReplaced(key, (other,)), said("ond turn"), ev.TurnEnded("done", "end_turn")]
    transcript.apply_all(late)
    text = write(transcript.snapshot().items)
    places = [text.index(it) for it in ("beforeafter", "one.py", "refused", "in the second turn", "other.py")]
    assert places == sorted(places)


def said(text: str) -> ev.Event:
    return ev.MessageChunk("agent", Text(text))


@pytest.mark.parametrize("write", [to_text, to_markdown, to_html])
def test_files_that_another_agent_changed_are_listed_under_its_name(write: Callable[..., str]) -> None:
    theirs = AlsoChanged((FileChange("f1", "/w/a.py", "created", via="other", by="kimi"),), by="kimi")
    text = write([Changes("c", "t1", also=(theirs,))])
    assert re.search(r"Changed in another session by:.*kimi.*Created:.*a\.py", text, re.DOTALL)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"status": "cancelled", "by": "agent"}, "cancelled by agent"),
        ({"status": "answered", "answer": "o1", "by": "user"}, "Sure by you"),
        (
            {"status": "answered", "answer": "o1", "by": "policy", "reason": "rule 3"},
            "Sure by policy: rule 3",
        ),
        ({"status": "answered", "answer": "o9"}, "an answer that was not offered"),
    ],
)
def test_a_question_says_who_answered_what(fields: dict[str, Any], said: str) -> None:
    question = Question("k3", "k1", "q-id", "k2", (Option("o1", "Sure", "allow_once"),), **fields)
    assert to_text([tool(title="Delete all"), question]) == f"✓ Delete all — {said}\n"


def test_an_open_question_says_so() -> None:
    question = Question("k3", "k1", "q-id", "k2", (Option("o1", "Sure", "allow_once"),), "open")
    text = to_text([tool(title="Delete all", status="pending"), question])
    assert "Permission: Delete all → not answered yet\n" in text


def test_an_unknown_status_and_kind_are_shown() -> None:
    assert "gaze: T — odd status" in to_text([tool(kind="gaze", status="odd_status")])
    assert "unknown: T — unknown" in to_text([tool(kind="", status="")])


def test_a_call_is_its_mark_and_its_title_without_backticks() -> None:
    read = tool(title=f"Read `{CWD}/stats.py`", kind="read", locations=(Location(f"{CWD}/stats.py", 0),))
    assert to_text([read], cwd=CWD) == "✓ Read stats.py\n"
    assert "<strong>Read stats.py</strong>" in to_html([read], cwd=CWD)
    assert "<code>make check</code>" in to_html([tool(title="`make check`", kind="execute")])


def test_a_command_is_shown_once_and_its_exit_code_if_it_failed() -> None:
    call = tool(Terminal("x"), title="make", kind="execute")
    for code, said in ((0, "✓ make\n    out\n"), (3, "✓ make\n    out\n    exit code 3\n")):
        ran = TerminalRun(
            "k3", "k1", "x", "/bin/sh -c 'make'", status="exited", output="out\n", exit_code=code
        )
        assert to_text([call, ran]) == said


def test_a_diff_that_a_call_shows_is_not_repeated_among_the_changed_files() -> None:
    hunk = Hunk("h", 1, 1, 1, 1, ("-old", "+new"))
    files = tuple(FileChange(name, f"/w/{name}.py", "modified", 1, 1, (hunk,)) for name in ("one", "other"))
    call = tool(Diff("/w/one.py", "new\n", "old\n"), title="Edit one.py", kind="edit")
    text = to_text([turn(), call, Changes("k3", "k1", files)])
    assert text.count("+new") == 2 and "2 files changed" in text


@pytest.mark.parametrize(
    ("old", "new", "said"), [("a", "b", False), ("a\n", "b", True), (None, "b", False), ("a", "b\n", True)]
)
def test_a_missing_newline_is_mentioned_only_if_it_changed(old: str | None, new: str, said: bool) -> None:
    assert ("No newline" in to_text([tool(Diff("a.txt", new, old))])) is said


def test_a_long_diff_is_cut_and_says_how_much() -> None:
    diff = Diff("a.txt", "".join(f"line {i}\n" for i in range(5211)))
    for write in ALL.values():
        assert "… 4,812 more lines" in write([tool(diff)])  # 5,211 lines and a "@@", less 400


def test_a_long_or_multi_line_title_follows_in_full() -> None:
    for title in ("x" * 500, "cat <<E\nrm -rf /\nE"):
        assert title in unescape(to_html([tool(title=title)]))


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Edit `/w/stats.py`", "Edit stats.py"),
        ("Move `a` to `b`", "Move a to b"),
        ("`make`", "make"),
        ("``a`b``", "``a`b``"),
    ],
)
def test_a_title_has_no_backticks_around_code_and_relative_paths(title: str, shown: str) -> None:
    assert to_text([tool(title=title)], cwd="/w") == f"✓ {shown}\n"


@pytest.mark.parametrize(("line", "path"), [(0, "a.py"), (None, "a.py"), (67, "a.ipynb")])
def test_a_line_that_says_nothing_is_left_out(line: int | None, path: str) -> None:
    assert f"Where: {path}\n" in to_text([tool(locations=(Location(f"/w/{path}", line),))], cwd="/w")


def test_only_image_types_without_scripts_are_shown() -> None:
    assert f'src="data:image/png;base64,{PNG}"' in to_html([tool(Image(PNG, "image/png"))])
    assert f"](data:image/png;base64,{PNG})" in to_markdown([tool(Image(PNG, "image/png"))])
    assert "image (image/png, 48 B)" in to_text([tool(Image(PNG, "image/png"))])
    for image in (Image(PNG, "image/svg+xml"), Image("no base64!", "image/png"), Image("", "image/png")):
        assert "data:" not in to_html([tool(image)]) + to_markdown([tool(image)])
        assert f"image ({image.mime_type}, " in to_html([tool(image)])


def test_a_big_image_is_only_named_in_markdown() -> None:
    big = Image("A" * 120_000, "image/png")
    assert "image (image/png, 90 kB)" in to_markdown([tool(big)])
    assert "data:" not in to_markdown([tool(big)])


def test_a_remote_image_is_a_link() -> None:
    message = Message(
        "k", None, "agent", (Text("![cat](https://example.org/c.png) [![b](http://x/y)](http://z)"),)
    )
    page = to_html([message])
    assert "<img" not in page
    assert 'href="https://example.org/c.png"' in page and "image: cat" in page
    assert "http://x/y" not in page and "image: b" in page


def test_links_open_in_a_new_tab() -> None:
    page = to_html([Message("k", None, "agent", (Text("[a](https://example.org) <mailto:a@b.c>"),))])
    assert page.count('rel="noopener noreferrer"') == page.count('target="_blank"') == page.count("<a ") == 2


def test_hidden_characters_in_a_command_are_visible() -> None:
    for write in ALL.values():
        shown = write([tool(Text("ok\u202eko\0"), title="rm \u202e\u200bx\x1b[2K\u2028")])
        assert f"{seen('202E')}{seen('200B')}x{seen('001B')}[2K{seen('2028')}" in shown.replace("\\[", "[")
        assert f"ok{seen('202E')}ko{seen('0000')}" in shown


def test_consecutive_texts_are_joined() -> None:
    pieces = (Text("**bo", {"audience": ["user"]}), Text("ld**"))
    assert "<strong>bold</strong>" in to_html([Message("k", None, "agent", pieces)])


@pytest.mark.parametrize("write", [to_text, to_markdown, to_html])
def test_content_for_the_model_only_is_folded(write: Callable[..., str]) -> None:
    hidden = Text("internal notes", {"audience": ["assistant"]})
    shown = write([Message("k", None, "agent", (Text("Hello"), hidden))])
    assert shown.index("Hello") < shown.index("For the model only") < shown.index("internal notes")


def test_too_deep_or_long_markdown_is_shown_verbatim() -> None:
    for text in ("> " * 3000 + "deep", "- " * 60 + "deep", "[" * 5000 + "deep", "word " * 30_000 + "deep"):
        for write in ALL.values():
            assert "deep" in write([Message("k", None, "agent", (Text(text),))])


def test_json_is_bounded_in_depth_length_and_lines() -> None:
    deep: Any = "core"
    for _ in range(5000):
        deep = [deep]
    assert "core" not in pretty_json({"deep": deep})
    assert pretty_json("x" * 5000).endswith('… 4,000 more characters"')
    assert pretty_json(list(range(1000))).endswith("… 802 more lines")
    assert json.loads(pretty_json({"id": 7, "toolCallId": "t", "kind": "k", "idea": 1})) == {
        "id": "…",
        "toolCallId": "…",
        "kind": "k",
        "idea": 1,
    }
    assert "0x" not in pretty_json({"x": object()})


# ---- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "path", "shown"),
    [
        ("/a/b", "/a/b/c.txt", "c.txt"),
        ("/a/b/", "/a/b/c.txt", "c.txt"),
        ("/a/b", "/a/b", "."),
        ("/a/b", "/a/bc/d", "/a/bc/d"),
        ("/a/b", "/x/a/b/c", "/x/a/b/c"),
        ("/a/b", "file:///a/b/c", "c"),
        ("/a b", "file:///a%20b/c", "c"),
        ("/a/b", "https://x/a/b/c", "https://x/a/b/c"),
        ("/", "/etc/passwd", "/etc/passwd"),
        ("", "/etc/passwd", "/etc/passwd"),
        (None, "/etc/passwd", "/etc/passwd"),
        ("C:\\p", "C:\\p\\q.py", "q.py"),
    ],
)
def test_a_path_inside_is_relative(cwd: str | None, path: str, shown: str) -> None:
    assert Escaper(cwd).path(path) == shown


@pytest.mark.parametrize(
    ("text", "title", "prose"),
    [
        ("Write /a/b/c.txt", "Write c.txt", "Write ./c.txt"),
        ("cd /a/b && ls", "cd . && ls", "cd . && ls"),
        ("cd /a/b/ && ls", "cd ./ && ls", "cd ./ && ls"),
        ("In /a/b.", "In ..", "In .."),
        ("rm /a/b/-rf", "rm ./-rf", "rm ./-rf"),
        ("/a/bc /a/b.txt /x/a/b /a/b-c", "/a/bc /a/b.txt /x/a/b /a/b-c", "/a/bc /a/b.txt /x/a/b /a/b-c"),
        ("x='/a/b/c':/a/b", "x='c':.", "x='./c':."),
        ("file:///a/b/c", "c", "./c"),
        ("/a/b/../c", "./../c", "./../c"),
    ],
)
def test_the_working_directory_in_a_text(text: str, title: str, prose: str) -> None:
    words = Escaper("/a/b")
    assert words.line(text) == title
    assert words.prose(text) == prose


# ---- diffs ---------------------------------------------------------------------------------------


def patched(old: str, lines: Sequence[str]) -> str:
    """Apply the diff to the old text, like `patch`."""
    before, result, at = old.splitlines(keepends=True), [], 0
    for number, line in enumerate(lines):
        if head := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            start = int(head[1]) - (head[2] != "0")
            result += before[at:start]
            at = start
        elif line.startswith("\\"):
            continue
        else:
            end = "" if number + 1 < len(lines) and lines[number + 1].startswith("\\") else "\n"
            if line[0] in " -":
                assert before[at] == line[1:] + end
                at += 1
            if line[0] in " +":
                result.append(line[1:] + end)
    return "".join(result + before[at:])


texts = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=40).map("\n".join)


@given(texts, texts)
def test_a_diff_leads_from_the_old_text_to_the_new(old: str, new: str) -> None:
    lines = unified_diff(old, new)
    assert patched(old, lines) == new
    assert bool(lines) == (old != new)


def test_a_diff_keeps_the_lines_around_a_change() -> None:
    old = "".join(f"{i}\n" for i in range(100_000))
    assert unified_diff(old, old.replace("50000\n", "half\n")) == [
        "@@ -49998,7 +49998,7 @@",
        *(" 49997", " 49998", " 49999", "-50000", "+half", " 50001", " 50002", " 50003"),
    ]


def test_changed_line_ends_are_visible() -> None:
    assert seen("000D") in to_text([tool(Diff("a", "x\n", "x\r\n"))])
    assert seen("000D") not in to_text([tool(Diff("a", "y\r\n", "x\r\n"))])


# ---- a size -----------------------------------------------------------------------------------------


def test_over_the_limit_the_oldest_details_are_dropped_first() -> None:
    tools = [tool(Text(f"output {i} " + "é" * 1000), title=f"call {i}") for i in range(10)]
    whole = to_html(tools)
    assert to_html(tools, max_bytes=len(whole.encode())) == whole
    brief = to_html(tools, max_bytes=12_000)
    assert len(brief.encode()) <= 12_000
    assert "call 0" in brief and "output 0" not in brief and "output 9" in brief and "left out" in brief
    least = to_html(tools, max_bytes=700)
    assert len(least.encode()) <= 700
    assert "call 0<" not in least and "call 9<" in least and "earlier parts left out" in least
    for page in (brief, least, to_html(tools, max_bytes=0), to_html([], max_bytes=0)):
        check_html(page)


def test_an_agents_text_stays_in_its_box() -> None:
    """A host typesets formulas: they are clipped, and make no links, styles or definitions."""
    evil = r"$\raise 9em \rlap{\href{javascript:x}{Allow}}$ $\def\x{1}\class{a}{b}$ $\frac{1}{2}$"
    page = to_html([TurnStart("k1", "k1", 1, "done", ()), Message("k2", "k1", "agent", (Text(evil),))])
    assert '<div style="overflow:hidden"><p>' in page and r"\frac{1}{2}" in page
    assert not re.search(r"\\(href|def|class)\b", page)
    plain = to_html([TurnStart("k1", "k1", 1, "done", ()), Message("k2", "k1", "agent", (Text("2 + 2"),))])
    assert "overflow" not in plain


# ---- hostile text ---------------------------------------------------------------------------------

TAGS = frozenset(
    re.findall(
        r"\w+",
        "div p strong em s pre code span ul ol li a img audio blockquote details summary br hr "
        "table thead tbody tr th td h1 h2 h3 h4 h5 h6",
    )
)
VOID = {"br", "hr", "img"}
ATTRIBUTES = {
    "div": {"class", "style"},
    "a": {"href", "target", "rel", "title"},
    "img": {"src", "alt", "style"},
    "audio": {"src", "controls"},
    "details": {"open", "style"},
    "ol": {"start"},
    **{tag: {"style"} for tag in ("blockquote", "span", "th", "td", "pre", "p", "code", "ul")},
}
DECLARATION = re.compile(
    r"text-align:(left|right|center)|opacity:[.\d]+|max-width:100%|background:rgba\([\d,.]+\)"
    r"|(margin|padding|padding-left):[.\dem ]+|overflow-x:auto|overflow:hidden|display:block"
    r"|color:#[0-9a-f]{6}"
    r"|border-left:3px solid rgba\([\d,.]+\)|border:1px solid rgba\([\d,.]+\)|border-radius:4px"
    r"|list-style:none|font-family:monospace"
)


class Checker(HTMLParser):
    """Fails on any HTML that we never write."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.roots = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        if not self.open:
            assert (tag, attrs) == ("div", [("class", "acp-transcript")])
            self.roots += 1
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if tag not in VOID:
            self.open.append(tag)

    def _attribute(self, tag: str, name: str, value: str) -> None:
        assert name in ATTRIBUTES.get(tag, ()), (tag, name)
        match name:
            case "href":
                assert re.match(r"(https?://|mailto:)", value, re.IGNORECASE)
            case "src":
                assert re.fullmatch(r"data:(image|audio)/[a-z0-9-]+;base64,[A-Za-z0-9+/]+={0,2}", value)
            case "style":
                assert all(map(DECLARATION.fullmatch, value.split(";"))), value
            case "target":
                assert value == "_blank"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert self.open or not data.strip(), "text outside of the root"
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


def check_html(page: str) -> None:
    page.encode()
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.roots == 1 and not checker.open


def check_markdown(text: str) -> None:
    """Read with HTML on, as GitHub does, it has no HTML, and shows no image from elsewhere."""
    text.encode()
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])
    for token in parser.parse(text):
        for inner in [token, *(token.children or [])]:
            assert not inner.type.startswith("html_"), inner.content
            assert inner.type != "image" or str(inner.attrs["src"]).startswith("data:image/")


HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//x.example/a.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    '<img src="x" onerror="alert(1)"',
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)>",
    "<object data=javascript:alert(1)>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//x.example>",
    "<base href=//x.example>",
    "<form action=//x.example><input name=a><button>go</button></form>",
    "<meta http-equiv=refresh content=0;url=//x.example>",
    "</details></div><script>alert(1)</script>",
    "</code></pre></summary></details></blockquote></div></div><p>out",
    "</p></li></ul></div>",
    "<div class='acp-transcript'>",
    "<!-- hide the rest",
    "<!--><script>alert(1)</script>",
    "<![CDATA[x]]><?php x ?><!DOCTYPE html>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    '"><script>alert(1)</script>',
    "` onclick=alert(1) `",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](  java\tscript:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1)) [y](file:///etc/passwd) [z](//x.example)",
    "<javascript:alert(1)> <data:text/html,x>",
    "[r]\n\n[r]: javascript:alert(1)",
    '[x](http://a.example "t\\" onclick=\\"alert(1)")',
    '[x](http://a.example/"onclick="alert(1))',
    "![x](javascript:alert(1))",
    "![x](http://x.example/pixel.gif)",
    "![x][r]\n\n[r]: http://x.example/p.gif",
    "![a](http://x.example/'\"><script>)",
    "[![a](http://x.example/1)](javascript:alert(1))",
    "![![![a](http://x)](http://y)](http://z)",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```\nleft open <script>",
    "~~~~\nleft open\n~~~",
    "- a\n  ```\n  left open in a list\n<b>",
    "> ```\n> quoted\n<b>",
    "`<b>` ``<i>`` \\`<u>` `",
    "a ` b\n\n<u>\n\nc ` d",
    "| a ` | <b> ` |\n|---|---|\n| ` | <i> ` |",
    "<a\nhref='x'>\n<b\n",
    "\\<b> \\\\<b> \\\\\\<b>",
    "[a]: /x '\n<div>\n'",
    "# <h1>\n===\n<h2>\n---",
    "    <indented>\n\ttab",
    "1) a\n\n   <b>\n\n2) c",
    "&lt;script&gt; &#60;script&#62; &amp;lt;",
    "\x00\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07\x9b31m",
    "\u202egnp.exe\u2066\u200b\ufeff\U000e0041",
    "\ud800 lone \udfff",
    "image/png;base64,AAAA\" onerror=\"x",
    "text/html\r\nX: y",
    "http://x.example/\" onclick=\"alert(1)",
    "javascript:alert(1)",
    " javascript:alert(1)",
    "http://x.example/<script>",
    "mailto:a@b.c?subject=<script>",
    "@@ -1 +1 @@\n-</span>\n+<script>",
    "$<script>$ $$<b>$$ \\(x\\)",
    "- [ ] <input type=checkbox>\n- [x] b",
]  # fmt: skip


def everywhere(text: str) -> list[Item]:
    """Items with the text in every field that is shown."""
    content = (
        Text(text),
        Diff(text, text, text[1:]),
        Diff(text, text),
        Image(text, text),
        Image(PNG, text, uri=text),
        Audio("AAAA", "audio/wav"),
        Audio(text, text),
        ResourceLink(text, text, text, text, text, 3),
        Resource(text, text=text, mime_type=text),
        Resource(text, blob=text, mime_type=text),
        Terminal(text),
        UnknownContent({text: [text]}),
    )
    options = (Option("o", text, text),)
    return [
        TurnStart("k1", "k1", 1, "failed", content, stop_reason=text, error=text),
        Message("k2", "k1", "agent", content),
        Message("k2b", "k1", "thought", content),
        Message("k2c", "k1", text, content),
        ToolCall("k3", "k1", text, text, text, text, content, (Location(text, 1),), name=text),
        Plan("k4", "k1", (PlanEntry(text, text, text),), text, text, text),
        Question("k5", "k1", "q", "k3", options, "answered", "o", text, text),
        Elicitation(
            "k5b",
            "k1",
            "e",
            text,
            text,
            text,
            (Field(text, "select", text, text, choices=(Choice(text, text, text),)),),
            by=text,
            reason=text,
            values={text: text, "other": [text], "yes": True},
        ),
        Elicitation("k5c", "k1", "e", "url", text, "accepted", url=text, host=text, completed=True),
        Notice("k6", "k1", text, text, text, text),
        Compaction("k7", "k1", "c", text, content, text),
        Unknown("k8", "k1", text, {text: text}),
        TurnStart("k9", "k9", 2, text, (Text(text),), stop_reason=text, error=text),
        TurnStart("k10", "k10", 3, "done", (), stop_reason=text),
        Message("k11", "k10", "agent", (Text(text),)),
        Notice("k12", "k10", "info", "THE END"),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    items = everywhere(text)
    check_html(to_html(items, title=text, cwd=text))
    check_html(to_html(items, title=text))
    check_markdown(to_markdown(items, title=text))
    to_text(items, title=text, cwd=text).encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_does_not_swallow_what_follows(text: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).parse(to_markdown(everywhere(text)))
    last = [token for token in tokens if token.type == "inline" and "THE END" in token.content]
    assert len(last) == 1 and last[0].level == 1


pieces = st.sampled_from(
    [*HOSTILE, *"`<>![]()\\\n -*#|\"'&:;/a1~_=\t\r$", "```", "~~~", "http://", "</", "<!--", "\n\n", "    "]
)
soups = st.lists(pieces, max_size=12).map("".join)


@settings(max_examples=40, deadline=None)
@given(soups)
def test_a_mix_of_hostile_pieces_stays_text(text: str) -> None:
    items = everywhere(text)
    check_html(to_html(items))
    check_markdown(to_markdown(items))


@settings(max_examples=400, deadline=None)
@given(soups)
def test_confined_markdown_has_no_html_and_leaves_nothing_open(text: str) -> None:
    text = Escaper(None).prose(text)
    document = "- a list\n\n" + confined(text.strip("\n")) + "\n\nTHE END"
    check_markdown(document)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(document)
    assert tokens[-2].content == "THE END"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_exported(text: str) -> None:
    items = everywhere(text)
    check_html(to_html(items, max_bytes=3000))
    check_markdown(to_markdown(items))
    to_text(items).encode()


def test_harmless_markdown_is_unchanged() -> None:
    text = "# A\n\n`a<b>` and 1 < 2, <https://example.org>\n\n```html\n<b>![x](y)\n```\n\n"
    text += "- x\n  ```\n  <i>\n  ```\n"
    assert confined(text) == text


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:x",
        "JAVASCRIPT:x",
        " http://x",
        "http://x\n",
        "//x",
        "data:x",
        "http:x",
        'http://"',
        "",
        "ftp://x",
    ],
)
def test_no_other_address_is_a_link(uri: str) -> None:
    assert not is_link(uri)
