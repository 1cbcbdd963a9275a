"""A language model is asked where the user said, answers in time, or not at all with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fake_model import Model, served

from onebrain.errors import ModelUnavailable
from onebrain.models.endpoint import Endpoint
from onebrain.models.ports import EndpointSettings, WriterUnavailable
from onebrain.models.synthesis import EndpointSynthesis


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


def endpoint(url: str, **more: Any) -> Endpoint:
    return Endpoint(EndpointSettings(url, "m", **more), {"MY_KEY": "secret"})


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/generate"])
def test_both_dialects_are_spoken(address: str, path: str) -> None:
    said = endpoint(address + path, key_env="MY_KEY", max_tokens=9).complete("be brief", "why no Kafka?", 5.0)
    assert " ".join(said.split()) == "Kafka was too much work."
    asked_path, body, key = Model.requests[-1]
    assert (asked_path, key, body["model"], body["stream"]) == (path, "Bearer secret", "m", False)
    assert all(words in json.dumps(body) for words in ("why no Kafka?", "be brief", ": 9"))


@pytest.mark.parametrize(
    ("given", "asked"), [("", "/api/generate"), ("/", "/api/generate"), ("/v1", "/v1/chat/completions"), ("/x/y?z=1", "/x/y?z=1")]
)
def test_a_servers_bare_address_is_enough(address: str, given: str, asked: str) -> None:
    endpoint(address + given).complete("", "why?", 5.0)
    assert Model.requests[-1][0] == asked


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/broken", "answered 500"),
        ("/moved", "answered 302"),
        ("/empty", "answered with nothing"),
        ("/thinking", "answered with nothing"),
        ("/html", "not a completion"),
        ("/odd", "not a completion"),
        ("/list", "not a completion"),
        ("/number", "no text"),
        ("/huge", "more than 1 MB"),
    ],
)
def test_a_useless_answer_is_named(address: str, path: str, reason: str) -> None:
    with pytest.raises(WriterUnavailable, match=reason):
        endpoint(address + path).complete("", "why?", 5.0)


@pytest.mark.parametrize("path", ["/slow", "/endless"])
def test_the_limit_holds_for_silent_and_for_endless_answers(address: str, path: str) -> None:
    with pytest.raises(WriterUnavailable, match=r"nothing was written within 0\.2 s"):
        endpoint(address + path).complete("", "why?", 0.2)


def test_a_refused_connection_and_a_missing_key_are_named() -> None:
    with pytest.raises(WriterUnavailable, match="can't be reached"):
        endpoint("http://127.0.0.1:9/v1/chat/completions").complete("", "why?", 5.0)
    with pytest.raises(WriterUnavailable, match="OTHER_KEY is not set"):
        endpoint("http://127.0.0.1:9/", key_env="OTHER_KEY").complete("", "why?", 5.0)


@pytest.mark.parametrize("url", ["", "localhost:11434", "file:///etc/passwd", "ftp://x/y", "http://", "http://x:99999/"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ModelUnavailable, match="not an http"):
        endpoint(url)


@pytest.mark.parametrize("proxy", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used(address: str, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv(proxy, "http://127.0.0.1:9")
    assert endpoint(address).complete("", "why?", 5.0)


def test_reaching_an_address_sends_nothing(address: str) -> None:
    before = len(Model.requests)
    endpoint(address).reach(5.0)
    assert len(Model.requests) == before
    with pytest.raises(WriterUnavailable, match="can't be reached"):
        endpoint("http://127.0.0.1:9").reach(5.0)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]:8080", True),
        ("https://localhost/x", True),
        ("http://LOCALHOST:1", True),
        ("http://192.168.0.9:11434", False),
        ("http://0.0.0.0:11434", False),
        ("https://api.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1@example.com", False),
        ("http://[::2]", False),
    ],
)
def test_a_regulated_vault_speaks_to_this_machine_alone(url: str, here: bool) -> None:
    assert endpoint(url).is_here is here
    EndpointSynthesis(EndpointSettings(url), {}, 1.0)
    if here:
        EndpointSynthesis(EndpointSettings(url), {}, 1.0, here_only=True)
    else:
        with pytest.raises(ModelUnavailable, match="the vault is regulated: nothing is sent to"):
            EndpointSynthesis(EndpointSettings(url), {}, 1.0, here_only=True)


def test_a_synthesis_writer_names_model_and_place_and_keeps_its_limit(address: str) -> None:
    writer = EndpointSynthesis(EndpointSettings(f"{address}/api/generate", "llama3.2"), {}, 5.0)
    assert (writer.name, writer.write("as told", "[1] quote")) == ("llama3.2 at 127.0.0.1", "Kafka was too much work.")
    assert (Model.requests[-1][1]["system"], Model.requests[-1][1]["prompt"]) == ("as told", "[1] quote")
    with pytest.raises(WriterUnavailable, match=r"within 0\.2 s"):
        EndpointSynthesis(EndpointSettings(f"{address}/slow"), {}, 0.2).write("", "")
    assert EndpointSynthesis(EndpointSettings(address), {}, 1.0).name == "a model at 127.0.0.1"
