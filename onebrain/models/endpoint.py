"""A language model behind an address the user configured: OpenAI-compatible chat completions, or Ollama's /api/generate.

What must stay true: only the configured address is spoken to. Redirects are not followed, proxies of the environment are not used, and a
key comes from the environment alone.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Mapping
from ipaddress import ip_address
from threading import Event
from typing import Any
from urllib.parse import SplitResult, urlsplit

from onebrain.errors import ModelUnavailable
from onebrain.models.deadline import Deadline
from onebrain.models.ports import EndpointSettings, WriterUnavailable

_MOST_BYTES = 1 << 20
_THINKING = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)
_BARE = {"": "/api/generate", "/v1": "/v1/chat/completions"}  # what Ollama and OpenAI-compatible servers give as their address


class Endpoint:
    """Raises ModelUnavailable at once when the URL is none, WriterUnavailable when a completion can't be had."""

    def __init__(self, settings: EndpointSettings, environ: Mapping[str, str]) -> None:
        self._url = _parse(settings.url)
        self._settings = settings
        self._key = environ.get(settings.key_env, "") if settings.key_env else ""
        self._deadline = Deadline()

    @property
    def host(self) -> str:
        return self._url.hostname or ""

    @property
    def is_here(self) -> bool:
        """Whether the address is this machine's by its form; no name is looked up, and none but `localhost` is trusted."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    def complete(self, system: str, prompt: str, timeout_s: float) -> str:
        """What the model answers, without its reasoning trace. Never empty."""
        if self._settings.key_env and not self._key:
            raise WriterUnavailable(f"the environment variable {self._settings.key_env} is not set")
        return self._deadline.run(lambda stop: self._ask(self._body(system, prompt), timeout_s, stop), timeout_s)

    def reach(self, timeout_s: float) -> None:
        """Connect and say nothing. Raises WriterUnavailable when nobody listens."""
        try:
            socket.create_connection((self.host, self._port), timeout_s).close()
        except OSError as error:
            raise WriterUnavailable(f"{self.host} can't be reached: {error}") from error

    def _ask(self, body: Mapping[str, Any], timeout_s: float, stop: Event) -> str:
        connect = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = connect(self.host, self._port, timeout=timeout_s)
        try:
            connection.request("POST", self._path(), json.dumps(body).encode(), self._headers())
            with connection.getresponse() as response:  # it owns the socket once the server says it will close
                if response.status != http.client.OK:
                    raise WriterUnavailable(f"{self.host} answered {response.status} {response.reason}")
                answer = _read(response, stop)
            return _content(answer)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, TimeoutError):
                raise
            raise WriterUnavailable(f"{self.host} can't be reached: {error}") from error
        finally:
            connection.close()

    @property
    def _port(self) -> int:
        """Always given: http.client would take the end of an IPv6 address for one."""
        return self._url.port or (http.client.HTTPS_PORT if self._url.scheme == "https" else http.client.HTTP_PORT)

    def _path(self) -> str:
        path = self._url.path.rstrip("/")
        return _BARE.get(path, self._url.path) + (f"?{self._url.query}" if self._url.query else "")

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        return headers | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def _body(self, system: str, prompt: str) -> dict[str, Any]:
        settings = self._settings
        if self._path().partition("?")[0].rstrip("/").endswith("/api/generate"):  # Ollama
            options = {"num_predict": settings.max_tokens, "temperature": 0}
            return {"model": settings.model, "system": system, "prompt": prompt, "stream": False, "think": False, "options": options}
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        return {"model": settings.model, "messages": messages, "max_tokens": settings.max_tokens, "temperature": 0, "stream": False}


def _parse(endpoint: str) -> SplitResult:
    url = urlsplit(endpoint)
    try:
        usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ModelUnavailable(f"'{endpoint}' is not an http(s) address.", hint="for example http://127.0.0.1:11434/api/generate")
    return url


def _read(response: http.client.HTTPResponse, stop: Event) -> bytes:
    body = b""
    while not stop.is_set() and (block := response.read1(1 << 16)):
        body += block
        if len(body) > _MOST_BYTES:
            raise WriterUnavailable("the endpoint answered with more than 1 MB")
    return body


def _content(body: bytes) -> str:
    """The completion in either dialect."""
    try:
        answer = json.loads(body)
        content = answer["response"] if "response" in answer else answer["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise WriterUnavailable("the endpoint's answer is not a completion") from error
    if not isinstance(content, str):
        raise WriterUnavailable("the endpoint's answer has no text")
    text = _THINKING.sub(" ", content).strip()
    if not text:
        raise WriterUnavailable("the writer answered with nothing")
    return text
