"""Decides where a message chunk belongs: to the open message, to a new one, or to an echo of the prompt."""

from __future__ import annotations

from msgspec.structs import replace

from .events import MessageChunk
from .patches import Append, Path, Pieces
from .records import Content, Text, plain


class OpenMessage:
    """The newest message while it is also the newest item; `field` names its list of content blocks."""

    __slots__ = ("_annotations", "_field", "_index", "_message_id", "_path", "_role", "key", "text")

    def __init__(self, key: str, first: MessageChunk, index: int = 0, field: str = "content") -> None:
        self.key = key
        self._role, self._message_id = first.role, first.message_id
        self._field, self._index = field, index
        self._start_block(first.content)

    def continues(self, chunk: MessageChunk) -> bool:
        # A chunk without an id may continue any message; a new id starts a new message.
        return chunk.role == self._role and chunk.message_id in (None, self._message_id)

    def appended_text(self, chunk: MessageChunk) -> Append | None:
        """The patch for an agent's chunk that only adds text to the last block; None for any other chunk.

        Nearly all chunks are like that, so this is `continues` and `append` in one call.
        """
        path, content, id = self._path, chunk.content, chunk.message_id
        if (
            path is not None
            and type(content) is Text
            and (id is None or id == self._message_id)
            and chunk.role == self._role
            and chunk.raw is None
            and chunk.meta is None
            and content.annotations == self._annotations
            and self._role != "user"
        ):
            return Append(self.key, path, content.text)
        return None

    def append(self, content: Content) -> Append:
        """Append text to the last block if that is text for the same audience; else start a new block."""
        if isinstance(content, Text) and self._path is not None and content.annotations == self._annotations:
            return Append(self.key, self._path, content.text)
        self._index += 1
        self._start_block(content)
        return Append(self.key, (self._field,), [plain(content)])

    def _start_block(self, content: Content) -> None:
        is_text = isinstance(content, Text)
        self._path: Path | None = (self._field, self._index, "text") if is_text else None
        self._annotations = content.annotations if isinstance(content, Text) else None
        self.text: Pieces | None = None
        """The text of the last block in the state, once a chunk was appended to it."""


class Echo:
    """Recognises the prompt when the agent sends it back as a user message, in chunks of any size."""

    __slots__ = ("_others", "_seen", "_settled", "_text")

    def __init__(self, prompt: tuple[Content, ...] = ()) -> None:
        self._text = "".join(block.text for block in prompt if isinstance(block, Text))
        self._others = [block for block in prompt if not isinstance(block, Text)]
        self._seen = self._settled = 0

    def takes(self, content: Content) -> bool:
        """Consume the content if it is the next part of the prompt, and say whether it was."""
        if not isinstance(content, Text):
            return content in self._others
        if not self._text.startswith(content.text, self._seen):
            return False
        self._seen += len(content.text)
        if self._seen == len(self._text):
            self.settle()
        return True

    def settle(self) -> None:
        """Confirm that everything consumed so far was an echo."""
        self._settled = self._seen

    def give_back(self, content: Content) -> Content:
        """Return the content with the unconfirmed text before it: that was not an echo after all."""
        if not isinstance(content, Text) or self._seen == self._settled:
            return content
        taken, self._seen = self._text[self._settled : self._seen], self._settled
        return replace(content, text=taken + content.text)


def is_empty(chunk: MessageChunk) -> bool:
    """Whether the chunk has nothing to show and nothing to keep."""
    bare = chunk.raw is None and chunk.meta is None
    return bare and isinstance(chunk.content, Text) and not chunk.content.text


def bare_text(content: Content) -> str | None:
    """The text of a text block without annotations, else None."""
    return content.text if isinstance(content, Text) and content.annotations is None else None
