"""Exits with 0 if Chromium can show a page here: `python -m tests.browser.trial PATH`."""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import sync_playwright

from tests.browser.pages import launched

LIMIT_MS = 60_000


class Answer(BaseHTTPRequestHandler):
    """The same page for every path."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<p>It works.</p>")

    def log_message(self, *_: object) -> None:
        pass


def main(executable: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            page = launched(playwright, executable).new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/", timeout=LIMIT_MS)
            assert page.inner_text("p", timeout=LIMIT_MS) == "It works."
        finally:
            server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
