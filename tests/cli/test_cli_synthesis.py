"""The whole way with a real index and a model on loopback: what is sent, what is shown, and that nothing depends on it."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fake_model import Model, served

from onebrain.brain import Access, Brain
from onebrain.cli.app import run
from onebrain.cli.direct import direct
from onebrain.cli.terminal import Terminal
from onebrain.config import load
from onebrain.search.question import Request
from onebrain.search.report import StageStatus

EXAMPLE = Path(__file__).parent.parent.parent / "vault_example"
WHAT, WHY = "how far back does replay reach?", "why did we drop Kafka?"


@dataclass
class Place:
    """The example vault with a configuration of the test's own, and a command line there."""

    root: Path
    address: str

    @property
    def env(self) -> dict[str, str]:
        return {"ONEBRAIN_DATA_DIR": str(self.root / "data"), "ONEBRAIN_NO_DAEMON": "1"}

    def configured(self, synthesis: str, more: str = "") -> Place:
        text = f"vault: vault\nsearch:\n  hyde: off\n  synthesis: {synthesis}\n{more}"
        (self.root / "onebrain.yml").write_text(text.replace("ADDRESS", self.address))
        return self

    def __call__(self, *argv: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(argv=argv, env=self.env, cwd=self.root, out=out, err=err, brains=direct, today=lambda: date(2026, 10, 14))
        assert run(terminal) == 0, err.getvalue()
        return out.getvalue()

    def data(self, *argv: str) -> Any:
        return json.loads(self(*argv, "--json"))["data"]

    def stage(self, *argv: str) -> Any:
        return next((stage for stage in self.data(*argv)["stages"] if stage["name"] == "synthesis"), None)


def sent() -> list[str]:
    """What the model was told to word, question by question."""
    return [body["messages"][1]["content"] for _, body, _ in Model.requests]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("synthesis")
    shutil.copytree(EXAMPLE, root / "vault")
    with served() as address:
        yield Place(root, address)


@pytest.fixture
def place(built: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(Model, "requests", [])
    monkeypatch.setattr(Model, "replies", {"/wording": "Replay goes back 72 hours [1]. It was Bob's idea [1]. Everything is fine."})
    return built.configured("{url: ADDRESS/wording, model: tiny}")


def test_an_answer_is_worded_from_its_quotes_and_stays_what_it_was(place: Place) -> None:
    shown = place("search", WHAT)
    plain = place("search", WHAT, "--no-synthesis")
    assert plain.startswith("📌 Replay reaches back 72 hours. [1]\n\n📚 Sources")
    worded = (
        "✍️  In other words (written by tiny at 127.0.0.1 from the quotes above; each sentence is backed by its quote):\n"
        "  Replay goes back 72 hours. [1]\n\n"
    )
    assert shown == plain.replace("📚", f"{worded}📚", 1)
    assert sent() == [f"Question: {WHAT}\n\nQuotes:\n[1] Replay reaches back 72 hours."]


def test_a_chain_is_worded_and_cited_by_link(place: Place) -> None:
    Model.replies["/wording"] = "On 19 April 2026 Kafka was dropped, because the team headcount didn't justify its ops cost [4]."
    data = place.data("search", WHY)
    (sentence,) = data["synthesis"]["sentences"]
    link = data["chain"][3]
    assert data["synthesis"]["by"] == "tiny at 127.0.0.1"
    assert sentence["cites"] == [{"n": 4, "path": link["path"], "heading": link["heading"], "line": link["line"]}]
    assert [f"[{n}] {link['date']}: " in sent()[-1] for n, link in enumerate(data["chain"], 1)] == [True] * len(data["chain"])
    assert "headcount" in place("search", WHY, "--format", "markdown").split("✍️")[1]


@pytest.mark.parametrize("synthesis", ["", "off", "{url: ADDRESS/wording, writer: off}", "{model: tiny}", "{writer: ollama}"])
def test_without_an_address_or_switched_off_nothing_is_sent_and_nothing_told(place: Place, synthesis: str) -> None:
    place.configured(synthesis)
    data = place.data("search", WHAT)
    assert "synthesis" not in data and place.stage("search", WHAT) is None
    assert Model.requests == []


@pytest.mark.parametrize(
    "argv",
    [
        ("search", WHAT, "--no-synthesis"),
        ("search", "query", WHAT),
        ("search", "search", WHAT),
        ("recall", WHAT, "--layer1", "local"),
    ],
)
def test_only_a_composed_answer_is_worded(place: Place, argv: tuple[str, ...]) -> None:
    place(*argv)
    assert Model.requests == []


def test_measuring_words_nothing(place: Place) -> None:
    (place.root / "questions.jsonl").write_text(json.dumps({"id": "1", "query": WHAT}) + "\n")
    place("eval", "run", "questions.jsonl", "--out", "results.jsonl", "--fresh")
    assert WHAT in (place.root / "results.jsonl").read_text() and Model.requests == []


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/broken", "failed", "127.0.0.1 answered 500 Internal Server Error"),
        ("/moved", "failed", "127.0.0.1 answered 302 Found"),
        ("/slow", "failed", "nothing was written within 0.2 s"),
        ("/html", "failed", "the endpoint's answer is not a completion"),
        ("/else", "ran", "nothing usable was written by a model at 127.0.0.1; sentences dropped: 1 citing no quote"),
    ],
)
def test_a_model_that_fails_costs_the_wording_alone(place: Place, path: str, status: str, reason: str) -> None:
    plain = place("search", WHAT, "--no-synthesis")
    place.configured(f"{{url: ADDRESS{path}, timeout_seconds: 0.2}}" if path == "/slow" else f"{{url: ADDRESS{path}}}")
    assert place("search", WHAT) == plain
    stage = place.stage("search", WHAT)
    assert (stage["status"], stage["reason"]) == (status, reason)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://192.0.2.1/v1", "the vault is regulated: nothing is sent to 192.0.2.1, only to an address of this machine"),
        ("http://:1/", "'http://:1/' is not an http(s) address."),
    ],
)
def test_a_regulated_vault_sends_nothing_beyond_this_machine(place: Place, url: str, reason: str) -> None:
    place.configured(f'{{url: "{url}"}}', "regulated: true\n")
    stage = place.stage("search", WHAT)
    assert (stage["status"], stage["reason"]) == ("skipped", reason)
    place.configured("{url: ADDRESS/wording}", "regulated: true\n")
    assert place.data("search", WHAT)["synthesis"]["by"] == "a model at 127.0.0.1"


