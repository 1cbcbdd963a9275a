"""Which statements of confident hits are quoted, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pytest

from onebrain.models.twins import HashEmbedder
from onebrain.search.answer import answer
from onebrain.search.evidence import Pool
from onebrain.search.legs import Lexical, Semantic
from onebrain.search.question import Request
from onebrain.search.reading import read
from onebrain.search.report import Band, Hit, Quote
from onebrain.vault.note import Chunk


@dataclass
class Passage:
    """A passage and its hit. `score` orders, `sure` is its rerank_score."""

    text: str
    path: str = "a.md"
    heading: str = ""
    score: float = 1.0
    sure: float = 0.9
    day: str | None = None
    status: str = "active"
    line: int = 10


class Shelf:
    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self.kept = chunks

    def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        return {name: self.kept[name] for name in ids}


def ask(question: str, *passages: Passage, embedder: HashEmbedder | None = None) -> tuple[Quote, ...]:
    """Every word of the question weighs the same."""
    reading = read(Request(question, date(2026, 12, 1)))
    chunks, hits = {}, []
    for n, p in enumerate(passages):
        end = p.line + p.text.count("\n")
        chunks[f"{p.path}#{n}"] = Chunk(f"{p.path}#{n}", p.path, n, p.heading, p.line, end, p.text, p.text)
        hits.append(
            Hit(f"{p.path}#{n}", p.path, p.heading, p.line, end, "A note", "note", p.score, "", Band.CONFIDENT, (), p.sure, p.day, p.status)
        )
    vector = embedder.embed_query(reading.text) if embedder else None
    pool = Pool([], reading, Lexical(idf={group.key: 1.0 for group in reading.groups}), Semantic(vector, ()))
    return answer(Shelf(chunks), pool, hits, embedder)  # type: ignore[arg-type]


def said(question: str, *passages: Passage, embedder: HashEmbedder | None = None) -> list[str]:
    return [quote.text for quote in ask(question, *passages, embedder=embedder)]


def test_the_best_sentence_of_a_bad_passage_gives_way_to_a_good_one() -> None:
    good = Passage("We use roadmunk as a project roadmap. It costs little.", score=2.7)
    bad = Passage("Our team is using Zenhub for agile project management.", "b.md", score=0.4, sure=0.99)
    for embedder in (None, HashEmbedder()):
        assert said("What is the project roadmap tool?", good, bad, embedder=embedder)[0] == "We use roadmunk as a project roadmap."


def test_the_best_comes_first_though_it_stands_later() -> None:
    text = "Queues run on Redis streams here. Every one of the Redis queues is capped at 5 messages."
    assert said("how many messages are the Redis queues capped at?", Passage(text))[0].endswith("capped at 5 messages.")


def test_only_confident_hits_are_quoted_and_stale_ones_only_alone() -> None:
    unsure = Passage("The boiler is serviced by Tadeusz.", sure=0.59)
    stale = Passage("The boiler is serviced by Marek.", "b.md", status="superseded", sure=0.99, score=2.0)
    current = Passage("The boiler is serviced by Ewa.", "c.md", sure=0.61)
    question = "who services the boiler?"
    assert said(question, unsure) == []
    assert said(question, unsure, stale, current) == ["The boiler is serviced by Ewa."]
    assert said(question, unsure, stale) == ["The boiler is serviced by Marek."]


def test_at_most_so_many_sentences_are_compared_by_meaning() -> None:
    embedder = HashEmbedder()
    long = " ".join(f"Sentence number {n} is about nothing in particular." for n in range(40))
    said("what is the retention of invoices?", Passage(long), Passage(long, "b.md"), embedder=embedder)
    assert 0 < len(embedder.embedded) <= 20


def test_a_sentence_is_not_mixed_with_the_entries_of_a_frontmatter() -> None:
    matter = Passage("topics: queues on redis\nowner: Ewa", line=2)
    prose = Passage("The queues run on Redis. Queues on Redis are capped.", "b.md")
    assert not any(text.startswith("topics") for text in said("queues on redis", prose, matter))
    assert said("queues on redis", matter, Passage("A book about bees and more.", "b.md", score=0.1)) == ["topics: queues on redis"]


def test_what_is_much_weaker_or_says_the_same_is_left_out() -> None:
    text = "Queues run on Redis streams. The queues run on Redis streams. Kafka is loud and heavy."
    assert said("what do queues run on?", Passage(text)) == ["Queues run on Redis streams."]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The first queue is capped at 100 messages.", "The second queue is capped at 200 messages."),
        ("The queue of Anna is capped at noon.", "The queue of Berta is capped at noon."),
        ("The queue is capped on workdays.", "The queue is not capped on workdays."),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_denial_is_not_the_same(one: str, other: str) -> None:
    assert sorted(said("is the queue capped?", Passage(f"{one} {other}"))) == sorted([one, other])


OLD = Passage("The staging server listens on port 8080.", "old.md", score=2.0, day="2025-01-10")
NEW = Passage("The staging server listens on port 9090.", "new.md", score=1.9, day="2026-08-10")
PORT = "what port does the staging server listen on?"


def test_of_two_values_the_one_that_was_told_later_stands() -> None:
    assert said(PORT, OLD, NEW) == said(PORT, NEW, OLD) == ["The staging server listens on port 9090."]


def test_a_note_without_a_date_does_not_lose_for_that() -> None:
    undated = Passage(OLD.text, "undated.md", score=2.0)
    assert said(PORT, undated, NEW)[0] == OLD.text and len(said(PORT, undated, NEW)) == 2


def test_an_older_value_is_told_where_it_is_asked_for() -> None:
    assert "8080" in " ".join(said("what port did the staging server first listen on?", OLD, NEW))
    old, new = Passage("Version 1.2 was released by Ewa.", day="2025-01-01"), Passage("Version 1.3 was released by Jan.", day="2026-01-01")
    assert said("who released version 1.2?", old, new)[0] == old.text


def test_a_later_decision_that_moves_on_is_told_with_both_days() -> None:
    first = Passage("Switched CI from Travis to Jenkins because Travis stopped free builds.", score=2.0, day="2026-03-01")
    then = Passage("Moved from Jenkins to Buildkite because queues were too long.", "b.md", score=1.0, day="2026-04-01")
    plant = Passage("Bought a plant because the room looked empty.", "c.md", score=1.0, day="2026-05-01")
    quotes = ask("which CI do we use?", first, then, plant)
    assert [(quote.text, quote.date) for quote in quotes] == [(first.text, "2026-03-01"), (then.text, "2026-04-01")]
    there = Passage("We decided to move the office to Gdynia because the lease in Sopot doubled.", score=2.0, day="2026-05-10")
    back = Passage("We decided to move the office back to Sopot because the Gdynia office flooded.", "b.md", day="2026-09-01")
    assert said("where is our office?", there, back) == [back.text, there.text]
    assert said("where was our office before?", there, back)[0] == there.text


def test_dates_of_headings_and_lines_count_before_the_notes_own() -> None:
    log = Passage("Date: 2025-03-01\n\nThe server listens on port 1.", "log.md", score=2.0, day="2026-12-01")
    later = Passage("The server listens on port 2.", "log.md", "Log > 2026-02-01", day="2026-12-01", line=90)
    assert said("what port does the server listen on?", log, later) == ["The server listens on port 2."]


def test_the_reason_wins_for_a_why_question() -> None:
    text = "The late reads of the trees are slow reads. Reads are slow because the trees keep many files."
    assert said("why are reads of the trees slow?", Passage(text))[0].startswith("Reads are slow because")
    german = "Die Lesevorgänge der Bäume sind langsam. Sie sind langsam, weil die Bäume viele Dateien halten."
    assert said("warum sind die Lesevorgänge der Bäume langsam?", Passage(german))[0].startswith("Sie sind langsam, weil")


def test_a_day_that_the_sentence_does_not_tell_is_given_to_who_asks_when() -> None:
    added = Passage("Added: Virtual Events to the site.", day="2026-01-02")
    assert [quote.date for quote in ask("when were virtual events added?", added)] == ["2026-01-02"]
    assert [quote.date for quote in ask("where were virtual events added?", added)] == [None]
    table = Passage("| Date | 11/17/2020 |\n\nAdded version 1.5 of virtual events.", day="2026-01-02")
    assert [quote.date for quote in ask("when were virtual events added?", table)] == ["2020-11-17"]
    told = Passage("Virtual events were added in March 2020.", day="2026-01-02")
    assert [quote.date for quote in ask("when were virtual events added?", told)] == [None]


def test_a_list_is_quoted_under_the_words_that_lead_it_in() -> None:
    text = "The market depends on three factors:\n\n1. Growth\n2. Inflation\n3. Speculation\n\nInvestors like the market."
    quotes = ask("what are the three factors the market depends on?", Passage(text))
    assert (quotes[0].text, quotes[0].line) == ("The market depends on three factors: Growth; Inflation; Speculation", 10)


def test_a_list_that_nothing_leads_in_gives_way_to_the_item_that_answers_unless_its_heading_is_asked_for() -> None:
    text = "- Cap: one million messages a day\n- Replay reaches back 72 hours.\n- Highest so far: 640K in May"
    assert said("how far back does replay reach?", Passage(text))[0] == "Replay reaches back 72 hours."
    listed = Passage("- Use labels\n- Use subfolders with local ids", heading="Categories > Considered options")
    assert said("what are the considered options for categories?", listed)[0] == "Use labels; Use subfolders with local ids"


def test_nothing_is_quoted_of_a_hit_that_only_asks() -> None:
    assert said("what is the pattern of the filename?", Passage("What is the pattern of the filename where a record is stored?")) == []


def test_an_address_is_quoted_only_where_one_is_asked_for() -> None:
    lines = Passage("PR link: https://example.org/janis/pull/919\n\nJanis fixed the missing bullet points.", heading="Janis v3.14.4")
    assert said("what was fixed in janis?", lines)[0] == "Janis fixed the missing bullet points."
    assert said("what is the PR link of janis?", lines)[0].startswith("PR link:")
