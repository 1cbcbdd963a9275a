"""What a configured model is sent, and what becomes of its reply. What it may not say is in test_backing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onebrain.models.twins import ConstantSynthesis
from onebrain.search.report import ChainLink, Mode, Quote, Report, Stage, StageStatus, Synthesis, Verdict, Worded
from onebrain.search.synthesis import INSTRUCTIONS, Writing, add_synthesis

QUOTES = (Quote("Replay reaches back 72 hours.", "a.md", "Replay", 3), Quote("It costs [2] servers.", "b.md", "Cost", 9))
WHAT = Report("how far does\nreplay reach", Mode.WHAT, Verdict.CONFIDENT, (), (), answer=QUOTES, stages=(Stage("lex", StageStatus.RAN),))
LINKS = (
    ChainLink("2025-10-02", "Kafka chosen", "it keeps events", "a.md", "ADR-003", 5),
    ChainLink("2026-04-19", "Redis Streams", "Redis Streams", "b.md", "ADR-007", 7),
)
WHY = replace(WHAT, mode=Mode.WHY, answer=(), chain=LINKS)


def told(report: Report) -> tuple[StageStatus, str | None, int | None]:
    assert [stage.name for stage in report.stages] == ["lex", "synthesis"]
    return report.stages[-1].status, report.stages[-1].reason, report.stages[-1].hits


def test_the_question_and_the_numbered_quotes_are_sent_and_nothing_else() -> None:
    writer = ConstantSynthesis("Replay reaches back 72 hours [1].")
    report = add_synthesis(WHAT, Writing(writer))
    sent = "Question: how far does replay reach\n\nQuotes:\n[1] Replay reaches back 72 hours.\n[2] It costs (2) servers."
    assert writer.asked == [(INSTRUCTIONS, sent)]
    assert report.synthesis == Synthesis("constant", (Worded("Replay reaches back 72 hours.", (1,)),))
    assert replace(report, synthesis=None, stages=WHAT.stages) == WHAT  # the answer stays as it was
    assert told(report) == (StageStatus.RAN, "written by constant; sentences dropped: none", 1)


def test_a_chain_is_sent_with_its_dates() -> None:
    writer = ConstantSynthesis("Kafka was chosen on 2 October 2025, for it keeps events [1]. In April 2026 it was Redis Streams [2].")
    report = add_synthesis(WHY, Writing(writer))
    assert writer.asked[0][1].endswith("[1] 2025-10-02: Kafka chosen — it keeps events\n[2] 2026-04-19: Redis Streams")
    assert report.synthesis is not None and [worded.cites for worded in report.synthesis.sentences] == [(1,), (2,)]


def test_where_nothing_is_backed_there_is_no_synthesis_and_the_stage_says_why() -> None:
    report = add_synthesis(WHAT, Writing(ConstantSynthesis("Replay reaches back 48 hours [1]. It is great. So great!")))
    dropped = "1 with a number, amount or date its quotes don't have, 2 citing no quote"
    reason = f"nothing usable was written by constant; sentences dropped: {dropped}"
    assert (report.synthesis, told(report)) == (None, (StageStatus.RAN, reason, 0))


@pytest.mark.parametrize(
    ("report", "writing", "status", "reason"),
    [
        (WHAT, Writing(None, "the vault is regulated"), StageStatus.SKIPPED, "the vault is regulated"),
        (replace(WHAT, answer=()), Writing(ConstantSynthesis(None)), StageStatus.SKIPPED, "nothing was quoted"),
        (WHAT, Writing(ConstantSynthesis(None)), StageStatus.FAILED, "no writer today"),
    ],
)
def test_a_writer_that_may_not_or_can_not_costs_the_synthesis_alone(
    report: Report, writing: Writing, status: StageStatus, reason: str
) -> None:
    given = add_synthesis(report, writing)
    assert given.synthesis is None and told(given) == (status, reason, None)
    assert replace(given, stages=report.stages) == report


def test_nothing_is_sent_where_nothing_was_quoted() -> None:
    writer = ConstantSynthesis("x")
    add_synthesis(replace(WHAT, answer=()), Writing(writer))
    assert writer.asked == []
