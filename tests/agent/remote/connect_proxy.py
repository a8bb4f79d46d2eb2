"""A proxy as companies have them: it takes CONNECT, and passes on bytes that it cannot read."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress


class ConnectProxy:
    """A context manager. Every name leads to one port on loopback; `status` other than 200 refuses."""

    def __init__(self, port: int, status: int = 200) -> None:
        self.asked: list[str] = []
        """The first line of each request."""
        self.heads = b""
        """Everything that was sent to the proxy itself."""
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                head = [self.rfile.readline()]
                while head[-1] not in (b"\r\n", b""):
                    head.append(self.rfile.readline())
                proxy.asked.append(head[0].decode().strip())
                proxy.heads += b"".join(head)
                self.wfile.write(b"HTTP/1.1 %d It is so\r\n\r\n" % status)
                if status == 200:
                    with socket.create_connection(("127.0.0.1", port)) as server:
                        back = threading.Thread(target=_pass_on, args=(server, self.connection), daemon=True)
                        back.start()
                        _pass_on(self.connection, server)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ConnectProxy:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
