"""Serves one file for one download within ten minutes at a random address, for people who have only a console."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SECONDS = 600.0
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # 32 that are not mistaken for each other when typed
GROUPS, EACH = 4, 4  # groups and letters in each: 80 bits
AT_ONCE, PER_SOURCE = 16, 4  # connections in all and from one address
KINDS = {".html": "text/html; charset=utf-8", ".json": "application/json", ".zip": "application/zip"}


class _Server(ThreadingHTTPServer):
    """Serves a few at a time, each in a thread of the console's; of too many the oldest goes."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        self._open: dict[socket.socket, str] = {}  # with whence each has come, the oldest first
        self._one = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._admits(request, str(client_address[0])):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _admits(self, request: socket.socket, source: str) -> bool:
        with self._one:
            if list(self._open.values()).count(source) >= PER_SOURCE:
                return False
            if len(self._open) >= AT_ONCE:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and goes
            self._open[request] = source
        return True

    def shutdown_request(self, request: Any) -> None:
        with self._one:
            self._open.pop(request, None)
        super().shutdown_request(request)


class _Server6(_Server):
    address_family = socket.AF_INET6


class Download:
    """Serves the file from a thread of its own; `close` may be called at any time."""

    def __init__(self, path: Path, host: str, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.served = False
        self._path = path
        self._token = "-".join("".join(secrets.choice(LETTERS) for _ in range(EACH)) for _ in range(GROUPS))
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        kind = _Server6 if ":" in host else _Server
        self._server = kind((host, 0), partial(_Handler, self))
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}/{self._token}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()
        self._timer = threading.Timer(seconds, self.close)
        self._timer.daemon = True
        self._timer.start()

    @property
    def left(self) -> float:
        """Seconds until the download closes by itself."""
        return max(0.0, self._until - time.monotonic())

    def claim(self, asked: str) -> bytes | None:
        """The file's content for the first request with the right address; None for any other."""
        with self._lock:
            right = secrets.compare_digest(asked.lower().encode(), f"/{self._token}".encode())
            if not right or self.served or not self.left:
                return None
            self.served = True
        return self._path.read_bytes()

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def kind(self) -> str:
        return KINDS.get(self._path.suffix, "application/octet-stream")

    def close(self) -> None:
        """Stop listening; may be called again."""
        self._timer.cancel()
        threading.Thread(target=self._stop, daemon=True).start()

    def _stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    timeout = 15
    server_version = "linkladder"
    sys_version = ""

    def __init__(self, download: Download, *args: object) -> None:
        self._download = download
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        data = self._download.claim(self.path)
        if data is None:
            self.send_error(404, "Nothing here", "The address is wrong, used, or too old.")
            return
        self.send_response(200)
        self.send_header("Content-Type", self._download.kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Disposition", f'attachment; filename="{self._download.name}"')
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)
        self._download.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing, as that would spoil the TUI's screen."""