def test_the_key_comes_from_the_environment_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.configured("{url: ADDRESS/wording, api_key_env: TINY_KEY}")
    assert place.stage("search", WHAT)["reason"] == "the environment variable TINY_KEY is not set"
    monkeypatch.setenv("TINY_KEY", "s3cret")
    place("search", WHAT)
    assert [key for _, _, key in Model.requests] == ["Bearer s3cret"]


def test_a_note_that_changed_is_asked_about_as_it_is_now(place: Place) -> None:
    """The model is asked once, after stale notes were read again; a reader, who can't, leaves their quotes out before."""
    config = load(None, place.env, place.root)
    note = config.vault / "05-agent" / "memory" / "redis-streams-queue.md"
    text = note.read_text(encoding="utf-8")
    request = Request(WHAT, date(2026, 10, 14), write_synthesis=True)
    try:
        with Brain.open(config) as brain:
            brain.apply_words(None)
            note.write_text(text.replace("Replay reaches back 72 hours.", "Replay reaches back 96 long hours."), encoding="utf-8")
            report = brain.ask(request)
            assert ["96 long hours" in each for each in sent()] == [True]
            assert [stage.name for stage in report.stages][-2:] == ["fresh", "synthesis"]
            note.write_text(text.replace("72", "120"), encoding="utf-8")
            with Brain.open(config, access=Access.READER) as reader:
                report = reader.ask(request)
        assert all(quote.path != "05-agent/memory/redis-streams-queue.md" for quote in report.answer)
        assert not any("96 long hours" in each for each in sent()[1:])
        assert report.stages[-1].name == "synthesis" and report.stages[-1].status is not StageStatus.FAILED
    finally:
        note.write_text(text, encoding="utf-8")


def test_doctor_says_who_is_asked_and_whether_anybody_listens(place: Place) -> None:
    def found() -> list[tuple[str, str]]:
        checks = place.data("doctor")["checks"]
        return [(check["health"], check["message"]) for check in checks if check["check"] == "synthesis"]

    assert found() == [("ok", f"tiny at {place.address}/wording gets each question and its quotes")]
    assert Model.requests == []
    place.configured("{url: 'http://127.0.0.1:9'}")
    ((health, message),) = found()
    assert health == "warn" and message.startswith("a model at http://127.0.0.1:9: 127.0.0.1 can't be reached")
    place.configured("{url: 'http://192.0.2.1'}", "regulated: true\n")
    assert found() == [("warn", "a model at http://192.0.2.1 is not asked: the vault is regulated")]
    place.configured("{url: 'http://:1/'}")
    assert found() == [("warn", "a model at http://:1/: 'http://:1/' is not an http(s) address.")]
    assert place.configured("off") and found() == []
