"""Renders sessions and turns as text, markdown and static HTML."""

from __future__ import annotations

from ..core.snapshot import Item


class Rendered:
    """Mixin for objects that consist of transcript items. The same items always render the same."""

    def _items_to_render(self) -> tuple[tuple[Item, ...], str | None]:
        """The items, and the folder that paths are shown relative to."""
        raise NotImplementedError

    def to_text(self) -> str:
        from ..core.export import to_text

        items, cwd = self._items_to_render()
        return to_text(items, cwd=cwd)

    def to_markdown(self) -> str:
        from ..core.export import to_markdown

        items, cwd = self._items_to_render()
        return to_markdown(items, cwd=cwd)

    def to_html(self) -> str:
        from ..core.export import to_html

        items, cwd = self._items_to_render()
        return to_html(items, cwd=cwd)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return self.to_html()
