"""Where the faces' questions go: to the daemon with nothing lost on the way, else to a Brain that is let go of again."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, TextIO

import pytest
from small_vault import NOTHING, WHAT, WHY, WORDED, WORDED_WHY, FakeBrain, brain, config, vault

from onebrain.cli import app
from onebrain.cli.terminal import Opened, Terminal
from onebrain.config import Config, Embed
from onebrain.daemon.desk import Desk, argv_of, data_of, report_of
from onebrain.daemon.server import Call, Server
from onebrain.errors import BadRequest, IndexBusy, OneBrainError, StorageFull
from onebrain.render.json import dumps, envelope, listing_data, report_data
from onebrain.search.question import Filters, Legs, Request
from onebrain.search.report import IndexState, Report, Verdict

__all__ = ["brain", "config", "vault"]

TODAY = date(2026, 10, 13)
PLAIN = Request(text="what replaced kafka", now=TODAY, limit=5)
WORDY = replace(PLAIN, write_synthesis=True)
LADEN = Request(
    text="--all of it: status -x \"y",
    now=TODAY,
    mode="why",
    filters=Filters(("01-projects", "a b"), ("adr",), ("session",), "2026-01-01", "2026-12-31"),
    lex=("kafka", "-v"),
    vec=("what then?",),
    hyde=("It was dropped.",),
    limit=7,
    everything=True,
    rerank=False,
    write_hyde=False,
    min_score=0.3,
)


@pytest.mark.parametrize("report", [WHAT, WHY, NOTHING, WORDED, WORDED_WHY], ids=["what", "why", "none", "worded", "worded why"])
def test_a_report_survives_its_json(config: Config, report: Report) -> None:
    assert report_of(json.loads(dumps(report_data(report, config))), PLAIN) == report


def test_a_listing_is_a_report_that_answers_nothing(config: Config) -> None:
    report = report_of(json.loads(dumps(listing_data(WHAT, config))), replace(PLAIN, limit=2))
    assert (report.hits, report.sources, report.verdict) == (WHAT.hits, WHAT.hits[:2], Verdict.POSSIBLE)
    assert report.index == IndexState(0, None)


@pytest.mark.parametrize(
    "request_", [PLAIN, LADEN, WORDY, replace(LADEN, legs=Legs.LEX), replace(PLAIN, text="status"), replace(PLAIN, text="-")]
)
def test_the_command_line_of_a_request_asks_the_same(config: Config, brain: FakeBrain, request_: Request) -> None:
    @contextmanager
    def brains(config: Config, *, sync: bool, progress: Any) -> Iterator[Opened]:
        yield Opened(brain)  # type: ignore[arg-type]

    out = io.StringIO()
    argv = ("--vault", str(config.vault), *argv_of(request_))
    code = app.run(Terminal(argv, {}, config.vault, out, io.StringIO(), brains, today=lambda: TODAY))
    assert (code, json.loads(out.getvalue())["ok"]) == (0, True)
    assert brain.asked == [request_]


@contextmanager
def daemon(config: Config, output: str, code: int = 0) -> Iterator[list[Call]]:
    calls: list[Call] = []

    def run(call: Call, out: TextIO, err: TextIO) -> int:
        calls.append(call)
        err.write("→ a line for people\n")
        out.write(output)
        return code

    server = Server(config.data_dir / "run", (config.vault,), run, {"ping": dict}, lambda newer: None)
    server.start()
    yield calls
    server.stop()


def test_a_running_daemon_answers_and_no_brain_is_opened(config: Config) -> None:
    desk = Desk(config, {"ONEBRAIN_X": "1", "SECRET": "2"}, lambda owner: pytest.fail("a Brain was opened"))
    with daemon(config, dumps(envelope("search", report_data(WHY, config)))) as calls:
        assert desk.ask(replace(WORDY, text="why did we drop kafka")) == WHY
    assert calls[0].argv == ("--vault", str(config.vault), "search", "--json", "-n", "5", "--", "why did we drop kafka")
    assert dict(calls[0].env) == {"ONEBRAIN_X": "1"}
    assert not calls[0].out_tty
    desk.close()


def test_a_text_that_is_a_dash_does_not_take_the_input_of_whoever_serves(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("the next message of the protocol"))
    desk = Desk(config, {}, lambda owner: pytest.fail("a Brain was opened"))
    with daemon(config, dumps(envelope("memory.add", {}))) as calls:
        desk.run(["memory", "add", "--json", "--", "-"])
    assert calls[0].stdin is None
    assert sys.stdin.read() == "the next message of the protocol"
    desk.close()


def test_what_the_daemon_refuses_is_raised_as_what_it_was(config: Config, brain: FakeBrain) -> None:
    desk = Desk(config, {}, lambda owner: brain)  # type: ignore[arg-type, return-value]
    refusal = dumps(envelope("search", None, error=BadRequest("--after needs a day.", hint="Write 2026-01-31.")))
    with daemon(config, refusal, code=2), pytest.raises(BadRequest, match="--after needs a day") as told:
        desk.ask(PLAIN)
    assert told.value.hint == "Write 2026-01-31."
    assert desk.ask(PLAIN) == WHAT  # the daemon has left: our own Brain answers
    desk.close()


def test_the_daemon_can_be_declined(config: Config, brain: FakeBrain) -> None:
    desk = Desk(config, {"ONEBRAIN_NO_DAEMON": "1"}, lambda owner: brain)  # type: ignore[arg-type, return-value]
    with daemon(config, "never read") as calls:
        assert desk.ask(PLAIN) == WHAT
    assert calls == []
    desk.close()


@pytest.mark.parametrize("output", ["", "{}", "no JSON", '{"ok": false}', '{"ok": true}'])
def test_an_answer_that_is_none_is_told(output: str) -> None:
    with pytest.raises(OneBrainError, match="The daemon's answer can't be read") as told:
        data_of(output)
    assert told.value.hint


class Opener:
    """Opens fake Brains and remembers them; `busy` while another process owns the index."""

    def __init__(self) -> None:
        self.busy = False
        self.opened: list[FakeBrain] = []

    def __call__(self, owner: bool) -> Any:
        if owner and self.busy:
            raise IndexBusy("another process owns the index")
        self.opened.append(FakeBrain(owner))
        return self.opened[-1]


def test_a_brain_is_opened_by_the_first_question_kept_and_let_go_of_when_idle(config: Config) -> None:
    opener = Opener()
    desk = Desk(config, {}, opener, idle_seconds=0.2)
    assert opener.opened == []
    desk.ask(PLAIN)
    desk.ask(PLAIN)
    assert [made.owner for made in opener.opened] == [True]
    deadline = time.monotonic() + 5
    while "close" not in opener.opened[0].log and time.monotonic() < deadline:
        time.sleep(0.02)
    assert opener.opened[0].log == ["words", "close"]
    desk.ask(PLAIN)
    assert len(opener.opened) == 2
    desk.close()
    assert opener.opened[1].log == ["words", "close"]


def test_the_disk_is_looked_at_every_two_seconds_at_most(config: Config) -> None:
    now = [0.0]
    opener = Opener()
    desk = Desk(config, {}, opener, clock=lambda: now[0])
    for moment in (0.0, 0.1, 1.9, 2.0, 2.5, 4.1):
        now[0] = moment
        desk.ask(PLAIN)
    assert opener.opened[0].log == ["words", "words", "words"]
    desk.close()


@pytest.mark.parametrize(("auto", "after_meaning"), [(True, ["words", "vectors for 5.0 s"]), (False, ["words"])])
def test_passages_are_embedded_for_a_while_and_never_while_typing(config: Config, auto: bool, after_meaning: list[str]) -> None:
    opener = Opener()
    desk = Desk(replace(config, search=replace(config.search, embed=Embed(auto=auto))), {}, opener)
    for _ in "kaf":
        desk.ask(replace(PLAIN, legs=Legs.LEX))
        opener.opened[0].left = 9_000
    assert opener.opened[0].log == ["words"]
    desk.ask(PLAIN)
    desk.ask(PLAIN)
    desk.ask(replace(PLAIN, legs=Legs.LEX))
    assert opener.opened[0].log == ["words", *after_meaning]
    desk.close()


def test_an_index_that_can_not_be_brought_in_step_answers_all_the_same(config: Config, brain: FakeBrain) -> None:
    def full(paths: None, *, progress: object = None) -> Any:
        raise StorageFull("The disk is full.")

    brain.apply_words = full  # type: ignore[method-assign]
    desk = Desk(config, {}, lambda owner: brain)  # type: ignore[arg-type, return-value]
    assert desk.ask(PLAIN) == WHAT
    desk.close()


def test_while_another_process_owns_the_index_we_read_and_take_over_when_it_leaves(config: Config) -> None:
    opener = Opener()
    opener.busy = True
    desk = Desk(config, {}, opener)
    desk.ask(PLAIN)
    desk.ask(PLAIN)
    assert [(made.owner, made.log) for made in opener.opened] == [(False, [])]
    opener.busy = False
    desk.ask(PLAIN)
    assert [(made.owner, made.log) for made in opener.opened] == [(False, ["close"]), (True, ["words"])]
    desk.close()


def test_a_look_at_the_index_owns_nothing(config: Config) -> None:
    opener = Opener()
    desk = Desk(config, {}, opener)
    assert desk.status().doc_count == 6
    assert desk.peek(lambda library: len(library.notes())) == 5
    assert [(made.owner, made.log) for made in opener.opened] == [(False, ["close"]), (False, ["close"])]
    desk.ask(PLAIN)
    desk.status()
    assert len(opener.opened) == 3  # the Brain that is open anyway is used
    desk.close()


def test_an_index_that_can_not_be_read_is_not_called_missing(config: Config) -> None:
    opener = Opener()
    desk = Desk(config, {}, opener)
    assert desk.has_index()
    for count, last, error, there in ((0, None, None, False), (None, None, "damaged", True), (None, None, None, False)):
        fresh = Desk(config, {}, lambda owner, c=count, la=last, e=error: _with_status(c, la, e))  # type: ignore[misc]
        assert fresh.has_index() is there


def _with_status(count: int | None, last: str | None, error: str | None) -> Any:
    made = FakeBrain(False)
    made.status_now.doc_count, made.status_now.last_indexed_at, made.status_now.error = count, last, error
    return made


def test_a_command_without_a_daemon_runs_here_on_the_same_brain(config: Config, vault: Path) -> None:
    opener = Opener()
    desk = Desk(config, {}, opener)
    data = desk.run(["search", "--json", "--", "what replaced kafka"])
    assert data["verdict"] == "confident"
    assert [made.owner for made in opener.opened] == [True]
    with pytest.raises(BadRequest, match="There is no question"):
        desk.run(["search", "--json"])
    desk.close()
