"""A language model on loopback that answers by path, for the tests of whoever asks one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHAT = {"choices": [{"message": {"content": "<think>hm</think> Kafka was\n too much work. "}}]}
ANSWERS: dict[str, Any] = {
    "/v1/chat/completions": CHAT,
    "/api/generate": {"response": "Kafka was too much work."},
    "/empty": {"response": "  "},
    "/thinking": {"response": "<think>never ends"},
    "/html": "<html>",
    "/odd": {"choices": []},
    "/number": {"response": 3},
    "/list": [],
}


class Model(BaseHTTPRequestHandler):
    requests: list[tuple[str, dict[str, Any], str | None]] = []
    replies: dict[str, str] = {}  # path → what a test wants written there

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append((self.path, body, self.headers["Authorization"]))
        if self.path == "/slow":
            time.sleep(0.6)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/api/generate")
            self.end_headers()
            return
        if self.path == "/broken":
            self.send_error(500)
            return
        self.send_response(200)
        self.end_headers()
        if self.path == "/endless":
            self._trickle()
            return
        answer = {"response": self.replies[self.path]} if self.path in self.replies else ANSWERS.get(self.path, CHAT)
        self._write(b" " * 1_100_000 if self.path == "/huge" else (answer if isinstance(answer, str) else json.dumps(answer)).encode())

    def _write(self, answer: bytes) -> None:
        with suppress(OSError):  # the client gave up, as it should
            self.wfile.write(answer)

    def _trickle(self) -> None:
        with suppress(OSError):
            for _ in range(40):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler] = Model) -> Iterator[str]:
    """The address of a running one, without a path."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
