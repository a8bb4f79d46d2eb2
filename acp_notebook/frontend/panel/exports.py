"""Exports a conversation to the page that asks for it, in parts that the page requests one by one.

So a large file never floods the connection: the server drops what comes too fast. Makes the files on worker
threads; runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil

from ... import timeouts
from ...agent.threads import on_a_thread
from ...core.export.file import ExportedFile
from ...core.intents import Export, ExportForm
from ...core.page_messages import ExportAnswer
from ...errors import Error, Timeout, UsageError

PART_CHARS = 256 * 1024
"""Characters of a part. The server drops messages of more than 3 MB in 3 s."""

MAX_CHARS = 64 * 1024 * 1024
"""A longer file is not sent to a page, which has to hold all of it."""

MakeFile = Callable[[ExportForm], ExportedFile]


class Exporter:
    """Makes files for the pages of one session, and keeps the newest one until a page has all of it."""

    def __init__(self, make: MakeFile, send: Callable[[ExportAnswer], None]) -> None:
        self._make = make
        self._send = send
        self._kept: tuple[str, ExportedFile] | None = None

    async def handle(self, request: Export) -> None:
        """Send the part that the page asks for, or why there is none."""
        try:
            self._send_part(request, await self._file(request))
        except Error as error:
            self._send(ExportAnswer(request.view, request.rid, error=str(error)))

    async def _file(self, request: Export) -> ExportedFile:
        if request.part == 0:
            self._kept = request.rid, await self._made(request.form)
        if self._kept is None or self._kept[0] != request.rid:
            raise UsageError("this export was replaced by a newer one: export again")
        return self._kept[1]

    async def _made(self, form: ExportForm) -> ExportedFile:
        limit = timeouts.get().export
        try:
            file = await asyncio.wait_for(on_a_thread(lambda: self._make(form)), limit)
        except TimeoutError:
            raise Timeout(f"the export took longer than {limit:g} s: {_in_python(form)}") from None
        if len(file.text) > MAX_CHARS:
            raise UsageError(f"the export is too large to send to the page: {_in_python(form)}")
        return file

    def _send_part(self, request: Export, file: ExportedFile) -> None:
        of = max(1, ceil(len(file.text) / PART_CHARS))
        if not 0 <= request.part < of:
            raise UsageError(f"this export has no part {request.part}")
        text = file.text[request.part * PART_CHARS : (request.part + 1) * PART_CHARS]
        if request.part == of - 1:
            self._kept = None
        self._send(ExportAnswer(request.view, request.rid, text, request.part, of, file.name, file.mime_type))


def _in_python(form: ExportForm) -> str:
    return f"call session.to_{form}() in a cell"
