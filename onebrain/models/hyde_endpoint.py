"""HyDE from an endpoint the user configured: OpenAI-compatible chat completions, or Ollama's /api/generate.

Only the configured address is spoken to: redirects are not followed and proxies of the environment are not used.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Mapping
from threading import Event
from typing import Any
from urllib.parse import SplitResult, urlsplit

from onebrain.errors import ModelUnavailable
from onebrain.models.deadline import Deadline
from onebrain.models.ports import HydeSettings, HydeUnavailable

PROMPT = "Write one short factual passage, as it could stand in someone's notes, that answers the question. No introduction."
_MOST_BYTES = 1 << 20
_MOST_CHARACTERS = 1200
_THINKING = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)


class EndpointHyde:
    """A HydeWriter over HTTP. Raises ModelUnavailable at once when the URL is none, HydeUnavailable when a passage can't be had."""

    def __init__(self, settings: HydeSettings, environ: Mapping[str, str]) -> None:
        self._url = _parse(settings.endpoint or "")
        self._settings = settings
        self._key = environ.get(settings.key_env, "") if settings.key_env else ""
        self._deadline = Deadline()

    @property
    def name(self) -> str:
        return f"endpoint {self._url.hostname}"

    def write(self, question: str, timeout_s: float) -> str:
        if self._settings.key_env and not self._key:
            raise HydeUnavailable(f"the environment variable {self._settings.key_env} is not set")
        return self._deadline.run(lambda stop: self._ask(question, timeout_s, stop), timeout_s)

    def unload(self) -> None:
        """Nothing is held."""

    def _ask(self, question: str, timeout_s: float, stop: Event) -> str:
        connect = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = connect(self._url.hostname or "", self._url.port, timeout=timeout_s)
        try:
            connection.request("POST", self._path(), json.dumps(self._body(question)).encode(), self._headers())
            with connection.getresponse() as response:  # it owns the socket once the server says it will close
                if response.status != http.client.OK:
                    raise HydeUnavailable(f"{self._url.hostname} answered {response.status} {response.reason}")
                body = _read(response, stop)
            return clean(_content(body))
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, TimeoutError):
                raise
            raise HydeUnavailable(f"{self._url.hostname} can't be reached: {error}") from error
        finally:
            connection.close()

    def _is_ollama(self) -> bool:
        return self._url.path.rstrip("/").endswith("/api/generate")

    def _path(self) -> str:
        return (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        return headers | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def _body(self, question: str) -> dict[str, Any]:
        settings = self._settings
        if self._is_ollama():
            options = {"num_predict": settings.max_tokens, "temperature": 0}
            return {"model": settings.model, "system": PROMPT, "prompt": question, "stream": False, "think": False, "options": options}
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
        return {"model": settings.model, "messages": messages, "max_tokens": settings.max_tokens, "temperature": 0, "stream": False}


def clean(passage: str) -> str:
    """One line without a reasoning trace, cut at 1,200 characters. Raises HydeUnavailable when nothing is left."""
    text = " ".join(_THINKING.sub(" ", passage).split())[:_MOST_CHARACTERS].strip()
    if not text:
        raise HydeUnavailable("the writer answered with nothing")
    return text


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
            raise HydeUnavailable("the endpoint answered with more than 1 MB")
    return body


def _content(body: bytes) -> str:
    """The passage in either dialect."""
    try:
        answer = json.loads(body)
        content = answer["response"] if "response" in answer else answer["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise HydeUnavailable("the endpoint's answer is not a completion") from error
    if not isinstance(content, str):
        raise HydeUnavailable("the endpoint's answer has no text")
    return content
