"""What speaks for a passage: its own words and those around it, not what its note says elsewhere; and what can't answer with confidence."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from memory_library import MemoryLibrary

from onebrain.models.twins import HashEmbedder
from onebrain.search.evidence import Calibration, Candidate, score
from onebrain.search.question import Request
from onebrain.search.report import CONFIDENT
from onebrain.search.searcher import Models, Searcher

FILLER = "Nothing of note happened here, and the build was green. " * 14
CHANGES = [
    "The exporter writes parquet files.",
    "The scheduler learned about leap seconds.",
    *[f"Release {n} tidied the kitchen." for n in range(12)],
    "The importer reads a zirconium table.",
]
CHANGELOG = "# Changelog\n\n" + "\n".join(f"## 1.{n}.0\n\n{text}\n\n{FILLER}\n" for n, text in enumerate(CHANGES))


def traced(directory: Path, texts: dict[str, str], question: str) -> dict[str, Candidate]:
    searcher = Searcher(MemoryLibrary(directory, texts), Models(HashEmbedder()))
    _, ordered = searcher.trace(Request(question, date(2026, 10, 1), write_hyde=False))
    return {c.chunk.id: c for c in ordered}


def holding(found: dict[str, Candidate], words: str) -> Candidate:
    return next(c for c in found.values() if words in c.chunk.text)


def test_a_long_note_lends_no_words_to_a_passage_far_from_them(tmp_path: Path) -> None:
    found = traced(tmp_path, {"CHANGELOG.md": CHANGELOG}, "which release reads a zirconium table")
    early, importer = holding(found, "Release 1 "), holding(found, "zirconium")
    assert early.chunk.ordinal + 10 < importer.chunk.ordinal
    assert early.features["cover_near"] == early.features["cover"] < 1.0
    assert early.features["rare_missing"] == 1.0 and importer.features["rare_missing"] == 0.0


def test_the_passages_beside_one_speak_for_it(tmp_path: Path) -> None:
    note = f"# Queues\n\n## Context\n\nKafka fell over twice.\n\n{FILLER}\n\n## Decision\n\nWe chose Redis Streams.\n\n{FILLER}\n"
    found = traced(tmp_path, {"queues.md": note, "other.md": "# Other\n\nPlain words.\n"}, "which streams followed kafka")
    decision = holding(found, "Redis Streams")
    assert decision.features["cover_near"] > decision.features["cover"]


def test_words_that_stand_together_weigh_more_than_the_same_words_apart(tmp_path: Path) -> None:
    words = "The backup of the garage runs nightly."
    apart = "The backup is old. " + "It was a quiet week with little else to tell. " * 8 + "The garage is full. It runs nightly."
    found = traced(tmp_path, {"a.md": f"# One\n\n{words}\n", "b.md": f"# Two\n\n{apart}\n"}, "does the garage backup run nightly")
    together, spread = holding(found, words), holding(found, "quiet week")
    assert together.features["cover"] == spread.features["cover"]
    assert together.features["cover_tight"] > spread.features["cover_tight"]


def test_a_note_that_only_repeats_the_question_is_not_a_confident_answer(tmp_path: Path) -> None:
    texts = {"Kubernetes migration.md": "---\ntitle: Kubernetes migration\ntags: [ops]\n---\n", "bread.md": "# Bread\n\nKnead the dough.\n"}
    asked = traced(tmp_path / "asked", texts, "when is the Kubernetes migration?")
    assert all((c.probability or 0.0) < CONFIDENT for c in asked.values())


def test_a_word_that_one_passage_has_is_not_taken_for_another(tmp_path: Path) -> None:
    texts = {"rohe.md": "# Houses\n\nMies van der Rohe drew glass walls.\n"}
    texts |= {f"n{n}.md": f"# Note {n}\n\nThe role of note {n} is to fill the shelf.\n" for n in range(20)}
    searcher = Searcher(MemoryLibrary(tmp_path, texts), Models())
    report = searcher.ask(Request("which walls are from Rohe?", date(2026, 10, 1)))
    assert report.hits[0].doc_path == "rohe.md"
    assert not any("Not found as written" in note for note in report.notes)


def test_a_passage_without_any_number_is_not_confident_where_one_is_asked_for(tmp_path: Path) -> None:
    sure = Calibration(rank={}, question={"bias": 3.0}, keywords={"bias": 3.0})
    for said, most in (("listens for the glaze sensor", 0.59), ("listens on 8080", 0.95), ("has three doors", 0.95)):
        notes = {"a.md": f"# Kiln\n\nThe kiln port {said}.\n"}
        searcher = Searcher(MemoryLibrary(tmp_path / said, notes), Models(HashEmbedder()))
        pool, _ = searcher.trace(Request("which port does the kiln use?", date(2026, 10, 1), write_hyde=False))
        assert [round(c.probability or 0.0, 2) for c in score(pool, sure)] == [most]


SURE = Calibration(rank={}, question={"bias": 3.0}, keywords={"bias": 3.0})


def told(directory: Path, texts: dict[str, str], question: str) -> dict[str, float]:
    searcher = Searcher(MemoryLibrary(directory, texts), Models(HashEmbedder()))
    pool, _ = searcher.trace(Request(question, date(2026, 10, 1), write_hyde=False))
    return {c.chunk.heading_path.rpartition(" > ")[2]: round(c.probability or 0.0, 2) for c in score(pool, SURE)}


def test_what_tells_of_another_version_is_not_confident(tmp_path: Path) -> None:
    notes = {"janis.md": "# Janis\n\n## v3.14.3\n\nStable since May.\n\n## v3.14.1\n\nStable since March.\n"}
    assert told(tmp_path / "held", notes, "is Janis v3.14.3 stable?") == {"v3.14.3": 0.95, "v3.14.1": 0.59}
    assert set(told(tmp_path / "not", notes, "is Janis v9.9.9 stable?").values()) == {0.95}  # held nowhere: other evidence has to tell


def test_a_passage_without_any_day_is_not_confident_where_one_is_asked_for(tmp_path: Path) -> None:
    notes = {"a.md": "# Move\n\n## Plan\n\nThe office move is agreed.\n\n## News\n\nThe office move was in May 2025.\n"}
    assert told(tmp_path, notes, "when was the office move?") == {"Plan": 0.59, "News": 0.95}
    dated = {"a.md": "---\ndate: 2025-05-02\n---\n# Move\n\n## Plan\n\nThe office move is agreed.\n"}
    assert told(tmp_path / "dated", dated, "when was the office move?")["Plan"] == 0.95
