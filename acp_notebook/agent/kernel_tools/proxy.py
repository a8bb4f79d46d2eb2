"""The stdio MCP server that an agent starts: copies bytes between its stdio and the kernel's private socket.

Runs as `python -I -S proxy.py`, without the rest of the package, and knows no MCP. The agent passes the
socket and the token in the environment. It exits as soon as either side closes.
"""

import _thread
import os
import socket

CHUNK = 1 << 16


def end(code: int, why: str = "") -> None:
    if why:
        os.write(2, f"kernel tools: {why}\n".encode(errors="replace"))
    os._exit(code)


def copy_to_agent(kernel: socket.socket) -> None:
    try:
        while data := kernel.recv(CHUNK):
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        pass
    end(1, "the notebook's kernel closed the connection")


def main() -> None:
    path, token = os.environ.get("ACP_KERNEL_SOCKET"), os.environ.get("ACP_KERNEL_TOKEN")
    if not path or not token:
        end(2, "start this through acp_notebook: ACP_KERNEL_SOCKET and ACP_KERNEL_TOKEN are not set")
    kernel = socket.socket(socket.AF_UNIX)
    try:
        kernel.connect(str(path))
        kernel.sendall(f"{token}\n".encode())
    except OSError as error:
        end(1, f"the notebook's kernel cannot be reached: {error}")
    _thread.start_new_thread(copy_to_agent, (kernel,))
    try:
        while data := os.read(0, CHUNK):
            kernel.sendall(data)
    except OSError:
        pass
    end(0)


if __name__ == "__main__":
    main()
