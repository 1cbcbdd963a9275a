"""The word index on its own: what is found, in which order, and that a commit is all or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onebrain.index.lexical import LexicalIndex, LexNote
from onebrain.text.analysis import groups
from onebrain.vault.library import WordQuery
from onebrain.vault.note import Chunk


def note(path: str, *texts: str, title: str | None = None, heading: str = "", tags: tuple[str, ...] = ()) -> LexNote:
    title = title or path.removesuffix(".md")
    chunks = tuple(Chunk(f"{path}#{n}", path, n, heading, n + 1, n + 1, text, f"{title}\n{text}") for n, text in enumerate(texts))
    return LexNote(path, title, (), tags, chunks, "note")


def ask(index: LexicalIndex, text: str, **more: object) -> list[str]:
    named = groups(text)
    query = WordQuery({t: g.weight for g in named for t in g.alternatives}, {t: g.key for g in named for t in g.alternatives})
    return [hit.chunk_id for hit in index.search(query, limit=10, **more)]  # type: ignore[arg-type]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LexicalIndex]:
    index = LexicalIndex(tmp_path / "words", writable=True)
    yield index
    index.close()


def test_an_empty_index_answers_nothing(index: LexicalIndex) -> None:
    assert ask(index, "queue") == [] and index.ids() == set() and index.similar("queue") == [] and index.expand("q") == []


def test_a_title_counts_more_than_a_body(index: LexicalIndex) -> None:
    index.replace([note("a.md", "we use a queue and more words"), note("b.md", "we use something and more words", title="Queue")])
    assert ask(index, "queue") == ["b.md#0", "a.md#0"]


def test_more_of_the_question_counts_more(index: LexicalIndex) -> None:
    index.replace([note("a.md", "queue queue queue queue"), note("b.md", "the queue was dropped"), note("c.md", "other")])
    assert ask(index, "why was the queue dropped")[0] == "b.md#0"


def test_ties_break_by_id(index: LexicalIndex) -> None:
    index.replace([note("b.md", "same words", title="t"), note("a.md", "same words", title="t")])
    assert ask(index, "words") == ["a.md#0", "b.md#0"]


def test_replacing_and_removing_leave_no_ghost(index: LexicalIndex) -> None:
    index.replace([note("a.md", "kafka", "more kafka"), note("b.md", "redis")])
    index.replace([note("a.md", "streams")], removed=["b.md"])
    assert index.ids() == {"a.md#0"}
    assert ask(index, "kafka redis") == [] and ask(index, "streams") == ["a.md#0"]


def test_a_reader_sees_commits_and_deletions_after_refresh(index: LexicalIndex, tmp_path: Path) -> None:
    index.replace([note("a.md", "kafka"), note("b.md", "redis")])
    reader = LexicalIndex(tmp_path / "words", writable=False)
    for n in range(12):  # enough commits for Whoosh to merge segments under the reader
        index.replace([note(f"n{n}.md", "filler")], removed=["b.md"] if n == 5 else [])
    assert reader.ids() == {"a.md#0", "b.md#0"}
    reader.refresh()
    assert reader.ids() == index.ids() == {"a.md#0"} | {f"n{n}.md#0" for n in range(12)}
    reader.close()


def test_scores_do_not_depend_on_how_the_index_came_about(index: LexicalIndex, tmp_path: Path) -> None:
    notes = [note(f"{n}.md", f"queue number {n}", "nothing here") for n in range(8)]
    index.replace(notes)
    other = LexicalIndex(tmp_path / "other", writable=True)
    other.replace([note("gone.md", "queue queue"), *notes[:4]])
    other.replace(notes[4:], removed=["gone.md"])
    query = WordQuery({"queue": 1.0, "3": 1.0})
    assert index.search(query, limit=20) == other.search(query, limit=20)
    other.close()


def test_a_failed_commit_changes_nothing_and_frees_the_lock(index: LexicalIndex) -> None:
    index.replace([note("a.md", "kafka")])

    def broken() -> Iterator[LexNote]:
        yield note("b.md", "redis")
        raise RuntimeError("a note that can't be read")

    with pytest.raises(RuntimeError):
        index.replace(broken(), removed=["a.md"])
    assert index.ids() == {"a.md#0"}
    index.replace([note("c.md", "streams")])
    assert index.ids() == {"a.md#0", "c.md#0"}


def test_phrases_and_exclusions(index: LexicalIndex) -> None:
    index.replace([note("a.md", "terraform state locking"), note("b.md", "state of terraform"), note("c.md", "terraform state in kafka")])
    phrase = WordQuery({}, phrases=(("terraform", "state"),))
    assert [h.chunk_id for h in index.search(phrase, limit=5)] == ["a.md#0", "c.md#0"]
    without = WordQuery({"terraform": 1.0}, excluded=("kafka",))
    assert {h.chunk_id for h in index.search(without, limit=5)} == {"a.md#0", "b.md#0"}


def test_a_phrase_never_spans_title_and_body(index: LexicalIndex) -> None:
    index.replace([note("a.md", "state is kept", title="terraform")])
    assert index.search(WordQuery({}, phrases=(("terraform", "state"),)), limit=5) == []


def test_only_allowed_paths_are_found_however_rare(index: LexicalIndex) -> None:
    index.replace([note(f"{n}.md", "queue queue") for n in range(30)] + [note("small/x.md", "a long note that mentions a queue once")])
    assert ask(index, "queue", allowed={"small/x.md"}) == ["small/x.md#0"]


def test_alternatives_of_one_word_count_once(index: LexicalIndex) -> None:
    index.replace([note("a.md", "queue"), note("b.md", "queues queue")])
    [hit] = index.search(WordQuery({"queue": 1.0, "queueing": 0.5}, {"queue": "queue", "queueing": "queue"}), limit=1)
    assert set(hit.parts) == {"queue"} and hit.score == pytest.approx(sum(hit.parts.values()), abs=1e-4)


@pytest.mark.parametrize(
    ("typed", "meant"), [("kakfa", "kafka"), ("chnages", "chang"), ("recuring", "recur"), ("electrolite", "electrolyt")]
)
def test_misspelt_words_find_the_word_that_was_meant(index: LexicalIndex, typed: str, meant: str) -> None:
    index.replace([note("a.md", "kafka changes recurring electrolyte manage")])
    assert index.similar(typed)[0][0] == meant


def test_short_words_are_not_guessed(index: LexicalIndex) -> None:
    index.replace([note("a.md", "the cat sat")])
    assert index.similar("caz") == []


def test_expansion_is_bounded_and_by_frequency(index: LexicalIndex) -> None:
    index.replace([note("a.md", *(f"con{chr(97 + n % 26) * 2}{chr(97 + n // 26)} conmost" for n in range(40)))])
    assert len(index.expand("con", limit=16)) == 16 and index.expand("con")[0] == "conmost"


@pytest.mark.parametrize("path", ["🐘.md", "a b.md", "a_b.md", "README.md", "readme.md", "x#[1](2).md", "cafe\u0301.md", "ไทย/日本.md"])
def test_any_file_name_is_kept_verbatim(index: LexicalIndex, path: str) -> None:
    index.replace([note(path, "queue"), note("other.md", "else")])
    assert ask(index, "queue") == [f"{path}#0"]
    index.replace([], removed=[path])
    assert ask(index, "queue") == []
